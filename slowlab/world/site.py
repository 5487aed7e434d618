"""Sites: what is hidden, how it is drawn, and what every party may know of it.

Each random component of each site has a numpy generator of its own, seeded with the first eight
bytes of SHA-256 over ``distribution id|master seed|site index|component``. So a component never
depends on which others exist or on the order in which they are drawn. Sites are never selected or
reweighted by outcome.

Source of the stream rule and of ``config/sites/v1.yaml``: SlowLab site distribution v1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from slowlab.canonical import JsonLimits, canonical_json, loads_strict
from slowlab.config import ConfigModel, validate_config
from slowlab.io import atomic_path
from slowlab.world.economics import Prices
from slowlab.world.site_distribution import (
    SITE_PARAMETERS,
    Range,
    SiteDistribution,
    apply_terms,
)

YearLabel = int | str
"""Name of a weather year: a calendar year of a measured source or the name of a generated one."""

_NOISE_SEED_MAX = 2**63 - 1


class SiteError(ValueError):
    """A site that cannot exist, or a year that it does not have; no message holds a value."""


@dataclass(frozen=True)
class WeatherPools:
    """Weather years from which a site draws.

    Attributes:
        campaign: pool of the campaign year.
        evaluation: pool of the scoring years; either the same pool or one without common years.

    Raises:
        SiteError: a pool with repeated or mixed labels, or pools that overlap in part.
    """

    campaign: tuple[YearLabel, ...]
    evaluation: tuple[YearLabel, ...]

    def __post_init__(self) -> None:
        """Sort both pools and check them."""
        object.__setattr__(self, "campaign", _sorted_pool(self.campaign))
        object.__setattr__(self, "evaluation", _sorted_pool(self.evaluation))
        if not self.shared and set(self.campaign) & set(self.evaluation):
            raise SiteError("campaign and evaluation pools must be equal or have no year in common")

    @property
    def shared(self) -> bool:
        """Whether campaign and scoring years come from one pool."""
        return self.campaign == self.evaluation


class YearDraw(ConfigModel):
    """What is drawn anew for one scoring year of a site. Private.

    Attributes are listed as fields; parameters are per compartment, by GreenLight constant name.
    """

    year: YearLabel = Field(description="Weather year.")
    draws: dict[str, float] = Field(repr=False, description="Drawn values by component name.")
    parameters: tuple[dict[str, float], ...] = Field(
        repr=False, description="Model constants per compartment."
    )
    noise_seed: int = Field(ge=0, le=_NOISE_SEED_MAX, repr=False, description="Sensor noise seed.")

    def parameter_array(self, names: Sequence[str] = SITE_PARAMETERS) -> NDArray[np.float64]:
        """Model constants, ``[compartments, len(names)]``, each in the unit of its constant."""
        return _parameter_array(self.parameters, names)


class Site(ConfigModel):
    """One site with everything that is hidden about it. Private, except its prices.

    A site is shown to people by its partition and number only: its text form holds no hidden value.
    """

    distribution_id: str = Field(description="Identity of the site distribution.")
    draft: bool = Field(description="Whether the distribution is a draft.")
    partition: str = Field(description="Name of the partition.")
    index: int = Field(ge=-1, description="Number within the partition; -1 is the default site.")
    draws: dict[str, float] = Field(repr=False, description="Drawn values by component name.")
    parameters: tuple[dict[str, float], ...] = Field(
        repr=False, description="Model constants per compartment."
    )
    prices: Prices = Field(repr=False, description="Public prices.")
    noise_seed: int = Field(ge=0, le=_NOISE_SEED_MAX, repr=False, description="Sensor noise seed.")
    campaign_year: YearLabel = Field(repr=False, description="Weather year of the campaign.")
    evaluation_years: tuple[YearLabel, ...] = Field(
        repr=False, description="Weather years of the scoring runs, sorted."
    )
    spare_years: tuple[YearLabel, ...] = Field(
        repr=False,
        description="Years of the evaluation pool that neither campaign nor scoring uses, in drawn "
        "order; an oracle may select on them.",
    )
    years: tuple[YearDraw, ...] = Field(
        repr=False, description="Draws of every scoring and spare year."
    )

    @property
    def compartments(self) -> int:
        """Number of compartments."""
        return len(self.parameters)

    def parameter_array(self, names: Sequence[str] = SITE_PARAMETERS) -> NDArray[np.float64]:
        """Model constants of the campaign, ``[compartments, len(names)]``."""
        return _parameter_array(self.parameters, names)

    def for_campaign(self) -> Site:
        """The site without anything that concerns scoring, for the process that runs a campaign."""
        return self.model_copy(update={"evaluation_years": (), "spare_years": (), "years": ()})


def stream(
    distribution_id: str, master_seed: int, index: int, component: str
) -> np.random.Generator:
    """The random generator of one component of one site."""
    key = f"{distribution_id}|{master_seed}|{index}|{component}".encode()
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))


def draw_site(
    distribution: SiteDistribution,
    master_seed: int,
    index: int,
    *,
    pools: WeatherPools,
    compartments: int,
    partition: str = "",
) -> Site:
    """Draw one site.

    Args:
        distribution: hidden ranges, prices and the number of scoring years.
        master_seed: seed of the partition.
        index: number of the site, from 0.
        pools: weather years to draw from.
        compartments: number of compartments of the contract.
        partition: name of the partition, for display only; it does not enter the draws.

    Raises:
        SiteError: a negative index, too few weather years, or a drawn value outside its hard
        bounds.
    """
    if index < 0:
        raise SiteError("a site index starts at 0")
    drawer = _Drawer(distribution, master_seed, index, compartments)
    site_draws = drawer.values("site", distribution.hidden)
    price_draws = drawer.values("price", distribution.prices)
    unit_draws = drawer.unit_values("")
    campaign, evaluation, spare = drawer.weather_years(pools)
    hidden = {**distribution.default_parameters(), **apply_terms(distribution.hidden, site_draws)}
    return Site(
        distribution_id=distribution.id,
        draft=distribution.draft,
        partition=partition,
        index=index,
        draws={**_named("site", site_draws), **_named("price", price_draws), **_flat(unit_draws)},
        parameters=drawer.parameters(hidden, unit_draws),
        prices=distribution.site_prices(price_draws),
        noise_seed=drawer.noise_seed(""),
        campaign_year=campaign,
        evaluation_years=evaluation,
        spare_years=spare,
        years=tuple(drawer.year(hidden, label) for label in (*evaluation, *spare)),
    )


def default_site(
    distribution: SiteDistribution,
    prices: Prices,
    *,
    compartments: int,
    campaign_year: YearLabel,
    noise_seed: int = 0,
) -> Site:
    """The site without draws: native constants, default side walls and deep soil, given prices."""
    return Site(
        distribution_id=distribution.id,
        draft=distribution.draft,
        partition="default",
        index=-1,
        draws={},
        parameters=tuple(distribution.default_parameters() for _ in range(compartments)),
        prices=prices,
        noise_seed=noise_seed,
        campaign_year=campaign_year,
        evaluation_years=(),
        spare_years=(),
        years=(),
    )


def evaluation_draws(site: Site, year: YearLabel) -> YearDraw:
    """Compartment differences and noise seed of one scoring (or spare) year of a site.

    Raises:
        SiteError: the site has no such year.
    """
    for draw in site.years:
        if draw.year == year:
            return draw
    raise SiteError(f"site {site.partition} {site.index} has no draws for that weather year")


def write_site(path: str | Path, site: Site) -> None:
    """Write a private site file in one step, readable by its owner only."""
    with atomic_path(path) as part:
        part.touch(mode=0o600)
        part.write_text(canonical_json(site.model_dump(mode="json")) + "\n", encoding="utf-8")


def read_site(path: str | Path) -> Site:
    """Read a private site file.

    Raises:
        StrictJsonError: the file is not acceptable JSON.
        ConfigError: the file does not hold a site.
    """
    limits = JsonLimits(max_bytes=64 * 1024 * 1024)
    return validate_config(loads_strict(Path(path).read_bytes(), limits), Site, str(path))


@dataclass(frozen=True)
class _Drawer:
    """Draws the components of one site."""

    distribution: SiteDistribution
    master_seed: int
    index: int
    compartments: int

    def rng(self, component: str) -> np.random.Generator:
        return stream(self.distribution.id, self.master_seed, self.index, component)

    def values(self, prefix: str, ranges: dict[str, Range]) -> dict[str, float]:
        """One value for each named range."""
        return {name: item.draw(self.rng(f"{prefix}/{name}")) for name, item in ranges.items()}

    def unit_values(self, prefix: str) -> list[dict[str, float]]:
        """Compartment differences; the prefix is empty or ``evaluation/<year>/``."""
        return [
            self.values(f"{prefix}unit{unit}", self.distribution.compartment)
            for unit in range(self.compartments)
        ]

    def noise_seed(self, prefix: str) -> int:
        rng = self.rng(f"{prefix}sensor_noise_seed")
        return int(rng.integers(0, _NOISE_SEED_MAX, endpoint=True))

    def parameters(
        self, hidden: dict[str, float], units: list[dict[str, float]]
    ) -> tuple[dict[str, float], ...]:
        """Model constants of every compartment, checked against the hard bounds."""
        rows = tuple(self.distribution.compartment_parameters(hidden, unit) for unit in units)
        for row in rows:
            outside = self.distribution.outside_hard_bounds(row)
            if outside:
                raise SiteError(f"drawn outside the hard bounds: {', '.join(outside)}")
        return rows

    def weather_years(
        self, pools: WeatherPools
    ) -> tuple[YearLabel, tuple[YearLabel, ...], tuple[YearLabel, ...]]:
        """Campaign year, scoring years (sorted) and the rest of the evaluation pool."""
        wanted = self.distribution.evaluation_years
        order = self._permuted(pools.campaign, "weather_years")
        rest = order[1:] if pools.shared else self._permuted(pools.evaluation, _SEPARATE_STREAM)
        if not order or len(rest) < wanted:
            raise SiteError(f"the pools hold too few weather years: 1 + {wanted} are needed")
        return order[0], _sorted_pool(rest[:wanted]), tuple(rest[wanted:])

    def _permuted(self, pool: Sequence[YearLabel], component: str) -> list[YearLabel]:
        return [pool[position] for position in self.rng(component).permutation(len(pool))]

    def year(self, hidden: dict[str, float], label: YearLabel) -> YearDraw:
        """The draws of one scoring year."""
        prefix = f"evaluation/{label}/"
        units = self.unit_values(prefix)
        return YearDraw(
            year=label,
            draws=_flat(units),
            parameters=self.parameters(hidden, units),
            noise_seed=self.noise_seed(prefix),
        )


_SEPARATE_STREAM = "evaluation_weather_years"


def _parameter_array(rows: Sequence[dict[str, float]], names: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[row[name] for name in names] for row in rows], dtype=np.float64)


def _named(prefix: str, values: dict[str, float]) -> dict[str, float]:
    return {f"{prefix}/{name}": value for name, value in values.items()}


def _flat(units: list[dict[str, float]]) -> dict[str, float]:
    named = [_named(f"unit{unit}", values) for unit, values in enumerate(units)]
    return {name: value for group in named for name, value in group.items()}


def _sorted_pool(labels: Iterable[YearLabel]) -> tuple[YearLabel, ...]:
    """Labels in ascending order; either all numbers or all text, each once."""
    pool = list(labels)
    kinds = {type(label) for label in pool}
    if len(kinds) > 1 or len(set(pool)) != len(pool):
        raise SiteError("a weather pool holds each year once, all numbers or all text")
    return tuple(sorted(pool))
