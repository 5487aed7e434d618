"""Configurations shared by the tests of the world."""

import json
from pathlib import Path

import pytest

from slowlab.config import CONFIG_ROOT
from slowlab.world.contract import load_contract
from slowlab.world.partitions import load_partitions
from slowlab.world.sensors import load_sensors
from slowlab.world.site import WeatherPools
from slowlab.world.site_distribution import load_sites

GOLDEN = Path(__file__).parents[1] / "golden" / "development_sites_v1.json"


@pytest.fixture(scope="session")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def contract():
    return load_contract()


@pytest.fixture(scope="session")
def draft_contract():
    return load_contract(CONFIG_ROOT / "contracts" / "v9-draft.yaml")


@pytest.fixture(scope="session")
def sites():
    return load_sites()


@pytest.fixture(scope="session")
def draft_sites():
    return load_sites(CONFIG_ROOT / "sites" / "v2-draft.yaml")


@pytest.fixture(scope="session")
def sensors():
    return load_sensors()


@pytest.fixture(scope="session")
def partitions():
    return load_partitions()


@pytest.fixture(scope="session")
def cabauw_pools(golden):
    years = tuple(golden["weather_pool"])
    return WeatherPools(years, years)
