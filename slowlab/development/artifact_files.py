"""Writing the artifacts of the development stage, each with where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from slowlab import __version__
from slowlab.config import config_sha256
from slowlab.development.config import DevelopmentConfig
from slowlab.tools.artifacts import Artifact, write_artifact
from slowlab.world.contract import Contract
from slowlab.world.policy import POLICY_FIELDS

ARTIFACTS = (
    "fixed_reference",
    "evaluation_error",
    "common_policy",
    "predictor",
    "kernel",
    "radius",
)
"""Names of all artifacts that the stage makes."""


def provenance(
    config: DevelopmentConfig,
    contract: Contract,
    *,
    section: str,
    build: Mapping[str, Any],
    sites: Iterable[int],
    years: Iterable[str],
    **found: Any,
) -> dict[str, Any]:
    """Where an artifact comes from, as plain data.

    Args:
        config: the configuration of the stage.
        contract: the rules.
        section: the part of the configuration that was used.
        build: identity of the compiled step.
        sites: development sites behind it.
        years: labels of their weather years.
        found: further results that are kept beside it.
    """
    numbers = sorted(set(sites))
    return {
        "provisional": False,
        "stage": config.id,
        "contract_sha256": config_sha256(contract),
        "distribution": config.distribution,
        "settings": {section: getattr(config, section).model_dump(mode="json")},
        "partition": "development",
        "sites": numbers,
        "years": sorted(set(years)),
        "seeds": "keyed by stage, partition, site, purpose and number",
        "build": dict(build),
        "slowlab_version": __version__,
        **found,
    }


def write(
    path: Path, contract: Contract, origin: Mapping[str, Any], content: Mapping[str, Any]
) -> Artifact:
    """Write one artifact; its name is the file's.

    Raises:
        CanonicalError: no plain data.
        OSError: the file cannot be written.
    """
    return write_artifact(
        path,
        contract=contract.id,
        fields=POLICY_FIELDS,
        provenance=origin,
        content=content,
    )
