"""The fixed reference: one policy for every site, chosen among hand-written candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.methods._base import StaticMethod
from slowlab.methods._registry import register
from slowlab.methods._waves import artifact_policy
from slowlab.world.policy import Policy


@register("fixed_reference")
class FixedReference(StaticMethod):
    """Recommend the grower's standard policy, whatever the site.

    Source: SlowLab, other methods (fixed policy).
    """

    uses_artifacts = ("fixed_reference",)

    def recommend(self, task: Mapping[str, Any]) -> Policy:
        """The same policy for every site."""
        return artifact_policy(self.artifacts, "fixed_reference", task)
