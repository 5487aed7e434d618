"""The options of ``slowlab simulate``: types, bounds and help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

_POLICY = "Policy (single values replace those of the file)"
_RUN = "Model and numerics"
_LARGEST_SEED = 2**63 - 1


def _option(text: str, panel: str | None = None, **more: Any) -> Any:
    return typer.Option(help=text, rich_help_panel=panel, **more)


PolicyFile = Annotated[
    Path | None,
    _option("YAML or JSON file with six fields; default: the contract's fixed reference.", _POLICY),
]
DayTemperature = Annotated[float | None, _option("Day set-point, degC.", _POLICY)]
NightTemperature = Annotated[float | None, _option("Night set-point, degC.", _POLICY)]
Co2Target = Annotated[float | None, _option("CO2 dosing target, ppm.", _POLICY)]
LightHours = Annotated[float | None, _option("Lamp window from 06:00, h/day.", _POLICY)]
VentOffset = Annotated[float | None, _option("Vents open so far above the set-point, K.", _POLICY)]
VentHumidity = Annotated[float | None, _option("Vents open from this humidity, %.", _POLICY)]

Weather = Annotated[
    str,
    _option(
        "`bleiswijk` (the packaged winter, 111 days) or a file: EPW, CSV, Parquet, GreenLight CSV, "
        "SEL year."
    ),
]
WeatherStart = Annotated[
    str | None, _option("ISO local time of the first record of a GreenLight CSV without a date.")
]
Mode = Annotated[
    Literal["crop", "year"],
    _option("One crop, or a facility-year with the contract's plantings."),
]
StartDay = Annotated[
    int | None,
    _option("Day on which the one crop is planted; empty before it.", show_default="0"),
]
Out = Annotated[Path | None, _option("Folder for the files; default: one in results/simulate.")]

ContractFile = Annotated[Path | None, _option("Contract file; default: v8.", _RUN)]
Parameters = Annotated[
    list[str] | None,
    _option("Hidden parameter NAME=VALUE, by GreenLight constant name; repeatable.", _RUN),
]
NoiseSeed = Annotated[
    int | None,
    _option("Seed of the sensor noise; default: exact readings.", _RUN, min=0, max=_LARGEST_SEED),
]
Collapse = Annotated[
    Literal["floor", "stop"] | None,
    _option("Rule at the photosynthesis pole; default: the contract's.", _RUN),
]
Precision = Annotated[Literal["float32", "float64"], _option("Numbers of the integrator.", _RUN)]
Substeps = Annotated[
    int | None,
    _option("Substeps of 300 s; default: those of production runs.", _RUN, min=1, max=256),
]
