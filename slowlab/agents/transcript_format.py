"""What a transcript holds: kinds of records, their payloads and the names of its files.

A transcript is a chained file as described in :mod:`slowlab.campaign.journal`. Prompts repeat most
of what earlier ones said, so every text is kept once, in the record of the call that sent it first,
and is named by its SHA-256 from then on. Nothing in a transcript depends on the clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from slowlab.agents.messages import Message, ModelCall, Role, Stage
from slowlab.campaign.journal_format import ChainForm, Record
from slowlab.canonical import canonical_json, loads_strict

FORMAT = "slowlab-transcript-1"
SUFFIX = ".transcript.jsonl"
"""How the name of a transcript ends."""


class TranscriptKind(StrEnum):
    """What a record is.

    ``header``: what the conversation is about. ``call``: one question. ``attempt``: it is about to
    be sent. ``failed_attempt``: why it gave no answer. ``reply``: the answer that was used.
    ``exchange``: one campaign action and its reply. ``tool``: one use of an analysis tool.
    ``error``: an answer that could not be used. ``initial``: the recommendation from before the
    experiments. ``incumbent``: the policy that the model names as its best so far. ``probe``: an
    interim recommendation. ``assignment``: the feedback condition. ``flag``: something noteworthy.
    ``ending``: the end.
    """

    HEADER = "header"
    CALL = "call"
    ATTEMPT = "attempt"
    FAILED_ATTEMPT = "failed_attempt"
    REPLY = "reply"
    EXCHANGE = "exchange"
    TOOL = "tool"
    ERROR = "error"
    INITIAL = "initial"
    INCUMBENT = "incumbent"
    PROBE = "probe"
    ASSIGNMENT = "assignment"
    FLAG = "flag"
    ENDING = "ending"


TRANSCRIPT = ChainForm(FORMAT, TranscriptKind, "transcript")
BLOCKED = "blocked"
"""Flag of a call that the firewall stopped."""


def text_key(text: str) -> str:
    """The name of a text: its SHA-256, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def header_payload(header: Mapping[str, Any]) -> dict[str, Any]:
    """The first record: the form, and what the caller says about the conversation."""
    return {"format": FORMAT, **header}


def call_payload(stage: Stage, call: ModelCall, known: Container[str]) -> dict[str, Any]:
    """The record of a call.

    Args:
        stage: where in the campaign it is made.
        call: the question.
        known: names of texts that earlier records hold.
    """
    texts: dict[str, str] = {}

    def name_of(text: str) -> str:
        key = text_key(text)
        if key not in known:
            texts[key] = text
        return key

    schema, functions = call.response_schema, list(call.functions)
    return {
        "stage": stage.value,
        "messages": [
            {"role": message.role.value, "sha256": name_of(message.content)}
            for message in call.messages
        ],
        "characters": call.characters,
        "seed": call.seed,
        "max_output_tokens": call.max_output_tokens,
        "response_schema_sha256": None if schema is None else name_of(canonical_json(schema)),
        "functions_sha256": name_of(canonical_json(functions)) if functions else None,
        "texts": texts,
    }


def recorded_call(payload: Mapping[str, Any], texts: Mapping[str, str]) -> ModelCall:
    """The call of a record.

    Args:
        payload: what :func:`call_payload` made.
        texts: texts by name, with those of the record itself; see :func:`recorded_texts`.

    Raises:
        KeyError: a text is missing.
    """
    schema, functions = payload["response_schema_sha256"], payload["functions_sha256"]
    return ModelCall(
        messages=tuple(
            Message(Role(message["role"]), texts[message["sha256"]])
            for message in payload["messages"]
        ),
        max_output_tokens=payload["max_output_tokens"],
        seed=payload["seed"],
        response_schema=None if schema is None else loads_strict(texts[schema]),
        functions=() if functions is None else tuple(loads_strict(texts[functions])),
    )


def recorded_texts(records: Iterable[Record]) -> dict[str, str]:
    """All texts of a transcript by their names."""
    texts: dict[str, str] = {}
    for record in records:
        if record.kind is TranscriptKind.CALL:
            texts |= record.payload["texts"]
    return texts


def superseded_path(path: Path, number: int) -> Path:
    """Where the ``number``-th transcript that was set aside is kept."""
    return path.with_name(f"{_stem(path)}.superseded-{number}.jsonl")


def timing_path(path: Path) -> Path:
    """The file beside a transcript that says when attempts were made and how long they took."""
    return path.with_name(f"{_stem(path)}.timing.jsonl")


def find_transcripts(folder: Path) -> list[Path]:
    """All transcripts below a folder, sorted, without those that were set aside."""
    found = folder.rglob(f"*{SUFFIX}")
    return sorted(path for path in found if ".superseded-" not in path.name and path.is_file())


def _stem(path: Path) -> str:
    return path.name.removesuffix(".jsonl")
