"""The best single policy: what can be had without any experiment at the site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.methods._base import StaticMethod
from slowlab.methods._registry import register
from slowlab.methods._waves import artifact_policy
from slowlab.world.policy import Policy


@register("common_policy")
class CommonPolicy(StaticMethod):
    """Recommend the policy with the best mean over the development sites, whatever the site."""

    uses_artifacts = ("common_policy",)

    def recommend(self, task: Mapping[str, Any]) -> Policy:
        """The same policy for every site."""
        return artifact_policy(self.artifacts, "common_policy", task)
