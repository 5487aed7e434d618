"""The report: one page that loads nothing, with every figure and table in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from slowlab.analysis.answer import answer
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import tables, tables_of
from slowlab.plots.second_look_plot import TITLES as LOOK_FIGURES
from slowlab.plots.study_figures import draw, figures_of
from slowlab.plots.style import figure_bytes
from slowlab.report.page import render_report
from slowlab.report.second_look_shown import ShownLook
from tests.analysis.synthetic_study import synthetic_inputs, without

VOID = {"meta", "link", "br", "hr", "img", "use", "path", "input"}


class Page(HTMLParser):
    """Collects names, addresses and unclosed elements."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.ids += [named["id"]] if "id" in named else []
        self.addresses += [named[key] for key in ("href", "src", "xlink:href") if key in named]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open
    return page


@pytest.fixture(scope="module")
def numbers():
    return build_numbers(synthetic_inputs())


@pytest.fixture(scope="module")
def figures(numbers):
    return {name: figure_bytes(draw(name, numbers), "svg") for name in figures_of(numbers)}


def test_the_page_is_whole_and_loads_nothing(numbers, figures) -> None:
    links = {"numbers": "numbers.json", "table2": "tables/table2.csv"}
    text = render_report(numbers, figures, tables(numbers), links)
    page = parsed(text)
    assert page.tags.count("svg") == len(figures)
    assert page.tags.count("table") == len(tables(numbers))
    assert len(set(page.ids)) == len(page.ids)
    inner = [address for address in page.addresses if address.startswith("#")]
    assert {address[1:] for address in inner} <= set(page.ids)
    outer = [address for address in page.addresses if not address.startswith("#")]
    assert sorted(outer) == ["data:,", "numbers.json", "tables/table2.csv"]
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(page.ids)
    assert "<script" not in text
    assert answer(numbers) in text
    assert "SYNTHETIC" in text


def test_same_bytes_on_every_run(numbers, figures) -> None:
    first = render_report(numbers, figures, tables(numbers))
    assert render_report(numbers, figures, tables(numbers)) == first


def test_transcripts_are_linked_as_far_as_there_are_pages(numbers, figures) -> None:
    """A numerical example has no transcript, though other campaigns of the study may have one."""
    words = "The whole transcript of this campaign"
    both = {"example": "pages/example.html", "all": "pages/index.html"}
    for given in ({}, {"all": both["all"]}, both):
        text = render_report(numbers, figures, tables(numbers), {}, given)
        assert (words in text) == ("example" in given)
        assert ("pages/index.html" in text) == ("all" in given)


def test_what_is_missing_is_said() -> None:
    numbers = build_numbers(without(synthetic_inputs(sites=2, readers=()), "random_search"))
    text = render_report(numbers, {}, {})
    parsed(text)
    assert text.count("This figure is missing.") == len(figures_of(numbers))
    assert text.count("This table is missing.") == len(tables_of(numbers))
    assert "<strong>random search</strong> has no score at all" in text


def test_names_are_escaped(numbers, figures) -> None:
    bad = {**numbers, "study": {**numbers["study"], "name": "<script>alert(1)</script>"}}
    text = render_report(bad, figures, tables(numbers))
    assert "<script>" not in text


def test_transcripts_are_linked_where_there_are_pages_of_them(numbers, figures) -> None:
    pages = {"example": "transcripts/a.html", "all": "transcripts/index.html"}
    page = parsed(render_report(numbers, figures, tables(numbers), {}, pages))
    assert {"transcripts/a.html", "transcripts/index.html"} <= set(page.addresses)
    without_pages = parsed(render_report(numbers, figures, tables(numbers)))
    assert not [address for address in without_pages.addresses if "transcripts" in address]


def test_stand_ins_are_explained() -> None:
    methods = ("fixed_reference", "grower", "prior_bo")
    numbers = build_numbers(synthetic_inputs(methods, sites=2, readers=("grower",)))
    text = " ".join(render_report(numbers, {}, {}).split())
    parsed(text)
    said = "<strong>grower (stand-in)</strong> is a stand-in, a scripted program and no language"
    assert said in text
    assert "The reader <strong>grower (stand-in)</strong> is a stand-in" in text
    assert 'id="figure6"' in text


def test_hostile_reasons_stay_text() -> None:
    methods = ("fixed_reference", "grower", "prior_bo")
    inputs = synthetic_inputs(methods, sites=2, readers=(), example_method="grower")
    numbers = build_numbers(inputs)
    text = render_report(numbers, {}, tables(numbers))
    parsed(text)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_the_second_look_stands_in_its_section_once(numbers, figures) -> None:
    pictures = dict.fromkeys(LOOK_FIGURES, '<svg width="1pt" height="1pt"></svg>')
    rows = pd.DataFrame({"test": ["e1.grower"], "posterior_mean": ["-0.51"]})
    text = render_report(
        numbers,
        figures,
        tables(numbers),
        second_look=ShownLook(pictures, rows, "Columns.", ()),
    )
    page = parsed(text)
    assert page.tags.count("svg") == len(figures) + len(LOOK_FIGURES)
    assert page.ids.count("table-second_look") == 1
    assert len(set(page.ids)) == len(page.ids)
    section = text[text.index('<h2 id="second-looks">') :]
    section = section[: section.index("<h2", 4)]
    assert "What stands here decides nothing." in section
    assert all(f'id="{name}"' in section for name in LOOK_FIGURES)
    assert "<td>-0.51</td>" in section
    assert "Columns." in section


def test_a_second_look_that_misses_a_gate_is_named_and_not_shown(numbers, figures) -> None:
    look = ShownLook({}, None, "", ("ess_bulk of mu[e1.a]: 12, at least 400",))
    text = render_report(numbers, figures, tables(numbers), second_look=look)
    assert "is not shown: it misses\ness_bulk of mu[e1.a]: 12, at least 400." in text
    assert not set(parsed(text).ids) & {*LOOK_FIGURES, "table-second_look"}


def test_a_figure_must_be_svg(numbers) -> None:
    with pytest.raises(ValueError, match="figure3 is no SVG"):
        render_report(numbers, {"figure3": b"PNG"}, {})
