"""Planted faults: the named checks of the simulator must see each of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from slowlab.greenlight import batch, controller, day, integrator, lanes, model, noise, sensors
from slowlab.greenlight import stepper as stepper_module
from slowlab.greenlight.day import StepperSettings
from slowlab.greenlight.integrator import Scheme
from slowlab.greenlight.staging import _Restructure
from slowlab.greenlight.stepper import Stepper
from tests.greenlight import checks, simulator

Patch = pytest.MonkeyPatch


def small_stepper() -> Stepper:
    """Compiled afresh, so that a planted fault is compiled in."""
    return Stepper(settings=StepperSettings(scheme=Scheme(substeps=2)), width=8)


def policy_fields_by_sorted_position(patch: Patch) -> None:
    def by_position(**fields: np.ndarray) -> controller.PolicyLanes:
        return controller.PolicyLanes(*(fields[name] for name in sorted(fields)))

    patch.setattr(stepper_module, "PolicyLanes", by_position)


def day_and_night_swapped(patch: Patch) -> None:
    native = controller.commands

    def swapped(settings, policy, *rest):
        day_c, night_c = policy.day_temperature_c, policy.night_temperature_c
        other = policy._replace(day_temperature_c=night_c, night_temperature_c=day_c)
        return native(settings, other, *rest)

    patch.setattr(controller, "commands", swapped)


def screen_rule_inverted(patch: Patch) -> None:
    native = controller._screen
    patch.setattr(controller, "_screen", lambda *arguments: 1.0 - native(*arguments))


def vents_ignore_humidity(patch: Patch) -> None:
    native = controller._vent

    def deaf(settings, policy, readings, *rest):
        return native(settings, policy, readings._replace(relative_humidity_pct=0.0), *rest)

    patch.setattr(controller, "_vent", deaf)


def side_walls_cool(patch: Patch) -> None:
    native = model._side_wall_heat

    def negative(graph, *arguments, **keywords):
        return graph.make("neg", native(graph, *arguments, **keywords))

    patch.setattr(model, "_side_wall_heat", negative)


def floor_under_the_compensation_point_removed(patch: Patch) -> None:
    patch.setattr(model, "_co2_in_stomata", lambda _definition, graph: graph.const(1e12))


def guard_of_the_cover_removed(patch: Patch) -> None:
    native = model._overrides

    def unguarded(*arguments):
        kept = native(*arguments)
        return {name: kept[name] for name in kept if not name.startswith("aCov")}

    patch.setattr(model, "_overrides", unguarded)


def pole_test_ten_times_wider(patch: Patch) -> None:
    patch.setattr(integrator, "_POLE_SHARE", 0.2)


def regrouping_forgets_a_magnitude(patch: Patch) -> None:
    def without_abs(self: _Restructure, node: int) -> int:
        return self._done[self.source.nodes[node].args[0]]

    patch.setattr(_Restructure, "_magnitude", without_abs)


def fruit_not_reset_at_planting(patch: Patch) -> None:
    kept = {name: v for name, v in lanes.PLANTING_POOLS.items() if name != "cFruit"}
    patch.setattr(lanes, "PLANTING_POOLS", kept)


def planting_forgets_the_account_before(patch: Patch) -> None:
    native = batch.LaneBatch.plant

    def forgetful(self, where):
        planted = native(self, where)
        return planted._replace(latest_crop=planted.totals - planted.totals_at_planting)

    patch.setattr(batch.LaneBatch, "plant", forgetful)


def noise_without_compartment(patch: Patch) -> None:
    patch.setattr(sensors, "_STREAMS_PER_COMPARTMENT", 0)


def generator_with_other_rotations(patch: Patch) -> None:
    patch.setattr(noise, "_ROTATIONS", noise._ROTATIONS[::-1])


def energy_in_the_wrong_unit(patch: Patch) -> None:
    patch.setattr(day, "_JOULE_PER_KWH", 3.6e3)


def weather_columns_in_another_order(patch: Patch) -> None:
    patch.setattr(day, "WEATHER", ("tOut", "iGlob", "vpOut", "wind", "tSky"))


def right_hand_side_of_another_release() -> None:
    """A constant of the native model differs by a millionth."""
    checks.check_right_hand_side(simulator.definition(), values={"rgFruit": 0.328 * (1 + 1e-6)})


def books_of_a_fresh_build() -> None:
    checks.check_books_match_commands(small_stepper())


def commands_of_a_fresh_build() -> None:
    checks.check_commands_in_a_run(small_stepper())


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[], None]]] = [
    (policy_fields_by_sorted_position, checks.check_rules_of_the_controller),
    (day_and_night_swapped, checks.check_rules_of_the_controller),
    (screen_rule_inverted, checks.check_rules_of_the_controller),
    (vents_ignore_humidity, checks.check_rules_of_the_controller),
    (side_walls_cool, checks.check_side_wall_heat),
    (floor_under_the_compensation_point_removed, checks.check_compensation_point_is_floored),
    (guard_of_the_cover_removed, checks.check_cover_absorption),
    (pole_test_ten_times_wider, checks.check_lit_pole),
    (regrouping_forgets_a_magnitude, checks.check_regrouping_keeps_values),
    (fruit_not_reset_at_planting, checks.check_planting_resets_the_crop),
    (planting_forgets_the_account_before, checks.check_account_of_a_crop),
    (noise_without_compartment, checks.check_noise_differs_between_compartments),
    (generator_with_other_rotations, checks.check_known_random_numbers),
    (energy_in_the_wrong_unit, books_of_a_fresh_build),
    (weather_columns_in_another_order, commands_of_a_fresh_build),
]


@pytest.mark.parametrize(
    ("fault", "check"), MUTANTS, ids=[f"{f.__name__}" for f, _ in MUTANTS]
)  # fmt: skip
def test_planted_fault_is_seen_by_its_check(monkeypatch, fault, check):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check()


QUICK = {check.__name__: check for _, check in MUTANTS if check.__module__ == checks.__name__}


@pytest.mark.parametrize("name", QUICK)
def test_check_passes_without_a_fault(name):
    QUICK[name]()


@pytest.mark.parametrize(
    "check", [checks.check_books_match_commands, checks.check_commands_in_a_run]
)  # fmt: skip
def test_check_of_a_build_passes_without_a_fault(check):
    check(simulator.production())


def test_half_written_file_under_its_final_name_is_seen(monkeypatch, tmp_path):
    import contextlib

    monkeypatch.setattr(batch, "atomic_path", contextlib.nullcontext)
    with pytest.raises((AssertionError, batch.SavedStateError)):
        checks.check_failed_save_keeps_the_old_file(tmp_path)


def test_constant_of_another_release_is_seen():
    with pytest.raises(AssertionError, match="relative"):
        right_hand_side_of_another_release()
