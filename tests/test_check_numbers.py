"""No result in a document was written by hand, and a hand that writes one is caught."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scripts.check_numbers import (
    ALLOWED,
    ROOT,
    Allowed,
    AllowedNumbers,
    Kept,
    check,
    faults_in,
    filled,
    main,
    written_numbers,
)
from slowlab.analysis.answer import answer
from slowlab.analysis.study_numbers import build_numbers
from slowlab.config import load_config
from slowlab.report.kept import Run, StudyRun
from tests.analysis.synthetic_study import synthetic_inputs

WHY = "a constant of the specification"
(DRILL,) = load_config(ROOT / ALLOWED, AllowedNumbers).rendered


def found(text: str) -> list[str]:
    return [text[start:end].strip() for start, end, _ in written_numbers(text)]


def test_documents_hold_no_hand_written_results() -> None:
    assert [str(fault) for fault in check()] == []
    assert main([]) == 0


@pytest.fixture
def repository(tmp_path) -> Path:
    """The documents of this repository, to be spoilt."""
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", ALLOWED.as_posix()):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("*.png"))
    (tmp_path / "preregistration").mkdir()
    for path in (ROOT / "preregistration").glob("*.md"):
        shutil.copyfile(path, tmp_path / "preregistration" / path.name)
    for name in (DRILL.kept, DRILL.test):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(
    "file",
    [
        "README.md",
        "CHANGELOG.md",
        "docs/methods.md",
        "docs/architecture.md",
        "preregistration/protocol.md",
    ],
)
def test_a_result_that_is_written_by_hand_is_caught(repository, file) -> None:
    assert check(repository) == []
    path = repository / file
    path.write_text(path.read_text(encoding="utf-8") + "\nE1 was +3.21 EUR/m2.\n", encoding="utf-8")
    (fault,) = check(repository)
    assert fault.file == file
    assert "+3.21 EUR/m2" in fault.words
    assert fault.line == len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("E1 was +3.21 EUR/m2.", ["+3.21 EUR/m2"]),
        ("It gained 4 EUR/m\N{SUPERSCRIPT TWO} over it.", ["4 EUR/m\N{SUPERSCRIPT TWO}"]),
        ("fell by \N{MINUS SIGN}0.72 (p = 0.44)", ["\N{MINUS SIGN}0.72", "p = 0.44"]),
        ("p < .001 throughout, p below 0.05", ["p < .001", "p below 0.05"]),
        ("found in 94 % and 5% of runs", ["94 %", "5%"]),
        ("a mean of 12 \N{PLUS-MINUS SIGN} 3", ["\N{PLUS-MINUS SIGN} 3"]),
        ("better on 31 of 48 sites", ["31 of 48 sites"]),
        ("heat 95 kWh/m2, USD 7 in all", ["95 kWh/m2", "USD 7"]),
        ("1,234.5 tokens", ["1,234.5"]),
        ("| a | -1.43 |", ["-1.43"]),
    ],
)
def test_what_looks_like_a_result(text, numbers) -> None:
    assert sorted(found(text)) == sorted(numbers)


@pytest.mark.parametrize(
    "text",
    [
        "GreenLight 2.0.5 and `p = 0.44` and ``+3.21 EUR/m2``",
        "```text\nE1 was +3.21 EUR/m2\n```",
        "see [it](https://example.org/1.1.0/) and https://example.org/2.5",
        "four compartments of 96 m2 for 365 days, 48 sites, contract v8",
        "section 3.2.1 of v1.2",
    ],
)
def test_what_does_not(text) -> None:
    assert found(text) == []


def test_an_open_fence_hides_nothing_below_it() -> None:
    text = "```sh\nrun\n```\n\nE1 was +3.21 EUR/m2\n\n```sh\nrun\n```\n"
    assert found(text) == ["+3.21 EUR/m2"]


def test_allowances_hold_for_their_words_only() -> None:
    allowed = [Allowed(file="a.md", text="a gate of 0.2 %", why=WHY)]
    assert faults_in("a.md", "it misses a gate of\n0.2 % here", allowed) == []
    assert len(faults_in("a.md", "a gate of 0.2 % and 0.2 % elsewhere", allowed)) == 1
    assert len(faults_in("b.md", "a gate of 0.2 %", allowed)) == 1


def test_allowances_that_nothing_needs_are_faults() -> None:
    allowed = [Allowed(file="a.md", text="a gate of 0.3 %", why=WHY)]
    (fault,) = faults_in("a.md", "no numbers here", allowed)
    assert "nothing needs 'a gate of 0.3 %' any more" in fault.words


def test_a_generated_page_is_exempt_only_with_its_kept_numbers(repository) -> None:
    shutil.rmtree(repository / "docs" / "results" / "paper")
    assert {fault.file for fault in check(repository)} >= {"docs/paper-study.md"}


def test_a_rendered_page_is_exempt_only_with_its_record_and_a_test_that_names_both(
    repository,
) -> None:
    test = repository / DRILL.test
    test.write_text(f"# {DRILL.kept}\n", encoding="utf-8")
    faults = check(repository)
    assert f"{DRILL.test} does not name {DRILL.file}" in faults[0].words
    assert len([fault for fault in faults if fault.file == DRILL.file]) > 1
    shutil.copyfile(ROOT / DRILL.test, test)
    assert check(repository) == []
    (repository / DRILL.kept).unlink()
    faults = check(repository)
    assert f"no such file: {DRILL.kept}" in faults[0].words
    assert len([fault for fault in faults if fault.file == DRILL.file]) > 1


def test_blocks_are_filled_from_kept_numbers_and_then_exempt() -> None:
    numbers = build_numbers(synthetic_inputs(sites=3, readers=()))
    text = "# A\n\n<!-- numbers:made:answer -->\nold 1.23\n<!-- /numbers -->\n\nb\n"
    text += "<!-- numbers:made:table:table2 -->\n<!-- /numbers -->\n"
    text += "<!-- numbers:made:time -->\n<!-- /numbers -->\n"
    runs = (Run(wall_s=None, cores=2, succeeded=False), Run(wall_s=600, cores=2, succeeded=True))
    made = {"made": Kept(numbers, StudyRun(command="", runs=runs))}
    now = filled(text, made)
    assert "10 minutes on 2 cores" in now
    assert answer(numbers) in now
    assert "| method |" in now
    assert "1.23\n<!--" not in now
    assert filled(now, made) == now
    assert found(now) == []
    with pytest.raises(KeyError):
        filled(text, {})


def test_a_block_that_was_edited_is_a_fault_until_it_is_filled(repository) -> None:
    path = repository / "docs" / "methods.md"
    before = path.read_text(encoding="utf-8")
    block = "\n<!-- numbers:paper:answer -->\n9.99 EUR/m2\n<!-- /numbers -->\n"
    path.write_text(before + block, encoding="utf-8")
    (fault,) = check(repository)
    assert "--write" in fault.words
    assert check(repository, write=True) == []
    assert "9.99" not in path.read_text(encoding="utf-8")
    assert check(repository) == []
