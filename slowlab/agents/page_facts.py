"""What the page of a transcript says about it in a few lines: what it is, and what was counted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from slowlab.agents.messages import Stage
from slowlab.agents.outages import AttemptFault
from slowlab.agents.summary import FLAGS, transcript_feedback, transcript_header
from slowlab.campaign.journal_format import Record

BEGINNING = "initial"
"""Stands for the condition in the name of a page of a shared beginning."""

_CONDITION = re.compile(r"^site-\d+\.([a-z]+)$")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.-]+")


def page_name(method: str, site: int, feedback: str, repeat: int) -> str:
    """Name of the page of one campaign."""
    return _safe(f"{method}-site-{site:03d}-{feedback or BEGINNING}-repeat-{repeat}.html")


def about_transcript(records: Sequence[Record], name: str) -> dict[str, Any]:
    """What a transcript is about, in the words of its header.

    Args:
        records: of the transcript.
        name: name of its file without its ending. Where it ends with a condition, that is the one
            that was run: the one that was told may be another, as where totals are shuffled.

    Returns:
        ``page``: name of its page; ``title``; ``feedback``: its condition; ``model`` in words;
        ``stand_in``: script that answered in the place of a model, None for a model; ``facts``:
        what the header tells, by name.
    """
    header, told = transcript_header(records), transcript_feedback(records)
    model, harness = _mapping(header.get("model")), _mapping(header.get("harness"))
    page, title, feedback = _safe(f"{name}.html"), name, told
    if header.get("kind") == "campaign":
        named = _CONDITION.search(name)
        feedback = (named.group(1) if named else told) or BEGINNING
        page, title = _campaign(header, feedback)
    elif header.get("kind") == "reading":
        page, title = _reading(header)
        feedback = str(header.get("feedback") or "")
    facts = {
        "study": header.get("study"),
        "partition": header.get("partition"),
        "site": header.get("site"),
        "method": header.get("method"),
        "repeat": header.get("repeat"),
        "reader": header.get("reader"),
        "evidence collected by": header.get("source"),
        "feedback told": told or None,
        "model": _model_words(model),
        "model asked for": model.get("model"),
        "harness profile": harness.get("name"),
        "generation seed": header.get("generation_seed"),
    }
    return {
        "page": page,
        "title": title,
        "feedback": feedback,
        "model": _model_words(model),
        "stand_in": model.get("stand_in"),
        "facts": {key: str(value) for key, value in facts.items() if value is not None},
    }


def _campaign(header: Mapping[str, Any], feedback: str) -> tuple[str, str]:
    """Page and title of a campaign."""
    method, site, repeat = (header[key] for key in ("method", "site", "repeat"))
    title = f"{method}, site {site}, {_condition_words(feedback)}, repeat {repeat}"
    return page_name(method, site, feedback, repeat), title


def _reading(header: Mapping[str, Any]) -> tuple[str, str]:
    """Page and title of a reading of a packet."""
    reader, source, site = (header[key] for key in ("reader", "source", "site"))
    title = f"{reader} reads what {source} collected, site {site}"
    return _safe(f"reading-{reader}-site-{site:03d}-{source}.html"), title


def shown_counts(counts: Mapping[str, Any], ending: str) -> list[tuple[str, str]]:
    """Counts in words, each with its name; stages, faults and flags that did not occur left out."""
    stages = _listed({stage.value: counts[f"calls_{stage}"] for stage in Stage})
    faults = _listed({fault.value: counts[f"failed_{fault}"] for fault in AttemptFault})
    flags = _listed({flag: counts[flag] for flag in FLAGS})
    return [
        ("model calls", f"{counts['model_calls']} ({stages})" if stages else "0"),
        ("prompt characters", f"{counts['prompt_characters']:,}"),
        ("tokens of prompts", _tokens(counts, "prompt")),
        ("tokens of answers", _tokens(counts, "completion")),
        ("cost", _cost(counts)),
        ("failed attempts", faults or "0"),
        ("answers that could not be used", str(counts["format_errors"])),
        ("actions, refused", f"{counts['actions']}, {counts['invalid_actions']}"),
        ("tools, errors", f"{counts['tool_calls']}, {counts['tool_errors']}"),
        ("reads", str(counts["observe_calls"])),
        ("raw records, daily rows", f"{counts['raw_records']}, {counts['daily_rows']}"),
        ("notes updated", str(counts["notes_updates"])),
        ("predictions asked, possible, given", _predictions(counts)),
        ("flags", flags or "none"),
        ("ending", ending.replace("_", " ") or "not ended"),
    ]


def _model_words(model: Mapping[str, Any]) -> str:
    """Label of a model; of a stand-in it always says so."""
    label = str(model.get("label") or model.get("name") or "")
    said = not model.get("stand_in") or "stand-in" in label.casefold()
    return label if said else f"{label} (stand-in)"


def _condition_words(feedback: str) -> str:
    return "the beginning" if feedback == BEGINNING else f"{feedback} feedback"


def _cost(counts: Mapping[str, Any]) -> str:
    """What is known of the cost, and about how many attempts nothing is known."""
    usd, unknown = counts["cost_usd"], counts["attempts_of_unknown_cost"]
    if usd is None:
        return "unknown"
    known = f"USD {usd:.4f}" if usd else "nothing billed"
    return known + (f" and {unknown} attempts of unknown cost" if unknown else "")


def _tokens(counts: Mapping[str, Any], which: str) -> str:
    value = counts[f"{which}_tokens"]
    return "unknown" if value is None else f"{value:,.0f}"


def _predictions(counts: Mapping[str, Any]) -> str:
    names = ("predictor_attempts", "predictor_with_readings", "predictor_outputs")
    return ", ".join(str(counts[name]) for name in names)


def _listed(counts: Mapping[str, int]) -> str:
    known = {name.replace("_", " "): count for name, count in counts.items() if count}
    return ", ".join(f"{name}: {count}" for name, count in known.items())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {"name": value}


def _safe(name: str) -> str:
    return _NOT_IN_NAMES.sub("-", name.casefold())
