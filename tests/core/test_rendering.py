from __future__ import annotations

import xml.etree.ElementTree as ET

import altair
import jinja2
import pytest

from pipeline.core.rendering import chart_to_svg, render_template

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
