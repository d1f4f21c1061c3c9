import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from pipeline.benchmark.auditing.subset_audit import compute_histograms
from pipeline.benchmark.report.attack_summary import AttackRow
from pipeline.benchmark.report.figures import (
    AQ_COLOUR,
    RGQA_SIZES,
    TABLE_1,
    UQ_COLOUR,
    count_edits,
    draw_attacks,
    draw_histogram,
    make_dataset_row,
)
from pipeline.core.records import Edit, Item


def uq(name, *pairs, unanswerable=True):
    made = tuple(Edit(start=0, end=1, kind=kind, old=old, new=new) for kind, old, new in pairs)
    return Item(
        item_id=name,
        subset="pt-hard",
        image_id="n1",
        question_id="1",
        text="?",
        unanswerable=unanswerable,
        answer="",
        pair_id="p",
        split="test",
        edits=made,
    )


def test_the_papers_subsets_add_up_to_its_row_of_table_1():
    rgqa = next(row for row in TABLE_1 if row.name == "RGQA")
    uqs, everything = (sum(column) for column in zip(*RGQA_SIZES.values(), strict=True))
    assert everything == rgqa.pairs  # 11,158 + 20,325 + 12,241 + 11,913
    # 29,046 of 55,637 are 52.21 %; the paper prints 52.22
    assert 100 * uqs / everything == pytest.approx(rgqa.uq_percent, abs=0.02)


def test_edits_are_counted_by_kind_item_and_word():
    rows = [
        uq("1", ("attribute", "Red", "blue"), ("relation", "left", "right")),
        uq("2", ("attribute", "red", "blue")),
        uq("3", ("attribute", "small", "large")),
        uq("4"),
        uq("5", ("attribute", "red", "blue"), unanswerable=False),
    ]
    found = count_edits(rows)
    assert (found.edited_uqs, found.uqs_by_num_edits) == (3, {1: 2, 2: 1})
    assert found.swaps == [
        ("attribute", "red", "blue", 2),
        ("attribute", "small", "large", 1),
        ("relation", "left", "right", 1),
    ]
    assert (found.removed_words, found.inserted_words) == (3, 3)  # red, small, left; blue, large, right
    assert count_edits([uq("4")]) is None


def test_the_table_row_of_a_run_counts_its_items(run):
    items = [item for rows in run.items.values() for item in rows]
    row = make_dataset_row(run)
    assert (row.pairs, row.annotation) == (len(items), "simulated")
    assert row.uq_percent == pytest.approx(100 * len([i for i in items if i.answer == ""]) / len(items))


SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def bars(svg, colour):
    """Return the left edge and the height of every non-empty bar of a colour."""
    (area,) = [
        element.get("d")
        for element in ElementTree.fromstring(svg).iter(f"{SVG}path")
        if element.get("fill") == colour
    ]
    points = [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", area)]
    base = max(y for _, y in points)
    return [
        (pytest.approx(x, abs=0.01), base - y) for (x, y), after in pairwise(points) if y == after[1] < base
    ]


def test_bars_have_the_position_and_height_of_their_bins():
    # 50 bins over 470 px are 9.4 px each. AQ: half in bin 0, a quarter in 25 and 49; UQ: one half in 5 (0.1), one in 10 (0.2),
    # so both of its bars are as high as the highest of AQ.
    svg = draw_histogram(compute_histograms([0.0, 0.0, 0.5, 1.0], [0.1, 0.2]), (0.0, 1.0))
    assert svg.startswith('<svg aria-hidden="true" focusable="false"')
    aq, uq = bars(svg, AQ_COLOUR), bars(svg, UQ_COLOUR)
    assert ([x for x, _ in aq], [x for x, _ in uq]) == ([0, 235, 460.6], [47, 94])
    top = aq[0][1]
    assert [height / top for _, height in aq + uq] == pytest.approx(
        [1, 0.5, 0.5, 1, 1], abs=1e-5
    )  # SVG rounds
    assert "proportion" in texts(svg)


def test_histograms_have_the_same_axis():
    low, high = compute_histograms([-0.2, 0.1], [0.0]), compute_histograms([0.3], [0.9])
    ticks = [
        [text for text in texts(draw_histogram(drawn, (-0.2, 0.9))) if re.fullmatch(r"[−-]?\d\.\d+", text)]
        for drawn in (low, high)
    ]
    assert ticks[0] == ticks[1] and ticks[0]


ROWS = [
    AttackRow(attacker="text <b>", auroc=0.7, low=0.6, high=0.8, groups=9, paper_auroc=0.9, limit=0.65),
    AttackRow(attacker="image", auroc=None, low=None, high=None, groups=9),
]


def test_an_attacker_is_a_dot_with_a_bar_a_diamond_and_a_line():
    svg = draw_attacks(ROWS)
    root = ElementTree.fromstring(svg)  # The SVG is well-formed, so the name is escaped.
    assert "text <b>" in texts(svg) and "image" not in texts(svg)
    described = {element.get("class", "") for element in root.iter()}
    assert {"mark-rule", "mark-symbol", "mark-rect"} <= {
        word for names in described for word in names.split()
    }


def find_positions(svg, mark):
    """Return the x positions of the shapes of a mark, in drawing order."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if mark in group.get("class", "").split():
            found += [
                float(re.search(r"translate\(([\d.]+)", shape.get("transform"))[1])
                for shape in group.iter()
                if shape.get("transform")
            ]
    return found


def test_values_are_drawn_at_their_position_on_the_axis():
    # From 0.45 to 1 over 370 px: 0.7 lies at 0.25/0.55, 0.9 at 0.45/0.55 of it.
    dot, diamond = find_positions(draw_attacks(ROWS), "mark-symbol")
    assert (dot, diamond) == (
        pytest.approx(370 * 0.25 / 0.55, abs=0.6),
        pytest.approx(370 * 0.45 / 0.55, abs=0.6),
    )
