"""Packets of finished campaigns, and what readers recommend from them.

A reading is a recommendation whose method is called ``reader:<reader>:<source>`` and whose feedback
condition and repeat are those of the campaign that was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slowlab.canonical import JsonLimits, StrictJsonError, canonical_json, loads_strict
from slowlab.config import validate_config
from slowlab.evaluation.recommendations import Recommendation
from slowlab.io import atomic_write_text
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


def read_packets(materials: Materials, reader: str, packets: Path, target: Path) -> None:
    """Let one reader read all packets of a file and write what it recommends.

    Raises:
        PacketError: the file holds no packets, or one that was changed.
        ReaderError: no such reader.
        OSError: a file cannot be read or written.
    """
    content = _content(packets)
    found = build_reader(reader, {}, materials.artifacts)
    write_recommendations(
        target,
        materials,
        [
            Recommendation(
                site=row["site"],
                method=f"reader:{reader}:{row['source']}",
                feedback=content["feedback"],
                policy=found.recommend(_packet(row, packets)).model_dump(),
            )
            for row in content["packets"]
        ],
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
