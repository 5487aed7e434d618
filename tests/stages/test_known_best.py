"""From recommendations to best-known policies, to scores with other side walls, and to anchors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from slowlab.analysis.anchoring import anchored_numbers
from slowlab.analysis.headroom import headroom_numbers
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.side_wall import side_wall_numbers
from slowlab.canonical import canonical_json
from slowlab.evaluation.best_known import BEST_KNOWN_SCHEMA, SEARCH_SCHEMA
from slowlab.evaluation.recommendations import FORMAT
from slowlab.evaluation.score import SCORE_SCHEMA, SITE_SCHEMA
from slowlab.evaluation.search import repaired
from slowlab.evaluation.side_wall import SIDE_WALL_SCHEMA
from slowlab.plan.known_best import OracleSearch
from slowlab.plan.study import Setting
from slowlab.stages import evaluation, oracle, side_wall
from slowlab.stages.gather import IncompleteStudyError
from slowlab.stages.materials import Materials
from slowlab.tools.artifacts import ArtifactFolder
from tests.analysis.synthetic_study import synthetic_inputs
from tests.evaluation.conftest import FakeRunner

SITES, AGAIN = (0, 1, 2, 3), (1, 2)
SEARCH = OracleSearch(sobol=4, rounds=1, population=4, finalists=2, selection_years=1)
INSIDE = np.array([0.61, 0.2, 0.53, 0.0, 0.71, 0.34])


@dataclass
class ClosingRunner(FakeRunner):
    """The stand-in as a context manager."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


@pytest.fixture(autouse=True)
def formula(monkeypatch):
    """All stages take a formula whose optimum depends on the side wall."""

    def make(contract, sensors, weather, **_):
        runner = ClosingRunner(contract, sensors)
        runner.optimum = lambda run: INSIDE + 0.05 * (run.lanes[0].parameters["ueff"] - 2.0)
        return runner

    for stage in (oracle, side_wall, evaluation):
        monkeypatch.setattr(stage, "YearRunner", make)


@pytest.fixture(scope="module")
def materials():
    return Materials.load(Setting(study="test", partition="rehearsal"))


@pytest.fixture(scope="module")
def recommended(materials, tmp_path_factory):
    """Files of the reference and of two methods that come nearer to the optimum, by method."""
    bounds, folder = materials.contract.policy, tmp_path_factory.mktemp("recommended")
    policies = {
        "fixed_reference": materials.contract.fixed_reference,
        "random_search": repaired(INSIDE[None] + 0.3, bounds)[0],
        "prior_bo": repaired(INSIDE[None] + 0.1, bounds)[0],
    }
    return {
        name: write(folder / f"{name}.json", materials, name, policy)
        for name, policy in policies.items()
    }


def write(path, materials, name, policy):
    rows = [
        {
            "site": site,
            "method": name,
            "feedback": "none" if name == "fixed_reference" else "full",
            "policy": policy.model_dump(),
        }
        for site in SITES
    ]
    content = {"format": FORMAT, "contract": materials.contract.id, "partition": "rehearsal"}
    path.write_text(canonical_json({**content, "recommendations": rows}))
    return path


def searched(materials, recommended, folder, shards):
    """The gathered table when the sites are searched in these shards."""
    files = []
    for sites in shards:
        files.append(folder / f"{sites[0]}-{len(sites)}.parquet")
        again = [site for site in AGAIN if site in sites]
        given = list(recommended.values())
        oracle.find_oracle(materials, SEARCH, sites, again, given, folder / "runs", files[-1])
    target = folder / "oracle.parquet"
    oracle.gather_oracle(materials, files, SITES, AGAIN, target)
    return target


@pytest.fixture
def found(materials, recommended, tmp_path):
    return searched(materials, recommended, tmp_path, [SITES])


def test_bytes_do_not_depend_on_the_shards(materials, recommended, tmp_path, found):
    one, two = tmp_path / "one", tmp_path / "two"
    first = searched(materials, recommended, one, [[3], [0, 2], [1]])
    turned = dict(reversed(recommended.items()))
    assert first.read_bytes() == found.read_bytes()
    assert searched(materials, turned, two, [[0, 1], [2, 3]]).read_bytes() == found.read_bytes()


def test_a_missing_or_unplanned_search_stops_the_study(materials, recommended, tmp_path):
    part = tmp_path / "part.parquet"
    given = list(recommended.values())
    oracle.find_oracle(materials, SEARCH, SITES, [1], given, tmp_path / "runs", part)
    for again, said in ((AGAIN, "site 2 search 1"), ((), "site 1 search 1")):
        with pytest.raises(IncompleteStudyError, match=said):
            oracle.gather_oracle(materials, [part], SITES, again, tmp_path / "oracle.parquet")
    assert len(SEARCH_SCHEMA.read(part)) == len(SITES) + 1


def test_the_error_by_years_is_that_of_the_frozen_artifact(materials, found):
    """0.678 EUR/m2 with three years: what the artifact states beside its one-year deviation."""
    content = materials.artifacts.load("evaluation_error").content
    table = BEST_KNOWN_SCHEMA.read(found)
    expected = pytest.approx(content["difference_sd_three_years_eur_m2"], abs=1e-6)
    assert table["evaluation_error_eur_m2"].tolist() == [expected] * len(SITES)


def test_an_artifact_without_a_portfolio_is_enough(materials, tmp_path):
    from slowlab.tools.artifacts import write_artifact
    from slowlab.world.policy import POLICY_FIELDS

    content = {"policy": materials.contract.fixed_reference.model_dump()}
    path, identity = tmp_path / "common_policy.json", materials.contract.id
    write_artifact(path, contract=identity, fields=POLICY_FIELDS, provenance={}, content=content)
    other = replace(materials, artifacts=ArtifactFolder(tmp_path, identity))
    suggested = oracle.suggested_policies(other)
    assert suggested.common == materials.contract.fixed_reference
    assert suggested.portfolio == ()


@pytest.fixture
def inputs(materials, recommended, found, tmp_path):
    """A study whose tables were all made by the stages."""
    scores, sites = tmp_path / "scores.parquet", tmp_path / "site_scores.parquet"
    files = list(recommended.values())
    evaluation.score_files(materials, "all", files, tmp_path / "runs", scores, sites)
    walls = tmp_path / "side_wall.parquet"
    side_wall.rescore_side_wall(materials, [0.0, 4.0], SITES[:3], files, tmp_path / "runs", walls)
    return replace(
        synthetic_inputs(sites=len(SITES), repeats=1, readers=(), feedback=("full",)),
        scores=SCORE_SCHEMA.read(scores),
        sites=SITE_SCHEMA.read(sites),
        oracle=BEST_KNOWN_SCHEMA.read(found),
        side_wall=SIDE_WALL_SCHEMA.read(walls),
    )


@pytest.fixture
def cells(inputs):
    return cells_from_scores(inputs.own_scores, inputs.design)


def test_the_reference_scores_zero_and_the_best_known_policy_one(inputs, cells):
    numbers = anchored_numbers(inputs, cells)
    reference = numbers["methods"]["fixed_reference"]["none"]
    assert reference["anchored"] == [0.0] * len(SITES)
    assert numbers["best_known"]["sites"] == list(SITES)
    assert numbers["best_known"]["anchored"] == [1.0] * len(SITES)
    assert numbers["best_known"]["mean_mid_anchored"] in (1.0, None)
    between = numbers["methods"]["random_search"]["full"]["anchored"]
    assert all(value is None or value < 1.0 for value in between)


def test_headroom_is_the_difference_of_stored_scores(inputs, cells):
    numbers = headroom_numbers(inputs, cells)
    table = inputs.oracle
    gains = table["score_eur_m2"] - table["reference_score_eur_m2"]
    assert numbers["best_known"]["estimate"] == pytest.approx(gains.mean())
    assert numbers["sites"] == list(SITES)
    assert numbers["search_repeat"]["sites"] == list(AGAIN)
    assert numbers["optimism"]["mean"] == pytest.approx(table["optimism_eur_m2"].mean())


def test_side_walls_are_compared_with_the_scores_of_the_study(inputs):
    numbers = side_wall_numbers(inputs)
    assert numbers["sites"] == list(SITES[:3])
    assert [item["setting"] for item in numbers["settings"]] == ["drawn", "0", "4"]
    own = inputs.sites[inputs.sites["site"].isin(SITES[:3])]
    means = own.groupby("method")["score_eur_m2"].mean()
    for name, cell in numbers["settings"][0]["methods"].items():
        assert cell["mean"] == pytest.approx(means[name])
