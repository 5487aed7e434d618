"""The table of a study's sites: public, and enough to tell whether sites are the same."""

from dataclasses import replace

import pandas as pd
import pytest

from slowlab.config import override
from slowlab.plan.study import Setting
from slowlab.stages.materials import Materials
from slowlab.stages.sites import draw_sites


@pytest.fixture(scope="module")
def materials():
    return Materials.load(Setting(study="test", partition="development"))


def table(materials, numbers, folder):
    return pd.read_parquet(draw_sites(materials, numbers, folder / "sites.parquet"))


def test_no_hidden_number_stands_in_it(materials, tmp_path):
    text = table(materials, range(4), tmp_path).to_csv()
    for site in materials.sites(range(4)):
        hidden = {value for row in site.parameters for value in row.values()}
        assert hidden
        assert not [
            value for value in hidden if isinstance(value, float) and f"{value:.6g}" in text
        ]


def test_a_site_is_the_same_whatever_is_drawn_beside_it(materials, tmp_path):
    alone, among = table(materials, [3], tmp_path), table(materials, range(6), tmp_path)
    assert alone.iloc[0].equals(among[among["site"] == 3].iloc[0])


def test_other_hidden_ranges_give_another_hash(materials, tmp_path):
    changed = {"hidden.fruit_growth_potential_factor.high": 1.16}
    wider = replace(materials, distribution=override(materials.distribution, changed))
    ours, theirs = table(materials, [3], tmp_path), table(wider, [3], tmp_path)
    assert ours["site_sha256"][0] != theirs["site_sha256"][0]
    assert ours["fruit_eur_per_kg_fresh"][0] == theirs["fruit_eur_per_kg_fresh"][0]
