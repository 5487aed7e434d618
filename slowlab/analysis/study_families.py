"""The tests that a study declares: which cells are compared, under which names, in which family.

Families are built from the description of the study alone, before any score is seen. Source of the
questions and families: SlowLab, statistics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from slowlab.analysis.families import AnalysisSpec, CellRef, ContrastSpec, FamilySpec
from slowlab.analysis.study_inputs import (
    ENDPOINT,
    FULL,
    INITIAL,
    AnalysisInputs,
    MethodInfo,
    StudyDescription,
)
from slowlab.evaluation.score import FIXED_REFERENCE

_SEED_STEP = 1000
"""Room between the seeds of two families."""

_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class DeclaredTest:
    """One test and what it is about.

    Attributes:
        question: what it answers, see :data:`slowlab.analysis.study_inputs.Question`.
        subject: method, reader or comparison whose row it is in figures.
        label: the difference in words.
        contrast: the cells.
        published: name of the published test beside it, or None.
    """

    question: str
    subject: str
    label: str
    contrast: ContrastSpec
    published: str | None = None


def declared_tests(study: StudyDescription) -> tuple[DeclaredTest, ...]:
    """All tests of a study, by family and question."""
    makers = {
        "e1": _against_baseline,
        "e2": _against_endpoint,
        "initial": _against_initial,
        "gain": _against_reference,
        "feedback": _feedback_gains,
        "knowledge": _knowledge,
        "reader": _readers,
    }
    questions = [question for family in study.families for question in family.questions]
    return tuple(test for question in questions for test in makers[question](study))


def spec_of(inputs: AnalysisInputs) -> AnalysisSpec:
    """Families and numbers of a finished study: the preregistered ones where there are any."""
    return analysis_spec(inputs.study) if inputs.declared is None else inputs.declared


def analysis_spec(study: StudyDescription) -> AnalysisSpec:
    """The declared families and numbers, as the statistics take them."""
    tests = declared_tests(study)
    families = tuple(
        FamilySpec(
            name=family.name,
            adjustment=family.adjustment,
            seed_offset=place * _SEED_STEP,
            tests=tuple(test.contrast for test in tests if test.question in family.questions),
        )
        for place, family in enumerate(study.families)
    )
    return AnalysisSpec(
        base_seed=study.base_seed,
        sesoi_eur_m2=study.sesoi_eur_m2,
        alpha=study.alpha,
        flips=study.flips,
        resamples=study.resamples,
        repeat_rule=study.repeat_rule,
        families=families,
    )


def _against_baseline(study: StudyDescription) -> Iterator[DeclaredTest]:
    """E1: every other method that experiments less the baseline, both with full feedback."""
    if FULL not in study.feedback or not study.method(study.baseline).experiments:
        return
    base = study.method(study.baseline)
    for item in study.experimenting:
        if item.name != base.name:
            published = f"E1_{item.published}_minus_baseline" if item.published else None
            yield DeclaredTest(
                question="e1",
                subject=item.name,
                label=f"{item.shown} {_MINUS} {base.shown}, full feedback",
                contrast=_contrast(f"e1.{item.name}", [(item.name, FULL)], [(base.name, FULL)]),
                published=published if base.published == "baseline" else None,
            )


def _against_endpoint(study: StudyDescription) -> Iterator[DeclaredTest]:
    """E2: full less endpoint feedback within each method that experiments."""
    if not {FULL, ENDPOINT} <= set(study.feedback):
        return
    for item in study.experimenting:
        yield DeclaredTest(
            question="e2",
            subject=item.name,
            label=f"{item.shown}, full {_MINUS} endpoint feedback",
            contrast=_contrast(f"e2.{item.name}", [(item.name, FULL)], [(item.name, ENDPOINT)]),
            published=f"E2_{item.published}_full_minus_endpoint" if item.published else None,
        )


def _against_reference(study: StudyDescription) -> Iterator[DeclaredTest]:
    """Gain of every other method over the reference without experiments."""
    base = study.method(study.reference)
    for item in study.methods:
        cell = study.main_cell(item.name)
        if item.name == base.name or (item.experiments and FULL not in study.feedback):
            continue
        has_published = item.published and base.published == FIXED_REFERENCE
        yield DeclaredTest(
            question="gain",
            subject=item.name,
            label=f"{item.shown} {_MINUS} {base.shown}",
            contrast=_contrast(f"gain.{item.name}", [cell], [study.main_cell(base.name)]),
            published=f"{item.published}_full_minus_{FIXED_REFERENCE}" if has_published else None,
        )


def _against_initial(study: StudyDescription) -> Iterator[DeclaredTest]:
    """What each language model recommends in the end less what it recommended at first."""
    if FULL not in study.feedback:
        return
    for item in study.language_models:
        yield DeclaredTest(
            question="initial",
            subject=item.name,
            label=f"{item.shown}, final {_MINUS} initial recommendation",
            contrast=_contrast(f"initial.{item.name}", [(item.name, FULL)], [(item.name, INITIAL)]),
            published=f"{item.published}_full_minus_initial" if item.published else None,
        )


def _feedback_gains(study: StudyDescription) -> Iterator[DeclaredTest]:
    """Feedback gains of two methods, one less the other: language models, the baseline last."""
    if not {FULL, ENDPOINT} <= set(study.feedback) or not study.language_models:
        return
    base = study.method(study.baseline)
    compared = [item for item in study.language_models if item.name != base.name]
    compared += [base] if base.experiments else []
    for one, two in combinations(compared, 2):
        yield _feedback_gain(one, two)


def _feedback_gain(one: MethodInfo, two: MethodInfo) -> DeclaredTest:
    subject = f"{one.name}_less_{two.name}"
    plus = [(one.name, FULL), (two.name, ENDPOINT)]
    minus = [(one.name, ENDPOINT), (two.name, FULL)]
    both = one.published and two.published
    return DeclaredTest(
        question="feedback",
        subject=subject,
        label=f"feedback gain of {one.shown} {_MINUS} feedback gain of {two.shown}",
        contrast=_contrast(f"feedback.{subject}", plus, minus),
        published=f"feedback_gain_{one.published}_minus_{two.published}" if both else None,
    )


def _knowledge(study: StudyDescription) -> Iterator[DeclaredTest]:
    """What each pair gains by being told something, and how two such gains differ."""
    for pair in study.knowledge:
        given, without = study.main_cell(pair.given), study.main_cell(pair.without)
        yield DeclaredTest(
            question="knowledge",
            subject=pair.name,
            label=f"{study.method(pair.given).shown} {_MINUS} {study.method(pair.without).shown}",
            contrast=_contrast(f"knowledge.{pair.name}", [given], [without]),
        )
    for one, two in combinations(study.knowledge, 2):
        plus = [study.main_cell(one.given), study.main_cell(two.without)]
        minus = [study.main_cell(one.without), study.main_cell(two.given)]
        yield DeclaredTest(
            question="knowledge",
            subject=f"{one.name}_less_{two.name}",
            label=f"gain of {_words(one.name)} {_MINUS} gain of {_words(two.name)}",
            contrast=_contrast(f"knowledge.{one.name}_less_{two.name}", plus, minus),
        )


def _readers(study: StudyDescription) -> Iterator[DeclaredTest]:
    """Pooled gain of each reader; its values are computed from the swaps."""
    for reader in study.readers:
        yield DeclaredTest(
            question="reader",
            subject=reader.name,
            label=f"{reader.shown} reader {_MINUS} source, pooled over sources",
            contrast=ContrastSpec(name=f"reader.{reader.name}"),
            published=f"E3_{reader.published}_gain" if reader.published else None,
        )


def _contrast(name: str, plus: list[tuple[str, str]], minus: list[tuple[str, str]]) -> ContrastSpec:
    cells = [
        tuple(CellRef(method=method, feedback=feedback) for method, feedback in side)
        for side in (plus, minus)
    ]
    return ContrastSpec(name=name, plus=cells[0], minus=cells[1])


def _words(name: str) -> str:
    return name.replace("_", " ")
