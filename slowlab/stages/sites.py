"""The sites of a study as a table: what is public about each, its years, and the hash of its draw.

Hidden parameters stay out of it. The hash says whether two studies were made on the same sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from slowlab.config import config_sha256
from slowlab.evaluation.tables import Column, TableSchema
from slowlab.io import atomic_write_bytes
from slowlab.stages.materials import Materials

_PRICES = {
    "fruit_eur_per_kg_fresh": "EUR/kg",
    "electricity_eur_per_kwh": "EUR/kWh",
    "delivered_heat_eur_per_kwh": "EUR/kWh",
    "co2_eur_per_kg": "EUR/kg",
}
SITE_TABLE = TableSchema(
    MappingProxyType(
        {
            "site": Column("integer", "-", "number of the site in its partition", low=0),
            **{name: Column("number", unit, "public price") for name, unit in _PRICES.items()},
            "campaign_year": Column("text", "-", "weather year of its campaigns"),
            "evaluation_years": Column("text", "-", "scoring years, with spaces between"),
            "site_sha256": Column("text", "-", "hash of everything drawn for it"),
        }
    ),
    key=("site",),
)
"""One row for each site."""


def draw_sites(materials: Materials, numbers: Sequence[int], target: Path) -> Path:
    """Draw the sites of a study and write their table in one step.

    Args:
        materials: what the study's setting names.
        numbers: numbers of the sites.
        target: gets the table.

    Raises:
        PartitionError, CommitmentError, SiteError: a site cannot be drawn.
        OSError: the file cannot be written.
    """
    rows = [
        {
            "site": site.index,
            **{name: getattr(site.prices, name) for name in _PRICES},
            "campaign_year": str(site.campaign_year),
            "evaluation_years": " ".join(map(str, site.evaluation_years)),
            "site_sha256": config_sha256(site),
        }
        for site in materials.sites(numbers)
    ]
    return atomic_write_bytes(target, SITE_TABLE.parquet(SITE_TABLE.table(rows)))
