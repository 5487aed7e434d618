"""Study files: what they may hold, and messages that a person can act on."""

import pytest

from slowlab.config import ConfigError
from slowlab.plan.inputs import parse_setting, setting_json, sites_of_shard
from slowlab.plan.items import (
    StudyPaths,
    campaign_items,
    conditions,
    shards,
    side_wall_items,
    side_wall_methods,
    source_items,
)
from slowlab.plan.known_best import OracleSection, SideWallSection
from slowlab.plan.study import load_study

SMALL = """
study: small
partition: rehearsal
sites: 5
repeats: 2
sites_per_shard: 2
methods:
  - fixed_reference
  - {name: search, method: random_search, settings: {}}
readers: []
analysis:
  baseline: search
  reference: fixed_reference
  example_method: search
  timeline_methods: [search]
"""


def write(folder, text):
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def study(tmp_path):
    return load_study(write(tmp_path, SMALL))


def test_a_bare_name_is_a_method_with_its_defaults(study):
    assert study.entry("fixed_reference").registered_name == "fixed_reference"
    assert study.entry("search").registered_name == "random_search"


def test_a_method_may_be_a_command_in_any_language(tmp_path):
    command = "{name: search, command: [python, my_agent.py], time_limit_s: 5.0}"
    text = SMALL.replace("{name: search, method: random_search, settings: {}}", command)
    entry = load_study(write(tmp_path, text)).entry("search")
    assert (entry.command, entry.time_limit_s) == (("python", "my_agent.py"), 5.0)


def test_work_items_cover_every_campaign_once(study):
    items = campaign_items(study)
    campaigns = [(i.method, i.feedback, i.repeat, s) for i in items for s in i.shard.sites]
    assert len(set(campaigns)) == len(campaigns) == 5 * (1 + 2 * 2)
    assert [shard.sites for shard in shards(study)] == [(0, 1), (2, 3), (4,)]
    assert conditions(study, study.entry("fixed_reference")) == (("none", 0),)


def test_paths_are_unique_and_name_their_sites(study):
    paths = [StudyPaths("small").campaigns(item) for item in campaign_items(study)]
    assert len(set(paths)) == len(paths)
    for item in campaign_items(study):
        assert sites_of_shard(item.shard.name) == item.shard.sites


def test_all_sources_of_packets_lie_on_the_same_sites(study):
    found = [source_items(study, shard) for shard in shards(study)]
    assert {item.method for items in found for item in items} == {"search"}
    assert {(item.feedback, item.repeat) for items in found for item in items} == {("full", 0)}


def test_the_setting_does_not_depend_on_methods_or_size(study, tmp_path):
    text = SMALL.replace("sites: 5", "sites: 48").replace(
        "  - fixed_reference\n", "  - fixed_reference\n  - repeat_best\n"
    )
    other = load_study(write(tmp_path, text))
    assert setting_json(other) == setting_json(study)
    assert parse_setting(setting_json(study)) == study.setting


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("sites: 5", "sites: 0", ("sites", "1")),
        ("sites: 5", "sites: 1e999", ("sites",)),
        ("sites: 5", "sitess: 5", ("sitess", "did you mean 'sites'")),
        ("repeats: 2", "repeats: true", ("repeats",)),
        ("repeats: 2", "repeats: '2'", ("repeats",)),
        ("partition: rehearsal", "partition: .nan", ("partition",)),
        ("method: random_search", "methd: random_search", ("methods", "methd", "'method'")),
        ("{name: search, method", "{name: fixed_reference, method", ("listed twice",)),
        ("baseline: search", "baseline: serach", ("analysis.baseline", "'serach'", "search")),
        ("name: search,", "name: ../search,", ("methods", "name")),
        ("readers: []", "weather: cabauw", ("weather_folder",)),
        ("settings: {}", "command: [a]", ("command",)),
    ],
)
def test_a_bad_key_is_named_with_what_is_allowed(tmp_path, old, new, expected):
    path = write(tmp_path, SMALL.replace(old, new))
    with pytest.raises(ConfigError) as error:
        load_study(path)
    for part in (str(path), *expected):
        assert part in str(error.value)


@pytest.mark.parametrize("name", ["config", "paper"])
def test_the_studies_that_come_along_are_sound(name):
    study = load_study(f"config/{name}.yaml")
    assert study.partition == "rehearsal", "test sites stay unseen until there is a lock"
    assert len(campaign_items(study)) > 10


def test_the_confirmatory_study_is_its_rehearsal_on_test_sites():
    paper, study = (load_study(f"config/{name}.yaml") for name in ("paper", "confirmatory"))
    own = {"study", "purpose", "partition", "sites", "sites_per_shard"}
    assert study.model_dump(exclude=own) == paper.model_dump(exclude=own)
    assert (study.purpose, study.partition, study.sites) == ("confirmatory", "test", 80)
    assert all(entry.stand_in for entry in (*study.methods, *study.readers) if entry.model)


def test_the_paper_study_has_the_paper_size():
    study = load_study("config/paper.yaml")
    assert (study.sites, study.repeats, study.feedback) == (48, 2, ("full", "endpoint"))


def test_sites_of_searches_and_side_walls_are_drawn_apart(study):
    asked = study.model_copy(
        update={
            "oracle": OracleSection(sites=5, repeated=2),
            "side_wall": SideWallSection(sites=4),
            "sites": 12,
        }
    )
    every = set(asked.site_numbers)
    assert set(asked.repeated_oracle_sites) < set(asked.oracle_sites) < every
    assert (len(asked.oracle_sites), len(asked.repeated_oracle_sites)) == (5, 2)
    assert len(set(asked.side_wall_sites)) == 4
    assert asked.oracle_sites == tuple(sorted(asked.oracle_sites))
    other = asked.model_copy(update={"study": "another"})
    assert other.oracle_sites != asked.oracle_sites
    whole = asked.model_copy(update={"oracle": OracleSection(sites=None, repeated=2)})
    assert whole.oracle_sites == asked.site_numbers
    assert (study.model_copy(update={"oracle": None}).oracle_sites) == ()


def test_side_walls_always_hold_baseline_and_reference(study):
    named = study.analysis
    asked = study.model_copy(update={"side_wall": SideWallSection(sites=1, methods=("search",))})
    assert set(side_wall_methods(asked)) == {"search", named.baseline, named.reference}
    cells = {(item.method, item.feedback, item.repeat) for item in side_wall_items(asked)}
    assert (named.reference, "none", 0) in cells
    assert (named.baseline, "full", 0) in cells
    assert side_wall_items(study.model_copy(update={"side_wall": None})) == []


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("oracle: {sites: 9999, repeated: 2}", r"oracle\.sites: at most"),
        ("oracle: {sites: 3, repeated: 4}", r"oracle\.repeated: at most as many as sites, 3"),
        ("side_wall: {sites: 9999}", r"side_wall\.sites: at most"),
        ("side_wall: {sites: 1, methods: [nobody]}", r"side_wall\.methods: 'nobody'"),
        ("side_wall: {sites: 1, exchange_w_m2_k: [11]}", r"exchange_w_m2_k"),
    ],
)
def test_sections_that_cannot_be_are_refused(tmp_path, section, expected):
    path = tmp_path / "study.yaml"
    path.write_text(SMALL + section + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=expected):
        load_study(path)
