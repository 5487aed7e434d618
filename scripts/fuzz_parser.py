"""Fuzz the parser of replies, guided by coverage.

``uv run --with atheris python scripts/fuzz_parser.py --seconds 300``

Whatever a model says, the parser gives an answer or an error with a code. Prints the number of
executions; a crash leaves its input in a file named ``crash-...`` and a non-zero exit code.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from slowlab import canonical
from slowlab.agents import memory, parser
from slowlab.agents.memory import kept_text, safe_text
from slowlab.agents.messages import FunctionCall, ModelReply, Stage
from slowlab.agents.parser import Decision, ReplyError, ReplyFault, parse_call, parse_text
from slowlab.agents.profile import load_profile
from slowlab.agents.reply_examples import example_policy
from slowlab.agents.reply_forms import ReplyForms, reply_forms
from slowlab.canonical import canonical_json
from slowlab.world import policy
from slowlab.world.contract import load_contract
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback, task_description

KEPT_CHARACTERS = 2_000


def all_forms() -> list[ReplyForms]:
    """The forms of replies of all stages."""
    contract, profile = load_contract(), load_profile("digest_notes")
    prices = contract.economics.default_prices
    task = task_description(contract, load_sensors(), prices, Feedback.FULL)
    return [reply_forms(stage, task, profile) for stage in Stage]


def check_text(text: str, forms: ReplyForms) -> Decision | ReplyFault:
    """Read a text as a reply and check what must hold for every text.

    Raises:
        AssertionError: something does not hold.
        Exception: whatever the parser should not have raised.
    """
    return _check(ModelReply(text), forms, lambda: parse_text(text, forms))


def check_call(reply: ModelReply, forms: ReplyForms) -> Decision | ReplyFault:
    """The same for a reply in the form with functions."""
    return _check(reply, forms, lambda: parse_call(reply, forms))


def _check(reply: ModelReply, forms: ReplyForms, parse: Any) -> Decision | ReplyFault:
    try:
        decision = parse()
    except ReplyError as error:
        _check_error(error, reply)
        return error.code
    assert decision.kind in forms.types
    again = parse_text(canonical_json(_remarked(decision)), forms)
    assert again == decision, "an answer in canonical form is another answer"
    return decision


def _check_error(error: ReplyError, reply: ModelReply) -> None:
    """An error has a code and a message, and the reply can be kept."""
    kept = kept_text(reply, KEPT_CHARACTERS)
    assert error.code in ReplyFault
    assert safe_text(error.message) == error.message
    assert kept.strip()
    assert len(kept) <= KEPT_CHARACTERS
    assert kept.encode("utf-8")


def _remarked(decision: Decision) -> dict[str, Any]:
    """A whole reply from what was read."""
    remarks = {
        "reason": decision.reason,
        "notes": decision.notes,
        "incumbent": None if decision.incumbent is None else decision.incumbent.model_dump(),
    }
    told = {name: value for name, value in remarks.items() if value is not None}
    return {**decision.payload(), **told}


def decoded(data: bytes, forms: Sequence[ReplyForms]) -> Decision | ReplyFault:
    """Take an input apart (stage, form of the reply, text) and check it."""
    stage, form = (*data[:2], 0, 0)[:2]
    text = data[2:].decode("utf-8", "surrogateescape")
    chosen = forms[stage % len(forms)]
    if form % 2 == 0:
        return check_text(text, chosen)
    name, _, arguments = text.partition("\n")
    return check_call(ModelReply(text, (FunctionCall(name, arguments),)), chosen)


def first_inputs(forms: Sequence[ReplyForms]) -> list[bytes]:
    """Valid replies of every stage in both forms, to start from."""
    lowest = example_policy(forms[0].bounds)
    replies: list[dict[str, Any]] = [
        {"type": "campaign", "action": {"action": "start", "unit": 0, "policy": lowest}},
        {"type": "campaign", "action": {"action": "advance", "day": 1}, "notes": "n"},
        {"type": "campaign", "action": {"action": "recommend", "policy": lowest}, "reason": "r"},
        {"type": "tool", "name": "predict", "args": {"policies": [lowest]}, "incumbent": lowest},
        {"type": "design_complete"},
        {"type": "recommendation", "policy": lowest},
        {"type": "initial_recommendation", "policy": lowest},
    ]
    texts = [f"Well:\n```json\n{canonical_json(reply)}\n```" for reply in replies]
    calls = [f"advance\n{canonical_json({'day': 1})}", f"start\n{canonical_json({'unit': 0})}"]
    return [
        bytes([stage, form]) + text.encode()
        for stage in range(len(forms))
        for form, said in enumerate((texts, calls))
        for text in said
    ]


def main() -> None:
    """Run the fuzzer for some time."""
    options = argparse.ArgumentParser(description="Fuzz the parser of replies.")
    options.add_argument("--seconds", type=int, default=60, help="how long")
    chosen = options.parse_args()
    import atheris

    for module in (canonical, memory, parser, policy):
        for member in vars(module).values():
            if inspect.isfunction(member) and member.__module__ == module.__name__:
                atheris.instrument_func(member)
    forms = all_forms()
    with TemporaryDirectory() as folder:
        for number, data in enumerate(first_inputs(forms)):
            (Path(folder) / f"input-{number}").write_bytes(data)
        arguments = [f"-max_total_time={chosen.seconds}", "-max_len=4096", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *arguments, folder], lambda data: decoded(data, forms))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
