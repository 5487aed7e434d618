"""The table of a study's sites: what is public about each, its years, and the hash of its draw.

Hidden parameters stay out of it. The hash says whether two studies were made on the same sites.
"""

from __future__ import annotations

from types import MappingProxyType

from slowlab.evaluation.tables import Column, TableSchema

PRICES = {
    "fruit_eur_per_kg_fresh": "EUR/kg",
    "electricity_eur_per_kwh": "EUR/kWh",
    "delivered_heat_eur_per_kwh": "EUR/kWh",
    "co2_eur_per_kg": "EUR/kg",
}
"""Unit of each public price, by name."""

SITE_TABLE = TableSchema(
    MappingProxyType(
        {
            "site": Column("integer", "-", "number of the site in its partition", low=0),
            **{name: Column("number", unit, "public price") for name, unit in PRICES.items()},
            "campaign_year": Column("text", "-", "weather year of its campaigns"),
            "evaluation_years": Column("text", "-", "scoring years, with spaces between"),
            "site_sha256": Column("text", "-", "hash of everything drawn for it"),
        }
    ),
    key=("site",),
)
"""One row for each site."""
