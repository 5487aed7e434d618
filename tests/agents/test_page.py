"""Pages of transcripts: everything is there, nothing that a model wrote is more than text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from slowlab.agents.page import SameCampaignError, render_page, visible, write_pages
from slowlab.agents.page_facts import page_name
from slowlab.agents.page_timeline import timeline
from slowlab.agents.page_turns import transcript_turns
from slowlab.agents.summary import transcript_task
from slowlab.agents.transcript import read_transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.cli import app
from tests.agents.synthetic_transcript import POLICY, Scribe, branches, campaign

HOSTILE = (
    "<script>document.title='hit'</script>",
    "</pre></details><img src=x onerror=\"document.title='hit'\">",
    "'\"><svg onload=\"document.title='hit'\">",
    "<a href=\"javascript:document.title='hit'\">a</a>",
    "</style><style>body{display:none}</style>",
    "{{ 7 * 7 }} {% raw %} &lt;b&gt; &amp; ]]> <!-- --> <template>",
    "\x00\x07\x1b[31m\u202eoverride\u2066\ufeff\u2028\u0085",
)
ALL = " | ".join(HOSTILE)
VOID = {"meta", "link", "br", "line", "rect", "img", "input"}
BROWSER = next((p for p in map(shutil.which, ("chromium", "google-chrome", "chrome")) if p), None)


class Page(HTMLParser):
    """Collects elements, names, addresses and text, and checks that elements are closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.ids, self.links, self.attributes = [], [], [], set()
        self.open, self.text = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        named = dict(attrs)
        self.ids += [named["id"]] if "id" in named else []
        self.links += [named[key] for key in ("href", "src") if key in named]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return branches(tmp_path_factory.mktemp("transcripts"))


@pytest.fixture(scope="module")
def records(paths):
    return read_transcript(paths["full"]).records


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A transcript in which every text that can come from outside is hostile."""
    path = tmp_path_factory.mktemp("hostile") / "site-003.full.transcript.jsonl"
    model = {"name": ALL, "label": ALL, "model": ALL, "stand_in": None}
    with Scribe(path, study=ALL, method=ALL, model=model, harness={"name": ALL}) as scribe:
        scribe.begin()
        scribe.assign()
        scribe.ask(ALL, question=ALL, failed=("garbled",), although=ALL)
        scribe.exchange({"action": ALL, ALL: [ALL]}, ALL)
        scribe.use(ALL, ALL, **{ALL: ALL, "unit": ALL, "variable": ALL})
        told = {"kind": "format_error", "code": ALL, "message": ALL}
        scribe.note(TranscriptKind.ERROR, told)
        scribe.note(TranscriptKind.FLAG, {"flag": ALL, "detail": ALL})
        scribe.note(TranscriptKind.PROBE, {"day": 0, "policy": POLICY, "reason": ALL})
        scribe.note(TranscriptKind.ENDING, {"ending": ALL, "counts": {ALL: 1}})
    return read_transcript(path).records


def test_the_page_is_whole_and_loads_nothing(records) -> None:
    page = Page(render_page(records))
    assert len(set(page.ids)) == len(page.ids)
    inner = [link for link in page.links if link.startswith("#")]
    assert {link[1:] for link in inner} <= set(page.ids)
    assert [link for link in page.links if not link.startswith("#")] == ["data:,"]
    assert "script" not in page.tags
    assert render_page(records) == render_page(records)


def test_every_text_of_the_conversation_stands_on_the_page_once(records) -> None:
    text = unescape(render_page(records))
    for record in records:
        if record.kind is TranscriptKind.CALL:
            for said in record.payload["texts"].values():
                assert text.count(f"<pre>{said}</pre>") == 1
        if record.kind is TranscriptKind.REPLY:
            assert f"<pre>{record.payload['reply']['text']}</pre>" in text


def test_turns_hold_calls_in_order_with_what_followed(records) -> None:
    turns = transcript_turns(records)
    calls = [record for record in records if record.kind is TranscriptKind.CALL]
    assert [turn.number for turn in turns] == [*range(1, len(calls) + 1)]
    assert [turn.characters for turn in turns] == [r.payload["characters"] for r in calls]
    kinds = [[shown.step.kind for shown in turn.steps] for turn in turns]
    assert kinds[:5] == [["initial"], ["start"], ["start"], ["start"], ["assignment"]]
    assert ["tool", "incumbent", "flag"] in kinds
    assert kinds[-1] == ["recommend", "ending"]
    assert turns[2].marks == ["failed attempt"]
    assert turns[3].marks == ["error"]
    assert [turn.day for turn in turns] == sorted(turn.day for turn in turns)


def test_the_page_says_what_it_is(records) -> None:
    page = Page(render_page(records))
    text = " ".join(" ".join(page.text).split())
    assert "a scripted program answered here, not a language model" in text
    assert "Transcript: grower, site 3, full feedback, repeat 1" in text
    assert records[-1].digest in text
    assert "rate limited: 1, server error: 1, timed out: 1" in text
    assert "USD 0.0360 and 3 attempts of unknown cost" in text
    assert "plant C1: 21/17" in text
    assert "refused: not idle" in text


def test_a_model_that_is_no_stand_in_is_not_called_one(tmp_path) -> None:
    path = tmp_path / "a.transcript.jsonl"
    campaign(path, model={"name": "some-model", "label": "Some model", "stand_in": None})
    assert "scripted program" not in render_page(read_transcript(path).records)


def test_the_timeline_shows_crops_reads_and_calls(records) -> None:
    picture = timeline(records, transcript_task(records))
    scale = (900 - 40 - 16) / 365
    assert [(left, round(wide / scale)) for left, _, wide, _, _ in picture.crops] == [
        (40, 180),
        (40, 180),
        (40 + 182 * scale, 180),
    ]
    assert {across for across, _, _ in picture.reads} == {40 + 30 * scale}
    assert [words for *_, words in picture.calls] == [
        "day 0: 8 calls",
        "day 30: 5 calls",
        "day 182: 4 calls",
        "day 365: 1 call",
    ]


def test_a_crop_that_was_stopped_is_shorter(tmp_path) -> None:
    with Scribe(tmp_path / "a.transcript.jsonl") as scribe:
        scribe.exchange({"action": "start", "unit": 0, "policy": POLICY})
        hot = POLICY | {"day_temperature_c": 25.95}
        scribe.exchange({"action": "start", "unit": 1, "policy": hot})
        scribe.assign()
        scribe.exchange({"action": "advance", "day": 50})
        scribe.exchange({"action": "stop", "unit": 0})
        scribe.exchange({"action": "advance", "day": 100})
    found = read_transcript(scribe.path).records
    scale = (900 - 40 - 16) / 365
    shown = [
        round(wide / scale) for _, _, wide, _, _ in timeline(found, found[0].payload["task"]).crops
    ]
    assert shown == [50, 20]


def test_hostile_text_stays_text(hostile) -> None:
    text = render_page(hostile, ALL)
    page = Page(text)
    assert not {"script", "img", "template", "b"} & set(page.tags)
    assert page.tags.count("style") == 1
    assert not {name for name in page.attributes if name.startswith("on")}
    assert not [link for link in page.links if "javascript" in link]
    shown = unescape(text)
    for piece in HOSTILE[:-1]:
        assert piece in shown
    assert visible(HOSTILE[-1]) in shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]", text)


def test_what_cannot_be_seen_is_shown_by_its_number() -> None:
    assert visible("a\u202eb\x00c\ud83d\r") == r"a\u202eb\u0000c\ud83d\u000d"
    assert visible("line\n\ttab \u00e4 \U0001f331") == "line\n\ttab \u00e4 \U0001f331"
    assert visible("\ud83d").encode("utf-8")


def test_pages_and_their_list(paths, tmp_path) -> None:
    index = write_pages([*paths.values()], tmp_path)
    page = Page(index.read_text(encoding="utf-8"))
    names = [link for link in page.links if link != "data:,"]
    assert names == sorted(page_name("grower", 3, mode, 1) for mode in ("", "full", "endpoint"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "index.html"])
    assert "Stand-ins are scripted programs" in " ".join(page.text)


def test_two_transcripts_of_one_campaign_are_refused(paths, tmp_path) -> None:
    with pytest.raises(SameCampaignError, match="another transcript is about the same campaign"):
        write_pages([paths["full"], paths["full"]], tmp_path)


def test_a_transcript_about_something_else_is_shown_under_its_own_name(tmp_path) -> None:
    path = tmp_path / "Packet 7.transcript.jsonl"
    with Scribe(path, kind="trial") as scribe:
        scribe.ask("{}")
    assert write_pages([path], tmp_path / "pages").exists()
    assert (tmp_path / "pages" / "packet-7.html").exists()


def test_a_reading_is_shown_with_its_recommendation(tmp_path) -> None:
    path = tmp_path / "site-003.grower.transcript.jsonl"
    header = {"kind": "reading", "reader": "careful", "source": "grower"}
    with Scribe(path, "full", **header, packet={"a": 1}) as scribe:
        scribe.ask("{}")
        told = {"ending": "recommended", "policy": POLICY, "reason": "it did best", "counts": {}}
        scribe.note(TranscriptKind.ENDING, told)
    write_pages([path], tmp_path / "pages")
    text = (tmp_path / "pages" / "reading-careful-site-003-grower.html").read_text("utf-8")
    assert "careful reads what grower collected, site 3" in text
    assert "end: recommended: 21/17" in text
    assert "it did best" in text


def test_the_condition_that_was_run_names_the_page(tmp_path) -> None:
    """Where totals are shuffled, the task tells another condition."""
    path = tmp_path / "site-003.shuffled.transcript.jsonl"
    campaign(path, "endpoint")
    write_pages([path], tmp_path / "pages")
    name = page_name("grower", 3, "shuffled", 1)
    assert "shuffled feedback" in (tmp_path / "pages" / name).read_text("utf-8")


def command(*arguments):
    return CliRunner().invoke(app, ["transcript", "page", *map(str, arguments)])


def test_the_command_writes_a_folder_or_one_page(paths, tmp_path) -> None:
    ran = command(paths["full"].parent, "--out", tmp_path / "pages")
    assert ran.exit_code == 0, ran.output
    assert len([*(tmp_path / "pages").iterdir()]) == 4
    ran = command(paths["full"], "--out", tmp_path / "one.html")
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "one.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("given", "out", "said"),
    [
        (("full", "endpoint"), "one.html", "one page holds one transcript, 2 were given"),
        (("nowhere",), "pages", "No such file"),
        (("empty",), "pages", "holds no transcript"),
        (("damaged",), "pages", "the digest does not fit"),
        (("full", "copy"), "pages", "another transcript is about the same campaign"),
    ],
)
def test_the_command_says_what_is_wrong(paths, tmp_path, given, out, said) -> None:
    (tmp_path / "empty").mkdir()
    damaged, copy = tmp_path / "damaged.transcript.jsonl", tmp_path / "copy.transcript.jsonl"
    for target in (damaged, copy):
        shutil.copy(f"{paths['full']}.head", f"{target}.head")
        shutil.copy(paths["full"], target)
    damaged.write_bytes(damaged.read_bytes().replace(b"warmer", b"cooler"))
    known = paths | {"empty": tmp_path / "empty", "damaged": damaged, "copy": copy}
    files = [known.get(name, tmp_path / name) for name in given]
    ran = command(*files, "--out", tmp_path / out)
    assert ran.exit_code == 2, ran.output
    assert said in " ".join(ran.output.split())


MEASURE = """
<script>
const boxes = [...document.querySelectorAll("svg")].map(svg => {
  const box = svg.getBoundingClientRect();
  return [Math.round(box.width), Math.round(box.height)];
});
document.querySelectorAll("details").forEach(item => { item.open = true; });
const turns = [...document.querySelectorAll(".turn")].map(turn => turn.getBoundingClientRect());
const found = {
  boxes, title: document.title, turns: turns.length,
  shortest: Math.min(...turns.map(box => box.height)),
  wide: document.documentElement.scrollWidth - window.innerWidth,
  shown: getComputedStyle(document.body).display,
};
document.body.innerHTML = "<pre id='found'></pre>";
document.getElementById("found").textContent = JSON.stringify(found);
</script>
"""
POLICY_LINE = re.compile(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>\n")


def seen(text, folder):
    """What a browser has drawn, with scripts allowed: escaping alone must keep them out."""
    path = folder / "measured.html"
    path.write_text(POLICY_LINE.sub("", text).replace("</body>", MEASURE + "</body>"), "utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,900"]
    command += ["--dump-dom", path.as_uri()]
    run = subprocess.run(command, text=True, capture_output=True, timeout=120, check=True)
    return json.loads(
        unescape(re.search(r"<pre id=.found.>(.*?)</pre>", run.stdout, re.S).group(1))
    )


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("which", ["records", "hostile"])
def test_in_a_browser(which, request, tmp_path) -> None:
    found = request.getfixturevalue(which)
    text = render_page(found)
    assert POLICY_LINE.search(text)
    drawn = seen(text, tmp_path)
    assert drawn["title"].startswith("Transcript: "), "a script has changed it"
    assert drawn["shown"] == "block"
    assert drawn["turns"] == len(transcript_turns(found))
    assert drawn["shortest"] > 20
    assert drawn["wide"] <= 0
    ((width, height),) = drawn["boxes"]
    assert width > 600
    assert height > 100
