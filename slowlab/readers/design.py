"""The crossed design of the reader experiment: every reader reads every source on the same sites.

Source: SlowLab, reader experiment; ours: the sites are the same for all sources, so that they can
be compared in pairs, and cells in which a reader repeats the source's own last step are marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slowlab.readers._registry import reader_class


@dataclass(frozen=True)
class Source:
    """A method whose packets are read.

    Attributes:
        name: as the study lists it.
        method: as it is registered.
        settings: as the study gives them.
    """

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReaderCell:
    """One reading.

    Attributes:
        source: the method whose packet is read, as the study lists it.
        reader: name of the reader.
        site: number of the site.
        identity: whether the reader is the source's own last step, so that nothing can be gained.
    """

    source: str
    reader: str
    site: int
    identity: bool


def drawn_sites(sites: Sequence[int], count: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Sites whose packets are read, without replacement, ascending; one draw for all sources.

    Raises:
        ValueError: there are fewer sites.
    """
    if count > len(set(sites)):
        raise ValueError(f"{count} sites are wanted, there are {len(set(sites))}")
    chosen = rng.choice(np.array(sorted(set(sites))), size=count, replace=False)
    return tuple(sorted(int(site) for site in chosen))


def crossed_cells(
    sources: Iterable[Source], readers: Sequence[str], sites: Sequence[int]
) -> list[ReaderCell]:
    """All cells, by source, reader and site.

    Args:
        sources: the methods whose packets are read.
        readers: names of readers.
        sites: the same for all sources.

    Raises:
        ReaderError: no such reader.
    """
    return [
        ReaderCell(source.name, reader, site, _is_identity(source, reader))
        for source in sorted(sources, key=lambda item: item.name)
        for reader in readers
        for site in sorted(sites)
    ]


def _is_identity(source: Source, reader: str) -> bool:
    return reader_class(reader).repeats_last_step_of(source.method, source.settings)
