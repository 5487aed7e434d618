"""Tables of all jobs as one: nothing missing becomes a number, nothing odd slips in."""

from types import MappingProxyType

import pytest

from slowlab.evaluation.tables import Column, TableError, TableSchema
from slowlab.stages.gather import IncompleteStudyError, gather

SCHEMA = TableSchema(
    MappingProxyType(
        {
            "site": Column("integer", "-", "site"),
            "method": Column("text", "-", "method"),
            "feedback": Column("text", "-", "feedback"),
            "repeat": Column("integer", "-", "repeat"),
            "margin": Column("number", "EUR/m2", "margin", nullable=True),
        }
    ),
    key=("site", "method", "feedback", "repeat"),
)
EXPECTED = [(site, "a", "full", 0) for site in range(4)]


def shard(folder, sites, margin=1.0):
    rows = [
        {"site": s, "method": "a", "feedback": "full", "repeat": 0, "margin": margin} for s in sites
    ]
    path = folder / f"{sites[0] if sites else 'none'}.parquet"
    path.write_bytes(SCHEMA.parquet(SCHEMA.table(rows)))
    return path


def test_order_and_cut_of_shards_do_not_matter(tmp_path):
    parts = [shard(tmp_path, [0, 1]), shard(tmp_path, [2]), shard(tmp_path, [3])]
    gather(parts, SCHEMA, tmp_path / "a.parquet", EXPECTED)
    gather(parts[::-1], SCHEMA, tmp_path / "b.parquet", EXPECTED)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_a_missing_campaign_stops_the_study(tmp_path):
    parts = [shard(tmp_path, [0, 1]), shard(tmp_path, [3])]
    with pytest.raises(IncompleteStudyError, match=r"site 2, a, full, repeat 0 is missing"):
        gather(parts, SCHEMA, tmp_path / "all.parquet", EXPECTED)
    assert not (tmp_path / "all.parquet").exists()


def test_a_campaign_that_is_not_planned_stops_the_study(tmp_path):
    with pytest.raises(IncompleteStudyError, match="site 4, a, full, repeat 0 is not planned"):
        gather([shard(tmp_path, range(5))], SCHEMA, tmp_path / "all.parquet", EXPECTED)


def test_a_campaign_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "again").mkdir()
    parts = [shard(tmp_path, [0, 1]), shard(tmp_path / "again", [1])]
    with pytest.raises(TableError, match="twice"):
        gather(parts, SCHEMA, tmp_path / "all.parquet")


def test_a_score_that_is_missing_stays_missing(tmp_path):
    table = gather([shard(tmp_path, range(4), None)], SCHEMA, tmp_path / "all.parquet", EXPECTED)
    assert table["margin"].isna().all()


def test_a_cut_file_is_refused(tmp_path):
    path = shard(tmp_path, range(4))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(Exception, match=r"(?i)parquet|magic"):
        gather([path], SCHEMA, tmp_path / "all.parquet", EXPECTED)


def test_tables_without_rows_are_no_obstacle(tmp_path):
    parts = [shard(tmp_path, []), shard(tmp_path, range(4))]
    assert len(gather(parts, SCHEMA, tmp_path / "all.parquet", EXPECTED)) == 4
    assert gather(parts[:1], SCHEMA, tmp_path / "none.parquet").empty
