"""Packets of a shard and what a reader recommends from each of them."""

import json

import pytest

from slowlab.canonical import canonical_json
from slowlab.evaluation.recommendations import read_recommendations
from slowlab.plan.entries import ReaderEntry
from slowlab.plan.study import Setting
from slowlab.readers.packets import PacketError
from slowlab.stages import readers
from slowlab.stages.materials import Materials
from tests.readers.played import played, write_artifacts

ENTRY = ReaderEntry(name="best", reader="best_observed")


@pytest.fixture(scope="module")
def materials():
    return Materials.load(Setting(study="test", partition="development"))


@pytest.fixture
def packets(materials, tmp_path, monkeypatch):
    """Packets of two sources on two sites, all from one played campaign; prices are the sites'."""
    history, _ = played("random_search", write_artifacts(tmp_path / "artifacts"))
    asked = []

    def recorded(path, task):
        asked.append((path.parent.name, path.name, task["prices"]))
        return history

    monkeypatch.setattr(readers, "journal_history", recorded)
    folders = {name: tmp_path / name for name in ("search", "other")}
    target = tmp_path / "packets.json"
    readers.make_packets(materials, folders, "full", [1, 3], target)
    return target, asked


def test_every_source_is_read_on_every_site_with_its_prices(materials, packets):
    target, asked = packets
    assert [row[:2] for row in asked] == [
        (source, f"site-{site:03d}.jsonl") for site in (1, 3) for source in ("other", "search")
    ]
    fruit = [site.prices.fruit_eur_per_kg_fresh for site in materials.sites([1, 3])]
    assert [row[2]["fruit_eur_per_kg_fresh"] for row in asked] == [f for f in fruit for _ in "ab"]
    rows = json.loads(target.read_text())["packets"]
    assert "random_search" not in canonical_json([row["packet"] for row in rows])


def test_a_reading_names_reader_source_and_site(materials, packets, tmp_path):
    target = tmp_path / "readings.json"
    readers.read_packets(materials, ENTRY, packets[0], target)
    found = read_recommendations(target, materials.contract).recommendations
    assert [(item.site, item.method, item.feedback) for item in found] == [
        (site, f"reader:best:{source}", "full") for site in (1, 3) for source in ("other", "search")
    ]


@pytest.mark.parametrize("spoil", ["changed", "cut", "foreign"])
def test_packets_that_were_spoilt_are_refused(materials, packets, tmp_path, spoil):
    path, _ = packets
    data = json.loads(path.read_text())
    if spoil == "changed":
        data["packets"][0]["packet"]["day"] = 12.0
    if spoil == "foreign":
        data["format"] = "something else"
    text = canonical_json(data)
    path.write_text(text[:-100] if spoil == "cut" else text)
    with pytest.raises(PacketError, match=r"packets\.json"):
        readers.read_packets(materials, ENTRY, path, tmp_path / "readings.json")
    assert not (tmp_path / "readings.json").exists()
