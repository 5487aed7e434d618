"""What is hidden about a site, by name, for the firewall of language models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slowlab.world.site import Site

_PUBLIC = ("distribution_id", "draft", "partition", "index", "prices")
"""Known to whoever runs the study, or told to the model."""


def hidden_values(site: Site) -> list[tuple[str, float | int | str]]:
    """Name and value of everything that no prompt may show: draws, constants, seeds and years.

    Args:
        site: the private site, with its scoring years.
    """
    content = {k: v for k, v in site.model_dump(mode="json").items() if k not in _PUBLIC}
    content["draws"] = {k: v for k, v in site.draws.items() if not k.startswith("price")}
    return list(_walk(content, ""))


def _walk(item: Any, name: str) -> Iterator[tuple[str, float | int | str]]:
    if isinstance(item, Mapping):
        for key, value in item.items():
            yield from _walk(value, f"{name}.{key}" if name else key)
    elif isinstance(item, list | tuple):
        for place, value in enumerate(item):
            yield from _walk(value, f"{name}[{place}]")
    elif isinstance(item, float | int | str) and not isinstance(item, bool):
        yield name, item
