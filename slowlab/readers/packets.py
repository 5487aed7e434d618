"""Evidence packets: what one campaign has seen, without who played it.

A packet holds the site's public task with its own prices, every crop, and for each compartment and
channel the days that were read, raw or daily. It is made from a
:class:`~slowlab.campaign.history.History` and from nothing else, so it can hold nothing private,
and it names no method. :func:`packet_history` turns a packet into a history again, so that every
tool works on a packet as it does in a campaign.

Source: SlowLab, reader experiment, contents of a packet.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from slowlab.campaign.history import DailyRow, History, SeenCrop, Totals
from slowlab.canonical import canonical_json, canonical_sha256
from slowlab.config import ConfigModel, validate_config
from slowlab.tools.public_task import scoring_days
from slowlab.tools.runs import crop_row
from slowlab.world.policy import Policy

FORMAT: Literal["slowlab-packet-1"] = "slowlab-packet-1"
_TOTALS = tuple(Totals.__dataclass_fields__)


class PacketError(ValueError):
    """Packets that cannot be read; the message names the file and says why."""


class PacketCrop(ConfigModel):
    """One crop; what was not seen is null."""

    unit: int = Field(ge=0, description="Compartment.")
    run_index: int = Field(ge=1, description="Crop number in its compartment.")
    policy: Policy = Field(description="As accepted.")
    start_day: float = Field(ge=0, description="Day of planting.")
    state: Literal["growing", "closed"] = Field(description="As last seen.")
    reason: str | None = Field(description="How it closed.")
    end_day: float | None = Field(description="When it closed.")
    harvest_kg_m2: float | None = Field(description="Total harvest, kg fresh/m2.")
    heat_kwh_m2: float | None = Field(description="Total heat, kWh/m2.")
    light_kwh_m2: float | None = Field(description="Total lamp electricity, kWh/m2.")
    co2_kg_m2: float | None = Field(description="Total CO2, kg/m2.")
    margin_eur_m2: float | None = Field(description="Margin, EUR/m2.")

    def seen(self) -> SeenCrop:
        """The crop as a history knows it."""
        numbers = {name: getattr(self, name) for name in _TOTALS}
        known = {name: value for name, value in numbers.items() if value is not None}
        return SeenCrop(
            self.unit,
            self.run_index,
            self.policy,
            self.start_day,
            self.state == "closed",
            self.reason,
            self.end_day,
            Totals(**known) if len(known) == len(_TOTALS) else None,
        )


class PacketDay(ConfigModel):
    """Readings of one channel on one day."""

    day: int = Field(ge=0, description="Number of the day, from 0.")
    n: int = Field(ge=1, description="Number of readings.")
    mean: float = Field(description="Their mean.")
    min: float = Field(description="The lowest.")
    max: float = Field(description="The highest.")


class PacketSeries(ConfigModel):
    """Everything that was read of one channel in one compartment."""

    unit: int = Field(ge=0, description="Compartment.")
    variable: str = Field(description="Channel.")
    days: tuple[PacketDay, ...] = Field(description="Days that were read, oldest first.")


class Packet(ConfigModel):
    """What one campaign has seen; see the module."""

    format: Literal["slowlab-packet-1"] = Field(description="Version of this form.")
    task: dict[str, Any] = Field(description="The public task, with the site's own prices.")
    scoring_days: tuple[float, ...] = Field(
        description="Days on which a recommended policy is planted when it is scored."
    )
    fallback: Policy = Field(description="The fixed policy that counts where nothing was learnt.")
    day: float = Field(ge=0, description="Day of the campaign.")
    crops: tuple[PacketCrop, ...] = Field(description="Every crop, by compartment and number.")
    readings: tuple[PacketSeries, ...] = Field(
        description="Every channel that was read, by compartment and name."
    )

    def seen_crops(self) -> list[SeenCrop]:
        """The crops as a history knows them."""
        return [crop.seen() for crop in self.crops]

    def canonical(self) -> str:
        """The packet in its one written form."""
        return canonical_json(self.model_dump(mode="json"))

    def sha256(self) -> str:
        """Identity of the packet."""
        return canonical_sha256(self.model_dump(mode="json"))


def make_packet(history: History, fallback: Policy) -> Packet:
    """Put together what a campaign has seen.

    Args:
        history: the campaign's; its task must be that of the site.
        fallback: the fixed policy for readers of packets from which nothing can be learnt.
    """
    data = {
        "format": FORMAT,
        "task": history.task,
        "scoring_days": list(scoring_days(history.task)),
        "fallback": fallback.model_dump(),
        "day": history.day,
        "crops": [crop_row(crop) for crop in history.crops()],
        "readings": [
            {
                "unit": unit,
                "variable": variable,
                "days": [asdict(row) for row in history.daily(unit, variable)],
            }
            for unit, variable in history.channels()
        ],
    }
    return validate_config(data, Packet, "packet")


def packet_history(packet: Packet) -> History:
    """A history that holds what the packet holds: same crops, same days of the same channels."""
    history = History(packet.task)
    for crop in packet.crops:
        plant(history, crop)
        if crop.state == "closed":
            _close(history, crop, packet.day)
    for series in packet.readings:
        read_days(history, series.unit, series.variable, series.days, packet.day)
    history.add({"action": "advance", "day": packet.day}, _reply({"day": packet.day}))
    return history


def plant(history: History, crop: PacketCrop) -> None:
    """Enter the start of a crop."""
    action = {"action": "start", "unit": crop.unit, "policy": crop.policy.model_dump()}
    result = {"unit": crop.unit, "run_index": crop.run_index, "day": crop.start_day}
    history.add(action, _reply(result))


def read_days(
    history: History,
    unit: int,
    variable: str,
    days: tuple[PacketDay, ...] | list[DailyRow],
    day: float,
) -> None:
    """Enter daily rows of one channel, read on a day."""
    rows = [row.model_dump() if isinstance(row, PacketDay) else asdict(row) for row in days]
    records = {"variable": variable, "resolution": "daily", "rows": rows}
    action = {"action": "observe", "unit": unit, "variable": variable, "resolution": "daily"}
    history.add(action, _reply({"day": day, "records": records}))


def _close(history: History, crop: PacketCrop, day: float) -> None:
    """Enter that a crop has closed and, where they were read, its totals."""
    status = {"unit": crop.unit, "run_index": crop.run_index, "phase": "idle"}
    result: dict[str, Any] = {"day": day, "status": status}
    if crop.seen().totals is not None:
        result["crop"] = crop.model_dump(exclude={"policy"})
    action = {"action": "observe", "unit": crop.unit, "run_index": crop.run_index}
    history.add(action, _reply(result))


def _reply(result: dict[str, Any]) -> dict[str, Any]:
    return {"ok": True, "result": result}
