"""Draw the sites of a study and write what is public about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowlab.config import config_sha256
from slowlab.io import atomic_write_bytes
from slowlab.stages.materials import Materials
from slowlab.stages.site_table import PRICES, SITE_TABLE


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
            **{name: getattr(site.prices, name) for name in PRICES},
            "campaign_year": str(site.campaign_year),
            "evaluation_years": " ".join(map(str, site.evaluation_years)),
            "site_sha256": config_sha256(site),
        }
        for site in materials.sites(numbers)
    ]
    return atomic_write_bytes(target, SITE_TABLE.parquet(SITE_TABLE.table(rows)))
