import re
from html.parser import HTMLParser

import pytest

from annotation.study.quality_page import page, percent, places, plots
from tests.annotation.study.conftest import quality

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)> \"{{ 7 * 7 }}\" ${1+1} &amp; \u202eabc \U0001f600"


class Text(HTMLParser):
    """What a reader sees, and which elements there are."""

    def __init__(self, html):
        super().__init__()
        self.text, self.tags, self.attributes = [], set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing():
    html = page(quality())
    seen = Text(html)
    assert not {"script", "link", "iframe", "object", "img", "image", "foreignobject"} & seen.tags
    assert not [a for a in seen.attributes if a[0].startswith("on") or a[0] in ("src", "href", "xlink:href")]
    assert re.findall(r"url\((?!#)[^)]*\)|@import", html) == []
    assert "default-src 'none'" in html


def test_the_same_report_gives_the_same_bytes():
    first = page(quality())
    page(quality(ann="other"))  # drawing something else in between changes nothing
    assert page(quality()) == first


def test_hostile_text_shows_as_text_in_tables_and_plots():
    html = page(quality(ann=HOSTILE, text=HOSTILE))
    seen = Text(html)
    assert not {"script", "img"} & seen.tags
    assert seen.text.count(HOSTILE) >= 2  # the table of accuracy, and the refuted filter
    assert "49" not in "".join(t for t in seen.text if "7 * 7" in t)  # no template ran
    assert any(
        t.startswith("<script>alert('x')") for t in seen.text if t != HOSTILE
    )  # cut short in a plot, still text


def test_simulated_verdicts_are_marked_first_of_all_and_people_are_not():
    html = page(quality(simulated=True))
    assert "<title>Quality of the verdicts (simulated)</title>" in html
    assert html.index("Simulated verdicts. Programs") < html.index("<svg")
    assert "imulated" not in page(quality()).replace('class="simulated"', "").replace(".simulated", "")


@pytest.mark.parametrize("seconds", [None, 7.5])
def test_pace_is_drawn_only_if_times_are_known(seconds):
    html = page(quality(seconds=seconds))
    assert ("No times are known" in html) == (seconds is None)
    assert ("seconds for a task" in html) == (seconds is not None)


def test_what_is_undefined_is_a_dash():
    assert (percent(None), places(None)) == ("–", "–")
    assert (percent(0.125), percent(0.125, 0), places(0.125, 3)) == ("12.5%", "12%", "0.125")


def test_there_is_a_plot_of_all_that_there_are_figures_for():
    assert set(plots(quality())) == {"verdicts", "accuracy", "choices", "votes", "kappa"}
    assert "pace" in plots(quality(seconds=7.5))


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "verdicts",
            ("given", "by annotators not excluded", "with their filter question passed", ">9<", ">6<", ">5<"),
        ),
        ("accuracy", ("counts", "excluded", ">ann<", ">ben<", ">cem<")),
        ("choices", (">valid<", ">unsure<", ">invalid<", ">ann<")),
        ("votes", ("2 of 2", "1 of 1", "0 of 2", ">clip-hard<")),
        ("kappa", ("n = 3", ">0.00<")),  # ben and cem: see the test of the figures
        ("pace", ("by the tool", "seconds for a task")),
    ],
)
def test_a_plot_says_what_it_shows(name, texts):
    drawing = plots(quality(seconds=7.5))[name]
    assert drawing.startswith("<svg")
    assert [text for text in texts if text not in drawing] == []


def test_accuracies_are_sorted_the_best_first():
    drawing = plots(quality())["accuracy"]
    places = [drawing.index(f">{name}<") for name in ("ann", "ben", "cem")]  # all, half, none as expected
    assert places == sorted(places)
