"""A hand-made process predictor in which every input counts with a weight of its own."""

from __future__ import annotations

from pathlib import Path

from slowlab.tools.artifacts import ArtifactFolder, write_artifact
from slowlab.tools.process_features import FEATURE_SETS, TOTALS, input_names
from slowlab.world.policy import POLICY_FIELDS
from tests.tools.campaigns import contract

PROVENANCE = {"note": "made by hand for tests"}


def fitted_set(name: str) -> dict:
    """A regression without squares: the weight of input i is 1/(i + 2) for every target."""
    inputs = input_names(name)
    count = len(inputs)
    expanded = count + count + count * (count - 1) // 2
    weights = [1.0 / (i + 2) if i < count else 0.0 for i in range(expanded)]
    return {
        "inputs": inputs,
        "targets": TOTALS,
        "centre": [0.0] * count,
        "spread": [1.0] * count,
        "intercept": [5.0] * len(TOTALS),
        "coefficients": [[weight] * len(TOTALS) for weight in weights],
    }


def write_predictor(folder: Path) -> ArtifactFolder:
    """The folder with the predictor in it."""
    rules = contract()
    content = {
        "crop_days": float(rules.calendar.crop_days),
        "min_age_days": float(rules.analysis_tools.min_crop_age_days),
        "bounds": rules.policy.model_dump(),
        "sets": {name: fitted_set(name) for name in FEATURE_SETS},
        "typical_error_ages": [10.0, 170.0],
        "typical_error_eur_m2": {name: [9.0, 4.0] for name in FEATURE_SETS},
    }
    write_artifact(
        folder / "predictor.json",
        contract=rules.id,
        fields=POLICY_FIELDS,
        provenance=PROVENANCE,
        content=content,
    )
    return ArtifactFolder(folder, rules.id)
