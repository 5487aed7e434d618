"""The examples of the protocol document: plays what is sent and writes what comes back.

``python -m tests.campaign.protocol_document`` renews the replies in the document.
"""

import json
import re
from pathlib import Path

from slowlab.campaign.executor import Executor
from slowlab.config import CONFIG_ROOT
from slowlab.io import atomic_write_text
from slowlab.world.contract import load_contract
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import FakeFacility, step

DOCUMENT = CONFIG_ROOT.parent / "docs" / "campaign-protocol.md"
EXAMPLE = re.compile(r"(Sent:\n\n```json\n(.*?)\n```\n\nReply:\n\n```json\n)(.*?)(```)", re.DOTALL)


def render(text: str) -> str:
    """The document with the replies that the executor gives now."""
    contract = load_contract()
    prices = contract.economics.default_prices
    run = Executor.open(
        FakeFacility(contract, prices),
        contract,
        load_sensors(),
        prices,
        Feedback.FULL,
        contract.fixed_reference,
        stepping=step,
    )
    return EXAMPLE.sub(lambda m: m[1] + written(run.dispatch(m[2]).payload()) + m[4], text)


def written(data: dict) -> str:
    """JSON for people: one line for each innermost object or list."""
    return _indented(data, "") + "\n"


def _indented(value: object, indent: str) -> str:
    flat = json.dumps(value)
    if len(flat) + len(indent) <= 125 or not isinstance(value, dict | list):
        return flat
    inner = indent + "  "
    if isinstance(value, list):
        items = [_indented(item, inner) for item in value]
    else:
        items = [f"{json.dumps(k)}: {_indented(v, inner)}" for k, v in value.items()]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    body = ",\n".join(inner + item for item in items)
    return f"{opening}\n{body}\n{indent}{closing}"


def main(path: Path = DOCUMENT) -> None:
    """Renew the document."""
    atomic_write_text(path, render(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
