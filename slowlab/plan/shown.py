"""Which tables a study ends with that depend on its rules."""

from __future__ import annotations

from slowlab.analysis.study_published import comparable
from slowlab.config import CONFIG_ROOT
from slowlab.plan.study import StudyConfig
from slowlab.world.contract import load_contract

PUBLISHED = ("published", "published_by_year")


def published_tables(study: StudyConfig) -> tuple[str, ...]:
    """Tables of the published study: none where its rules are not those of this one.

    Raises:
        ConfigError: the contract cannot be read.
    """
    contract = load_contract(CONFIG_ROOT / "contracts" / f"{study.contract}.yaml")
    return PUBLISHED if comparable(contract) else ()
