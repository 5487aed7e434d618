"""What the language models of a study can cost."""

import pytest
from typer.testing import CliRunner

from slowlab.agents.bounds import branch_bound, reading_bound
from slowlab.agents.messages import Message, ModelCall, Role, Stage
from slowlab.agents.models import model_config
from slowlab.agents.profile import load_profile
from slowlab.agents.reply_schema import functions, response_schema
from slowlab.cli import app
from slowlab.config import CONFIG_ROOT, ConfigError, validate_config
from slowlab.plan.spending import likely_usd, spending, total
from slowlab.plan.study import StudyConfig
from slowlab.world.contract import load_contract
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback, task_description

PUBLISHED = load_profile("digest_notes")
DEEPSEEK, GLM, MIMO = (
    model_config(name) for name in ("deepseek-v4.1-flash", "glm-5.3-flash", "mimo-v2.6-flash")
)
_CONTRACT = load_contract(CONFIG_ROOT / "contracts" / "v8.yaml")
TASK = task_description(
    _CONTRACT,
    load_sensors(CONFIG_ROOT / "sensors" / "v0.yaml"),
    _CONTRACT.economics.default_prices,
    Feedback.FULL,
)
STUDY = {
    "study": "priced",
    "partition": "rehearsal",
    "sites": 48,
    "repeats": 2,
    "methods": [
        "prior_bo",
        {"name": "glm", "model": "glm-5.3-flash"},
        {"name": "grower", "model": "stand-in-grower", "stand_in": True},
    ],
    "readers": ["gp", {"name": "glm_reader", "model": "glm-5.3-flash"}],
    "reader_sites": 16,
    "analysis": {
        "baseline": "prior_bo",
        "reference": "prior_bo",
        "example_method": "glm",
        "timeline_methods": ["glm"],
    },
}


def study(**changes):
    return validate_config({**STUDY, **changes}, StudyConfig)


def test_every_campaign_and_reading_is_counted():
    glm, grower, reader = spending(study())
    assert (glm.name, glm.work) == ("glm", "192 branches")  # 48 sites, 2 repeats, 2 conditions
    assert glm.bound.calls == 192 * 200
    assert glm.bound.characters == 192 * 5_000_000
    assert (grower.bound.usd, grower.likely_usd, grower.free) == (0.0, 0.0, True)
    assert reader.work == "48 readings"  # 16 sites, 3 sources
    assert reader.bound.calls == 48 * 3
    everything = total([glm, grower, reader])
    assert everything.bound.usd == pytest.approx(glm.bound.usd + reader.bound.usd)
    assert everything.likely_usd == glm.likely_usd
    assert everything.bound.usd_retried == pytest.approx(5 * everything.bound.usd)


@pytest.mark.parametrize(
    ("model", "profile_name"),
    [(DEEPSEEK, "digest_notes"), (GLM, "json_schema"), (MIMO, "function_calls")],
)
def test_no_branch_within_its_budgets_costs_more_than_its_bound(model, profile_name):
    """Calls as a harness makes them: two more messages each time, until a budget is used up."""
    profile = load_profile(profile_name)
    budgets, further = profile.budgets, {}
    if profile_name == "json_schema":
        further = {"response_schema": response_schema(Stage.SEASON, TASK, profile)}
    if profile_name == "function_calls":
        further = {"functions": functions(Stage.SEASON, TASK, profile)}
    spent, room = 0.0, budgets.prompt_characters // budgets.model_calls
    for number in range(budgets.model_calls):
        turns = 2 * number + 4
        messages = tuple(Message(Role.USER, "x" * (room // turns)) for _ in range(turns))
        spent += model.worst_case_usd(ModelCall(messages, budgets.output_tokens, **further))
    bound = branch_bound(model, profile, TASK)
    assert 0.7 * bound.usd < spent <= bound.usd
    assert reading_bound(model, profile, TASK).usd < bound.usd


@pytest.mark.parametrize(
    ("model", "published_usd"), [(DEEPSEEK, 0.0788), (GLM, 0.0685), (MIMO, 0.1053)]
)
def test_the_likely_cost_takes_the_published_tokens(model, published_usd):
    both = likely_usd(model, ("full", "endpoint"))
    assert both == pytest.approx(published_usd, abs=5e-5)
    full, endpoint = likely_usd(model, ("full",)), likely_usd(model, ("endpoint",))
    assert full + endpoint == pytest.approx(both)
    assert full > endpoint
    assert likely_usd(model, ("delayed",)) == full
    assert both < 2 * branch_bound(model, PUBLISHED, TASK).usd


def test_without_a_price_the_bound_is_unknown():
    unpriced = GLM.model_copy(update={"price": None})
    assert branch_bound(unpriced, PUBLISHED, TASK).times(3).usd is None
    assert likely_usd(unpriced, ("full",)) is None
    assert likely_usd(GLM.model_copy(update={"published_as": None}), ("full",)) is None


def test_an_unknown_model_is_refused():
    with pytest.raises(ConfigError, match="no model 'gpt'"):
        spending(study(methods=["prior_bo", {"name": "glm", "model": "gpt"}]))


def printed(tmp_path, *lines):
    """What the command prints for a study with some more lines."""
    path = tmp_path / "mine.yaml"
    text = "study: mine\npartition: rehearsal\nsites: 2\nmethods:\n  - prior_bo\n"
    text += "".join(f"{line}\n" for line in lines)
    text += "analysis:\n  baseline: prior_bo\n  reference: prior_bo\n"
    text += "  example_method: prior_bo\n  timeline_methods: [prior_bo]\n"
    path.write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, ["cost", str(path)])


def test_the_command_says_what_is_bound_and_what_is_likely(tmp_path):
    glm = "  - {name: glm, model: glm-5.3-flash}"
    shown = printed(tmp_path, glm, "spending: {usd: 1.0}")
    assert shown.exit_code == 0
    words = shown.stdout.split()
    bound = branch_bound(GLM, PUBLISHED, TASK).times(8).usd
    likely = 4 * likely_usd(GLM, ("full", "endpoint"))
    assert f"{bound:,.2f}" in words
    assert f"{likely:,.2f}" in words
    assert "Caps: USD 1.00. The bound is above a cap" in shown.stdout
    assert "No cap is set" in printed(tmp_path, glm).stdout
    calm = printed(tmp_path, glm, "spending: {usd: 1000.0, calls: 9999}").stdout
    assert "Caps: USD 1,000.00, 9,999 calls." in calm
    assert "above" not in calm


def test_the_command_tells_free_from_nothing(tmp_path):
    stand_in = "  - {name: grower, model: stand-in-grower, stand_in: true}"
    assert "free" in printed(tmp_path, stand_in).stdout
    assert "asks no language model" in printed(tmp_path).stdout


def test_the_command_names_what_is_wrong(tmp_path):
    shown = printed(tmp_path, "  - {name: glm, model: glm}")
    assert shown.exit_code == 2
    assert "there is no model 'glm'" in shown.stderr
