"""Find numbers in documents that look like results and were written by hand.

A result belongs into a page that ``slowlab document`` makes from a study's numbers, or between two
marks that this script fills from the numbers that are kept in ``docs/results/``::

    <!-- numbers:paper:answer -->
    (filled)
    <!-- /numbers -->

``answer`` gives the answer in words, ``time`` how long the study took, ``table:<name>`` a table.
Everything else that looks like a result is a fault, unless ``scripts/allowed_numbers.yaml`` names
it with a reason: a published number with its citation, a constant of the specification, a measured
speed with the command that prints it. Code is no prose and is not looked at, nor are pages that a
test holds equal to what is kept for them: those of ``slowlab document``, and the pages that the
same file lists under ``rendered``, each with what is kept and with the test.

Usage: ``python scripts/check_numbers.py`` (exit code 1 and one line a fault), ``--write`` to fill.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import Field

from slowlab.analysis.answer import answer
from slowlab.analysis.numbers_file import read_numbers
from slowlab.analysis.study_tables import markdown_lines, table
from slowlab.config import ConfigModel, load_config
from slowlab.io import atomic_write_text
from slowlab.report.document import SHORTEST_S, page_name
from slowlab.report.kept import NUMBERS, RUN, StudyRun, read_run

ROOT = Path(__file__).parents[1]
ALLOWED = Path("scripts") / "allowed_numbers.yaml"
DOCUMENTS = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "preregistration/*.md",
)
"""Documents that are looked at, from the root."""

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_BEFORE, _AFTER = r"(?<![\w.@/\-])", r"(?![\w]|\.\d)"
_SIGNED = rf"{_BEFORE}[+\-\u2212\u00b1]?\s?{_NUMBER}"
LOOKS_LIKE = {
    "p-value": re.compile(
        rf"\bp\s*(?:=|<|>|≤|≥|below|above)\s*(?:0?\.\d+|{_NUMBER})", re.IGNORECASE
    ),
    "percentage": re.compile(rf"{_SIGNED}\s?(?:%|per ?cent\b|percentage points?\b)"),
    "error": re.compile(rf"(?:±|\+/-)\s?{_NUMBER}"),
    "amount": re.compile(
        rf"{_SIGNED}\s?(?:EUR|USD|kWh|kg)(?:/m2|/m²|\b)|(?:EUR|USD|€|\$)\s?{_NUMBER}"
    ),
    "count": re.compile(
        rf"{_BEFORE}\d+ (?:of|out of) (?:the )?\d+ (?:\w+ )?(?:sites?|methods?|campaigns?|tests?)\b"
    ),
    "decimal": re.compile(rf"{_BEFORE}[+\-\u2212]?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)\.\d+{_AFTER}"),
}
"""What a result looks like, by what it is."""

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_ADDRESS = re.compile(r"\]\([^)\n]*\)|https?://\S+")
_BLOCK = re.compile(
    r"(?P<begin><!-- numbers:(?P<study>[\w-]+):(?P<item>[\w:]+) -->\n)(?P<body>.*?)"
    r"(?P<end><!-- /numbers -->)",
    re.DOTALL,
)
_MARK = "<!-- numbers:"
_SHOWN = 20
"""Faults of one document that are printed."""


class Allowed(ConfigModel):
    """Text that may hold numbers by hand."""

    file: str = Field(description="Document, from the root.")
    text: str = Field(min_length=1, description="The words around the numbers, as they stand.")
    why: str = Field(min_length=10, description="What the numbers are, and where they come from.")


class Rendered(ConfigModel):
    """A page that a script writes and that a test holds equal to what is kept for it."""

    file: str = Field(description="Page, from the root.")
    kept: str = Field(description="What is enough to write the page again, from the root.")
    test: str = Field(description="Test that does so and compares byte for byte, from the root.")
    why: str = Field(min_length=10, description="What the page shows, and what writes both.")


class AllowedNumbers(ConfigModel):
    """All texts that may hold numbers by hand, and all pages that hold none."""

    allowed: list[Allowed]
    rendered: list[Rendered] = Field(default=[], description="Pages written by other scripts.")


@dataclass(frozen=True)
class Kept:
    """What is kept of a documented study."""

    numbers: Mapping[str, Any]
    run: StudyRun


@dataclass(frozen=True)
class Fault:
    """Something that a person has to mend; ``line`` counts from 1, 0 for the whole file."""

    file: str
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.words}"


def written_numbers(text: str) -> Iterator[tuple[int, int, str]]:
    """Numbers in a Markdown text that look like results: beginning, end and kind.

    Code, addresses and blocks that are filled from numbers are left out. What several patterns find
    is given once, under the first of them.
    """
    prose = text
    for pattern in (_BLOCK, _FENCE, _CODE, _ADDRESS):
        prose = pattern.sub(lambda found: re.sub(r"\S", "\x00", found.group()), prose)
    seen: list[tuple[int, int]] = []
    for kind, pattern in LOOKS_LIKE.items():
        for found in pattern.finditer(prose):
            start, end = found.span()
            if not any(begin < end and start < stop for begin, stop in seen):
                seen.append((start, end))
                yield start, end, kind


def faults_in(file: str, text: str, allowed: Sequence[Allowed]) -> list[Fault]:
    """Numbers of one document that nobody allowed, and allowances that fit nothing in it."""
    spans: list[tuple[int, int]] = []
    faults = []
    numbers = list(written_numbers(text))
    for item in (item for item in allowed if item.file == file):
        pattern = re.compile(r"\s+".join(map(re.escape, item.text.split())))
        own = [found.span() for found in pattern.finditer(text)]
        covered = [n for n in numbers for a, b in own if a <= n[0] and n[1] <= b]
        if not covered:
            faults.append(Fault(file, 0, f"{ALLOWED}: nothing needs {item.text!r} any more"))
        spans += own
    for start, end, kind in sorted(numbers):
        if not any(begin <= start and end <= stop for begin, stop in spans):
            line = text.count("\n", 0, start) + 1
            faults.append(Fault(file, line, f"{kind} written by hand: {text[start:end].strip()}"))
    return faults


def filled(text: str, kept: Mapping[str, Kept]) -> str:
    """A document with its blocks filled from what is kept of studies, by name.

    Raises:
        KeyError: no numbers are kept of a study, or it has no such item.
    """
    return _BLOCK.sub(
        lambda found: (
            f"{found['begin']}{_item(kept[found['study']], found['item'])}\n{found['end']}"
        ),
        text,
    )


def _item(kept: Kept, item: str) -> str:
    if item == "answer":
        return answer(kept.numbers)
    if item == "time":
        done = [run for run in kept.run.runs if (run.wall_s or 0.0) >= SHORTEST_S]
        minutes = sum(run.wall_s or 0.0 for run in done) / 60
        cores = sorted({run.cores for run in done})
        return f"{minutes:.0f} minutes on {' and '.join(map(str, cores))} cores"
    kind, _, name = item.partition(":")
    if kind != "table":
        raise KeyError(f"numbers:{item}: answer, time or table:<name>")
    frame = table(name, kept.numbers).drop(columns="mark", errors="ignore").astype("str")
    return "\n".join(markdown_lines(frame.loc[:, (frame != "").any()]))


def check(root: Path = ROOT, *, write: bool = False) -> list[Fault]:
    """All faults of a repository's documents.

    Args:
        root: the repository.
        write: whether to fill blocks in place first.
    """
    kept = {
        path.parent.name: Kept(read_numbers(path), read_run(path.with_name(RUN)))
        for path in sorted((root / "docs/results").glob(f"*/{NUMBERS}"))
    }
    generated = {f"docs/{page_name(item.numbers)}" for item in kept.values()}
    declared = load_config(root / ALLOWED, AllowedNumbers)
    allowed = declared.allowed
    files = [
        path.relative_to(root).as_posix()
        for pattern in DOCUMENTS
        for path in sorted(root.glob(pattern))
    ]
    faults = [
        Fault(item.file, 0, f"{ALLOWED}: no such document")
        for item in allowed
        if item.file not in files
    ]
    for page in declared.rendered:
        missing = _missing(root, page)
        faults += [Fault(page.file, 0, f"{ALLOWED}: {words}") for words in missing]
        if not missing:
            generated.add(page.file)
    for file in files:
        if file in generated:
            continue
        text = (root / file).read_text(encoding="utf-8")
        if _MARK in text:
            try:
                now = filled(text, kept)
            except KeyError as error:
                faults.append(Fault(file, 0, f"nothing is kept of what a block asks for: {error}"))
                continue
            if write and now != text:
                atomic_write_text(root / file, now)
            elif now != text:
                faults.append(Fault(file, 0, f"run: python {Path(__file__).name} --write"))
        faults += faults_in(file, text, allowed)
    return faults


def _missing(root: Path, page: Rendered) -> list[str]:
    """What a page lacks to be left out: itself, what is kept for it, or a test that names both."""
    missing = [
        f"no such file: {name}"
        for name in (page.file, page.kept, page.test)
        if not (root / name).is_file()
    ]
    if not missing:
        test = (root / page.test).read_text(encoding="utf-8")
        missing = [
            f"{page.test} does not name {name}"
            for name in (page.file, page.kept)
            if name not in test
        ]
    return missing


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="fill the blocks of documents")
    options = parser.parse_args(arguments)
    faults = check(write=options.write)
    for _, group in groupby(faults, key=lambda fault: fault.file):
        own = list(group)
        print(*own[:_SHOWN], sep="\n")
        if len(own) > _SHOWN:
            print(f"... and {len(own) - _SHOWN} more in {own[0].file}")
    print(f"{len(faults)} number(s) to mend" if faults else "no hand-written results")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
