"""Reader swaps: what another reader makes of the evidence that a method collected.

A gain is a reader's score less the score of the method that collected the evidence, on the same
site and repeat. All sources stand on the same sites, so readers and sources are compared within
sites. A reader that is a method's own last step returns that method's recommendation: such identity
cells are zero by construction, checked, shown apart and left out of pooled means.

Source: SlowLab, reader swaps; the crossed design and the treatment of identity cells are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slowlab.analysis.paired import Cell, Differences, Exclusion, MissingReason
from slowlab.analysis.results import analyse_differences
from slowlab.analysis.samples import exact_mean
from slowlab.analysis.scores import CellKey, ScoreDesign, cells_from_scores
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import READER, AnalysisInputs, ReaderInfo
from slowlab.analysis.study_published import comparable, published_swap
from slowlab.analysis.study_scores import mean_and_error, number

type Swaps = dict[tuple[str, str], Differences]
"""Site-level gains by reader and source."""

_SWAP_SEED = 100_000
"""Offset of the seeds of descriptive intervals from the study's base seed."""


def reader_method(reader: str, source: str) -> str:
    """Name under which a reader's recommendation from a source's evidence is scored."""
    return f"{READER}:{reader}:{source}"


def swap_gains(inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> Swaps:
    """Site-level gains of every reader over every source; empty ones where nothing was read.

    Args:
        inputs: the study.
        cells: scores of the study's methods.
    """
    read = _reader_cells(inputs)
    return {
        (reader.name, source.name): _gains(
            read.get(reader_method(reader.name, source.name)),
            cells.get((source.name, inputs.study.source_feedback)),
        )
        for reader in inputs.study.readers
        for source in inputs.study.sources
    }


def pooled_gains(inputs: AnalysisInputs, swaps: Swaps) -> dict[str, Differences]:
    """Gains of each reader averaged over its sources within sites, identity cells left out.

    A site counts if every source has a gain there.

    Returns:
        Differences by the name of the declared test, ``reader.<reader>``.
    """
    return {
        f"reader.{reader.name}": _pool(inputs, swaps, reader) for reader in inputs.study.readers
    }


def reader_numbers(inputs: AnalysisInputs, swaps: Swaps) -> dict[str, Any]:
    """Descriptive numbers: gains by reader and source, readers' mean scores, identity checks."""
    spec, shown = spec_of(inputs), comparable(inputs.contract)
    names = {item.name: item.published for item in inputs.study.methods}
    rows, place = [], 0
    for reader in inputs.study.readers:
        for source in inputs.study.sources:
            gains = swaps[reader.name, source.name]
            seed = spec.base_seed + _SWAP_SEED + place
            found = analyse_differences(reader.name, gains, seed, spec)
            identity = source.name in reader.identity_sources
            rows.append(
                {
                    "reader": reader.name,
                    "source": source.name,
                    "identity": identity,
                    "n_sites": len(gains.sites),
                    "missing": gains.exclusion_counts(),
                    "estimate": number(found.interval.mean),
                    "ci_low": number(found.interval.low),
                    "ci_high": number(found.interval.high),
                    "ci_kind": found.interval.kind.value,
                    "published": published_swap(reader.published, names[source.name])
                    if shown
                    else None,
                }
            )
            place += 1
    return {
        "readers": [item.name for item in inputs.study.readers],
        "labels": {item.name: item.shown for item in inputs.study.readers},
        "models": {item.name: item.model for item in inputs.study.readers if item.model},
        "stand_ins": [item.name for item in inputs.study.readers if item.stand_in],
        "sources": [item.name for item in inputs.study.sources],
        "swaps": rows,
        "scores_by_source": _scores_by_source(inputs),
        "largest_identity_gain": _largest_identity_gain(inputs, swaps),
    }


def _reader_cells(inputs: AnalysisInputs) -> dict[str, Cell]:
    """Scores of readers by the name under which they were scored, over their own sites."""
    table, study = inputs.readings, inputs.study
    if table is None or table.empty:
        return {}
    chosen = table["site"].isin(study.sites) & (table["feedback"] == study.source_feedback)
    table = table[chosen & table["method"].str.startswith(f"{READER}:")]
    design = inputs.design
    found = {}
    for method, part in table.groupby("method", sort=True):
        own = ScoreDesign(design.years, design.plantings)
        (cell,) = cells_from_scores(part, own).values()
        found[str(method)] = cell
    return found


def _gains(reader: Cell | None, source: Cell | None) -> Differences:
    """Reader less source, by site; over the repeats that were read on a site."""
    if reader is None or source is None:
        return Differences((), np.empty(0))
    sites, values, repeats, excluded = [], [], [], []
    for row, site in enumerate(reader.sites):
        read = [r for r, why in enumerate(reader.missing[row]) if why != MissingReason.NOT_RUN]
        fault = _fault(site, read, row, reader, source)
        if fault is not None:
            excluded.append(fault)
            continue
        own = source.scores[source.sites.index(site)]
        sites.append(site)
        values.append(exact_mean(reader.scores[row, read] - own[read]))
        repeats.append(len(read))
    return Differences(tuple(sites), np.array(values), tuple(excluded), tuple(repeats))


def _fault(site: int, read: list[int], row: int, reader: Cell, source: Cell) -> Exclusion | None:
    """Why a site has no gain, or None if it has one."""
    if site not in source.sites:
        return Exclusion(site, source.name, MissingReason.NOT_RUN)
    place = source.sites.index(site)
    for repeat in read:
        if reader.missing[row][repeat] is not None:
            return Exclusion(site, reader.name, reader.missing[row][repeat])
        if repeat >= source.scores.shape[1]:
            return Exclusion(site, source.name, MissingReason.NOT_RUN)
        if source.missing[place][repeat] is not None:
            return Exclusion(site, source.name, source.missing[place][repeat])
    return None if read else Exclusion(site, reader.name, MissingReason.NOT_RUN)


def _pool(inputs: AnalysisInputs, swaps: Swaps, reader: ReaderInfo) -> Differences:
    pooled = [
        swaps[reader.name, source.name]
        for source in inputs.study.sources
        if source.name not in reader.identity_sources
    ]
    tables = [dict(zip(gains.sites, gains.values, strict=True)) for gains in pooled]
    faults = {item.site: item for gains in pooled for item in reversed(gains.excluded)}
    every = sorted({site for table in tables for site in table} | set(faults))
    whole = [site for site in every if all(site in table for table in tables)]
    absent = [
        faults.get(site, Exclusion(site, reader.name, MissingReason.NOT_RUN))
        for site in every
        if site not in whole
    ]
    values = [exact_mean(np.array([table[site] for table in tables])) for site in whole]
    return Differences(tuple(whole), np.array(values, dtype=np.float64), tuple(absent))


def _scores_by_source(inputs: AnalysisInputs) -> list[dict[str, Any]]:
    """Mean score of each reader on each source's evidence: what the evidence is worth to it."""
    read = _reader_cells(inputs)
    rows = []
    for reader in inputs.study.readers:
        for source in inputs.study.sources:
            cell = read.get(reader_method(reader.name, source.name))
            values = np.empty(0) if cell is None else _row_means(cell)
            rows.append({"reader": reader.name, "source": source.name, **mean_and_error(values)})
    return rows


def _row_means(cell: Cell) -> np.ndarray:
    """Means of the sites without anything missing but repeats that were never read."""
    rows = [
        scores[np.isfinite(scores)]
        for scores, missing in zip(cell.scores, cell.missing, strict=True)
        if all(why in (None, MissingReason.NOT_RUN) for why in missing)
    ]
    return np.array([exact_mean(row) for row in rows if row.size])


def _largest_identity_gain(inputs: AnalysisInputs, swaps: Swaps) -> float | None:
    """Largest absolute gain in identity cells, which must be 0; None without such cells."""
    values = [
        np.abs(swaps[reader.name, source.name].values).max()
        for reader in inputs.study.readers
        for source in inputs.study.sources
        if source.name in reader.identity_sources and swaps[reader.name, source.name].sites
    ]
    return number(max(values)) if values else None
