"""One seed tree: no two purposes share a stream, and a key says all."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from slowlab.plan.items import campaign_items, experimenting
from slowlab.plan.study import load_study
from slowlab.seeds import SeedKey

KEY = SeedKey("quick", "rehearsal", 3, "prior_bo", 1, "method")


def all_keys(study):
    """Every key that a study uses, with both purposes."""
    return [
        SeedKey(study.study, study.partition, site, item.method, item.repeat, purpose)
        for item in campaign_items(study, experimenting(study))
        if item.feedback == study.feedback[0]
        for site in item.shard.sites
        for purpose in ("method", "tools")
    ]


@pytest.mark.parametrize("name", ["config", "paper", "confirmatory"])
def test_no_seed_repeats_across_a_study(name):
    keys = all_keys(load_study(f"config/{name}.yaml"))
    assert len(keys) > 100
    assert len({key.seed() for key in keys}) == len(keys)


def test_studies_and_partitions_do_not_share_seeds():
    quick, paper = (load_study(f"config/{name}.yaml") for name in ("config", "paper"))
    assert not {k.seed() for k in all_keys(quick)} & {k.seed() for k in all_keys(paper)}
    assert replace(KEY, partition="test").seed() != KEY.seed()


def test_a_mutant_that_forgets_the_site_is_found():
    """The fault of the original: the same two seeds on every site."""

    class Forgetful(SeedKey):
        def seed(self):
            return replace(SeedKey(*vars(self).values()), site=0).seed()

    keys = [
        Forgetful("s", "p", site, "m", repeat, "method")
        for site, repeat in product(range(48), range(2))
    ]
    assert len({key.seed() for key in keys}) == 2


def test_neighbouring_fields_do_not_run_together():
    assert SeedKey("a", "bc", 1, "d", 1, "e").seed() != SeedKey("ab", "c", 1, "d", 1, "e").seed()
    assert SeedKey("a", "b", 11, "d", 1, "e").seed() != SeedKey("a", "b", 1, "d", 11, "e").seed()


def test_a_stream_is_the_same_on_every_platform():
    assert KEY.seed() == 43046157573705798456825030980959041818
    assert KEY.generator().integers(0, 1_000_000, 3).tolist() == [541190, 777773, 654138]
    same = SeedKey("quick", "rehearsal", 3, "prior_bo", 1, "method").generator()
    assert np.array_equal(KEY.generator().random(100), same.random(100))
