"""What ``slowlab simulate`` writes and prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from slowlab.io import atomic_write_bytes
from slowlab.plots.simulation import draw_simulation
from slowlab.plots.style import figure_bytes
from slowlab.world.economics import FixedCosts, Prices
from slowlab.world.simulation import CropRecord, Simulation
from slowlab.world.simulation_report import parquet_bytes, summarise


def write_files(simulation: Simulation, folder: Path) -> list[Path]:
    """Write table, summary and picture; nothing is written before all of them are made.

    Raises:
        OSError: a file cannot be written.
    """
    figure = draw_simulation(simulation)
    summary = json.dumps(summarise(simulation), indent=1, ensure_ascii=False, allow_nan=False)
    contents = {
        ".parquet": parquet_bytes(simulation.table),
        ".json": (summary + "\n").encode("utf-8"),
        ".png": figure_bytes(figure, "png"),
        ".svg": figure_bytes(figure, "svg"),
    }
    return [
        atomic_write_bytes(folder / f"{simulation.mode}{suffix}", content)
        for suffix, content in contents.items()
    ]


def print_economics(simulation: Simulation, console: Console) -> None:
    """Every line of the account, what was used and yielded, and how the crops ended."""
    contract = simulation.simulator.contract
    table = Table(title=f"Per m2 of floor, {contract.label}", title_justify="left")
    table.add_column("compartment\nplanted", no_wrap=True)
    table.add_column("\nrate", justify="right", no_wrap=True)
    for crop in simulation.crops:
        table.add_column(
            f"{crop.compartment}\nday {crop.planted_day}", justify="right", overflow="fold"
        )
    prices = simulation.options.prices or contract.economics.default_prices
    costs = contract.economics.fixed_costs
    for lines in (
        _events(simulation),
        _quantities(simulation),
        _account(simulation, prices, costs),
    ):
        for name, rate, values in lines:
            table.add_row(name, rate, *values)
        table.add_section()
    margins = [f"{crop.statement.margin:.2f}" for crop in simulation.crops]
    table.add_row("margin, EUR", "", *margins, style="bold")
    console.print(table)
    if simulation.mode == "year":
        console.print(f"Mean of the plantings: {simulation.mean_margin:.2f} EUR/m2 per crop")


Line = tuple[str, str, list[str]]


def _each(simulation: Simulation, value: Callable[[CropRecord], float], digits: int) -> list[str]:
    return [f"{value(crop):.{digits}f}" for crop in simulation.crops]


def _events(simulation: Simulation) -> list[Line]:
    endings = [crop.ending.value.replace("_", " ") for crop in simulation.crops]
    return [
        ("ending", "", endings),
        ("days with a crop", "", _each(simulation, lambda c: c.totals.active_days, 1)),
        ("lit-pole ticks", "", _each(simulation, lambda c: c.lit_pole_ticks, 0)),
    ]


def _quantities(simulation: Simulation) -> list[Line]:
    standby = [f"{totals.heat_kwh_m2:.2f}" for totals in simulation.standby]
    return [
        ("harvest, kg fresh", "", _each(simulation, lambda c: c.totals.harvest_kg_m2, 2)),
        ("heat, kWh", "", _each(simulation, lambda c: c.totals.heat_kwh_m2, 1)),
        ("lamps, kWh", "", _each(simulation, lambda c: c.totals.light_kwh_m2, 1)),
        ("CO2, kg", "", _each(simulation, lambda c: c.totals.co2_kg_m2, 2)),
        ("transpiration, kg", "", _each(simulation, lambda c: c.totals.transpiration_kg_m2, 1)),
        ("standby heat, kWh", "", standby),
    ]


def _account(simulation: Simulation, prices: Prices, costs: FixedCosts) -> list[Line]:
    """Sales and costs, EUR; costs are negative here, so that the column adds up."""
    rates = {
        "fruit": f"{prices.fruit_eur_per_kg_fresh:.2f}/kg",
        "handling": f"{costs.harvest_handling_eur_per_kg:.2f}/kg",
        "heat": f"{prices.delivered_heat_eur_per_kwh:.2f}/kWh",
        "light": f"{prices.electricity_eur_per_kwh:.2f}/kWh",
        "co2": f"{prices.co2_eur_per_kg:.2f}/kg",
        "service": f"{costs.background_service_eur_per_m2_day:.2f}/day",
        "planting": "",
        "cleanup": "",
    }
    names = {"fruit": "fruit sales", "light": "lamps", "co2": "CO2", "cleanup": "cleaning"}
    lines = []
    for field, rate in rates.items():
        sign = 1.0 if field == "fruit" else -1.0
        values = [f"{sign * getattr(crop.statement, field):.2f}" for crop in simulation.crops]
        lines.append((f"{names.get(field, field)}, EUR", rate, values))
    return lines
