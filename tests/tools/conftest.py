"""A played campaign, its tools, and the predictor that they use."""

import pytest

from tests.tools.campaigns import played_campaign, toolbox
from tests.tools.predictors import write_predictor


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    return write_predictor(tmp_path_factory.mktemp("artifacts"))


@pytest.fixture(scope="module")
def history():
    return played_campaign().history


@pytest.fixture
def tools(history, artifacts):
    return toolbox(history, artifacts=artifacts)
