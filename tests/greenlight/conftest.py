"""Builds that are compiled once per test run."""

from __future__ import annotations

import pytest

from slowlab.greenlight.definition import ModelDefinition
from slowlab.greenlight.integrator import StagedModel
from slowlab.greenlight.stepper import Stepper
from tests.greenlight import simulator


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
