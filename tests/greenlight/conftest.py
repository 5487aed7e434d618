"""Builds that are compiled once per test run."""

from __future__ import annotations

import pytest
from hypothesis import settings

from slowlab.greenlight.definition import ModelDefinition
from slowlab.greenlight.integrator import StagedModel
from slowlab.greenlight.stepper import Stepper
from tests.greenlight import simulator

# A first call compiles; how long an example takes says nothing.
settings.register_profile("compiled", deadline=None)
settings.load_profile("compiled")


@pytest.fixture(scope="session")
def definition() -> ModelDefinition:
    """The installed model definition."""
    return simulator.definition()


@pytest.fixture(scope="session")
def staged() -> StagedModel:
    """The default variant, staged."""
    return simulator.staged()


@pytest.fixture(scope="session")
def stepper() -> Stepper:
    """The production build."""
    return simulator.production()
