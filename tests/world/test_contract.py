"""The contract: its derived numbers, its cross-checks, drafts."""

import pytest

from slowlab.config import CONFIG_ROOT, ConfigError, config_sha256, load_config, override
from slowlab.world.contract import Contract, load_contract
from slowlab.world.contract_facility import WALL_SIDES, SideWallForm
from slowlab.world.contract_rules import CollapseRule
from slowlab.world.drafts import draft_mark
from slowlab.world.partitions import Partitions
from slowlab.world.policy import POLICY_FIELDS
from slowlab.world.sensors import SensorSpec
from slowlab.world.site_distribution import SiteDistribution


def test_geometry_reproduces_the_published_areas(contract, golden):
    shape, published = contract.facility.geometry, golden["geometry"]
    assert shape.ridge_rise_m == pytest.approx(published["ridge_rise_m"], rel=1e-14)
    assert shape.mean_height_m == pytest.approx(published["mean_height_m"], rel=1e-14)
    assert shape.roof_area_m2 == pytest.approx(published["roof_area_m2"], rel=1e-14)
    assert shape.cover_area_m2 == pytest.approx(published["reference_cover_area_m2"], rel=1e-14)
    for side in WALL_SIDES:
        lower, upper = published["wall_lower_area_m2"], published["wall_upper_area_m2"]
        assert shape.wall_lower_area_m2(side) == pytest.approx(lower[side], rel=1e-14)
        assert shape.wall_upper_area_m2(side) == pytest.approx(upper[side], rel=1e-14)
    with pytest.raises(KeyError, match="north"):
        shape.wall_lower_area_m2("up")


def test_greenlight_constants_are_the_published_overrides(contract):
    found = contract.facility.greenlight_constants()
    published = {
        **{"aFlr": 96.0, "aCov": 289.24809954029, "hAir": 4.2, "hGh": 4.984831471002188},
        **{"psi": 22.0, "aRoof": 28.8, "pBoil": 11520.0, "phiExtCo2": 200.0},
        **{"thetaLampMax": 66.66666666666667, "heatCorrection": 0.0, "hElevation": 0.0},
    }
    assert found == pytest.approx(published, rel=1e-14)


@pytest.mark.parametrize(
    ("outdoor_c", "lower", "upper"),
    [(0, 44.8, 5.1), (5, 31.9, 3.7), (10, 18.9, 2.3), (20, -7.0, -0.5)],
)
def test_side_wall_heat_has_the_published_size(contract, outdoor_c, lower, upper):
    below, above = contract.facility.wall_sums()
    exchange = contract.facility.side_walls.default_exchange_w_m2_k
    for sums, published in ((below, lower), (above, upper)):
        heat = exchange * (sums.area_ratio_c - sums.area_ratio * outdoor_c)
        assert heat == pytest.approx(published, abs=0.06)


def test_walls_without_neighbours_exchange_nothing(contract):
    changes = {f"facility.side_walls.{side}_c": None for side in WALL_SIDES}
    below, above = override(contract, changes).facility.wall_sums()
    assert (below.area_ratio, above.area_ratio_c) == (0.0, 0.0)


def test_calendar_counts_in_whole_ticks(contract):
    calendar = contract.calendar
    assert calendar.ticks_per_day == 288
    assert calendar.campaign_ticks == 105_120
    assert calendar.crop_ticks == 180 * 288
    assert calendar.cleanup_ticks == 576
    assert calendar.latest_start_tick == 183 * 288
    assert contract.safety_ticks == 12
    assert contract.evaluation_days == 362


def test_defaults_are_the_declared_ones(contract):
    assert contract.collapse.rule is CollapseRule.FLOOR
    assert contract.facility.side_walls.form is SideWallForm.NEIGHBOUR_MINUS_OUTDOOR
    assert list(contract.fixed_reference.model_dump().values()) == [21, 17, 800, 12, 3, 85]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"calendar.tick_seconds": 7}, "divide 600 s"),
        ({"calendar.day_start_hour": 22}, "before day_end_hour"),
        ({"calendar.latest_start_day": 365}, "before the end of the campaign"),
        (
            {"budget.reserved_interface_calls": 100, "budget.interface_calls": 100},
            "below interface",
        ),
        ({"budget.reserved_decision_calls": 32}, "below decision_calls"),
        ({"policy.supplemental_light_hours.max": 19.0}, r"hours left .*\(18\)"),
        ({"safety.continuous_seconds": 3601}, "whole number of ticks"),
        ({"safety.air_below_c": 50.0}, "below air_above_c"),
        ({"evaluation.plantings.1.compartments": [2, 2]}, "every compartment exactly once"),
        ({"evaluation.plantings.1.day": 200}, "within 365 days"),
        ({"evaluation.fixed_reference": "nobody"}, "one of grower_standard"),
        ({"policy.day_temperature_c.max": 21.5}, "policy_a: day_temperature_c is too high"),
        ({"facility.geometry.screen_height_m": 5.0}, "not be above eave"),
        ({"collapse.rule": "ignore"}, "one of floor, stop"),
        ({"facility.side_walls.form": "other"}, "neighbour_minus_indoor"),
        ({"economics.default_prices.co2_eur_per_kg": -1.0}, "at least 0; got -1.0"),
    ],
)
def test_contradictions_are_refused(contract, changes, words):
    with pytest.raises(ConfigError, match=words):
        override(contract, changes)


def test_a_designer_may_vary_the_task(contract):
    varied = override(
        contract,
        {
            "facility.compartments": 2,
            "evaluation.plantings": [
                {"day": 0, "compartments": [0]},
                {"day": 90, "compartments": [1]},
            ],
            "calendar.crop_days": 120,
            "facility.side_walls.form": "neighbour_minus_indoor",
            "collapse.rule": "stop",
            "facility.capacities.heating_w_m2": 180.0,
        },
    )
    assert varied.evaluation_days == 210
    assert varied.facility.greenlight_constants()["pBoil"] == pytest.approx(180 * 96)


def test_the_draft_is_marked_and_differs_in_its_box_only(contract, draft_contract):
    assert draft_contract.label.endswith("(DRAFT)")
    assert contract.label == contract.id
    assert draft_mark(contract) == ""
    assert draft_mark(contract, draft_contract) == "DRAFT"
    box = {name: draft_contract.policy.of(name) for name in POLICY_FIELDS}
    limits = [(bound.min, bound.max) for bound in box.values()]
    assert limits == [(16, 30), (10, 24), (400, 1600), (0, 18), (1, 8), (60, 95)]
    ours, theirs = draft_contract.model_dump(), contract.model_dump()
    assert {key for key in ours if ours[key] != theirs[key]} == {
        "id",
        "draft",
        "public_name",
        "policy",
    }


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("contracts/v8.yaml", Contract),
        ("contracts/v9-draft.yaml", Contract),
        ("sites/v1.yaml", SiteDistribution),
        ("sites/v2-draft.yaml", SiteDistribution),
        ("sensors/v0.yaml", SensorSpec),
        ("partitions/v1.yaml", Partitions),
    ],
)
def test_windows_line_ends_change_no_identity(tmp_path, path, model):
    for source in (CONFIG_ROOT / path).parent.glob("*.yaml"):
        plain = source.read_bytes().replace(b"\r\n", b"\n")
        (tmp_path / source.name).write_bytes(plain.replace(b"\n", b"\r\n"))
    original = load_config(CONFIG_ROOT / path, model)
    copy = load_config(tmp_path / (CONFIG_ROOT / path).name, model)
    assert config_sha256(copy) == config_sha256(original)


def test_one_changed_value_changes_the_identity(contract, tmp_path):
    text = (CONFIG_ROOT / "contracts" / "v8.yaml").read_text(encoding="utf-8")
    changed = tmp_path / "v8.yaml"
    changed.write_text(text.replace("crop_days: 180", "crop_days: 179"), encoding="utf-8")
    assert config_sha256(load_contract(changed)) != config_sha256(contract)
