"""The analysis tools of one campaign.

A tool is a pure function of the public task, of what the agent has already received (the one
:class:`~slowlab.campaign.history.History`) and of its arguments. It costs no time and no call of
the campaign; it costs one of the tool calls, also where it gives an error. Random parts are seeded
from the tool seed and a hash of the tool's name and checked arguments, so equal calls on an equal
history give equal results. Which tools exist is what the task announces for its feedback mode.

Source: SlowLab, analysis tools.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from slowlab.campaign.errors import Reply
from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.canonical import canonical_bytes
from slowlab.tools.arguments import Arguments
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.errors import ToolError, ToolReason
from slowlab.tools.outcome_model import INPUTS, OutcomeModel, fit_outcome_model
from slowlab.tools.predictor import predict_crop
from slowlab.tools.public_task import channel_names, policy_bounds, scoring_days, tool_names
from slowlab.tools.runs import completed_crops, crop_table, margin_eur_m2
from slowlab.tools.series_summary import series_summary
from slowlab.tools.space_filling import NoCandidatesError, sobol_policies
from slowlab.world.contract import load_contract
from slowlab.world.contract_rules import AnalysisTools
from slowlab.world.policy import PolicyBounds

DOMAIN = "slowlab-tools-1"
LAST_PLANTING_DAY = 364
AGE_TOLERANCE_DAYS = 0.01
"""The last reading before a full day is this much short of it at most."""


class Toolbox:
    """Answers the tool calls of one campaign; see the module.

    Args:
        history: what the agent has seen, kept up to date by whoever plays the campaign.
        artifacts: what the development stage has left.
        seed: the tool seed.
        limits: limits of the tools, from the campaign's contract; by default those of the default
            contract.

    Attributes:
        used: calls so far, with those that gave an error.

    Raises:
        ValueError: the limits are not those of the task.
    """

    def __init__(
        self,
        history: History,
        artifacts: ArtifactFolder,
        seed: int,
        limits: AnalysisTools | None = None,
    ) -> None:
        self.history = history
        self.used = 0
        self._artifacts = artifacts
        self._seed = int(seed)
        self._limits = limits if limits is not None else _default_limits()
        self._fitted: tuple[bytes, OutcomeModel] | None = None
        announced = history.task["budgets"]["analysis_tool_calls"]
        if announced != self._limits.calls:
            raise ValueError(
                f"the task announces {announced} tool calls, the limits say {self._limits.calls}; "
                "pass the limits of the campaign's contract"
            )

    @property
    def left(self) -> int:
        """Calls that are left."""
        return self._limits.calls - self.used

    def __call__(self, call: ToolCall) -> Reply:
        """Answer one call; errors of the agent are replies, never exceptions.

        Raises:
            ArtifactError: the predictor cannot be loaded.
        """
        if self.left <= 0:
            most = self._limits.calls
            used_up = ToolError(ToolReason.CALLS_USED_UP, f"all {most} tool calls are used")
            return used_up.reply()
        self.used += 1
        try:
            result = self._tool(call.name)(call.arguments)
        except ToolError as error:
            return error.reply()
        return Reply.success(rounded(result, self._limits.significant_digits))

    def outcome_model(self) -> OutcomeModel:
        """The process fitted to all completed crops, the same for both tools that use it.

        Raises:
            ToolError: there are too few.
        """
        crops, fewest = completed_crops(self.history.crops()), self._limits.min_completed_crops
        if len(crops) < fewest:
            raise ToolError(
                ToolReason.TOO_FEW_CROPS,
                f"{fewest} normally completed crops are needed whose totals you have read with "
                f"observe; there are {len(crops)}",
            )
        rows = [[c.policy.model_dump(), c.start_day, margin_eur_m2(c)] for c in crops]
        key = canonical_bytes(rows)
        if self._fitted is None or self._fitted[0] != key:
            model = fit_outcome_model(
                self._bounds,
                [crop.policy for crop in crops],
                [crop.start_day for crop in crops],
                [margin_eur_m2(crop) for crop in crops],
                self._generator("fit_outcome_model", {}),
                self._limits.gp_restarts,
            )
            self._fitted = (key, model)
        return self._fitted[1]

    @property
    def _bounds(self) -> PolicyBounds:
        return policy_bounds(self.history.task)

    @property
    def _last_unit(self) -> int:
        return self.history.task["compartments"]["count"] - 1

    def _tool(self, name: object) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """The tool of a name, if the task announces it."""
        names = tool_names(self.history.task)
        if name not in names:
            raise ToolError(ToolReason.UNKNOWN_TOOL, f"the tools are {', '.join(names)}")
        return {
            "runs": self._runs,
            "series_summary": self._series_summary,
            "fit_outcome_model": self._fit_outcome_model,
            "predict": self._predict,
            "predict_crop_outcome": self._predict_crop_outcome,
            "space_filling_candidates": self._space_filling_candidates,
        }[str(name)]

    def _generator(self, tool: str, inputs: Mapping[str, Any]) -> np.random.Generator:
        """The random numbers of one call: equal for equal checked arguments."""
        content = canonical_bytes([DOMAIN, str(self._seed), tool, dict(inputs)])
        seed = int.from_bytes(hashlib.sha256(content).digest()[:16], "big")
        return np.random.Generator(np.random.PCG64(seed))

    def _runs(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        Arguments.check(raw)
        return {"runs": crop_table(self.history)}

    def _series_summary(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        given = Arguments.check(raw, ("unit", "variable"), ("start_day", "end_day"))
        last = self.history.task["calendar"]["campaign_days"]
        unit = given.whole("unit", 0, self._last_unit, ToolReason.UNIT)
        names = channel_names(self.history.task)
        variable = given.choice("variable", names, ToolReason.VARIABLE)
        window = [given.whole_or_none(f"{end}_day", 0, last) for end in ("start", "end")]
        return series_summary(self.history, unit, variable, *window, self._limits.summary_days)

    def _fit_outcome_model(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        Arguments.check(raw)
        model = self.outcome_model()
        return {
            "completed_crops": len(model.targets),
            "length_scales": dict(zip(INPUTS, map(float, model.length_scales), strict=True)),
            "mean_eur_m2": model.centre_eur_m2,
            "signal_sd_eur_m2": model.signal_sd_eur_m2,
            "noise_sd_eur_m2": model.noise_sd_eur_m2,
            "leave_one_out_rmse_eur_m2": model.leave_one_out_rmse_eur_m2(),
        }

    def _predict(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        given = Arguments.check(raw, ("policies",), ("planting_day",))
        policies = given.policies("policies", self._limits.policies_per_predict, self._bounds)
        day = given.number_or_none("planting_day", 0, LAST_PLANTING_DAY)
        days = scoring_days(self.history.task) if day is None else (day,)
        mean, sd = self.outcome_model().scored(policies, days)
        rows = zip(policies, mean.tolist(), sd.tolist(), strict=True)
        return {
            "planting_days": list(days),
            "predictions": [
                {"policy": policy.model_dump(), "margin_eur_m2": margin, "sd_eur_m2": error}
                for policy, margin, error in rows
            ],
        }

    def _predict_crop_outcome(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        given = Arguments.check(raw, ("unit", "run_index"))
        unit = given.whole("unit", 0, self._last_unit, ToolReason.UNIT)
        starts = self.history.task["budgets"]["starts"]
        run_index = given.whole("run_index", 1, starts, ToolReason.NO_SUCH_CROP)
        artifact = self._artifacts.load("predictor")
        prediction = predict_crop(self.history, unit, run_index, artifact)
        youngest = self._limits.min_crop_age_days
        if prediction.age_days + AGE_TOLERANCE_DAYS < youngest:
            raise ToolError(
                ToolReason.TOO_YOUNG, f"readings at least {youngest} days after planting are needed"
            )
        return asdict(prediction)

    def _space_filling_candidates(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        given = Arguments.check(raw, ("n",), ("fixed",))
        count = given.whole("n", 1, self._limits.candidates)
        fixed = given.fixed_fields("fixed", self._bounds)
        rng = self._generator("space_filling_candidates", {"n": count, "fixed": fixed})
        try:
            policies = sobol_policies(self._bounds, count, rng, fixed)
        except NoCandidatesError as error:
            raise ToolError(ToolReason.NO_CANDIDATES, str(error)) from None
        return {"policies": [policy.model_dump() for policy in policies]}


def rounded(value: Any, digits: int) -> Any:
    """Plain data with every number that is no count rounded to significant digits, never -0.0."""
    if isinstance(value, Mapping):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item, digits) for item in value]
    return float(f"{value:.{digits}g}") + 0.0 if isinstance(value, float) else value


@cache
def _default_limits() -> AnalysisTools:
    return load_contract().analysis_tools
