"""The contract of methods, over all that are registered and one that is thrown away."""

from __future__ import annotations

import pytest

from slowlab.methods import _registry
from slowlab.methods._registry import discover, registered
from tests.methods.contract_checks import EXPERIMENTING, STATIC

CASES = [
    pytest.param(name, check, id=f"{name}-{check.__name__}")
    for name, method in registered().items()
    for check in (EXPERIMENTING if method.experiments else STATIC)
]


@pytest.mark.parametrize(("name", "check"), CASES)
def test_the_contract(name, check, tmp_path):
    check(name, tmp_path)


THROW_AWAY = '''
from slowlab.methods._base import Method
from slowlab.methods._design import random_policy
from slowlab.methods._registry import register
from slowlab.methods._waves import best_seen, two_waves


@register("throw_away")
class ThrowAway(Method):
    """Plant one random policy everywhere, twice, and recommend the better crop."""

    def play(self, campaign, rng):
        policies = [random_policy(campaign.bounds, rng)] * len(campaign.units)
        yield from two_waves(
            campaign, policies, lambda crops: policies, lambda crops: best_seen(crops, policies[0])
        )
'''


@pytest.fixture
def throw_away(tmp_path, monkeypatch):
    """A method in a folder of its own, forgotten afterwards."""
    registered()
    monkeypatch.setattr(_registry, "_METHODS", dict(_registry._METHODS))
    folder = tmp_path / "my_methods"
    folder.mkdir()
    (folder / "throw_away.py").write_text(THROW_AWAY, encoding="utf-8")
    discover(folder)
    return "throw_away"


@pytest.mark.parametrize("check", EXPERIMENTING, ids=lambda check: check.__name__)
def test_a_method_from_another_folder_keeps_the_contract(throw_away, check, tmp_path):
    check(throw_away, tmp_path)


BROKEN = {
    "only_legal_actions": 'yield {"action": "stop", "unit": 0}',
    "small_tasks": 'yield {"action": "observe", "unit": 3}',
    "seeds": "rng = __import__('numpy').random.default_rng(3)",
    "order_of_members": "rng.random(len(campaign.task['policy']['fields'][0]['name']))",
    "no_state_between_campaigns": "rng = self.__dict__.setdefault('rng', rng)",
    "first_day_is_blind": "rng.random(1 + campaign.reads_records)",
}
"""A line that breaks a rule, by the check that must find it."""


@pytest.mark.parametrize("check", BROKEN)
def test_a_method_that_breaks_the_contract_is_found(check, tmp_path, monkeypatch):
    registered()
    monkeypatch.setattr(_registry, "_METHODS", dict(_registry._METHODS))
    folder = tmp_path / check
    folder.mkdir()
    text = THROW_AWAY.replace("        policies =", f"        {BROKEN[check]}\n        policies =")
    (folder / "broken.py").write_text(text, encoding="utf-8")
    discover(folder)
    (found,) = [item for item in EXPERIMENTING if item.__name__ == check]
    with pytest.raises(AssertionError):
        found("throw_away", tmp_path)
