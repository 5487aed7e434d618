"""The private report of a campaign, from which its settlement is made."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from slowlab.config import config_sha256
from slowlab.world.economics import standby_cost
from slowlab.world.facility_books import CropAccount, FailureKind, UnitPhase
from slowlab.world.policy import policy_sha256

if TYPE_CHECKING:
    from slowlab.world.facility import Facility

_FORMAT = 1


def campaign_report(facility: Facility) -> dict[str, Any]:
    """Site identity, build, ledgers, endings and lit-pole ticks of a campaign as plain data.

    Where the books are impossible the ledgers are left out, because they say nothing.
    """
    contract, sensors = facility.simulator.contract, facility.simulator.sensors
    failure = facility.failure()
    sound = failure is None or failure.kind is not FailureKind.IMPOSSIBLE_BOOKS
    return {
        "format": _FORMAT,
        "site": _site(facility),
        "contract": {"id": contract.id, "sha256": config_sha256(contract)},
        "sensors": {"id": sensors.id, "sha256": config_sha256(sensors)},
        "noise": facility.noise,
        "build": dict(facility.simulator.stepper.build),
        "tick": facility.tick,
        "finished": facility.finished,
        "failure": None if failure is None else asdict(failure),
        "units": _units(facility) if sound else [],
        "money": _money(facility) if sound else {},
    }


def _site(facility: Facility) -> dict[str, Any]:
    site, weather = facility.site, facility.weather
    return {
        "distribution": site.distribution_id,
        "partition": site.partition,
        "index": site.index,
        "sha256": config_sha256(site.for_campaign()),
        "campaign_year": site.campaign_year,
        "weather": {"source": weather.source, "sha256": weather.sha256},
        "noise_seed": site.noise_seed,
        "parameters": [dict(row) for row in site.parameters],
        "prices": site.prices.model_dump(),
    }


def _units(facility: Facility) -> list[dict[str, Any]]:
    """One entry a compartment; its ledger is that of its crops and of its empty times together."""
    poles = facility.lanes.batch.state.lit_pole_ticks
    ledgers = zip(facility.campaign_totals(), facility.standby_totals(), strict=True)
    return [
        {
            "unit": unit,
            "phase": facility.status(unit).phase.value,
            "cleaning_pending": facility.status(unit).phase is UnitPhase.CLEANUP,
            "lit_pole_ticks": int(poles[unit]),
            "ledger": asdict(total),
            "standby": asdict(standby),
            "crops": [_crop(account, facility) for account in facility.crops(unit)],
        }
        for unit, (total, standby) in enumerate(ledgers)
    ]


def _crop(account: CropAccount, facility: Facility) -> dict[str, Any]:
    statement = account.statement
    return {
        "run_index": account.run_index,
        "policy": account.policy.model_dump(),
        "policy_sha256": policy_sha256(account.policy, facility.simulator.contract.id),
        "start_tick": account.start_tick,
        "end_tick": account.end_tick,
        "ending": None if account.ending is None else account.ending.value,
        "lit_pole_ticks": account.lit_pole_ticks,
        "ledger": asdict(account.totals),
        "statement": None if statement is None else asdict(statement),
        "margin_eur_m2": None if statement is None else statement.margin,
    }


def _money(facility: Facility) -> dict[str, float]:
    """Sums over the compartments, EUR/m2 of one compartment; crops that still grow are left out."""
    accounts = [a for unit in range(facility.compartments) for a in facility.crops(unit)]
    margins = math.fsum(a.statement.margin for a in accounts if a.statement is not None)
    standby = standby_cost(facility.standby_totals(), facility.site.prices)
    return {
        "closed_crops_margin_eur_m2": margins,
        "standby_cost_eur_m2": standby,
        "campaign_eur_m2": margins - standby,
    }
