"""The best single policy as a file, with all that is needed to use it and to find it again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from slowlab.canonical import JsonLimits, canonical_json, loads_strict
from slowlab.config import config_sha256
from slowlab.evaluation.common import TOTALS, CommonPolicy, PolicyArchive
from slowlab.io import atomic_write_text
from slowlab.world.contract import Contract
from slowlab.world.policy import parse_policy

FORMAT = "slowlab-common-policy-1"
_LIMITS = JsonLimits(max_bytes=64 * 1024 * 1024)


def write_common(path: str | Path, common: CommonPolicy) -> Path:
    """Write the result as canonical JSON, in one step."""
    archive = common.archive
    content = {
        "format": FORMAT,
        "policy": common.policy.model_dump(),
        "mean_margin_eur_m2": float(archive.own_margin[archive.common]),
        "standard_error_eur_m2": float(archive.own_margin_se[archive.common]),
        "provenance": common.provenance,
        "portfolio": [policy.model_dump() for policy in common.portfolio],
        "totals": list(TOTALS),
        "archive": [
            {"policy": policy.model_dump(), "totals": row, "margin": margin, "margin_se": error}
            for policy, row, margin, error in zip(
                archive.policies,
                archive.totals.tolist(),
                archive.own_margin.tolist(),
                archive.own_margin_se.tolist(),
                strict=True,
            )
        ],
    }
    return atomic_write_text(path, canonical_json(content) + "\n")


class CommonPolicyError(ValueError):
    """A file that holds no common policy of this contract; the message says why."""


def read_common(path: str | Path, contract: Contract) -> CommonPolicy:
    """Read what :func:`write_common` wrote.

    Raises:
        StrictJsonError: not acceptable JSON.
        CommonPolicyError: another format or contract, or other totals than this version books.
        PolicyError: a policy outside the contract's bounds.
        OSError: the file cannot be read.
    """
    content = loads_strict(Path(path).read_bytes(), _LIMITS)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CommonPolicyError(f"{path}: is not of the form {FORMAT}")
    made_for = content["provenance"]["contract"]
    if made_for["sha256"] != config_sha256(contract) or tuple(content["totals"]) != TOTALS:
        raise CommonPolicyError(
            f"{path}: was made for another version of {made_for['id']} than this {contract.id}"
        )
    entries, bounds = content["archive"], contract.policy
    archive = PolicyArchive(
        policies=tuple(parse_policy(entry["policy"], bounds) for entry in entries),
        totals=np.array([entry["totals"] for entry in entries], dtype=np.float64),
        own_margin=np.array([entry["margin"] for entry in entries], dtype=np.float64),
        own_margin_se=np.array([entry["margin_se"] for entry in entries], dtype=np.float64),
        costs=contract.economics.fixed_costs,
    )
    portfolio = tuple(parse_policy(policy, bounds) for policy in content["portfolio"])
    return CommonPolicy(archive, portfolio, content["provenance"])
