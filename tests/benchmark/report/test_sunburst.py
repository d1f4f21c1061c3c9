from math import pi

import pytest

from pipeline.benchmark.report.sunburst import (
    INNER_RADIUS,
    MIN_PROPORTION,
    RING_WIDTH,
    count_starts,
    find_common_starts,
    make_arcs,
)

TEXTS = ["What color is it?"] * 4 + ["What color are they?"] * 2 + ["What is it?"] * 2 + ["Is it?"] * 4


def test_starts_are_counted_up_to_the_third_word():
    assert count_starts(["Is it?", "What color is it?", "what COLOR are they?", ""]) == {
        ("is",): 1,
        ("is", "it"): 1,
        ("what",): 2,
        ("what", "color"): 2,
        ("what", "color", "is"): 1,
        ("what", "color", "are"): 1,
    }


def test_an_arc_is_as_long_as_its_proportion_and_in_its_ring():
    found = {" ".join(arc.words): arc for arc in make_arcs(count_starts(TEXTS), ["what", "is"])}
    # of 12: what 8, what color 6, what color is 4, are 2, what is it 2, is it 4. Clockwise, larger first: what from 0
    # to 8/12 with color 0 to 6/12 and is 6/12 to 8/12; is 8/12 to 1
    expected = {
        "what": (0, 8, 1),
        "what color": (0, 6, 2),
        "what color is": (0, 4, 3),
        "what color are": (4, 6, 3),
        "what is": (6, 8, 2),
        "what is it": (6, 8, 3),
        "is": (8, 12, 1),
        "is it": (8, 12, 2),
    }
    assert set(found) == set(expected)
    for words, (start, end, depth) in expected.items():
        assert found[words].start_fraction == pytest.approx(start / 12)
        assert found[words].proportion == pytest.approx((end - start) / 12)
        assert found[words].radius == INNER_RADIUS + (depth - 0.5) * RING_WIDTH


def test_first_words_have_the_same_order_and_colours_in_both_circles():
    one = make_arcs(count_starts(["What?"] * 9 + ["Is?"]), ["is", "what"])
    other = make_arcs(count_starts(["What?"] + ["Is?"] * 9), ["is", "what"])
    assert [arc.words for arc in one] == [arc.words for arc in other] == [("is",), ("what",)]
    assert [arc.colour for arc in one] == [arc.colour for arc in other]
    assert one[0].colour != one[1].colour


def test_rare_starts_are_left_white():
    texts = (
        ["What is it?"] * 1000 + ["Why is it?"] * 3 + ["Who is it?"] * 6
    )  # 3 of 1,009 are less than 0.4 %, 6 are more
    assert MIN_PROPORTION == 0.004
    found = make_arcs(count_starts(texts), ["what", "who", "why"])
    assert [arc.words[0] for arc in found] == ["what", "who"] * 3 and [len(arc.words) for arc in found] == [
        1,
        1,
        2,
        2,
        3,
        3,
    ]


def test_a_full_circle_is_drawn():
    (ring,) = make_arcs(count_starts(["What?"] * 5), ["what"])
    assert (ring.start_fraction, ring.proportion) == (0, 1)


def test_labels_are_shown_only_if_they_fit():
    """A label fits if the inner edge of the arc is longer than its height and the ring is wider than its length."""
    texts = TEXTS * 20 + ["Internationalisation is it?"] * 100 + [f"Is word{i} it?" for i in range(60)]
    found = make_arcs(count_starts(texts), ["what", "is", "internationalisation"])
    by_words = {arc.words: arc for arc in found}
    assert by_words["what",].label == "what" and by_words["what", "color"].label == "color"
    assert by_words["internationalisation",].label == ""  # It is longer than the ring is wide.
    assert not [
        arc for arc in found if arc.label and arc.proportion * 2 * pi * (arc.radius - RING_WIDTH / 2) < 11
    ]


def test_common_starts_weight_aqs_and_uqs_equally():
    # AQ: what 3 of 4, is 1 of 4; UQ: who 30 of 40, is 10 of 40. what and who have 0.75, is 0.25 + 0.25.
    aq, uq = count_starts(["What?"] * 3 + ["Is?"]), count_starts(["Who?"] * 30 + ["Is?"] * 10)
    assert [(row.words, row.aq, row.uq) for row in find_common_starts(aq, uq, 1)] == [
        ("what", 0.75, 0.0),
        ("who", 0.0, 0.75),
        ("is", 0.25, 0.25),
    ]
