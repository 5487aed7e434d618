"""Harness profiles and the one place of all budgets."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from slowlab.agents.budgets import COMPACT_PROMPT_CHARACTERS, HarnessBudgets
from slowlab.agents.profile import PROFILE_FOLDER, HarnessProfile, ReplyFormat, load_profile
from slowlab.config import ConfigError, validate_config

PUBLISHED = {
    "model_calls": 200,
    "prompt_characters": 5_000_000,
    "characters_per_prompt": 80_000,
    "prompt_margin_characters": 4_000,
    "endgame_reserve_characters": 100_000,
    "endgame_calls": 2,
    "endgame_decisions": 1,
    "output_tokens": 2_048,
    "notes_characters": 2_000,
    "reason_characters": 400,
    "kept_reply_characters": 2_000,
    "stub_characters": 300,
    "design_calls": 24,
    "initial_attempts": 3,
    "reading_attempts": 3,
}


def test_the_default_profile_is_the_published_harness():
    used = load_profile("digest_notes")
    budgets = used.budgets.model_dump()
    assert {name: budgets[name] for name in PUBLISHED} == PUBLISHED
    assert used.memory.model_dump() == {
        "state_digest": True,
        "earlier_turns": True,
        "results_in_full": 6,
        "notes": True,
    }
    assert used.reply_format is ReplyFormat.TEXT
    assert not used.told_reference
    assert used.probe_days == ()


def test_all_profiles_are_sound_and_differ_from_the_published_one_as_they_say():
    names = {path.stem for path in PROFILE_FOLDER.glob("*.yaml")}
    assert names >= {
        "digest_notes",
        "digest_only",
        "full_transcript",
        "function_calls",
        "json_schema",
        "probed",
        "told_reference",
    }
    published = load_profile("digest_notes").model_dump(mode="json")
    differing = {
        "digest_only": {"memory"},
        "full_transcript": {"memory"},
        "function_calls": {"reply_format"},
        "json_schema": {"reply_format"},
        "probed": {"probe_days"},
        "told_reference": {"told_reference"},
    }
    for name in names:
        used = load_profile(name).model_dump(mode="json")
        assert used["name"] == name
        if name in differing:
            changed = {key for key in used if used[key] != published[key]} - {"name"}
            assert changed == differing[name]


def test_an_unknown_profile_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="digest_notes, digest_only"):
        load_profile("no_such")


def test_a_file_bears_its_own_name(tmp_path):
    (tmp_path / "mine.yaml").write_text("name: other\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="must be mine"):
        load_profile("mine", tmp_path)


def test_a_wrong_key_is_named(tmp_path):
    text = "name: mine\nbudgets: {model_cals: 3}\n"
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.yaml:2: budgets\.model_cals: .*model_calls"):
        load_profile("mine", tmp_path)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"endgame_reserve_characters": 99_999}, "at least 100000"),
        ({"characters_per_prompt": 80_001}, "at least 100001"),
        ({"prompt_margin_characters": 80_000}, "below characters_per_prompt"),
        ({"endgame_calls": 1}, "greater than or equal to 2"),
        ({"endgame_decisions": 0}, "greater than or equal to 1"),
        ({"model_calls": 0}, "greater than or equal to 1"),
        ({"model_calls": 2.5}, "integer"),
        ({"identical_errors": 1}, "greater than or equal to 2"),
    ],
)
def test_budgets_that_cannot_work_are_refused(changes, word):
    with pytest.raises(ValidationError, match=word):
        HarnessBudgets(**changes)


def test_the_reserve_is_one_prompt_and_room_for_the_compact_one():
    budgets = HarnessBudgets()
    reserve = budgets.endgame_reserve_characters
    assert reserve - budgets.characters_per_prompt == COMPACT_PROMPT_CHARACTERS
    assert budgets.room == 76_000


def test_a_profile_survives_the_header_of_a_transcript():
    for path in PROFILE_FOLDER.glob("*.yaml"):
        used = load_profile(path.stem)
        assert validate_config(used.model_dump(mode="json"), HarnessProfile) == used
