"""The distribution of sites: hidden ranges with their basis, prices and hard bounds.

A hidden component is one random number per site that moves one or more constants of the model. The
constants are named as in GreenLight; ``ueff`` (side-wall exchange, W/m2 wall/K) and ``tSoOut``
(deep soil, degC) are boundary values of ours.

Source of the numbers in ``config/sites/v1.yaml``: SlowLab site distribution v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from slowlab.config import CONFIG_ROOT, ConfigModel, load_config
from slowlab.world.drafts import Drafted
from slowlab.world.economics import Prices

DEFAULT_SITES = CONFIG_ROOT / "sites" / "v1.yaml"

SITE_PARAMETERS = (
    "tCan24Min",
    "tCan24Max",
    "j25LeafMax",
    "rgFruit",
    "tEndSum",
    "laiMax",
    "tauRfPar",
    "tauRfNir",
    "cLeakage",
    "cDgh",
    "cWgh",
    "etaLampPar",
    "ueff",
    "tSoOut",
)
"""The constants that a site may set: twelve of GreenLight and two boundary values."""

PRICE_FIELDS = tuple(Prices.model_fields)


class Basis(StrEnum):
    """How well a range is supported."""

    OBSERVED = "observed"
    LITERATURE = "literature"
    ASSUMED = "assumed"
    UNSUPPORTED = "unsupported"


class Shape(StrEnum):
    """Form of a distribution; a log-uniform draw is exp of a uniform draw of logarithms."""

    UNIFORM = "uniform"
    LOGUNIFORM = "loguniform"


class Term(ConfigModel):
    """Share of a component x in a target: ``offset + factor * x``; terms of one target add up."""

    offset: float = Field(default=0.0, description="Constant part, in the target's unit.")
    factor: float = Field(default=1.0, description="Factor of the drawn number.")


class Range(ConfigModel):
    """One random number and what it moves."""

    shape: Shape = Field(description="`uniform` or `loguniform`.")
    low: float = Field(description="Lowest value, in the component's unit.")
    high: float = Field(description="Highest value, in the component's unit.")
    unit: str = Field(description="Unit of the drawn number.")
    basis: Basis = Field(description="How well the range is supported.")
    targets: dict[str, Term] = Field(
        min_length=1, description="What the number moves, by constant or price."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low:g} must not be above high {self.high:g}")
        if self.shape is Shape.LOGUNIFORM and self.low <= 0:
            raise ValueError("low must be above 0 for a loguniform range")
        return self

    def draw(self, rng: np.random.Generator) -> float:
        """One value from the range."""
        if self.shape is Shape.UNIFORM:
            return float(rng.uniform(self.low, self.high))
        return float(np.exp(rng.uniform(np.log(self.low), np.log(self.high))))


class ParameterSpec(ConfigModel):
    """Default and hard bounds of one constant; the bounds only serve to reject malformed input."""

    default: float = Field(description="Value where no component moves it, in the constant's unit.")
    min: float = Field(description="Hard lower bound, inclusive.")
    max: float = Field(description="Hard upper bound, inclusive.")
    unit: str = Field(description="Unit of the constant.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.min <= self.default <= self.max:
            raise ValueError(f"default {self.default:g} must lie from {self.min:g} to {self.max:g}")
        return self


class SiteDistribution(Drafted):
    """All that is random about a site."""

    evaluation_years: int = Field(ge=0, le=100, description="Scoring years drawn for each site.")
    hidden: dict[str, Range] = Field(description="Hidden components of a site.")
    compartment: dict[str, Range] = Field(
        description="Hidden differences of compartments; each multiplies the site's value."
    )
    prices: dict[str, Range] = Field(
        description="Price components of a site; the prices are public."
    )
    fixed_prices: dict[str, float] = Field(
        description="Prices that are the same on every site, by price name."
    )
    parameters: dict[str, ParameterSpec] = Field(
        description="Default and hard bounds of every constant that a site may set."
    )
    price_bounds: dict[str, tuple[float, float]] = Field(
        description="Hard bounds of the prices, lowest and highest, inclusive."
    )

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        _require_names("parameters", self.parameters, SITE_PARAMETERS, complete=True)
        _require_names("price_bounds", self.price_bounds, PRICE_FIELDS, complete=True)
        drawn = {target: None for item in self.prices.values() for target in item.targets}
        both = [name for name in self.fixed_prices if name in drawn]
        if both:
            raise ValueError(
                f"fixed_prices: {', '.join(both)} is already moved by a price component"
            )
        _require_names("prices", {**drawn, **self.fixed_prices}, PRICE_FIELDS, complete=True)
        groups = (
            ("hidden", self.hidden, SITE_PARAMETERS),
            ("compartment", self.compartment, SITE_PARAMETERS),
            ("prices", self.prices, PRICE_FIELDS),
        )
        for section, ranges, known in groups:
            for name, item in ranges.items():
                if not _is_component_name(name):
                    raise ValueError(f"{section}.{name}: a name is lower case text, digits and _")
                _require_names(f"{section}.{name}.targets", item.targets, known, complete=False)
        return self

    @model_validator(mode="after")
    def _every_draw_is_possible(self) -> Self:
        for name, spec in self.parameters.items():
            _require_inside(name, self.parameter_range(name), (spec.min, spec.max))
        for name, bounds in self.price_bounds.items():
            _require_inside(name, _reach(self.prices, {name: 1.0}, self.fixed_prices), bounds)
        width = {"tCan24Max": 1.0, "tCan24Min": -1.0}
        if _reach(self.hidden, width, self.default_parameters())[0] <= 0:
            raise ValueError("tCan24Min must stay below tCan24Max for every possible draw")
        return self

    def default_parameters(self) -> dict[str, float]:
        """Every constant at its default, in the order of :data:`SITE_PARAMETERS`."""
        return {name: self.parameters[name].default for name in SITE_PARAMETERS}

    def site_prices(self, draws: Mapping[str, float]) -> Prices:
        """Prices that follow from the drawn price components."""
        return Prices(**{**self.fixed_prices, **apply_terms(self.prices, draws)})

    def compartment_parameters(
        self, hidden: Mapping[str, float], unit_draws: Mapping[str, float]
    ) -> dict[str, float]:
        """Constants of one compartment: the site's, times the compartment's own factors."""
        values = dict(hidden)
        for name, item in self.compartment.items():
            for target, term in item.targets.items():
                values[target] *= term.offset + term.factor * unit_draws[name]
        return values

    def outside_hard_bounds(self, values: Mapping[str, float]) -> list[str]:
        """Names of constants outside their hard bounds, or a temperature window that is closed."""
        outside = [
            n for n, spec in self.parameters.items() if not spec.min <= values[n] <= spec.max
        ]
        return outside if values["tCan24Min"] < values["tCan24Max"] else [*outside, "tCan24Min"]

    def parameter_range(self, name: str) -> tuple[float, float]:
        """Lowest and highest value that a constant can reach in a compartment, in its unit."""
        low, high = _reach(self.hidden, {name: 1.0}, self.default_parameters())
        for item in self.compartment.values():
            if name in item.targets:
                factors = _term_ends(item, item.targets[name])
                ends = [value * factor for value in (low, high) for factor in factors]
                low, high = min(ends), max(ends)
        return low, high


def load_sites(path: str | Path = DEFAULT_SITES) -> SiteDistribution:
    """Read a site distribution.

    Raises:
        ConfigError: the file is missing or does not fit; the message says where and what is
        allowed.
    """
    return load_config(path, SiteDistribution)


def apply_terms(ranges: Mapping[str, Range], draws: Mapping[str, float]) -> dict[str, float]:
    """Values of all targets that the components move: the sum of their terms."""
    values: dict[str, float] = {}
    for name, item in ranges.items():
        for target, term in item.targets.items():
            share = term.offset + term.factor * draws[name]
            values[target] = values[target] + share if target in values else share
    return values


def _reach(
    ranges: Mapping[str, Range], weights: Mapping[str, float], defaults: Mapping[str, float]
) -> tuple[float, float]:
    """Lowest and highest value of a weighted sum of targets over all possible draws."""
    moved = {target for item in ranges.values() for target in item.targets}
    low = high = sum(w * defaults[name] for name, w in weights.items() if name not in moved)
    for item in ranges.values():
        terms = [(w, item.targets[name]) for name, w in weights.items() if name in item.targets]
        offset = sum(weight * term.offset for weight, term in terms)
        factor = sum(weight * term.factor for weight, term in terms)
        ends = _term_ends(item, Term(offset=offset, factor=factor))
        low, high = low + min(ends), high + max(ends)
    return low, high


def _term_ends(item: Range, term: Term) -> tuple[float, float]:
    """A term at both ends of its component's range."""
    return term.offset + term.factor * item.low, term.offset + term.factor * item.high


def _require_names(
    section: str, found: Mapping[str, object], known: tuple[str, ...], *, complete: bool
) -> None:
    """Refuse unknown names and, where all are needed, missing ones."""
    unknown = [name for name in found if name not in known]
    missing = [name for name in known if name not in found] if complete else []
    if unknown:
        raise ValueError(f"{section}: unknown {', '.join(unknown)}; allowed: {', '.join(known)}")
    if missing:
        raise ValueError(f"{section}: missing {', '.join(missing)}")


def _require_inside(name: str, reach: tuple[float, float], bounds: tuple[float, float]) -> None:
    """Refuse a range that leaves the hard bounds."""
    if not bounds[0] <= reach[0] <= reach[1] <= bounds[1]:
        raise ValueError(
            f"{name} can reach {reach[0]:g} to {reach[1]:g}, outside its hard bounds "
            f"{bounds[0]:g} to {bounds[1]:g}"
        )


def _is_component_name(name: str) -> bool:
    return name.replace("_", "a").isalnum() and name.isascii() and name == name.lower()
