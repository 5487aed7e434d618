"""A person at the terminal: what is understood, what is shown, what is kept."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from slowlab.campaign.journal import read_journal
from slowlab.campaign.journal_format import JournalStatus, RecordKind
from slowlab.cli import app
from slowlab.commands.play_words import SHORT_CHANNELS, SHORT_FIELDS, Told, UnclearError, understand
from slowlab.world.drafts import DRAFT_MARK
from slowlab.world.policy import POLICY_FIELDS
from slowlab.world.sensors import PUBLIC_CHANNELS
from tests.campaign.sessions import POLICY, opener, short_spec
from tests.simulations import SHORT_CONTRACT_FILE


def test_short_names_stand_for_everything():
    assert tuple(SHORT_FIELDS.values()) == POLICY_FIELDS
    assert tuple(SHORT_CHANNELS.values()) == PUBLIC_CHANNELS


AIR = {"unit": 0, "variable": "air_temperature_c"}


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("plant 0", {"action": "start", "unit": 0, "policy": POLICY}),
        (
            "plant 3 day=22 rh=80.5",
            {
                "action": "start",
                "unit": 3,
                "policy": POLICY | {"day_temperature_c": 22.0, "vent_rh_threshold_pct": 80.5},
            },
        ),
        (
            "recommend co2_target_ppm=900",
            {"action": "recommend", "policy": POLICY | {"co2_target_ppm": 900.0}},
        ),
        ("stop 2", {"action": "stop", "unit": 2}),
        ("advance 30", {"action": "advance", "day": 30.0}),
        ("ADVANCE +7", {"action": "advance", "day": 17.0}),
        ("read 1", {"action": "observe", "unit": 1}),
        ("read 1 2", {"action": "observe", "unit": 1, "run_index": 2}),
        ("read 0 air", {"action": "observe", **AIR, "resolution": "daily"}),
        (
            "read 0 air 3 4.5 raw",
            {"action": "observe", **AIR, "resolution": "raw", "start_day": 3.0, "end_day": 4.5},
        ),
        ("read 0 air 3", {"action": "observe", **AIR, "resolution": "daily", "start_day": 3.0}),
        ("  ", None),
        ("help", Told("help")),
        ("quit", Told("quit")),
    ],
)
def test_what_is_understood(line, action):
    assert understand(line, POLICY, 10.0) == action


@pytest.mark.parametrize(
    "line",
    [
        "dance",
        "plant",
        "plant zero",
        "plant 0 day",
        "plant 0 warmth=22",
        "plant 0 day=warm",
        "stop",
        "stop 1 2",
        "advance",
        "advance soon",
        "read",
        "read 0 1 2",
        "read 0 air 1 2 3",
        "read 0 air x",
        "status now",
    ],
)
def test_what_is_unclear_is_said(line):
    with pytest.raises(UnclearError):
        understand(line, POLICY, 10.0)


@pytest.fixture
def sit(tmp_path, monkeypatch):
    """Types lines into a campaign of twelve days; returns the result of the command."""
    contract = tmp_path / "short.yaml"
    contract.write_text(SHORT_CONTRACT_FILE, encoding="utf-8")
    monkeypatch.setattr("slowlab.campaign.opening.Opener.make", lambda *_: opener())
    monkeypatch.setenv("COLUMNS", "120")

    def type_in(*lines, options=()):
        arguments = ["play", "--contract", str(contract), *options]
        return CliRunner().invoke(app, arguments, input="".join(f"{line}\n" for line in lines))

    return type_in


def test_a_whole_campaign(sit, tmp_path):
    journal = tmp_path / "journal"
    result = sit(
        "help",
        "task",
        "plant 0 day=23 night=18",
        "plant 1",
        "fly",
        "",
        "advance +3",
        "read 0 air",
        "read 0 heat 0 1 raw",
        "status",
        "stop 0",
        "read 0",
        "advance 400",
        "advance 12",
        "recommend co2=900",
        "quit",
        options=["--journal", str(journal)],
    )
    assert result.exit_code == 0, result.output
    shown = result.stdout
    for expected in (
        "let time pass, e.g. advance 30",
        DRAFT_MARK,
        "electricity_eur_per_kwh",
        "compartment 1: crop 1 is planted",
        "that is no command; type help",
        "day 3 of 12",
        "active (started)",
        "air_temperature_c, degC",
        "the last 40 of 289 rows",
        "air ",
        "margin_eur_m2",
        "invalid_action: day must be at most 12",
        "used: calls",
        "recommendation: accepted",
        "The campaign is finished; your recommendation counts.",
    ):
        assert expected in shown, expected
    content = read_journal(journal)
    assert content.status is JournalStatus.SETTLED
    policies = [r.payload["policy"] for r in content.records if "policy" in r.payload]
    assert policies[1]["day_temperature_c"] == 23.0  # the last policy fills in what is left out
    assert content.records[-1].payload["policy"]["co2_target_ppm"] == 900.0


def test_what_is_hidden_is_not_shown(sit):
    shown = sit("plant 0", "advance 12", "read 0", "task", "status", "quit").stdout
    site = opener().site(short_spec())
    for secret in (str(site.noise_seed), str(site.campaign_year), "GreenLight", "transpiration"):
        assert secret not in shown


def test_the_endpoint_view_has_no_records(sit):
    shown = sit("plant 0", "advance 2", "read 0 air", options=["--feedback", "endpoint"]).stdout
    assert "invalid_action" in shown
    assert "air_temperature_c, degC" not in shown


def test_leaving_with_a_journal_keeps_the_campaign(sit, tmp_path):
    journal = ["--journal", str(tmp_path / "journal")]
    first = sit("plant 2", "advance 5", options=journal)  # the input ends without a word
    assert "The campaign is kept" in first.stdout
    assert read_journal(tmp_path / "journal").status is JournalStatus.OPEN
    second = sit("status", "advance 12", "recommend", "quit", options=journal)
    assert "day 5 of 12" in second.stdout
    assert "your recommendation counts" in second.stdout
    kinds = [record.kind for record in read_journal(tmp_path / "journal").records]
    assert kinds.count(RecordKind.REQUEST) == 4
    third = sit("quit", options=journal)
    assert third.exit_code == 2
    assert "its campaign has ended" in third.stderr


def test_leaving_without_a_journal_closes_the_campaign(sit):
    assert "The campaign is closed; the fallback counts." in sit("advance 1", "quit").stdout


def test_a_technical_failure_is_told_and_ends_the_sitting(sit, monkeypatch):
    def broken(*_):
        raise FloatingPointError("a detail")

    monkeypatch.setattr("slowlab.world.facility.advance_together", broken)
    result = sit("advance 3", "status", "quit")
    assert result.exit_code == 3
    assert "technical failure" in result.output
    assert "a detail" not in result.output
    assert "The campaign is closed" not in result.output


def test_wrong_options_are_told(sit):
    result = sit(options=["--partition", "moon"])
    assert result.exit_code == 2
    assert "no partition 'moon'" in result.stderr


def read_until(terminal, wanted, seconds=120):
    """What a terminal shows until a text appears, without control sequences."""
    shown, deadline = "", time.monotonic() + seconds
    while wanted not in shown:
        assert time.monotonic() < deadline, shown
        if select.select([terminal], [], [], 1)[0]:
            piece = os.read(terminal, 65_536).decode("utf-8", "replace")
            shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", piece)
    return shown


def test_at_a_terminal(tmp_path):
    contract = tmp_path / "short.yaml"
    contract.write_text(SHORT_CONTRACT_FILE, encoding="utf-8")
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "slowlab", "play", "--contract", str(contract)]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    person = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    try:
        read_until(mine, "slowlab> ")
        os.write(mine, b"advance 2\n")
        assert "day 2 of 12" in read_until(mine, "used: calls 1/128")
        os.write(mine, b"quit\n")
        read_until(mine, "the fallback counts")
        assert person.wait(30) == 0
    finally:
        person.kill()
        os.close(mine)
