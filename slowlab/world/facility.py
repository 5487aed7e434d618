"""The facility of one campaign: a few compartments on one clock, with their crops and books.

It is private: it knows the hidden site. What may be told to an agent is decided by those who ask
it. Empty compartments and cleaning are simulated like crops; what they use belongs to the
campaign, never to a crop. Many facilities are stepped together by :func:`advance_together`.

Source: SlowLab task contract v8, facility and life cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slowlab.config import config_sha256
from slowlab.greenlight.batch import (
    SavedStateError,
    arrays_sha256,
    batch_arrays,
    batch_from_arrays,
    load_arrays,
    save_arrays,
)
from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.lanes import LaneParameters
from slowlab.greenlight.stepper import lane_parameters
from slowlab.weather.series import WeatherYear
from slowlab.world.compiled import policy_lanes
from slowlab.world.economics import LedgerTotals
from slowlab.world.facility_books import (
    Crop,
    CropAccount,
    FacilityError,
    FailureReport,
    UnitPhase,
    UnitStatus,
    books_problem,
    standby_flows,
    unit_status,
)
from slowlab.world.facility_records import Record, RecordStore, Series
from slowlab.world.facility_report import campaign_report
from slowlab.world.ledger import ledger_totals
from slowlab.world.policy import Policy
from slowlab.world.sensors import PUBLIC_CHANNELS
from slowlab.world.simulator import Simulator
from slowlab.world.site import Site
from slowlab.world.site_distribution import SITE_PARAMETERS
from slowlab.world.stepping import CampaignLanes, Progress, step_campaigns


class Facility:
    """The compartments of one campaign; made by :meth:`open` or :meth:`restore`.

    Attributes:
        ticks_per_day: control steps of 300 s in a day.
        simulator: rules, instruments and compiled step.
        site: the hidden site.
        weather: the campaign's year.
        noise: whether the instruments are noisy.
        lanes: what is stepped; for :mod:`slowlab.world.stepping` only.
    """

    ticks_per_day = TICKS_PER_DAY

    def __init__(
        self,
        simulator: Simulator,
        site: Site,
        weather: WeatherYear,
        *,
        keep_records: bool,
        noise: bool,
    ) -> None:
        contract, stepper = simulator.contract, simulator.stepper
        if site.compartments != contract.facility.compartments:
            raise FacilityError(
                f"the site has {site.compartments} compartments, the contract "
                f"{contract.facility.compartments}"
            )
        self.simulator, self.site, self.weather, self.noise = simulator, site, weather, noise
        self._crops: list[tuple[Crop, ...]] = [() for _ in range(site.compartments)]
        parameters = self._parameters()
        records = None
        if keep_records:
            records = RecordStore(contract, simulator.sensors, stepper.precision, noise=noise)
        self.lanes = CampaignLanes(stepper.open(parameters), parameters, weather, records)
        if records is not None:
            records.open(self.lanes.batch.state.held)

    @classmethod
    def open(
        cls,
        simulator: Simulator,
        site: Site,
        weather: WeatherYear,
        *,
        keep_records: bool,
        noise: bool = True,
    ) -> Self:
        """Empty compartments at tick 0, with their first readings taken.

        Args:
            simulator: rules, instruments and compiled step.
            site: the hidden site.
            weather: the campaign's year.
            keep_records: whether readings can be asked for later; they take 14 MB a campaign. The
                physics is the same to the last bit.
            noise: False for exact, unrounded readings.

        Raises:
            FacilityError: the site has another number of compartments than the contract.
            LaneParameterError: a hidden parameter is out of bounds.
        """
        return cls(simulator, site, weather, keep_records=keep_records, noise=noise)

    @property
    def tick(self) -> int:
        """The campaign's clock in control steps; all compartments have the same."""
        return self.lanes.tick

    @property
    def compartments(self) -> int:
        """Number of compartments."""
        return self.site.compartments

    @property
    def keeps_records(self) -> bool:
        """Whether readings can be asked for."""
        return self.lanes.records is not None

    @property
    def finished(self) -> bool:
        """Whether the clock stands at the end of the campaign."""
        return self.tick >= self.simulator.contract.calendar.campaign_ticks

    def plant(self, unit: int, policy: Policy) -> int:
        """Plant a crop now.

        The caller has checked the policy's bounds and the last starting day.

        Returns:
            Number of the crop in its compartment, from 1.

        Raises:
            FacilityError: no such compartment, it is not idle, or the campaign is over or failed.
        """
        self._require_running(unit, UnitPhase.IDLE, "planted")
        where = np.arange(self.compartments) == unit
        batch = self.lanes.batch.plant(where)
        poles = int(batch.state.lit_pole_ticks[unit])
        crop = Crop(unit, len(self._crops[unit]) + 1, policy, self.tick, poles)
        self._crops[unit] += (crop,)
        self.lanes.batch, self.lanes.parameters = batch, self._parameters()
        return crop.run_index

    def stop(self, unit: int) -> None:
        """End the growing crop of a compartment now; its cleaning begins.

        Raises:
            FacilityError: no such compartment, it has no crop, or the campaign is over or failed.
        """
        self._require_running(unit, UnitPhase.ACTIVE, "stopped")
        self.lanes.batch = self.lanes.batch.stop(np.arange(self.compartments) == unit)
        self.settle()

    def settle(self) -> None:
        """Close the accounts of crops that have ended; done wherever the facility changes."""
        for grown in self._crops:
            if grown:
                crop = grown[-1].closed_from(self.lanes.batch)
                self._crops[crop.unit] = (*grown[:-1], crop)

    def status(self, unit: int) -> UnitStatus:
        """Public state of a compartment; FacilityError where there is none of that number."""
        self._require_unit(unit)
        grown, calendar = self._crops[unit], self.simulator.contract.calendar
        latest = grown[-1] if grown else None
        return unit_status(unit, self.lanes.batch, latest, calendar.cleanup_ticks)

    def crops(self, unit: int) -> tuple[CropAccount, ...]:
        """Accounts of the crops of a compartment, oldest first.

        Raises:
            FacilityError: no such compartment.
            LedgerError: a total that cannot be right; :meth:`failure` tells of it.
        """
        self._require_unit(unit)
        contract, prices = self.simulator.contract, self.site.prices
        return tuple(c.account(self.lanes.batch, contract, prices) for c in self._crops[unit])

    def standby_totals(self) -> tuple[LedgerTotals, ...]:
        """What each compartment used while it stood empty or was cleaned, until now."""
        costs, batch = self.simulator.contract.economics.fixed_costs, self.lanes.batch
        return tuple(
            ledger_totals(standby_flows(unit, batch, grown), 0, costs)
            for unit, grown in enumerate(self._crops)
        )

    def campaign_totals(self) -> tuple[LedgerTotals, ...]:
        """What each compartment used and gave since the campaign's start, until now."""
        costs, batch = self.simulator.contract.economics.fixed_costs, self.lanes.batch
        return tuple(
            ledger_totals(batch.totals[:, unit], self._active_ticks(unit), costs)
            for unit in range(self.compartments)
        )

    def records(self, unit: int, channel: str, start_tick: int, end_tick: int) -> list[Record]:
        """Public readings from tick ``start_tick`` to ``end_tick``, both included.

        Lost readings are absent. Meters (cumulative channels) run from the campaign's start.

        Raises:
            FacilityError: as for :meth:`series`.
        """
        found = self.series(unit, channel, start_tick, end_tick)
        pairs = zip(found.ticks.tolist(), found.values.tolist(), strict=True)
        return [Record(unit, channel, tick, value) for tick, value in pairs]

    def series(self, unit: int, channel: str, start_tick: int, end_tick: int) -> Series:
        """The same as arrays.

        Raises:
            FacilityError: no records are kept, no such compartment or channel, or a window that
                does not lie between 0 and now.
        """
        self._require_unit(unit)
        if self.lanes.records is None:
            raise FacilityError("this facility keeps no records")
        if channel not in PUBLIC_CHANNELS:
            raise FacilityError(f"there is no such channel; there are {', '.join(PUBLIC_CHANNELS)}")
        if not 0 <= start_tick <= end_tick <= self.tick:
            raise FacilityError(
                f"the window {start_tick} to {end_tick} does not lie between 0 and {self.tick}"
            )
        return self.lanes.records.series(unit, channel, start_tick, end_tick)

    def failure(self) -> FailureReport | None:
        """Why the facility stands still for ever, if it does: infrastructure, never a result."""
        return self.lanes.failure or books_problem(self.lanes.batch, tuple(self._crops))

    def private_report(self) -> dict[str, Any]:
        """Everything about the campaign for its settlement, as plain data; never shown to agents.

        The same campaign gives the same bytes: the report names no time, machine or path.
        """
        return campaign_report(self)

    def sha256(self) -> str:
        """Identity of everything that has happened: states, books, crops and readings."""
        return arrays_sha256(self._arrays(), self._facts())

    def save(self, path: str | Path) -> None:
        """Write everything that :meth:`restore` needs beside site and weather, atomically.

        The file holds hidden values of the site indirectly (states, readings): it is private.
        """
        save_arrays(path, self._arrays(), self.simulator.stepper.build, self._facts())

    @classmethod
    def restore(
        cls, path: str | Path, simulator: Simulator, site: Site, weather: WeatherYear
    ) -> Self:
        """A saved facility, which goes on as if it had never been away, to the last bit.

        Raises:
            SavedStateError: the file is damaged or of another build, task, site or weather; says
                which.
        """
        arrays, facts = load_arrays(path, simulator.stepper.build)
        if facts.get("kind") != _KIND:
            raise SavedStateError(f"{path}: not a saved facility")
        kept = facts["records"]
        facility = cls(simulator, site, weather, keep_records=kept, noise=facts["noise"])
        for name, value in facility._identity().items():
            if facts["identity"].get(name) != value:
                raise SavedStateError(f"{path}: saved with another {name}")
        facility._crops = [tuple(map(Crop.from_json, grown)) for grown in facts["crops"]]
        lanes = facility.lanes
        lanes.batch, lanes.parameters = batch_from_arrays(arrays), facility._parameters()
        if facts["failure"] is not None:
            lanes.failure = FailureReport.from_json(facts["failure"])
        if lanes.records is not None:
            lanes.records.fill(arrays)
        return facility

    def _parameters(self) -> LaneParameters:
        """Lanes with the policy of their latest crop; before the first it is never read."""
        contract, stepper = self.simulator.contract, self.simulator.stepper
        policies = [
            grown[-1].policy if grown else contract.fixed_reference for grown in self._crops
        ]
        seeds = np.full(self.compartments, self.site.noise_seed, np.uint64) if self.noise else None
        return lane_parameters(
            dict(zip(SITE_PARAMETERS, self.site.parameter_array().T, strict=True)),
            policy_lanes(policies, stepper.settings.controller),
            noise_seeds=seeds,
            compartments=np.arange(self.compartments),
            collapse_rule=contract.collapse.rule.value,
            dtype=np.dtype(stepper.precision),
        )

    def _require_unit(self, unit: int) -> None:
        if not 0 <= unit < self.compartments:
            raise FacilityError(f"there are compartments 0 to {self.compartments - 1}")

    def _require_running(self, unit: int, phase: UnitPhase, done: str) -> None:
        self._require_unit(unit)
        if self.failure() is not None:
            raise FacilityError("the campaign has failed and stands still")
        if self.finished:
            raise FacilityError("the campaign is over")
        found = self.status(unit).phase
        if found is not phase:
            raise FacilityError(
                f"compartment {unit} is {found}; only one that is {phase} can be {done}"
            )

    def _active_ticks(self, unit: int) -> int:
        return sum(
            (self.tick if crop.end_tick is None else crop.end_tick) - crop.start_tick
            for crop in self._crops[unit]
        )

    def _identity(self) -> dict[str, str]:
        """What a saved facility must be restored with."""
        return {
            "contract": config_sha256(self.simulator.contract),
            "sensors": config_sha256(self.simulator.sensors),
            "site": config_sha256(self.site.for_campaign()),
            "weather": self.weather.sha256,
        }

    def _facts(self) -> dict[str, Any]:
        failure = self.lanes.failure
        return {
            "kind": _KIND,
            "identity": self._identity(),
            "noise": self.noise,
            "records": self.keeps_records,
            "crops": [[crop.as_json() for crop in grown] for grown in self._crops],
            "failure": None if failure is None else vars(failure),
        }

    def _arrays(self) -> dict[str, NDArray]:
        records = {} if self.lanes.records is None else self.lanes.records.arrays(self.tick)
        return batch_arrays(self.lanes.batch) | records


_KIND = "facility"


def advance_together(
    simulator: Simulator,
    requests: Sequence[tuple[Facility, int]],
    on_day: Progress | None = None,
) -> None:
    """Step facilities to their own target ticks, packed into the full width of the simulator.

    A facility's bytes depend neither on its company nor on the order, and it does not matter
    whether it comes in one go or in pieces. One that fails stops there (see
    :meth:`Facility.failure`) and the others go on; one that has failed stays where it is.

    Args:
        simulator: the one with which the facilities were opened.
        requests: facilities, each once, and target ticks from now to the end of the campaign.
        on_day: progress.

    Raises:
        FacilityError: a target in the past or beyond the campaign, a facility that is named twice
            or belongs to another simulator. Nothing has been stepped then.
    """
    _check_requests(simulator, requests)
    running = [(facility, tick) for facility, tick in requests if facility.failure() is None]
    try:
        step_campaigns(simulator.stepper, [(f.lanes, tick) for f, tick in running], on_day)
    finally:
        for facility, _ in running:
            facility.settle()


def _check_requests(simulator: Simulator, requests: Sequence[tuple[Facility, int]]) -> None:
    if len({id(facility) for facility, _ in requests}) != len(requests):
        raise FacilityError("a facility is named twice")
    end = simulator.contract.calendar.campaign_ticks
    for facility, tick in requests:
        if facility.simulator != simulator:
            raise FacilityError("a facility belongs to another simulator")
        if not facility.tick <= tick <= end:
            raise FacilityError(
                f"target tick {tick} does not lie between now ({facility.tick}) and the end of the "
                f"campaign ({end})"
            )
