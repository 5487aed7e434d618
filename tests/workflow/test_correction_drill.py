"""The correction drill, played: only what the fault concerns is run again, and nothing is lost."""

from __future__ import annotations

import csv

import pytest

from scripts.correction_drill import AFFECTED, Drill, DrillError, job_counts
from scripts.correction_drill_page import page
from scripts.correction_drill_record import record

pytestmark = pytest.mark.slow

SLOW = ("run_campaigns", "score_method", "build_packets", "read_packets", "score_reader")


@pytest.fixture(scope="module")
def drill(tmp_path_factory):
    made = Drill(tmp_path_factory.mktemp("drill"))
    made.play()
    return made


def jobs(drill, step):
    return [(rule, output) for rule, output in drill.commands[step].jobs if rule in SLOW]


def test_only_the_faulty_method_is_run_again(drill):
    first, again = jobs(drill, "run"), jobs(drill, "run again")
    assert len(first) == 3 * 2 + 4 + 1 + 2 + 2 + 1  # the reference has a job of its own
    assert sorted(rule for rule, _ in again) == ["run_campaigns", "run_campaigns", "score_method"]
    assert all(AFFECTED in output for _, output in again)
    assert set(again) < set(first)
    counts = {rule: (before, after) for rule, before, after in job_counts(drill)}
    assert counts["compute_numbers"] == (1, 1)


def test_what_is_kept_names_the_lock_it_was_made_under(drill):
    kept, again = (drill.kept[name] for name in ("carried over", "made again"))
    assert not [name for name in kept if AFFECTED in name]
    for kind in ("campaigns", "scores"):
        owners = {name.split("/")[1] for name in again if name.startswith(f"{kind}/")}
        assert owners == {AFFECTED}
    assert not [name for name in again if name.startswith(("packets/", "readings/"))]
    assert not [name for name in again if name.startswith("reading_scores/")]
    assert "numbers.json" in again


def test_a_table_gathered_again_from_what_is_kept_is_the_same_table(drill):
    table = "reading_scores.parquet"
    assert table in drill.kept["made again"]
    assert (drill.results(1) / table).read_bytes() == (drill.results(0) / table).read_bytes()


def test_the_fault_is_found_refused_and_named(drill):
    assert "1 failed" in drill.commands["test fails"].printed
    assert "1 passed" in drill.commands["test passes"].printed
    refused = drill.commands["refused"].printed
    assert "slowlab/methods/prior_bo_two_wave.py: changed since it was locked" in refused
    assert not drill.commands["refused"].jobs


def test_original_and_corrected_results_stand_side_by_side(drill):
    with (drill.results(1) / "corrections.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["test"]: row for row in csv.DictReader(file)}
    assert rows["e1.prior_bo_two_wave"]["change"] != "none"
    assert rows["e1.prior_bo_two_wave"]["original"] != rows["e1.prior_bo_two_wave"]["corrected"]
    for name in ("e1.random_search", "e2.prior_bo", "gain.random_search", "gain.prior_bo"):
        assert rows[name]["shift"] == "0.00"
        assert rows[name]["original"] == rows[name]["corrected"]
    assert (drill.results(0) / "numbers.json").is_file()
    assert "results/drill@" in drill.commands["final status"].printed


def test_the_page_is_labelled_and_has_every_command(drill):
    text = page(record(drill))
    assert "**This is a drill.**" in text
    assert str(drill.folder) not in text
    for command in ("commit-seed", "lock", "verify --results", "amend --reason", "carry-over"):
        assert f"$ slowlab prereg {command}" in text
    assert "slowlab prereg compare" in text


def test_touching_does_not_get_round_a_changed_result(drill):
    """Snakemake is content with times; the job that reads the table is not."""
    target = drill.results(1)
    table = target / "scores.parquet"
    content = table.read_bytes()
    numbers = (target / "numbers.json").read_bytes()
    path = str(table.relative_to(drill.root))
    table.write_bytes((drill.results(0) / "scores.parquet").read_bytes())
    try:
        options = ["-m", "snakemake", "--cores", "1", "--configfile", "config/drill.yaml"]
        made = str((target / "numbers.json").relative_to(drill.root))
        drill.call("touch", "snakemake --touch", [*options, "--touch", "--", made])
        forced = [*options, "--force", "--", made]
        drill.call("forced", "snakemake --force", forced, code=1)
        assert "scores.parquet: changed after it was made" in drill.commands["forced"].printed
        drill.call("verify", "verify", ["-m", "slowlab", "prereg", "verify", "--results"], code=1)
        assert path in drill.commands["verify"].printed
    finally:
        table.write_bytes(content)
        (target / "numbers.json").write_bytes(numbers)


def test_prose_stops_nothing(drill):
    for name in ("README.md", "docs/preregistration.md", "CHANGELOG.md"):
        with (drill.root / name).open("a", encoding="utf-8") as file:
            file.write("More words.\n")
    verify = ["-m", "slowlab", "prereg", "verify"]
    drill.call("prose", "slowlab prereg verify", verify)
    assert "Unchanged: study drill" in drill.commands["prose"].printed


def test_a_step_that_ends_otherwise_is_an_error(drill):
    with pytest.raises(DrillError, match="ended with 2, not 0"):
        drill.call("again", "slowlab prereg lock", ["-m", "slowlab", "prereg", "lock"])
