"""A tiny study from sites to report: complete, repeatable, resumable, rerun only where edited."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing

import pandas as pd
import pytest

from slowlab.agents.books import Caps
from slowlab.agents.purse import Purse
from tests.workflow.study_copy import StudyCopy

pytestmark = pytest.mark.slow

SAME_BYTES = ("*.parquet", "numbers.json", "tables/*", "figures/*", "report.html", "packets/*")
SAME_BYTES += ("second_look*",)
OF_SHARDS = ("packets/*",)
"""Files of which each shard has its own."""
THROW_AWAY = '''
from slowlab.methods._base import Method
from slowlab.methods._registry import register


@register("throw_away")
class ThrowAway(Method):
    """Plants the middle of the box everywhere and recommends it."""

    def play(self, campaign, rng):
        fields = campaign.task["policy"]["fields"]
        policy = {row["name"]: (row["min"] + row["max"]) / 2 for row in fields}
        for unit in campaign.units:
            yield {"action": "start", "unit": unit, "policy": policy}
        yield {"action": "advance", "day": campaign.calendar["campaign_days"]}
        yield {"action": "recommend", "policy": policy}
'''


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished tiny study: one core, one shard."""
    study = StudyCopy.make(tmp_path_factory.mktemp("finished"))
    study.write_study()
    study.run("--cores", "1", variables={"PYTHONHASHSEED": "1"})
    return study


@pytest.fixture
def copy(finished, tmp_path):
    """The finished study once more, to be edited; times are kept."""
    shutil.copytree(finished.folder, tmp_path / "copy", copy_function=shutil.copy2)
    return StudyCopy(tmp_path / "copy")


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_every_campaign_is_scored_and_reported(finished):
    folder = finished.folder / "results" / "tiny"
    scores = pd.read_parquet(folder / "scores.parquet")
    assert set(scores["status"]) == {"scored"}
    assert len(scores) == 2 * (1 + 2 * 2 + 3) * 3 * 2
    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    assert numbers["study"]["purpose"] == "rehearsal"
    assert (folder / "report.html").stat().st_size > 50_000


def test_a_second_run_has_nothing_to_do(finished):
    assert finished.planned() == []
    assert "Nothing to be done" in finished.run("--cores", "2")


def test_touching_a_document_reruns_nothing(copy):
    edit(copy.folder / "docs" / "architecture.md", "# Architecture", "# Architecture, edited")
    (copy.folder / "requirements.lock").touch()
    assert copy.planned() == []


def test_an_edit_of_one_method_reruns_its_campaigns_only(copy):
    edit(
        copy.folder / "slowlab" / "methods" / "prior_bo.py",
        "import numpy",
        "import numpy  # x\nimport numpy",
    )
    planned = copy.planned()
    campaigns = [files for rule, files in planned if rule in ("run_campaigns", "score_method")]
    assert len(campaigns) == 2 + 1
    assert all("prior_bo" in files for files in campaigns)


def test_the_plan_says_what_will_run_and_why(copy):
    def plan():
        command = [sys.executable, "-m", "slowlab", "plan", "--study", "tiny.yaml"]
        run = subprocess.run(
            [*command, "results/tiny/report.html"],
            cwd=copy.folder,
            env=copy.environment(),
            text=True,
            capture_output=True,
            check=True,
        )
        return run.stdout

    assert "Nothing to be done" in plan()
    edit(copy.folder / "tiny.yaml", "resamples: 1000", "resamples: 2000")
    told = plan()
    assert "compute_numbers" in told
    assert "Params have changed" in told
    assert "run_campaigns" not in told


def test_a_setting_of_one_method_reruns_that_method_only(copy):
    edit(
        copy.folder / "tiny.yaml",
        "  - prior_bo\n",
        "  - {name: prior_bo, settings: {radius: 0.2}}\n",
    )
    planned = copy.planned()
    campaigns = [files for rule, files in planned if rule in ("run_campaigns", "score_method")]
    assert len(campaigns) == 3
    assert all("prior_bo" in files for files in campaigns)


def test_methods_of_ones_own_join_without_rerunning_the_others(copy):
    """A module from a folder of one's own, and a program that speaks JSON lines."""
    folder = copy.folder / "mine"
    folder.mkdir()
    (folder / "throw_away.py").write_text(THROW_AWAY, encoding="utf-8")
    agent = "  - {name: agent, command: [python, examples/agent.py]}"
    copy.write_study(more_methods=f"  - throw_away\n{agent}", more_keys="method_folders: [mine]")
    planned = [files for rule, files in copy.planned() if rule == "run_campaigns"]
    assert len(planned) == 2 + 2
    assert all("throw_away" in files or "agent" in files for files in planned)
    copy.run("--cores", "2")
    results = copy.folder / "results" / "tiny"
    table = (results / "tables" / "table2.csv").read_text(encoding="utf-8")
    assert "throw away" in table
    campaigns = pd.read_parquet(results / "campaigns.parquet").query("method == 'agent'")
    assert list(campaigns["ending"]) == ["closed"] * 4
    assert set(campaigns["source"]) == {"recommendation"}


@pytest.mark.parametrize(
    "upstream", ["campaigns/search/full/repeat-0/sites-000-001/recommendations.json"]
)
def test_a_missing_upstream_record_is_made_again_or_stops_the_study(copy, upstream):
    """Never a zero: whoever asks for the scores again gets the same ones."""
    folder = copy.folder / "results" / "tiny"
    before = (folder / "scores.parquet").read_bytes()
    (folder / upstream).unlink()
    shutil.rmtree(folder / "scores")
    (folder / "scores.parquet").unlink()
    copy.run("--cores", "2", "--", "results/tiny/scores.parquet")
    assert (folder / "scores.parquet").read_bytes() == before
    assert (folder / upstream).is_file()


def test_cores_shards_and_hash_seeds_change_no_byte(finished, tmp_path):
    other = StudyCopy.make(tmp_path / "other")
    other.write_study(per_shard=1)
    other.run("--cores", "2", variables={"PYTHONHASHSEED": "2"})
    patterns = [pattern for pattern in SAME_BYTES if pattern not in OF_SHARDS]
    ours, theirs = finished.results(patterns), other.results(patterns)
    assert set(ours) == set(theirs)
    for found in (ours, theirs):  # it links to journals, which lie in folders of shards
        found["report.html"] = re.sub(rb"/sites-\d+-\d+/journals/", b"/", found["report.html"])
    assert [name for name in ours if ours[name] != theirs[name]] == []
    journals = [
        {
            name.rsplit("/", 1)[-1] + name.split("/")[1] + name.split("/")[2]: content
            for name, content in study.results(("campaigns/*/*/*/*/journals/*.jsonl",)).items()
        }
        for study in (finished, other)
    ]
    assert journals[0] == journals[1]
    assert len(journals[0]) == 3 * 2 * 2
    assert finished.transcripts() == other.transcripts()


KILLED_WHEN = {
    "campaigns": "campaigns/*/full/*/*/journals/*.jsonl",
    "answers": "transcripts/campaigns/grower/*/*.full.transcript.jsonl",
}


@pytest.mark.parametrize("begun", KILLED_WHEN)
def test_a_killed_run_goes_on_with_the_same_command(finished, tmp_path, begun):
    study = StudyCopy.make(tmp_path / "killed")
    study.write_study()
    process = subprocess.Popen(
        study.command("--cores", "2"),
        cwd=study.folder,
        env=study.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    results = study.folder / "results" / "tiny"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not list(results.glob(KILLED_WHEN[begun])):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert list((study.folder / ".snakemake" / "locks").iterdir()), "killed while it held its lock"
    study.run("--cores", "2")
    ours, theirs = finished.results(SAME_BYTES), study.results(SAME_BYTES)
    assert [name for name in ours if ours[name] != theirs.get(name)] == []
    assert not list(study.folder.rglob("*.part*"))
    assert study.transcripts() == finished.transcripts()
    assert calls_sent(study) == calls_sent(finished) > 0


def calls_sent(study):
    """Attempts that were booked in the purse."""
    with closing(Purse.open(study.folder / "results" / "tiny" / "purse.jsonl", Caps())) as purse:
        return purse.totals().calls


def test_a_replay_makes_every_prompt_anew(finished):
    run = subprocess.run(
        [sys.executable, "-m", "slowlab", "replay", "--all", "results/tiny"],
        cwd=finished.folder,
        env=finished.environment(),
        text=True,
        capture_output=True,
        check=True,
    )
    readings, campaigns = 2 * 2, 2 * (1 + 2)
    last = run.stdout.strip().splitlines()[-1]
    assert last == f"replayed {readings + campaigns} transcripts, 0 mismatches"


def test_a_bad_study_file_stops_before_any_job(copy):
    edit(copy.folder / "tiny.yaml", "sites: 2", "sites: 0")
    printed = copy.run("--cores", "1", ok=False)
    assert "tiny.yaml:4: sites" in printed
    edit(copy.folder / "tiny.yaml", "sites: 0", "sites: 2")
    edit(copy.folder / "tiny.yaml", "method: random_search", "method: randm_search")
    printed = copy.run("--cores", "1", ok=False)
    assert "randm_search" in printed
    assert "random_search" in printed


def test_an_artifact_that_was_changed_by_hand_is_refused(copy):
    edit(copy.folder / "config" / "artifacts" / "v8" / "radius.json", '"radius":0.', '"radius":0.1')
    printed = copy.run("--cores", "1", ok=False)
    assert "radius.json" in printed


def test_snakemakes_own_report_has_a_caption_for_every_item(copy):
    copy.run("--cores", "1", "--report", "snakemake-report.html")
    text = (copy.folder / "snakemake-report.html").read_text(encoding="utf-8")
    for caption in ("Campaigns of up to four methods", "standard errors over sites"):
        assert caption in text
    assert "snakemake.wildcards" not in text
