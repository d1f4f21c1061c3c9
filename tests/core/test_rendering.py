"""Rendered pages and progress lines."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET

import altair
import jinja2
import pytest

from pipeline.core.progress import report_written, track
from pipeline.core.rendering import chart_to_svg, render_template

# Rendering


HOSTILE = "<script>alert(1)</script> & {{ 7 * 7 }}"


@pytest.fixture
def template(tmp_path):
    def write(text, name="page.html.jinja"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_text_is_escaped_in_html_but_not_in_markdown(template):
    escaped = "&lt;script&gt;alert(1)&lt;/script&gt; &amp; {{ 7 * 7 }}"
    assert render_template(template("{{ text }}"), text=HOSTILE) == escaped
    assert render_template(template("{{ text }}", "other.jinja"), text=HOSTILE) == escaped
    assert render_template(template("{{ text }}", "card.md.jinja"), text=HOSTILE) == HOSTILE


def test_a_value_that_is_not_given_is_an_error(template):
    with pytest.raises(jinja2.UndefinedError, match="'missing' is undefined"):
        render_template(template("{{ missing }}"))


def test_statements_leave_no_empty_lines_and_the_last_newline_stays(template):
    path = template("{% for n in numbers %}\n  {% if n %}\n{{ n }}\n  {% endif %}\n{% endfor %}\n")
    assert render_template(path, numbers=[1, 0, 2]) == "1\n2\n"
    assert render_template(template("a\n")) == "a\n"


def test_numbers_have_commas_and_pages_can_add_filters(template):
    path = template("{{ 1234567 | number }} {{ 'so' | loud }}")
    assert render_template(path, {"loud": str.upper}) == "1,234,567 SO"


def test_a_template_imports_another_one_in_its_folder(template):
    template("{% macro twice(text) %}{{ text }}{{ text }}{% endmacro %}", "parts.html.jinja")
    page = template('{% from "parts.html.jinja" import twice %}{{ twice("<") }}')
    assert render_template(page) == "&lt;&lt;"


def test_texts_of_the_data_are_escaped_in_svg(template):
    chart = altair.Chart(altair.Data(values=[{"name": HOSTILE, "share": 1}])).mark_bar().encode(y="name:N")
    drawn = render_template(template("{{ drawn }}"), drawn=chart_to_svg(chart))
    texts = [element.text for element in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert drawn.startswith("<svg ") and "<script" not in drawn
    assert any(text and text.startswith("<script>alert") for text in texts)


# Progress
# Progress is printed on stderr and never on stdout.


def test_items_come_one_by_one_and_unchanged():
    taken = []

    def items():
        for item in "abc":
            taken.append(item)
            yield item

    tracked = track(items(), "letters")
    assert (next(tracked), taken) == ("a", ["a"])
    assert list(tracked) == ["b", "c"]


def test_the_progress_bar_is_on_stderr_with_label_and_total(capsys):
    assert list(track(iter(range(3)), "rank", 3, "block")) == [0, 1, 2]
    told = capsys.readouterr()
    assert told.out == ""
    assert "rank" in told.err and "3/3" in told.err and "block" in told.err


@pytest.mark.parametrize(("terminal", "seconds"), [(True, 0.2), (False, 10)])
def test_a_log_file_gets_few_lines_instead_of_a_moving_bar(monkeypatch, terminal, seconds):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    options = {}
    monkeypatch.setattr("tqdm.tqdm", lambda items, *_, **given: options.update(given) or items)
    list(track([1], "label"))
    assert (options["mininterval"], options["dynamic_ncols"]) == (seconds, terminal)


def test_the_last_line_names_result_and_destination(capsys):
    report_written("rank", "12,750 candidates", "data/sample/interim/rank")
    assert capsys.readouterr().out == "rank: 12,750 candidates -> data/sample/interim/rank\n"
    report_written("rank", "one", "x", sys.stderr)
    assert capsys.readouterr() == ("", "rank: one -> x\n")
