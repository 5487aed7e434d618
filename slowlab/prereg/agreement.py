"""Whether a declaration can be locked: it agrees with the study file, and its N is large enough."""

from __future__ import annotations

from slowlab.analysis.families import AnalysisSpec, ContrastSpec, FamilySpec
from slowlab.analysis.study_families import declared_tests
from slowlab.analysis.study_inputs import StudyDescription
from slowlab.plan.study import StudyConfig
from slowlab.prereg.declaration import Declaration
from slowlab.prereg.errors import LockError
from slowlab.prereg.scope import DECLARATION

CONFIRMATORY = "confirmatory"
EXPLORATORY = "exploratory"
"""Name of the family of tests that no declared family names."""


def disagreements(declaration: Declaration, config: StudyConfig) -> list[str]:
    """What the study file says otherwise than the declaration, as sentences.

    Args:
        declaration: ``preregistration/study.yaml``.
        config: the study as it would run.
    """
    design, numbers = declaration.design, declaration.statistics
    said = {
        "study": (declaration.study, config.study),
        "purpose": (CONFIRMATORY, config.purpose),
        "partition": (design.partition, config.partition),
        "sites": (design.sites, config.sites),
        "first_site": (design.first_site, config.first_site),
        "repeats": (design.repeats, config.repeats),
        "feedback": (list(design.feedback), list(config.feedback)),
        "analysis.baseline": (design.baseline, config.analysis.baseline),
        "analysis.reference": (design.reference, config.analysis.reference),
        "analysis.sesoi_eur_m2": (numbers.sesoi_eur_m2, config.analysis.sesoi_eur_m2),
        "analysis.alpha": (numbers.alpha, config.analysis.alpha),
        "analysis.base_seed": (numbers.base_seed, config.analysis.base_seed),
        "analysis.flips": (numbers.flips, config.analysis.flips),
        "analysis.resamples": (numbers.resamples, config.analysis.resamples),
    }
    return [
        f"{declaration.config}: {key} is {theirs!r}, but {DECLARATION} declares {ours!r}"
        for key, (ours, theirs) in said.items()
        if ours != theirs
    ]


def too_few_sites(declaration: Declaration) -> list[str]:
    """Why N is too small, as sentences; a primary test of unknown deviation is a reason too."""
    sites, power = declaration.design.sites, declaration.power
    needed = {"power.fewest_sites": power.fewest_sites, **declaration.sites_needed()}
    found = [
        f"{DECLARATION}: design.sites is {sites}, but {name} asks for {count}"
        for name, count in needed.items()
        if sites < count
    ]
    unknown = [name for name in declaration.families[0].tests if name not in power.sd_eur_m2]
    return found + [f"{DECLARATION}: power.sd_eur_m2 lacks {name}" for name in unknown]


def confirmatory_spec(
    declaration: Declaration, study: StudyDescription, *, secondary_required: bool = True
) -> AnalysisSpec:
    """The statistics of a study under its declaration.

    The declared tests make the families. Tests of methods or readers that somebody added make a
    family of their own at the end, ``exploratory``; they change neither the size nor the seeds of
    the declared families.

    Args:
        declaration: ``preregistration/study.yaml``.
        study: the study as its analysis sees it.
        secondary_required: whether tests of all families must exist. A rehearsal on another study
            needs the first one only: the other tests keep their places without data.

    Raises:
        LockError: a declared test does not exist in this study.
    """
    known = {test.contrast.name: test.contrast for test in declared_tests(study)}
    declared = [name for family in declaration.families for name in family.tests]
    required = declared if secondary_required else declaration.families[0].tests
    absent = [name for name in required if name not in known]
    if absent:
        raise LockError(
            f"{DECLARATION}: the study has no test {absent[0]}; it has {', '.join(known)}"
        )
    families = [
        FamilySpec(
            name=family.name,
            adjustment=family.adjustment,
            size_rule=family.size_rule,
            seed_offset=family.seed_offset,
            tests=tuple(known.get(name) or ContrastSpec(name=name) for name in family.tests),
        )
        for family in declaration.families
    ]
    added = tuple(contrast for name, contrast in known.items() if name not in declared)
    if added:
        families.append(_exploratory(declaration, families, added))
    numbers = declaration.statistics
    return AnalysisSpec(
        base_seed=numbers.base_seed,
        sesoi_eur_m2=numbers.sesoi_eur_m2,
        alpha=numbers.alpha,
        power=declaration.power.target,
        confidence=numbers.confidence,
        flips=numbers.flips,
        resamples=numbers.resamples,
        repeat_rule=numbers.repeat_rule,
        sensitivity_repeat_rule=numbers.sensitivity_repeat_rule,
        largest_missing_share=declaration.gates.largest_missing_share,
        sensitivity=declaration.sensitivity,
        measures=declaration.measures,
        families=tuple(families),
    )


def _exploratory(declaration: Declaration, families: list[FamilySpec], added: tuple) -> FamilySpec:
    """Tests that nobody declared, with seeds behind all declared ones."""
    behind = max(family.seed_offset + len(family.tests) for family in families)
    return FamilySpec(
        name=EXPLORATORY,
        adjustment=declaration.exploratory,
        seed_offset=behind,
        tests=added,
    )
