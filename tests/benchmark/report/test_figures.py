"""Figures of the report: bars, the sunburst, the funnel and the run of the pipeline."""

import re
from itertools import pairwise
from math import pi
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
from pipeline.benchmark.report.funnel import FunnelStep, check_steps, make_funnels, summarize_funnels
from pipeline.benchmark.report.pipeline_run import _pick_dropped_examples
from pipeline.benchmark.report.sunburst import (
    INNER_RADIUS,
    MIN_PROPORTION,
    RING_WIDTH,
    count_starts,
    find_common_starts,
    make_arcs,
)
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SUBSETS, CollectedCandidate, DroppedCandidate, Edit, Item

# Figures


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


# Sunburst


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


# Funnel


def reports() -> dict:
    """Return reports as the stages write them: 4 images x 10 questions, 2 of which ask for existence; 3 questions are not edited."""
    clip = {"candidates": 6}
    perturbed = {"questions": 10, "candidates": 7, "unedited": {"names no object": 3}}
    screened = {
        "clip": {"candidates": 6, "kept": 5, "dropped": {"already asked": 1}},
        "pt": {"candidates": 7, "kept": 7, "dropped": {}},
    }
    judged = {
        "clip": {"unanswerable": 3, "doubtful": 2},
        "pt": {"unanswerable": 4, "answerable": 2, "no_votes": 1},
    }
    balanced = {
        "clip": {"verified": 3, "kept": 2, "excluded": {"repeated": 1}},
        "pt": {"verified": 4, "kept": 4, "excluded": {}},
    }

    def each(rows: dict) -> dict:
        return {subset: dict(rows[subset.split("-")[0]]) for subset in SUBSETS}

    return {
        # 40 pairs = 8 on existence + 8 own + 1 with the text of an own question + 23
        "rank": {
            "pairs": {
                "all": 40,
                "existence question": 8,
                "own question": 8,
                "text of an own question": 1,
                "eligible": 23,
            },
            "subsets": {"clip-easy": dict(clip), "clip-hard": dict(clip)},
        },
        "perturb": {"pt-easy": dict(perturbed), "pt-hard": dict(perturbed)},
        "screen": each(screened),
        "batch": {"tasks": {"clip-easy": 5, "clip-hard": 5, "pt-easy": 7, "pt-hard": 7}},
        "collect": {"candidates": each(judged)},
        "balance": {"subsets": each(balanced)},
    }


RELEASED = {"clip-easy": 2, "clip-hard": 2, "pt-easy": 4, "pt-hard": 4}


def test_a_funnel_goes_from_all_pairs_to_the_release():
    found = make_funnels(reports(), RELEASED)["clip-hard"]
    assert [(s.stage, s.num_in, s.kept, s.dropped) for s in found] == [
        ("rank", 40, 23, {"existence question": 8, "own question": 8, "text of an own question": 1}),
        ("rank", 23, 6, {"not sampled": 17}),
        ("screen", 6, 5, {"already asked": 1}),
        ("batch", 5, 5, {}),
        ("collect", 5, 3, {"doubtful": 2}),
        ("balance", 3, 2, {"repeated": 1}),
        ("release", 2, 2, {}),
    ]


def test_edited_questions_start_as_questions():
    found = make_funnels(reports(), RELEASED)["pt-easy"]
    assert [(s.stage, s.num_in, s.kept) for s in found] == [
        ("perturb", 10, 7),
        ("screen", 7, 7),
        ("batch", 7, 7),
        ("collect", 7, 4),
        ("balance", 4, 4),
        ("release", 4, 4),
    ]


def test_the_summary_has_what_is_left_after_each_step():
    rows = dict(summarize_funnels(make_funnels(reports(), RELEASED)))
    assert next(iter(rows)) == "start: pairs or questions"
    assert rows["start: pairs or questions"] == [40, 40, 10, 10]
    assert rows["rank: pairs sampled by CLIP score"] == [6, 6, None, None]
    assert rows["perturb: questions edited"] == [None, None, 7, 7]
    assert rows["screen: candidates screened"] == [5, 5, 7, 7]
    assert list(rows.values())[-1] == [2, 2, 4, 4]


@pytest.mark.parametrize(
    ("steps", "messages"),
    [
        ([FunnelStep("screen", "", 6, 5, {"a": 1})], []),
        (
            [FunnelStep("screen", "", 6, 5)],
            ["clip-easy, screen: 6 in, but 5 kept and 0 dropped"],
        ),
        (
            [FunnelStep("screen", "", 6, 5, {"a": 1, "b": 1})],
            ["clip-easy, screen: 6 in, but 5 kept and 2 dropped"],
        ),
        (
            [
                FunnelStep("screen", "", 6, 6),
                FunnelStep("batch", "", 5, 5),
            ],
            ["clip-easy, batch: 5 in, but screen kept 6"],
        ),
    ],
)
def test_steps_must_add_up_and_continue_the_previous_step(steps, messages):
    problems = Problems("x")
    check_steps("clip-easy", steps, problems)
    assert problems.lines == messages


def test_all_contradictions_are_reported():
    wrong = reports()
    wrong["screen"]["clip-easy"]["dropped"] = {}
    wrong["batch"]["tasks"]["pt-hard"] = 6
    with pytest.raises(UserError) as caught:
        make_funnels(wrong, {**RELEASED, "pt-easy": 3})
    assert caught.value.problems == [
        "the reports of the stages contradict each other; run dvc repro, so that all are of one run: 4 problems",
        "clip-easy, screen: 6 in, but 5 kept and 0 dropped",
        "pt-easy, release: 4 in, but 3 kept and 0 dropped",
        "pt-hard, batch: 7 in, but 6 kept and 0 dropped",
        "pt-hard, collect: 7 in, but batch kept 6",
    ]


def test_the_funnel_of_a_run_ends_with_its_items(run):
    # Reports and records are written separately. The last number of each funnel is the number of UQs in items.jsonl.
    for subset, steps in make_funnels(run.reports, run.released_uqs).items():
        assert steps[-1].kept == sum(item.unanswerable for item in run.items.get(subset, []))


def test_every_reason_of_a_run_has_an_example(run):
    reasons = {
        (subset, step.stage, reason)
        for subset, steps in make_funnels(run.reports, run.released_uqs).items()
        for step in steps
        if step.stage != "rank"
        for reason, count in step.dropped.items()
        if count
    }
    assert reasons and reasons == set(run.dropped_examples)


# Pipeline run


def test_a_run_has_its_items_and_their_records(run):
    items = list(read_jsonl(DatasetFolders().stage_dir("balance") / "items.jsonl", Item))
    assert sorted(item.item_id for item in run.all_items) == sorted(item.item_id for item in items)
    uqs = {item.item_id for item in items if item.unanswerable}
    assert set(run.verified) == uqs
    assert set(run.verdicts) == {key for row in run.verified.values() for key in row.verdict_ids}
    assert {verdict.task_id for verdict in run.verdicts.values()} == set(run.tasks)
    assert {item.image_id for item in items} <= set(run.images)


def test_released_uqs_are_counted_in_the_files_of_the_release(run):
    for subset, items in run.items.items():
        assert run.released_uqs[subset] == sum(item.unanswerable for item in items)


def test_a_simulated_run_is_marked(run):
    assert run.simulated and not run.rehearsal


def test_the_example_of_a_reason_does_not_depend_on_the_order(run):
    rows = [
        DroppedCandidate(
            candidate_id=f"c{i}",
            subset="pt-easy",
            image_id="p",
            question_id="q",
            text=f"text {i}",
            stage="screen",
            reason=reason,
        )
        for i, reason in enumerate(("one", "one", "other"))
    ]
    examples = _pick_dropped_examples(rows)
    assert examples == _pick_dropped_examples(rows[::-1])
    assert examples["pt-easy", "screen", "one"] in ("text 0", "text 1")
    assert examples["pt-easy", "screen", "other"] == "text 2"


def test_candidates_dropped_by_verdicts_have_examples(run):
    verified = read_jsonl(DatasetFolders().stage_dir("collect") / "verified.jsonl", CollectedCandidate)
    ended = {
        (row.candidate.subset, "collect", row.status) for row in verified if row.status != "unanswerable"
    }
    assert ended and ended <= set(run.dropped_examples)
