"""What the transcript of a reading says about itself, and how it is run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.agents.profile import HarnessProfile
from slowlab.agents.replaying import ReplayDialogue
from slowlab.config import validate_config
from slowlab.readers.language_model import LanguageModelReader
from slowlab.readers.packets import Packet

READING = "reading"
"""The kind that the header of a reading's transcript names."""


def reading_header(
    packet: Packet,
    profile: HarnessProfile,
    model: Mapping[str, Any],
    generation_seed: int,
    **names: str | int,
) -> dict[str, Any]:
    """The header of a reading's transcript; it holds the packet, so that nothing else is needed.

    Args:
        packet: what is read.
        profile: harness profile of the reader.
        model: the model, without anything secret.
        generation_seed: sent with every call.
        names: what identifies the reading: study, partition, site, source, feedback, reader.
    """
    return {
        "kind": READING,
        **names,
        "model": dict(model),
        "harness": profile.model_dump(mode="json"),
        "generation_seed": generation_seed,
        "packet": packet.model_dump(mode="json"),
    }


def replay_reading(header: Mapping[str, Any], dialogue: ReplayDialogue) -> None:
    """Lead a recorded reading again; see :func:`slowlab.agents.replaying.replay_transcript`.

    Args:
        header: of its transcript.
        dialogue: gives the recorded answers.

    Raises:
        ConfigError: the header describes no reading that exists today.
        KeyError: something is missing in it.
    """
    packet = validate_config(header["packet"], Packet, "header: packet")
    profile = validate_config(header["harness"], HarnessProfile, "header: harness")
    LanguageModelReader(profile, dialogue, header["generation_seed"]).read(packet)
