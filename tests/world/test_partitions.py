"""Partitions, their weather pools, and sealed seeds."""

import hashlib
import os
import stat
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.config import ConfigError, override
from slowlab.weather.pools import year_label
from slowlab.world.commitments import (
    DOMAIN,
    Commitment,
    CommitmentError,
    Opening,
    commit,
    reveal,
    verify,
    write_opening,
)
from slowlab.world.partitions import (
    PartitionError,
    draw_partition_site,
    master_seed,
    opening_path,
    seal_partition,
)

secrets = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 2**63 - 1) | st.booleans()
)
labels = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


def test_public_partitions_have_their_own_seeds(partitions, sites, golden):
    assert master_seed(partitions, "development") == golden["master_seed"]
    assert master_seed(partitions, "rehearsal") != golden["master_seed"]
    site = draw_partition_site(partitions, "development", 0, sites, source="cabauw", compartments=4)
    assert site.draws == golden["development_sites_v1"]["0"]["draws"]
    assert repr(site).endswith("partition='development', index=0)")


def test_every_partition_has_generated_years_of_its_own(partitions):
    pools = [partitions.pools(name, "synthetic") for name in partitions.partitions]
    years = [set(pool.campaign) | set(pool.evaluation) for pool in pools]
    assert sum(len(found) for found in years) == len(set().union(*years))
    assert not set(pools[-1].campaign) & set(pools[-1].evaluation)
    assert list(pools[-1].campaign) == sorted(pools[-1].campaign)
    assert partitions.pools("test", "cabauw").campaign == (*range(2002, 2012), 2015)


def test_labels_of_generated_years_are_those_of_the_generator(partitions):
    for spec in partitions.weather_pools["synthetic"].values():
        for number, label in enumerate(spec.labels):
            partition, _, pool = label.rpartition("/")
            assert label == year_label(pool.partition("-")[0], number, partition)


def test_unknown_names_are_refused(partitions, sites):
    for call in (
        lambda: partitions.pools("dev", "synthetic"),
        lambda: partitions.pools("test", "epw"),
        lambda: master_seed(partitions, "dev"),
        lambda: draw_partition_site(
            partitions, "rehearsal", 48, sites, source="synthetic", compartments=4
        ),
        lambda: draw_partition_site(
            partitions, "rehearsal", -1, sites, source="synthetic", compartments=4
        ),
    ):
        with pytest.raises(PartitionError):
            call()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"partitions.rehearsal.master_seed": 20260930}, "share a seed"),
        ({"partitions.rehearsal.commitment": "0" * 64}, "needs no commitment"),
        ({"partitions.test.commitment": "abc"}, "text matching"),
        ({"weather_pools.cabauw.formal.years": [2014, 2015, 2016]}, "listed twice"),
        ({"weather_pools.cabauw.formal.count": 3}, "either `years`, or"),
        ({"partitions.test.weather.synthetic.campaign": "x"}, "no pool 'x'"),
    ],
)
def test_unsound_partitions_are_refused(partitions, changes, words):
    with pytest.raises(ConfigError, match=words):
        override(partitions, changes)


@pytest.mark.parametrize("name", ["pilot", "test"])
def test_the_seeds_of_pilot_and_test_are_at_hand_for_nobody_without_their_opening(
    partitions, tmp_path, name
):
    """Whether they are committed already or not."""
    assert partitions.partition(name).master_seed is None
    with pytest.raises((PartitionError, CommitmentError), match=f"'{name}'"):
        master_seed(partitions, name, tmp_path)


def test_the_number_of_sites_changes_no_site(partitions, sites, golden):
    fewer = override(
        partitions, {f"partitions.{name}.sites": 8 for name in ("development", "test", "pilot")}
    )
    for name in ("development", "rehearsal"):
        one, other = (
            draw_partition_site(known, name, 7, sites, source="synthetic", compartments=4)
            for known in (partitions, fewer)
        )
        assert one == other
    drawn = golden["development_sites_v1"]
    for index in ("0", "1"):
        site = draw_partition_site(
            fewer, "development", int(index), sites, source="cabauw", compartments=4
        )
        assert site.draws == drawn[index]["draws"]


def test_the_test_partition_has_sites_to_spare(partitions):
    assert partitions.partition("test").sites >= 80
    assert partitions.partition("rehearsal").sites == 48
    assert partitions.partition("development").sites == 1000


def test_sealed_seeds_need_their_opening(tmp_path, partitions, sites):
    undrawn = override(partitions, {"partitions.test.commitment": None})
    with pytest.raises(PartitionError, match="not drawn yet"):
        master_seed(undrawn, "test", tmp_path)
    commitment = seal_partition("test", tmp_path)
    sealed = override(partitions, {"partitions.test.commitment": commitment.digest})
    assert 0 <= master_seed(sealed, "test", tmp_path) < 2**63
    site = draw_partition_site(
        sealed, "test", 0, sites, source="synthetic", compartments=4, folder=tmp_path
    )
    assert site.campaign_year.startswith("campaign-")
    assert all(year.startswith("evaluation-") for year in site.evaluation_years)
    with pytest.raises(CommitmentError, match="No such file"):
        master_seed(sealed, "test", tmp_path / "elsewhere")
    with pytest.raises(CommitmentError, match="never overwritten"):
        seal_partition("test", tmp_path)
    assert commitment != seal_partition("test", tmp_path / "again")


def test_private_folder_comes_from_the_environment(tmp_path, monkeypatch, partitions):
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", str(tmp_path))
    commitment = seal_partition("pilot")
    assert (tmp_path / "pilot.opening.json").is_file()
    sealed = override(partitions, {"partitions.pilot.commitment": commitment.digest})
    assert master_seed(sealed, "pilot") == master_seed(sealed, "pilot", tmp_path)


def test_the_digest_is_the_published_formula():
    commitment, opening = commit({"master_seed": 5}, "test", salt=bytes(range(32)))
    joined = b"\0".join(
        [b"slowlab-seed-commitment-v1", b"test", bytes(range(32)), b'{"master_seed":5}']
    )
    assert commitment.digest == hashlib.sha256(joined).hexdigest()
    assert verify(commitment, opening)


@settings(max_examples=50)
@given(secrets, labels)
def test_only_the_right_opening_verifies(secret, label):
    commitment, opening = commit(secret, label)
    assert verify(commitment, opening)
    other_salt = opening.model_copy(update={"salt_hex": "00" * 32})
    other_secret = opening.model_copy(update={"secret": {**secret, "more": 1}})
    other_label = opening.model_copy(update={"label": label + "x"})
    other_domain = opening.model_copy(update={"domain": DOMAIN + "x"})
    for forged in (other_salt, other_secret, other_label, other_domain):
        assert not verify(commitment, forged)
    assert commit(secret, label)[0] != commitment


def test_short_salts_and_nul_labels_are_refused():
    with pytest.raises(CommitmentError, match="16 bytes"):
        commit(1, "test", salt=b"short")
    with pytest.raises(ValueError, match="NUL"):
        commit(1, "te\0st")
    with pytest.raises(ValueError, match="pattern"):
        Commitment(domain=DOMAIN, label="test", digest="xyz")


def test_openings_are_private_and_checked(tmp_path):
    commitment, opening = commit({"master_seed": 7}, "test")
    path = write_opening(opening_path("test", tmp_path), opening)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert reveal(path, commitment) == {"master_seed": 7}
    assert "7" not in repr(opening).replace(opening.domain, "")
    assert opening.salt_hex not in repr(opening)
    path.write_bytes(path.read_bytes().replace(b":7", b":8"))
    with pytest.raises(CommitmentError, match="does not fit"):
        reveal(path, commitment)
    path.write_text('{"salt_hex": 5}', encoding="utf-8")
    with pytest.raises(ConfigError, match="is missing"):
        reveal(path, commitment)
    assert [item.name for item in tmp_path.iterdir()] == ["test.opening.json"]


def test_an_opening_that_holds_no_seed_is_refused(tmp_path, partitions):
    commitment, opening = commit({"seed": True}, "test")
    write_opening(opening_path("test", tmp_path), opening)
    sealed = override(partitions, {"partitions.test.commitment": commitment.digest})
    with pytest.raises(CommitmentError, match="no master seed"):
        master_seed(sealed, "test", tmp_path)


def test_openings_are_never_written_where_git_would_track_them(tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("private/\n")
    _, opening = commit(1, "test")
    with pytest.raises(CommitmentError, match="not ignored"):
        write_opening(tmp_path / "config" / "test.opening.json", opening)
    assert not (tmp_path / "config").exists()
    assert write_opening(tmp_path / "private" / "test.opening.json", opening).is_file()


def test_an_opening_is_a_plain_record():
    opening = Opening(domain=DOMAIN, label="test", salt_hex="ab" * 16, secret=[1, "x"])
    assert Opening.model_validate_json(opening.model_dump_json()) == opening
