"""Original and corrected results of all tests side by side."""

from __future__ import annotations

import copy

import pytest

from slowlab.prereg.compare import correction_markdown, correction_table, write_correction_table
from slowlab.prereg.errors import LockError
from slowlab.prereg.manifest import Manifest


def manifest(number, parent=None):
    return Manifest(
        study="drill",
        config="config/drill.yaml",
        amendment=number,
        parent=parent,
        parts={},
        commitments={},
        prompts={},
        files={},
    )


FIRST = manifest(0)
SECOND = manifest(1, FIRST.id)
CHAIN = (FIRST, SECOND)


def make_test(estimate, p_adjusted, verdict="undecided"):
    return {
        "family": "primary",
        "label": "A \N{MINUS SIGN} B",
        "estimate": estimate,
        "ci_low": None if estimate is None else estimate - 1,
        "ci_high": None if estimate is None else estimate + 1,
        "p": p_adjusted,
        "p_adjusted": p_adjusted,
        "significant": "yes" if (p_adjusted or 1) < 0.05 else "no",
        "verdict": verdict,
        "n_sites": 48,
    }


def numbers(lock, tests, marks=()):
    return {
        "study": {"name": "drill", "marks": list(marks)},
        "families": [{"name": "primary", "tests": list(tests)}],
        "tests": tests,
        "provenance": {"lock": lock.id},
    }


OLD = {
    "same": make_test(1.0, 0.5),
    "moved": make_test(-3.09, 0.0004),
    "found": make_test(-1.43, 0.29),
    "turned": make_test(0.5, 0.6),
    "shown": make_test(1.0, 0.5),
    "gone": make_test(1.0, 0.5),
    "empty": make_test(None, None, "undefined"),
}
NEW = {
    "same": make_test(1.0, 0.5),
    "moved": make_test(-5.6, 0.0004),
    "found": make_test(-3.99, 0.0004),
    "turned": make_test(-0.5, 0.6),
    "shown": make_test(1.2, 0.5, "equivalent"),
    "empty": make_test(None, None, "undefined"),
    "new": make_test(2.0, 0.01),
}


@pytest.fixture
def table():
    return correction_table(numbers(FIRST, OLD), numbers(SECOND, NEW), CHAIN).set_index("test")


def test_every_test_stands_once_with_what_changed(table):
    assert dict(table["change"]) == {
        "same": "none",
        "moved": "numbers",
        "found": "significance",
        "turned": "sign",
        "shown": "verdict",
        "gone": "removed",
        "empty": "none",
        "new": "added",
    }


def test_both_results_are_printed_as_in_the_other_tables(table):
    row = table.loc["found"]
    assert (row["original"], row["original_low"], row["original_high"]) == (
        "-1.43",
        "-2.43",
        "-0.43",
    )
    assert (row["original_p_adjusted"], row["corrected_p_adjusted"]) == ("0.29", "<0.001")
    assert (row["corrected"], row["shift"]) == ("-3.99", "-2.56")
    assert table.loc["empty", "original"] == table.loc["new", "original"] == ""


def test_marks_and_locks_stay_with_the_table(tmp_path):
    pair = numbers(FIRST, OLD, ["REHEARSAL"]), numbers(SECOND, NEW, ["REHEARSAL", "STAND-IN"])
    frame = correction_table(*pair, CHAIN)
    assert set(frame["mark"]) == {"REHEARSAL \N{MIDDLE DOT} STAND-IN"}
    text = correction_markdown(frame, *pair)
    assert f"Original: lock `{FIRST.id[:8]}`. Corrected: lock `{SECOND.id[:8]}`." in text
    assert write_correction_table(tmp_path / "t.md", *pair, CHAIN).read_text() == text
    csv = write_correction_table(tmp_path / "t.csv", *pair, CHAIN).read_text().splitlines()
    assert len(csv) == 1 + len(frame)
    with pytest.raises(LockError, match=r"ends in \.md or \.csv"):
        write_correction_table(tmp_path / "t.txt", *pair, CHAIN)


def test_only_results_of_one_chain_are_compared():
    old, new = numbers(FIRST, OLD), numbers(SECOND, NEW)
    for pair in ((new, old), (old, old)):
        with pytest.raises(LockError, match="a later lock"):
            correction_table(*pair, CHAIN)
    with pytest.raises(LockError, match="no lock of this study"):
        correction_table(numbers(manifest(7), OLD), new, CHAIN)
    without = copy.deepcopy(old)
    without["provenance"]["lock"] = None
    with pytest.raises(LockError, match="numbers of lock none"):
        correction_table(without, new, CHAIN)
    foreign = copy.deepcopy(old)
    foreign["study"]["name"] = "other"
    with pytest.raises(LockError, match="numbers of study other"):
        correction_table(foreign, new, CHAIN)
