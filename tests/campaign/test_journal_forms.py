"""Chained files of other forms, and dropping what is recorded and was not followed."""

from enum import StrEnum

import pytest

from slowlab.campaign.journal import Journal, JournalError, RecordKind, read_journal
from slowlab.campaign.journal_format import JOURNAL, ChainForm, head_path

RECORDS = [(RecordKind.REQUEST, {"action": "advance", "day": day}) for day in range(6)]


def write(path, records=RECORDS):
    with Journal.open(path) as journal:
        for kind, payload in records:
            journal.put(kind, payload)
    return path


@pytest.mark.parametrize("followed", [0, 2, 6])
def test_what_was_not_followed_can_be_dropped(tmp_path, followed):
    path, other = write(tmp_path / "a"), (RecordKind.REFUSED, {"reason": "malformed"})
    with Journal.open(path) as journal:
        for kind, payload in RECORDS[:followed]:
            journal.put(kind, payload)
        journal.drop_unfollowed()
        assert (journal.following, journal.count) == (False, followed)
        assert len(read_journal(path).records) == followed
        journal.put(*other)
    whole = write(tmp_path / "b", [*RECORDS[:followed], other])
    assert path.read_bytes() == whole.read_bytes()
    assert head_path(path).read_bytes() == head_path(whole).read_bytes()
    with pytest.raises(JournalError, match="the journal is closed"):
        journal.drop_unfollowed()


class Colour(StrEnum):
    """Kinds of records of another form."""

    RED = "red"


def test_other_forms_are_kept_in_the_same_way(tmp_path):
    form, path = ChainForm("colours-1", Colour, "palette"), tmp_path / "a"
    with Journal.open(path, form=form) as palette:
        palette.put(Colour.RED, {"shade": 3})
        with pytest.raises(JournalError, match="another process is writing this palette"):
            Journal.open(path, form=form)
    assert read_journal(path, form).records[0].kind is Colour.RED
    for other in (JOURNAL, ChainForm("colours-2", Colour, "palette")):
        with pytest.raises(JournalError):
            read_journal(path, other)
