import re
from html.parser import HTMLParser

import msgspec
from PIL import Image

from annotation.study.agreement import IntervalEstimate
from annotation.study.quality_control import AccuracyRate, make_rate
from annotation.study.quality_html import (
    format_decimals,
    format_interval,
    format_percent,
    plot_rates,
    render_page,
)
from annotation.study.quality_report import UncertainItem
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


def test_page_is_self_contained_without_scripts():
    html = render_page(quality())
    seen = Text(html)
    assert not {"script", "link", "iframe", "object", "img", "image", "foreignobject"} & seen.tags
    assert not [a for a in seen.attributes if a[0].startswith("on") or a[0] in ("src", "href", "xlink:href")]
    assert re.findall(r"url\((?!#)[^)]*\)|@import", html) == []
    assert "default-src 'none'" in html


def test_the_same_report_gives_the_same_bytes():
    first = render_page(quality())
    render_page(quality(ann="other"))  # drawing something else in between changes nothing
    assert render_page(quality()) == first


def test_hostile_text_is_escaped_in_tables_and_plots():
    html = render_page(quality(ann=HOSTILE, text=HOSTILE))
    seen = Text(html)
    assert not {"script", "img"} & seen.tags
    assert seen.text.count(HOSTILE) >= 2  # the table of annotators, and the discarded gold question
    assert "49" not in "".join(t for t in seen.text if "7 * 7" in t)  # no template ran
    assert any(
        t.startswith("<script>alert('x')") for t in seen.text if t != HOSTILE
    )  # cut short in a plot, still text


def test_simulated_verdicts_are_marked_at_the_top():
    html = render_page(quality(simulated=True))
    assert "<title>Annotation quality (simulated)</title>" in html
    assert html.index("Simulated verdicts.") < html.index("<svg")
    assert "imulated" not in render_page(quality()).replace('class="simulated"', "").replace(".simulated", "")


def test_known_times_are_shown():
    assert "<td>7.5</td>" in render_page(quality(seconds=7.5)) and "<td>7.5</td>" not in render_page(
        quality()
    )


def test_undefined_values_are_dashes():
    assert (format_percent(None), format_decimals(None)) == ("–", "–")
    assert (format_percent(0.125), format_percent(0.125, 0), format_decimals(0.125, 3)) == (
        "12.5%",
        "12%",
        "0.125",
    )


def test_plot_is_labelled():
    drawing = plot_rates(quality())
    assert drawing.startswith("<svg")
    texts = ("sensitivity", "specificity", ">ann<", ">ben<", ">cem<", ">dan<", "answered correctly")
    assert [text for text in texts if text not in drawing] == []


def test_rates_are_shown_with_intervals():
    assert str(make_rate(45, 50)) == "45 of 50, 90% (79% to 96%)"
    assert str(AccuracyRate(num_correct=0, num_answered=0)) == format_interval(IntervalEstimate()) == "–"
    assert (
        format_interval(IntervalEstimate(value=0.5, low=0.25, high=0.75), 1)
        == format_interval((0.5, 0.25, 0.75), 1)
        == "0.5 (0.2 to 0.8)"
    )


def test_warnings_come_first():
    html = render_page(quality())
    assert html.index("Warning.") < html.index("<svg") and "1 gold question is discarded" in html


def test_uncertain_items_show_images_and_escape_text(tmp_path):
    Image.new("RGB", (600, 300), "red").save(tmp_path / "n1.png")
    worst = UncertainItem(
        candidate_id="c",
        subset="pt-easy",
        image_id="n1",
        text=HOSTILE,
        choices={"valid": 2, "invalid": 1},
        probability_invalid=0.4,
    )
    report = msgspec.structs.replace(quality(), uncertain_items=(worst,))
    seen = Text(render_page(report, {"n1": str(tmp_path / "n1.png")}))
    (image,) = [value for name, value in seen.attributes if name == "src"]
    assert image.startswith("data:image/jpeg;base64,") and len(image) < 17_000
    assert HOSTILE in seen.text and "2 valid, 1 invalid" in "".join(seen.text)
    assert "script" not in seen.tags
    assert "img" not in Text(render_page(report)).tags  # as in a release without images
