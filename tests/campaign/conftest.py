"""Campaigns on the fake facility, and the rules they are played under."""

import pytest

from slowlab.campaign.executor import Executor
from slowlab.world.contract import load_contract
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import FakeFacility, step


@pytest.fixture(scope="session")
def contract():
    return load_contract()


@pytest.fixture(scope="session")
def sensors():
    return load_sensors()


@pytest.fixture(scope="session")
def prices(contract):
    return contract.economics.default_prices


@pytest.fixture(scope="session")
def policy(contract):
    """A valid policy as plain data."""
    return contract.fixed_reference.model_dump()


@pytest.fixture(scope="session")
def campaign(contract, sensors, prices):
    """Opens a campaign on a fake facility; keywords go to the facility or the executor."""

    def open_campaign(feedback=Feedback.FULL, *, rules=contract, shuffle_key="", **fake):
        facility = FakeFacility(rules, prices, **fake)
        return Executor.open(
            facility,
            rules,
            sensors,
            prices,
            feedback,
            rules.fixed_reference,
            shuffle_key=shuffle_key,
            stepping=step,
        )

    return open_campaign
