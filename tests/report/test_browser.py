"""The report in a real browser: everything in it is drawn, and nothing else is asked for."""

import json
import re
import shutil
import subprocess

import pytest

from slowlab.agents.page import write_pages
from slowlab.analysis.numbers_file import write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import csv_text, tables
from slowlab.plots.study_figures import figures_of, write_figure
from slowlab.report.files import write_report
from tests.agents.synthetic_transcript import campaign
from tests.analysis.synthetic_study import synthetic_inputs

BROWSER = next((p for p in map(shutil.which, ("chromium", "google-chrome", "chrome")) if p), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine"),
]
MEASURE = """
<script>
const boxes = [...document.querySelectorAll("figure svg")].map(svg => {
  const box = svg.getBoundingClientRect();
  return [svg.closest("figure").id, Math.round(box.width), Math.round(box.height)];
});
const links = [...document.querySelectorAll("a")].map(a => a.getAttribute("href"));
const inside = links.filter(link => link.startsWith("#"));
const lost = inside.filter(link => !document.getElementById(link.slice(1)));
const wide = document.documentElement.scrollWidth - window.innerWidth;
const found = {boxes, links, lost, wide};
document.body.innerHTML = "<pre id='found'>" + JSON.stringify(found) + "</pre>";
</script>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report beside the files that it links to."""
    folder = tmp_path_factory.mktemp("report")
    methods = ("fixed_reference", "random_search", "grower", "prior_bo")
    numbers = build_numbers(synthetic_inputs(methods, example_method="grower"))
    write_numbers(folder / "numbers.json", numbers)
    figures = [folder / "figures" / f"{name}.svg" for name in figures_of(numbers)]
    for path in figures:
        path.parent.mkdir(exist_ok=True)
        write_figure(path.stem, numbers, [path, path.with_suffix(".png")])
    written = []
    for name, frame in tables(numbers).items():
        path = folder / "tables" / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(csv_text(frame), encoding="utf-8")
        written.append(path)
    transcript = folder / "site-000.full.transcript.jsonl"
    campaign(transcript, site=0, repeat=0)
    write_pages([transcript], folder / "transcripts")
    return write_report(
        folder / "report.html",
        numbers=folder / "numbers.json",
        figures=figures,
        tables=written,
        data=[],
        transcripts=folder / "transcripts",
    )


def drawn(page):
    """Files of the figures beside a page."""
    return [*(page.parent / "figures").glob("*.svg")]


@pytest.fixture(scope="module")
def seen(page):
    """What the browser has drawn."""
    measured = page.with_name("measured.html")
    text = page.read_text(encoding="utf-8")
    measured.write_text(text.replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,900"]
    command += ["--dump-dom", measured.as_uri()]
    run = subprocess.run(command, text=True, capture_output=True, timeout=120, check=True)
    return json.loads(re.search(r"<pre id=.found.>(.*?)</pre>", run.stdout, re.DOTALL).group(1))


def test_every_figure_is_drawn_at_a_readable_size(seen, page):
    assert {name for name, _, _ in seen["boxes"]} == {path.stem for path in drawn(page)}
    for name, width, height in seen["boxes"]:
        assert width > 600, name
        assert height > 150, name


def test_every_link_leads_somewhere(seen, page):
    assert seen["lost"] == []
    files = [link for link in seen["links"] if not link.startswith("#")]
    assert len(files) > 10
    assert "transcripts/grower-site-000-full-repeat-0.html" in files
    assert "transcripts/index.html" in files
    for link in files:
        assert (page.parent / link).is_file(), link


def test_the_page_does_not_overflow_its_window(seen):
    assert seen["wide"] <= 0
