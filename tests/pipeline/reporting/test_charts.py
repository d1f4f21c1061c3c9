import re
from xml.etree import ElementTree

import pytest

from pipeline.auditing.clip_histograms import histograms
from pipeline.reporting.charts import AQ, UQ, AttackRow, attack_svg, histogram_svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def bars(svg, colour):
    """x of the left edge and height of every bar of a colour that is not empty."""
    paths = [
        element.get("d")
        for element in ElementTree.fromstring(svg).iter(f"{SVG}path")
        if element.get("fill") == colour
    ]
    shapes = [re.match(r"M([\d.]+),[\d.]+h[\d.]+v([\d.]+)h", d) for d in paths if d]
    return [
        (pytest.approx(float(shape[1]), abs=0.01), float(shape[2]))
        for shape in shapes
        if shape and float(shape[2])
    ]


def test_a_bar_stands_where_its_bin_is_and_is_as_high_as_its_share():
    # 50 bins over 470 px are 9.4 px each. AQ: half in bin 0, a quarter in 25 and 49; UQ: one half in 5 (0.1), one in 10 (0.2),
    # so both of its bars are as high as the highest of AQ.
    svg = histogram_svg(histograms([0.0, 0.0, 0.5, 1.0], [0.1, 0.2]), (0.0, 1.0))
    assert svg.startswith('<svg aria-hidden="true" focusable="false"')
    aq, uq = bars(svg, AQ), bars(svg, UQ)
    assert ([x for x, _ in aq], [x for x, _ in uq]) == ([0, 235, 460.6], [47, 94])
    top = aq[0][1]
    assert [height / top for _, height in aq + uq] == pytest.approx([1, 0.5, 0.5, 1, 1])
    assert "share of its kind" in texts(svg)


def test_histograms_share_one_axis():
    low, high = histograms([-0.2, 0.1], [0.0]), histograms([0.3], [0.9])
    ticks = [
        [text for text in texts(histogram_svg(drawn, (-0.2, 0.9))) if re.fullmatch(r"[−-]?\d\.\d+", text)]
        for drawn in (low, high)
    ]
    assert ticks[0] == ticks[1] and ticks[0]


ROWS = [
    AttackRow(attacker="text <b>", auroc=0.7, low=0.6, high=0.8, paper=0.9, limit=0.65),
    AttackRow(attacker="picture", auroc=None, low=None, high=None),
]


def test_an_attacker_is_a_dot_with_a_bar_a_diamond_and_a_stroke():
    svg = attack_svg(ROWS)
    root = ElementTree.fromstring(svg)  # well-formed, so the name is escaped
    assert "text <b>" in texts(svg) and "picture" not in texts(svg)
    described = {element.get("class", "") for element in root.iter()}
    assert {"mark-rule", "mark-symbol", "mark-rect"} <= {
        word for names in described for word in names.split()
    }


def places(svg, mark):
    """x of the shapes of one kind of mark, in the order drawn."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if mark in group.get("class", "").split():
            found += [
                float(re.search(r"translate\(([\d.]+)", shape.get("transform"))[1])
                for shape in group.iter()
                if shape.get("transform")
            ]
    return found


def test_a_figure_is_drawn_where_its_axis_says():
    # From 0.45 to 1 over 370 px: 0.7 lies at 0.25/0.55, 0.9 at 0.45/0.55 of it.
    dot, diamond = places(attack_svg(ROWS), "mark-symbol")
    assert (dot, diamond) == (
        pytest.approx(370 * 0.25 / 0.55, abs=0.6),
        pytest.approx(370 * 0.45 / 0.55, abs=0.6),
    )
