"""The public description says what it may, and nothing that is hidden can reach it."""

import json
import re

import pytest

from slowlab.canonical import loads_strict
from slowlab.config import override
from slowlab.world.policy import POLICY_FIELDS
from slowlab.world.sensors import CONTROLLER_CHANNELS, PUBLIC_CHANNELS
from slowlab.world.site import draw_site
from slowlab.world.task import Feedback, site_task, task_bytes, task_description

FORBIDDEN = re.compile(
    r"slowlab|greenlight|simulat|synthetic|digital twin|vanthoor|katzin|knmi|cabauw|epw|bleiswijk"
    r"|autonomous greenhouse|tomato|seed|latent|hidden|oracle|ground truth|https?:|doi|github"
    r"|tCan|rgFruit|laiMax|cLeakage|tauRf|etaLamp|j25|tEndSum|ueff|tSoOut|\b(19|20)\d\d\b",
    re.IGNORECASE,
)
PAST_ENDPOINT = ("series_summary", "predict_crop_outcome", "resolution", "daily", "raw", "channel")


@pytest.fixture
def site(sites, cabauw_pools):
    return draw_site(sites, 20260930, 0, pools=cabauw_pools, compartments=4)


@pytest.mark.parametrize("feedback", Feedback)
def test_twins_with_equal_prices_get_equal_bytes(
    contract, sensors, sites, site, cabauw_pools, feedback
):
    other = draw_site(sites, 1, 77, pools=cabauw_pools, compartments=4)
    twin = other.model_copy(update={"prices": site.prices})
    assert twin.parameters != site.parameters
    assert twin.noise_seed != site.noise_seed
    first = task_bytes(site_task(contract, sensors, site, feedback))
    assert task_bytes(site_task(contract, sensors, twin, feedback)) == first
    assert task_bytes(site_task(contract, sensors, site.for_campaign(), feedback)) == first
    assert task_bytes(site_task(contract, sensors, other, feedback)) != first


@pytest.mark.parametrize("feedback", Feedback)
def test_prices_are_the_sites_own_before_and_after_branching(contract, sensors, site, feedback):
    prices = site_task(contract, sensors, site, feedback)["prices"]
    assert prices["fruit_eur_per_kg_fresh"] == site.prices.fruit_eur_per_kg_fresh
    assert prices["electricity_eur_per_kwh"] == site.prices.electricity_eur_per_kwh
    assert (
        prices["electricity_eur_per_kwh"]
        != contract.economics.default_prices.electricity_eur_per_kwh
    )
    assert prices["planting_eur_per_m2"] == 2.0


@pytest.mark.parametrize("feedback", Feedback)
def test_nothing_forbidden_is_said(contract, draft_contract, sensors, site, feedback):
    for rules in (contract, draft_contract):
        text = task_bytes(site_task(rules, sensors, site, feedback)).decode()
        assert FORBIDDEN.findall(text) == []


@pytest.mark.parametrize("feedback", Feedback)
def test_no_hidden_number_is_said(contract, sensors, sites, cabauw_pools, feedback):
    for index in range(8):
        site = draw_site(sites, 20260930, index, pools=cabauw_pools, compartments=4)
        text = task_bytes(site_task(contract, sensors, site, feedback)).decode()
        hidden = [v for name, v in site.draws.items() if not name.startswith("price/")]
        hidden += [value for row in site.parameters for value in row.values()]
        hidden += [
            value for year in site.years for row in year.parameters for value in row.values()
        ]
        for value in hidden:
            assert f"{value:.6g}" not in text
        for year in (site, *site.years):
            assert str(year.noise_seed) not in text


def test_full_tells_of_records(contract, sensors, site):
    full = site_task(contract, sensors, site, Feedback.FULL)
    assert [row["name"] for row in full["channels"]["list"]] == list(PUBLIC_CHANNELS)
    observe = next(item for item in full["actions"] if item["action"] == "observe")
    assert set(observe["fields"]) == {
        *("unit", "run_index", "variable", "start_day", "end_day", "resolution")
    }
    tools = {item["tool"] for item in full["analysis_tools"]}
    assert {"predict_crop_outcome", "series_summary"} <= tools
    assert not any(name in task_bytes(full).decode() for name in CONTROLLER_CHANNELS)


def test_endpoint_advertises_nothing_that_cannot_work(contract, sensors, site):
    endpoint = site_task(contract, sensors, site, Feedback.ENDPOINT)
    text = task_bytes(endpoint).decode()
    assert "channels" not in endpoint
    assert [word for word in (*PAST_ENDPOINT, *PUBLIC_CHANNELS) if word in text] == []
    observe = next(item for item in endpoint["actions"] if item["action"] == "observe")
    assert set(observe["fields"]) == {"unit", "run_index"}
    tools = {item["tool"] for item in endpoint["analysis_tools"]}
    assert tools == {"runs", "fit_outcome_model", "predict", "space_filling_candidates"}


def test_unassigned_offers_only_what_works_in_both_modes(contract, sensors, site):
    views = {mode: site_task(contract, sensors, site, mode) for mode in Feedback}
    unassigned = views[Feedback.UNASSIGNED]
    assert unassigned["feedback"]["mode"] == "assigned after the day-0 design"
    for key in ("actions", "analysis_tools"):
        assert unassigned[key] == views[Feedback.ENDPOINT][key]
    same = set(unassigned) - {"actions", "analysis_tools", "feedback", "channels"}
    for key in same:
        assert unassigned[key] == views[Feedback.FULL][key] == views[Feedback.ENDPOINT][key]


def test_the_description_holds_the_allowed_sections_only(contract, sensors, site):
    full = site_task(contract, sensors, site, Feedback.FULL)
    assert set(full) == {
        *("task", "setting", "compartments", "calendar", "budgets", "policy", "actions"),
        *("analysis_tools", "rules", "scoring", "feedback", "prices", "channels"),
    }
    assert [row["name"] for row in full["policy"]["fields"]] == list(POLICY_FIELDS)
    assert full["calendar"]["day_0"].startswith("1 January")
    rules = " ".join(full["rules"])
    assert "physiological collapse of the crop also leads to a safety stop" in rules


def test_numbers_follow_the_contract(contract, sensors):
    varied = override(
        contract,
        {
            "budget.interface_calls": 99,
            "calendar.crop_days": 150,
            "policy.day_temperature_c.max": 25.0,
            "calendar.day_start_hour": 7,
            "safety.continuous_seconds": 1800,
        },
    )
    text = json.dumps(
        task_description(varied, sensors, contract.economics.default_prices, Feedback.FULL)
    )
    for words in ('"calls": 99', "after 150 days", '"max": 25.0', "07:00 to 22:00", "30 minutes"):
        assert words in text


def test_drafts_are_marked(contract, draft_contract, sensors, site, draft_sites, cabauw_pools):
    draft_site = draw_site(draft_sites, 1, 0, pools=cabauw_pools, compartments=4)
    assert "status" not in site_task(contract, sensors, site, Feedback.FULL)
    assert site_task(draft_contract, sensors, site, Feedback.FULL)["status"] == "DRAFT"
    assert site_task(contract, sensors, draft_site, Feedback.ENDPOINT)["status"] == "DRAFT"


def test_bytes_are_canonical_and_readable(contract, sensors, site):
    description = site_task(contract, sensors, site, Feedback.UNASSIGNED)
    content = task_bytes(description)
    assert loads_strict(content) == json.loads(content)
    assert task_bytes(dict(reversed(description.items()))) == content
