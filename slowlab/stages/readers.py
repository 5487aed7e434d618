"""Packets of finished campaigns, and what readers recommend from them.

A reading is a recommendation whose method is called ``reader:<reader>:<source>`` and whose feedback
condition and repeat are those of the campaign that was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowlab.campaign.settlement import CampaignStatus, PolicySource
from slowlab.canonical import JsonLimits, StrictJsonError, canonical_json, loads_strict
from slowlab.config import validate_config
from slowlab.evaluation.recommendations import Recommendation
from slowlab.io import atomic_write_text
from slowlab.plan.entries import ReaderEntry
from slowlab.readers._base import Reading
from slowlab.readers._registry import build_reader
from slowlab.readers.packets import Packet, PacketError, make_packet
from slowlab.readers.recorded import journal_history
from slowlab.stages.campaigns import write_recommendations
from slowlab.stages.materials import Materials
from slowlab.world.task import Feedback, site_task

FORMAT = "slowlab-packets-1"
_LIMITS = JsonLimits(max_bytes=1024 * 1024 * 1024)


def make_packets(
    materials: Materials,
    journals: Mapping[str, Path],
    feedback: str,
    sites: Sequence[int],
    target: Path,
) -> None:
    """Put together what the campaigns of all sources have seen on the same sites.

    Args:
        materials: what the study's setting names.
        journals: folder of journals for each source.
        feedback: condition of these campaigns.
        sites: numbers of the sites.
        target: gets all packets, with the hash of each.

    Raises:
        JournalError: a journal is missing or does not verify.
        OSError: a file cannot be read or written.
    """
    contract, sensors = materials.contract, materials.sensors
    rows = []
    for site in materials.sites(sites):
        task = site_task(contract, sensors, site, Feedback(feedback))
        for source in sorted(journals):
            path = journals[source] / f"site-{site.index:03d}.jsonl"
            packet = make_packet(journal_history(path, task), contract.fixed_reference)
            rows.append(
                {
                    "site": site.index,
                    "source": source,
                    "sha256": packet.sha256(),
                    "packet": packet.model_dump(mode="json"),
                }
            )
    content = {"format": FORMAT, "feedback": feedback, "packets": rows}
    atomic_write_text(target, canonical_json(content) + "\n")


def read_packets(materials: Materials, entry: ReaderEntry, packets: Path, target: Path) -> None:
    """Let one numerical reader read all packets of a file and write what it recommends.

    Args:
        materials: what the study's setting names.
        entry: the reader.
        packets: what :func:`make_packets` wrote.
        target: gets the recommendations, in the order of the packets.

    Raises:
        PacketError: the file holds no packets, or one that was changed.
        ReaderError: no such reader.
        ConfigError: a setting of it does not fit.
        OSError: a file cannot be read or written.
    """
    rows = load_packets(packets)
    found = build_reader(entry.registered_name, entry.settings, materials.artifacts)
    readings = [recommendation(entry, row, found.read(row.packet)) for row in rows]
    write_recommendations(target, materials, readings)


@dataclass(frozen=True)
class PacketRow:
    """A packet of a file.

    Attributes:
        site: number of the site.
        source: method whose campaign it is.
        feedback: condition of the campaign.
        packet: what was seen.
    """

    site: int
    source: str
    feedback: str
    packet: Packet


def load_packets(path: Path) -> list[PacketRow]:
    """Read a file of packets, in its order.

    Raises:
        PacketError: the file holds no packets, or one that was changed.
        OSError: it cannot be read.
    """
    content = _content(path)
    return [
        PacketRow(row["site"], row["source"], content["feedback"], _packet(row, path))
        for row in content["packets"]
    ]


def recommendation(
    entry: ReaderEntry, row: PacketRow, reading: Reading | None, failure: str | None = None
) -> Recommendation:
    """What a reader recommends from a packet.

    Args:
        entry: the reader.
        row: the packet.
        reading: what it made of it; None where it is missing for technical reasons.
        failure: these reasons.
    """
    names = {
        "site": row.site,
        "method": f"reader:{entry.name}:{row.source}",
        "feedback": row.feedback,
    }
    if reading is None:
        status = CampaignStatus.INFRASTRUCTURE_FAILURE
        return Recommendation(**names, campaign=status, failure=failure)
    own = reading.fallback_reason is None
    return Recommendation(
        **names,
        policy=reading.policy.model_dump(),
        source=PolicySource.RECOMMENDATION if own else PolicySource.FIXED_POLICY,
        fallback_reason=reading.fallback_reason,
    )


def _content(path: Path) -> dict[str, Any]:
    try:
        content = loads_strict(path.read_bytes(), _LIMITS)
    except StrictJsonError as error:
        raise PacketError(f"{path}: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise PacketError(f"{path}: holds no packets of form {FORMAT}")
    return content


def _packet(row: Mapping[str, Any], path: Path) -> Packet:
    packet = validate_config(row["packet"], Packet, str(path))
    if packet.sha256() != row["sha256"]:
        raise PacketError(f"{path}: the packet of site {row['site']}, {row['source']} was changed")
    return packet
