"""The facility section of a contract: geometry, capacities, neighbours.

Source of all numbers in ``config/contracts/v8.yaml``: SlowLab task contract v8, facility. Areas and
heights that follow from the six lengths are computed here, never written twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from slowlab.config import ConfigModel

WALL_SIDES = ("north", "east", "south", "west")
"""Sides of a compartment; the gables face north and south."""


class SideWallForm(StrEnum):
    """How the heat from neighbouring compartments enters the air balance.

    ``neighbour_minus_outdoor``: Ueff x (neighbour - outdoor), the difference between a wall that
    faces outdoors and one that faces the neighbour (contract v8). ``neighbour_minus_indoor``: Ueff
    x (neighbour - indoor), which keeps the native outdoor loss too.
    """

    NEIGHBOUR_MINUS_OUTDOOR = "neighbour_minus_outdoor"
    NEIGHBOUR_MINUS_INDOOR = "neighbour_minus_indoor"


class Geometry(ConfigModel):
    """Shape of one compartment."""

    width_m: float = Field(gt=0, le=1000, description="Outer width, along the gables, m.")
    length_m: float = Field(gt=0, le=1000, description="Outer length, along the ridges, m.")
    roof_spans: int = Field(ge=1, le=1000, description="Number of roof spans across the width.")
    eave_height_m: float = Field(gt=0, le=20, description="Height of the eaves, m.")
    screen_height_m: float = Field(gt=0, le=20, description="Height of the thermal screen, m.")
    roof_slope_deg: float = Field(gt=0, lt=90, description="Slope of the roof, degrees.")

    @model_validator(mode="after")
    def _screen_below_eave(self) -> Self:
        if self.screen_height_m > self.eave_height_m:
            raise ValueError("screen_height_m must not be above eave_height_m")
        return self

    @property
    def floor_area_m2(self) -> float:
        """Floor, m2; all rates, yields and costs are per m2 of it."""
        return self.width_m * self.length_m

    @property
    def ridge_rise_m(self) -> float:
        """Height of the ridges above the eaves, m."""
        return self.width_m / self.roof_spans / 2 * math.tan(math.radians(self.roof_slope_deg))

    @property
    def mean_height_m(self) -> float:
        """Mean height of the enclosed volume, m."""
        return self.eave_height_m + self.ridge_rise_m / 2

    @property
    def roof_area_m2(self) -> float:
        """Sloping roof, m2."""
        return self.floor_area_m2 / math.cos(math.radians(self.roof_slope_deg))

    def wall_lower_area_m2(self, side: str) -> float:
        """Wall below the screen on one side of :data:`WALL_SIDES`, m2."""
        return self._wall_length(side) * self.screen_height_m

    def wall_upper_area_m2(self, side: str) -> float:
        """Wall above the screen on one side, gable triangles included, m2."""
        length = self._wall_length(side)
        gable = length * self.ridge_rise_m / 2 if side in {"north", "south"} else 0.0
        return length * (self.eave_height_m - self.screen_height_m) + gable

    @property
    def cover_area_m2(self) -> float:
        """Roof and all walls, m2."""
        walls = [
            self.wall_lower_area_m2(side) + self.wall_upper_area_m2(side) for side in WALL_SIDES
        ]
        return self.roof_area_m2 + math.fsum(walls)

    def _wall_length(self, side: str) -> float:
        if side not in WALL_SIDES:
            raise KeyError(f"unknown side; there are {', '.join(WALL_SIDES)}")
        return self.width_m if side in {"north", "south"} else self.length_m


class Capacities(ConfigModel):
    """Equipment of one compartment; the central plant is large enough for all at full output."""

    heating_w_m2: float = Field(ge=0, le=1000, description="Pipe heating, W/m2.")
    co2_g_m2_h: float = Field(ge=0, le=100, description="CO2 dosing, g/m2/h.")
    roof_vent_area_m2: float = Field(ge=0, le=1e6, description="Roof ventilation openings, m2.")
    lamp_electric_w_m2: float = Field(
        ge=0, le=1000, description="Electric power of the lamps, W/m2."
    )


class SideWalls(ConfigModel):
    """Heat exchange with neighbouring compartments; a declared assumption."""

    form: SideWallForm = Field(description="Temperature difference that drives the exchange.")
    north_c: float | None = Field(description="Neighbour in the north, degC; null is outdoors.")
    east_c: float | None = Field(description="Neighbour in the east, degC; null is outdoors.")
    south_c: float | None = Field(description="Neighbour in the south, degC; null is outdoors.")
    west_c: float | None = Field(description="Neighbour in the west, degC; null is outdoors.")
    default_exchange_w_m2_k: float = Field(
        ge=0, le=10, description="Exchange coefficient where no site says otherwise, W/m2 wall/K."
    )

    def neighbour_c(self, side: str) -> float | None:
        """Temperature of one neighbour, degC, or None where the wall faces outdoors."""
        return getattr(self, f"{side}_c")


@dataclass(frozen=True)
class WallSums:
    """Neighbour walls of one air layer, summed over the sides that have a neighbour.

    The heat entering the layer is ``U * (area_ratio_c - area_ratio * t_reference)`` in W/m2 of
    floor, with U in W/m2 wall/K and the reference temperature (outdoor or indoor) in degC.

    Attributes:
        area_ratio: wall area per floor area, m2/m2.
        area_ratio_c: the same, weighted with the neighbours' temperatures, degC m2/m2.
    """

    area_ratio: float
    area_ratio_c: float


class Facility(ConfigModel):
    """Compartments of identical shape that exchange no air, vapour, CO2 or heat with each other."""

    compartments: int = Field(ge=1, le=64, description="Number of compartments.")
    geometry: Geometry = Field(description="Shape of one compartment.")
    capacities: Capacities = Field(description="Equipment of one compartment.")
    side_walls: SideWalls = Field(description="Heat exchange with neighbouring compartments.")
    outdoor_co2_mg_m3: float = Field(gt=0, le=5000, description="CO2 outdoors, constant, mg/m3.")
    elevation_m: float = Field(ge=-500, le=5000, description="Height above sea level, m.")
    deep_soil_default_c: float = Field(
        ge=-10, le=40, description="Deep soil temperature where no site says otherwise, degC."
    )

    def greenlight_constants(self) -> dict[str, float]:
        """Facility values by the name of the GreenLight constant that they replace.

        Units are GreenLight's: m2, m, degrees, W (pBoil), mg/s (phiExtCo2), W/m2 (thetaLampMax).
        """
        shape, equipment = self.geometry, self.capacities
        floor = shape.floor_area_m2
        return {
            "aFlr": floor,
            "aCov": shape.cover_area_m2,
            "hAir": shape.screen_height_m,
            "hGh": shape.mean_height_m,
            "psi": shape.roof_slope_deg,
            "aRoof": equipment.roof_vent_area_m2,
            "pBoil": equipment.heating_w_m2 * floor,
            "phiExtCo2": equipment.co2_g_m2_h * floor * 1000.0 / 3600.0,
            "thetaLampMax": equipment.lamp_electric_w_m2,
            "heatCorrection": 0.0,
            "hElevation": self.elevation_m,
        }

    def wall_sums(self) -> tuple[WallSums, WallSums]:
        """Neighbour walls of the air below and of the air above the thermal screen."""
        shape = self.geometry
        return self._sums(shape.wall_lower_area_m2), self._sums(shape.wall_upper_area_m2)

    def _sums(self, area_of: Callable[[str], float]) -> WallSums:
        """Sum one layer's neighbour walls."""
        ratios = []
        for side in WALL_SIDES:
            neighbour = self.side_walls.neighbour_c(side)
            if neighbour is not None:
                ratio = area_of(side) / self.geometry.floor_area_m2
                ratios.append((ratio, ratio * neighbour))
        return WallSums(math.fsum(r for r, _ in ratios), math.fsum(t for _, t in ratios))
