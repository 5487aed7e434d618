"""``slowlab replay`` on transcripts: folders, files, damage; nothing is asked or written."""

import shutil

import pytest

from slowlab.agents.dialogue import Dialogue
from slowlab.agents.firewall import Firewall
from slowlab.agents.transcript import Transcript
from slowlab.readers.language_model import LanguageModelReader
from slowlab.readers.packet_view import VIEW_KEYS
from slowlab.readers.reading_transcripts import reading_header
from tests.agents.dialogues import Desk, ScriptedClient, reply
from tests.agents.played import MODES, transcript_path
from tests.agents.replays import run
from tests.readers.played import packet_of
from tests.readers.readings import profile_of, recommended
from tests.tools.campaigns import played_campaign


def test_replays_ask_nobody_and_write_nothing(folder, monkeypatch):
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a network was used"))
    assert run("--all", folder)[0] == 0
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()} == before


def test_the_command_replays_a_folder(folder):
    deeper = folder / "deeper"
    deeper.mkdir()
    for path in folder.glob("*full*"):
        shutil.copy(path, deeper / path.name)
    (deeper / "x.transcript.superseded-1.jsonl").write_text("old", encoding="utf-8")
    (deeper / "site.superseded-1.transcript.jsonl").write_text("old", encoding="utf-8")
    code, output = run("--all", folder)
    assert code == 0
    assert "4 of 4 transcripts" in output
    assert output.strip().splitlines()[-1] == "replayed 4 transcripts, 0 mismatches"


def test_the_command_replays_files(played):
    code, output = run(*(transcript_path(played, mode) for mode in MODES))
    assert code == 0
    assert output.count(" records, 0 mismatches") == 3


def test_the_command_replays_readings_too(folder):
    packet = packet_of(played_campaign().history)
    profile = profile_of()
    path = folder / "reading.transcript.jsonl"
    with Transcript.open(path, reading_header(packet, profile, {}, 5)) as transcript:
        desk = Desk(folder)
        with desk.purse() as purse:
            client = ScriptedClient([reply("no"), reply(recommended())])
            firewall = Firewall(keys=VIEW_KEYS)
            dialogue = Dialogue(transcript, desk.config, client, purse, firewall)
            LanguageModelReader(profile, dialogue, 5).read(packet)
    code, output = run("--all", folder)
    assert (code, output.strip().splitlines()[-1]) == (0, "replayed 4 transcripts, 0 mismatches")


def test_nothing_to_replay_is_no_success(tmp_path):
    code, output = run("--all", tmp_path)
    assert (code, output.strip().splitlines()[-1]) == (1, "replayed 0 transcripts, 0 mismatches")
    assert "no transcript (*.transcript.jsonl) was found" in output
    for wrong, words in [((), "give files"), (("--all", tmp_path / "x"), "no such folder")]:
        code, output = run(*wrong)
        assert (code, words in output) == (2, True)


def test_an_altered_byte_is_found(folder):
    path = transcript_path(folder, "full")
    content = bytearray(path.read_bytes())
    place = content.index(b"What follows")
    content[place] ^= 1
    path.write_bytes(content)
    code, output = run("--all", folder)
    line = content[:place].count(b"\n") + 1
    assert code == 1
    assert f"{path}:{line}: the digest does not fit" in output
    assert "replayed 3 transcripts, 1 mismatches" in output
    assert run(path)[0] == 1


def test_a_damaged_journal_is_still_told_as_one(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("noise\n", encoding="utf-8")
    code, output = run(path)
    assert (code, "damaged" in output) == (1, True)
    assert "not a record of a journal" not in run(path.rename(tmp_path / "a.transcript.jsonl"))[1]
