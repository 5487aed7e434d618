"""The parity gate: the predictor as methods use it against the predictor as it was fitted.

Campaigns on sites that nothing was fitted to are played through the executor, every exchange in its
canonical bytes as they go over the wire, and the analysis tool is asked at several ages. The same
crops are predicted offline, from the finished histories. Both must agree crop by crop, so the error
that is published is that of the deployed tool.

Source: SlowLab, the field-order error of the original: offline tests had passed while the deployed
predictor took its inputs in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from slowlab.campaign.errors import Reply
from slowlab.campaign.history import History
from slowlab.campaign.pool import Entry, Steps, run_pool
from slowlab.campaign.session import Session, ToolCall
from slowlab.canonical import canonical_bytes, loads_strict
from slowlab.development.config import ParityConfig
from slowlab.development.dataset import ProcessData, history_data
from slowlab.development.fit_predictor import margin_errors
from slowlab.development.runs import PlannedCrop, PlannedRun
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.predictor import Predictor
from slowlab.tools.process_features import CANOPY_CHANNEL, CHANNELS, METERS
from slowlab.tools.toolbox import Toolbox
from slowlab.world.policy import POLICY_FIELDS

TOOL = "predict_crop_outcome"
_FIRST = (METERS["harvest"], CANOPY_CHANNEL)
_REST = tuple(name for name in CHANNELS if name not in _FIRST)
_KEY = ["site", "run", "unit", "run_index", "age", "feature_set"]


@dataclass(frozen=True)
class ParityReport:
    """What the gate found.

    Attributes:
        table: one row for each age and set of inputs: ``n``, ``deployed_rmse_eur_m2``,
            ``offline_rmse_eur_m2`` and the ``typical_error_eur_m2`` that the tool states.
        predictions: crops, ages and sets compared.
        missing: of these, how many the tool did not answer.
        largest_difference_eur_m2: between two margins of one crop.
        passed: whether everything is within tolerance and nothing is missing.
    """

    table: pd.DataFrame
    predictions: int
    missing: int
    largest_difference_eur_m2: float
    passed: bool


@dataclass
class DeployedCampaign:
    """One campaign of the gate.

    Attributes:
        run: what is planted.
        ages: ages at which crops are predicted, d.
        session: the campaign.
        answers: what the tool said: one row for each question.
    """

    run: PlannedRun
    ages: Sequence[int]
    session: Session
    answers: list[dict[str, Any]] = field(default_factory=list)


def check_parity(
    campaigns: Sequence[DeployedCampaign], artifacts: ArtifactFolder, config: ParityConfig
) -> ParityReport:
    """Play the campaigns together and compare both ways to predict.

    Args:
        campaigns: in full feedback.
        artifacts: holds the artifact ``predictor``.
        config: tolerances.

    Raises:
        RuntimeError: a campaign did not come to its end.
    """
    histories = [_agent_history(item.session.task()) for item in campaigns]
    entries = [
        Entry(
            f"{item.run.name}-{number}",
            item.session,
            over_the_wire(_play(item), history),
            Toolbox(history, artifacts, seed=number),
            settle=False,
        )
        for number, (item, history) in enumerate(zip(campaigns, histories, strict=True))
    ]
    for result in run_pool(entries):
        if result.ending.value != "left_open":
            raise RuntimeError(f"{result.name}: {result.ending.value}: {result.error}")
    deployed = pd.DataFrame([row for item in campaigns for row in item.answers])
    predictor = Predictor.from_artifact(artifacts.load("predictor"))
    offline = offline_errors(campaigns, histories, predictor)
    return compare(deployed, offline, predictor, config)


def compare(
    deployed: pd.DataFrame, offline: pd.DataFrame, predictor: Predictor, config: ParityConfig
) -> ParityReport:
    """Join both tables on crop, age and set of inputs, and apply the tolerances.

    The error must also be about as large as the tool says, which it is not where names and numbers
    of an artifact do not belong together.

    Args:
        deployed: answers of the tool: the key and ``margin_eur_m2``, missing where it gave none.
        offline: the key, ``true_eur_m2`` and ``margin_eur_m2``.
        predictor: knows the typical errors.
        config: tolerances.
    """
    both = offline.merge(deployed, on=_KEY, how="left", suffixes=("_offline", "_deployed"))
    missing = int(both["margin_eur_m2_deployed"].isna().sum())
    gap = (both["margin_eur_m2_deployed"] - both["margin_eur_m2_offline"]).abs()
    table = pd.DataFrame(
        [
            {
                "age": age,
                "feature_set": name,
                "n": len(rows),
                "deployed_rmse_eur_m2": _rmse(rows["margin_eur_m2_deployed"], rows["true_eur_m2"]),
                "offline_rmse_eur_m2": _rmse(rows["margin_eur_m2_offline"], rows["true_eur_m2"]),
                "typical_error_eur_m2": predictor.typical_error(str(name), float(str(age))),
            }
            for (age, name), rows in both.groupby(["age", "feature_set"])
        ]
    )
    errors = (table["deployed_rmse_eur_m2"] - table["offline_rmse_eur_m2"]).abs()
    ratio = (table["deployed_rmse_eur_m2"] / table["typical_error_eur_m2"]).max()
    passed = (
        missing == 0
        and len(both) > 0
        and float(gap.max()) <= config.margin_tolerance_eur_m2
        and float(errors.max()) <= config.rmse_tolerance_eur_m2
        and float(ratio) <= config.largest_error_ratio
    )
    return ParityReport(table, len(both), missing, float(gap.max()), bool(passed))


def offline_errors(
    campaigns: Sequence[DeployedCampaign],
    histories: Sequence[History],
    predictor: Predictor,
) -> pd.DataFrame:
    """Offline predictions of the same crops at the same ages, from finished histories."""
    parts = []
    for item, history in zip(campaigns, histories, strict=True):
        record = {"site": item.run.site, "run": item.run.number, "layout": item.run.layout.value}
        parts.append(_offline_rows(history_data([(record, history)], item.ages), predictor))
    return pd.concat(parts, ignore_index=True)


def _offline_rows(data: ProcessData, predictor: Predictor) -> pd.DataFrame:
    errors = margin_errors(predictor, data)
    crops = data.crops.loc[errors["crop"]]
    common = {name: crops[name].to_numpy() for name in ("site", "run", "unit", "run_index")}
    truth = crops["margin_eur_m2"].to_numpy()
    return pd.concat(
        pd.DataFrame(
            {
                **common,
                "age": errors["age"].to_numpy(),
                "feature_set": name,
                "true_eur_m2": truth,
                "margin_eur_m2": truth + errors[name].to_numpy(),
            }
        )
        for name in ("harvest_lai", "all")
    )


def over_the_wire(steps: Steps, history: History) -> Steps:
    """The same steps with a history of the agent's own, which has seen canonical bytes only."""
    reply = Reply.success({})
    try:
        item = next(steps)
        while True:
            reply = yield item
            if not isinstance(item, ToolCall):
                action = loads_strict(canonical_bytes(dict(item)))
                history.add(action, loads_strict(reply.canonical()))
            item = steps.send(reply)
    except StopIteration:
        return
    finally:
        steps.close()


def _agent_history(task: dict[str, Any]) -> History:
    return History(loads_strict(canonical_bytes(task)))


def _play(campaign: DeployedCampaign) -> Steps:
    """Plant as planned, ask the tool at every age, and read everything at the end."""
    calendar = campaign.session.task()["calendar"]
    last_day, now = calendar["campaign_days"], 0
    for day, crops, asked in _schedule(campaign.run, campaign.ages):
        if day > now:
            yield {"action": "advance", "day": day}
            now = day
        for crop in asked:
            yield from _ask(campaign, crop, day - crop.start_day)
        for crop in crops:
            policy = {name: getattr(crop.policy, name) for name in sorted(POLICY_FIELDS)}
            yield {"action": "start", "unit": crop.unit, "policy": policy}
    yield {"action": "advance", "day": last_day}
    for crop in campaign.run.crops:
        number = _run_index(campaign.run, crop)
        yield {"action": "observe", "unit": crop.unit, "run_index": number}
    window = {"start_day": 0, "end_day": last_day, "resolution": "daily"}
    for unit in sorted({crop.unit for crop in campaign.run.crops}):
        for channel in CHANNELS:
            yield {"action": "observe", "unit": unit, "variable": channel, **window}


def _schedule(
    run: PlannedRun, ages: Sequence[int]
) -> Iterator[tuple[int, list[PlannedCrop], list[PlannedCrop]]]:
    """Days on which something is planted or asked, with the crops of both kinds."""
    asked = {crop.start_day + age for crop in run.crops for age in ages}
    for day in sorted({crop.start_day for crop in run.crops} | asked):
        planted = [crop for crop in run.crops if crop.start_day == day]
        old = [crop for crop in run.crops for age in ages if crop.start_day + age == day]
        yield day, planted, old


def _ask(campaign: DeployedCampaign, crop: PlannedCrop, age: int) -> Steps:
    """Read a crop's own days and ask the tool, first without and then with the other meters."""
    number = _run_index(campaign.run, crop)
    named = {"unit": crop.unit, "run_index": number}
    for expected, channels in (("harvest_lai", _FIRST), ("all", _REST)):
        for channel in channels:
            yield {"action": "observe", **named, "variable": channel, "resolution": "daily"}
        reply = yield ToolCall(TOOL, named)
        row = {"site": campaign.run.site, "run": campaign.run.number, **named, "age": age}
        result = reply.result or {}
        used = result.get("feature_set", expected)
        margin = result.get("margin_eur_m2", np.nan)
        campaign.answers.append({**row, "feature_set": used, "margin_eur_m2": margin})


def _run_index(run: PlannedRun, crop: PlannedCrop) -> int:
    mine = [item.start_day for item in run.crops if item.unit == crop.unit]
    return sorted(mine).index(crop.start_day) + 1


def _rmse(predicted: pd.Series, true: pd.Series) -> float:
    return float(np.sqrt(((predicted - true) ** 2).mean()))
