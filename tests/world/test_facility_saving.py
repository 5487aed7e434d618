"""A saved facility goes on as if it had never been away."""

from __future__ import annotations

import json

import numpy as np
import pytest

from slowlab.greenlight.batch import SavedStateError, save_batch
from slowlab.world.facility import Facility, advance_together
from slowlab.world.facility_books import FailureKind, FailureReport
from tests.facilities import (
    DAY,
    REFERENCE,
    calendar_simulator,
    drawn_site,
    opened,
    policy,
    two_years,
)
from tests.simulations import short_simulator

SIMULATOR = calendar_simulator()


def restored(path, facility: Facility) -> Facility:
    return Facility.restore(path, facility.simulator, facility.site, facility.weather)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("tick", [0, 700, 4 * DAY, 12 * DAY])
def test_a_restored_facility_goes_on_to_the_same_bytes(tmp_path, keep, tick):
    simulator = short_simulator()
    facility = opened(simulator, 1, keep_records=keep)
    facility.plant(0, REFERENCE)
    facility.plant(2, policy(co2_target_ppm=900))
    advance_together(simulator, [(facility, min(tick, 300))])
    if tick:
        facility.stop(2)
    advance_together(simulator, [(facility, tick)])
    facility.save(tmp_path / "facility.npz")
    again = restored(tmp_path / "facility.npz", facility)
    assert again.sha256() == facility.sha256()
    assert again.keeps_records is keep
    if tick < 12 * DAY:
        for one in (facility, again):
            advance_together(simulator, [(one, 6 * DAY)])
            one.plant(2, policy(day_temperature_c=25))
            advance_together(simulator, [(one, 8 * DAY + 11)])
    assert again.sha256() == facility.sha256()
    assert again.private_report() == facility.private_report()
    assert [again.crops(unit) for unit in range(4)] == [facility.crops(unit) for unit in range(4)]


def test_saving_twice_gives_the_same_bytes(tmp_path):
    facility = opened(SIMULATOR)
    advance_together(SIMULATOR, [(facility, 500)])
    for name in ("a.npz", "b.npz"):
        facility.save(tmp_path / name)
    facility.save(tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_a_failure_is_kept(tmp_path):
    facility = opened(SIMULATOR)
    report = FailureReport(FailureKind.NON_FINITE_STATE, 0, (1, 2), "for people")
    facility.lanes.failure = report
    facility.save(tmp_path / "facility.npz")
    assert restored(tmp_path / "facility.npz", facility).failure() == report


def test_noise_free_facilities_stay_so(tmp_path):
    facility = opened(SIMULATOR, noise=False)
    facility.save(tmp_path / "facility.npz")
    assert restored(tmp_path / "facility.npz", facility).noise is False


def test_another_site_year_or_task_is_refused(tmp_path):
    path, facility = tmp_path / "facility.npz", opened(SIMULATOR)
    facility.save(path)
    longer = SIMULATOR.contract.model_copy(update={"public_name": "another"})
    other = type(SIMULATOR)(longer, SIMULATOR.sensors, SIMULATOR.stepper)
    for arguments, name in (
        ((SIMULATOR, drawn_site(1), facility.weather), "site"),
        ((SIMULATOR, facility.site, two_years()[1]), "weather"),
        ((other, facility.site, facility.weather), "contract"),
    ):
        with pytest.raises(SavedStateError, match=f"saved with another {name}"):
            Facility.restore(path, *arguments)
    assert (
        Facility.restore(path, SIMULATOR, facility.site.for_campaign(), facility.weather).tick == 0
    )


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path, facility = tmp_path / "facility.npz", opened(SIMULATOR)
    with pytest.raises(SavedStateError, match="not a readable saved state"):
        restored(path, facility)
    save_batch(path, facility.lanes.batch, SIMULATOR.stepper.build)
    with pytest.raises(SavedStateError, match="not a saved facility"):
        restored(path, facility)
    facility.save(path)
    with np.load(path) as archive:
        content = dict(archive)
    header = json.loads(str(content["header"]))
    header["facts"]["noise"] = False
    np.savez(path, **content | {"header": np.array(json.dumps(header))})
    with pytest.raises(SavedStateError, match="does not match its checksum"):
        restored(path, facility)
    header["build"] = {"stepper": "newer"}
    np.savez(path, **content | {"header": np.array(json.dumps(header))})
    with pytest.raises(SavedStateError, match="saved by another build; stepper differ"):
        restored(path, facility)
