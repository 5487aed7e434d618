"""The page of the correction drill says what is kept of the drill, and nothing else."""

from __future__ import annotations

import json
import sys

import pytest

from scripts.correction_drill import AFFECTED, ROOT, Command, Drill, main
from scripts.correction_drill_page import page
from scripts.correction_drill_record import DrillRecord, read_record, record, write_record

PAGE = ROOT / "docs/correction-drill.md"
RECORD = ROOT / "examples/correction_drill/played.json"
FIRST_RUN = """rule run_campaigns:
    output: results/drill@aaaaaaaa/campaigns/prior_bo, other
rule run_campaigns:
    output: results/drill@aaaaaaaa/campaigns/prior_bo_two_wave
rule compute_numbers:
    output: results/drill@aaaaaaaa/numbers.json
4 of 4 steps (100%) done
"""
SECOND_RUN = """rule run_campaigns:
    output: results/drill@bbbbbbbb/campaigns/prior_bo_two_wave
1 of 1 steps (100%) done
"""
REFUSED = """Building DAG of jobs
LockError: study drill is locked and cannot run:
  a_file.py: changed since it was locked
more
"""


@pytest.fixture
def drill(tmp_path) -> Drill:
    """A drill that looks as if it had been played."""
    made = Drill(tmp_path, cores=3, locks=["a" * 64, "b" * 64])
    made.commands = {
        "run": Command("snakemake all", FIRST_RUN, 61.4),
        "refused": Command("snakemake all", REFUSED, 2.6),
        "run again": Command("snakemake all", SECOND_RUN, 0.2),
        "lock": Command("slowlab lock", "Locked  \n\n" + "file\n" * 50, 1.0),
        "compare": Command("slowlab compare", "many numbers", 1.0),
    }
    made.kept = {
        "carried over": ["campaigns/prior_bo/a", "packets/a"],
        "made again": [f"campaigns/{AFFECTED}/a", f"campaigns/{AFFECTED}/b", "numbers.json"],
    }
    made.results(1).mkdir(parents=True)
    table = "# Corrections\n\n| test | shift |\n"
    (made.results(1) / "corrections.md").write_text(table, encoding="utf-8")
    return made


def test_the_page_is_what_is_kept_of_the_drill() -> None:
    assert PAGE.read_bytes() == page(read_record(RECORD)).encode("utf-8")


def test_another_number_in_the_record_is_another_page() -> None:
    kept = read_record(RECORD)
    content = kept.model_dump(mode="json")
    content["commands"][0]["seconds"] += 1
    changed = DrillRecord.model_validate_json(json.dumps(content))
    before, after = page(kept).splitlines(), page(changed).splitlines()
    assert len(before) == len(after)
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 2


def test_a_record_holds_what_a_page_tells(drill) -> None:
    kept = record(drill)
    lines = {command.name: command.lines for command in kept.commands}
    assert lines["run"] == ("4 of 4 steps (100%) done",)
    assert lines["refused"] == (
        "study drill is locked and cannot run:",
        "  a_file.py: changed since it was locked",
    )
    assert lines["lock"][0] == "Locked"
    assert lines["lock"][-1] == "... 11 more lines"
    assert lines["compare"] == ()
    assert [command.seconds for command in kept.commands] == [61, 3, 0, 1, 1]
    assert [(job.rule, job.first, job.again) for job in kept.jobs] == [
        ("run_campaigns", 2, 1),
        ("compute_numbers", 1, 0),
    ]
    assert [(item.owner, item.carried_over, item.made_again) for item in kept.results] == [
        ("campaigns of `prior_bo_two_wave`", 0, 2),
        ("campaigns of `prior_bo`", 1, 0),
        ("packets", 1, 0),
        ("the study as a whole", 0, 1),
    ]
    assert kept.corrections == "| test | shift |"
    assert kept.cores == 3


def test_a_record_is_read_as_it_was_written(drill, tmp_path) -> None:
    path = tmp_path / "kept" / "played.json"
    write_record(path, record(drill))
    assert read_record(path) == record(drill)
    write_record(path, read_record(RECORD))
    assert path.read_bytes() == RECORD.read_bytes()


def test_the_page_can_be_written_again_without_playing(tmp_path, monkeypatch) -> None:
    target = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["correction_drill.py", "--no-play", "--out", str(target)])
    main()
    assert target.read_bytes() == PAGE.read_bytes()
