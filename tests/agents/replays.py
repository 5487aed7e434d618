"""What tests of replays share."""

import json

from typer.testing import CliRunner

from slowlab.agents.campaign_replay import campaign_player
from slowlab.agents.replaying import replay_transcript
from slowlab.agents.transcript import Transcript, read_transcript
from slowlab.campaign.journal_format import head_path
from slowlab.cli import app


def replay(path):
    return replay_transcript(path, {"campaign": campaign_player()})


def run(*arguments):
    result = CliRunner().invoke(app, ["replay", *map(str, arguments)])
    return result.exit_code, result.output


def rewrite(path, change):
    """Write a transcript again with some records changed: the chain is sound, the content not."""
    records = [(r.kind, json.loads(json.dumps(r.payload))) for r in read_transcript(path).records]
    path.unlink()
    head_path(path).unlink()
    changed = change(records)
    header = {k: v for k, v in changed[0][1].items() if k != "format"}
    with Transcript.open(path, header) as transcript:
        for kind, payload in changed[1:]:
            transcript.put(kind, payload)
    return path


def first(records, kind):
    return next(payload for found, payload in records if found is kind)
