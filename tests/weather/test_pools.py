import pytest

from slowlab.weather.pools import POOLS, pool_year, year_from_label, year_label, year_seed


def test_labels():
    assert year_label("development", 3) == "development-003"
    assert year_label("campaign", 11, "rehearsal") == "rehearsal/campaign-011"
    assert year_label("evaluation", 123456) == "evaluation-123456"


def test_a_year_of_a_pool_is_the_year_of_its_label():
    year = pool_year("development", 3)
    assert year is year_from_label("development-003")
    assert year.source == "synthetic Cabauw-like year (development-003)"
    assert year.provenance["label"] == "development-003"
    assert year.provenance["seed"] == year_seed("development-003")


def test_pools_and_partitions_never_share_a_seed():
    labels = [
        year_label(pool, index, partition)
        for partition in ("", "rehearsal", "pilot", "test")
        for pool in POOLS
        for index in range(2000)
    ]
    assert len({year_seed(label) for label in labels}) == len(labels)


def test_partitions_give_other_weather():
    plain, rehearsal = pool_year("campaign", 0), pool_year("campaign", 0, "rehearsal")
    assert plain.sha256 != rehearsal.sha256


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("testing", 0), "unknown weather pool 'testing'; there are development"),
        (("campaign", -1), "index -1"),
        (("campaign", 1_000_000), "index 1000000"),
        (("campaign", True), "index True"),
        (("campaign", 1.0), "index 1.0"),
        (("campaign", 0, "Test"), "partition 'Test'"),
        (("campaign", 0, "a/b"), "partition 'a/b'"),
    ],
)
def test_other_arguments_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        year_label(*arguments)


@pytest.mark.parametrize(
    "label",
    ["development", "development-3", "development-0003", "/development-003", "Development-003", ""],
)
def test_other_spellings_of_a_label_are_refused(label):
    with pytest.raises(ValueError, match=r"label of a synthetic year|partition"):
        year_from_label(label)
