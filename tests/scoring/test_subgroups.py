"""Scores of subgroups, GQA's diagnostics, and efficiency."""

import json
import math
from math import comb
from unittest.mock import ANY

import numpy as np
import pytest
from scipy.stats import binomtest

from pipeline.core.errors import UserError
from pipeline.scoring.efficiency import compute_efficiency, read_run_log
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics, count_reasoning_steps, score_gqa
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.subgroups import bounded_mean_interval, has_too_few_items, score_subgroups
from tests.scoring.conftest import answered, model

# Subgroups


def test_uqs_of_a_category_are_compared_with_all_aqs():
    # By confidence: a1, a2, u2, a3, u1, u3. "missing object" is u1 and u3: all AQs are above both.
    slices = score_subgroups(answered(), ScoringOptions())["category"]
    assert list(slices) == ["missing object", "wrong attribute"]
    assert slices["missing object"]["auroc"] == 1.0
    assert (slices["missing object"]["aqs"], slices["missing object"]["uqs"]) == (3, 2)
    # "wrong attribute" is u2, above a3 and below the others: 2 of 3.
    assert slices["wrong attribute"]["auroc"] == 2 / 3 and slices["wrong attribute"]["uqs"] == 1


def test_uqs_of_a_difficulty_are_compared_with_all_aqs():
    items = [
        BenchmarkItem("a", "n", {"red": 1.0}),
        BenchmarkItem("u", "n", {}, difficulty="adversarial"),
        BenchmarkItem("v", "n", {}, difficulty="random"),
    ]
    said = model({"a": ("red", 0.4), "u": ("red", 0.5), "v": ("red", 0.1)})
    slices = score_subgroups(
        join_predictions(Items.from_rows(items), said, ScoringOptions()), ScoringOptions()
    )["difficulty"]
    assert {kind: (row["auroc"], row["aqs"], row["uqs"]) for kind, row in slices.items()} == {
        "adversarial": (0.0, 1, 1),
        "random": (1.0, 1, 1),
    }


def test_an_edit_counts_where_it_is_one_of_several_and_a_question_type_for_both_kinds():
    items = [
        BenchmarkItem("a", "n", {"red": 1.0}, edits=("object",), structural="query"),
        BenchmarkItem("b", "n", {"red": 1.0}, structural="verify"),
        BenchmarkItem("u", "n", {}, edits=("attribute", "object"), structural="query"),
        BenchmarkItem("v", "n", {}, edits=("attribute",), structural="query"),
    ]
    said = model({"a": ("red", 0.4), "b": ("red", 0.9), "u": ("red", 0.5), "v": ("red", 0.1)})
    slices = score_subgroups(
        join_predictions(Items.from_rows(items), said, ScoringOptions()), ScoringOptions()
    )
    assert {kind: row["uqs"] for kind, row in slices["edit"].items()} == {"attribute": 2, "object": 1}
    # An AQ's own edits play no part: "object" is u against both AQs, of which one is above it.
    assert slices["edit"]["object"]["auroc"] == 0.5 and slices["edit"]["object"]["aqs"] == 2
    # "query": a against u and v.
    assert slices["structural"]["query"] == {
        "auaf": 0.5, "ff95": 0.5, "facc": 1.0, "auroc": 0.5, "aqs": 1, "uqs": 2,
        "intervals": ANY,
    }  # fmt: skip
    assert slices["structural"]["verify"]["uqs"] == 0 and "category" not in slices


def test_a_benchmark_without_grouping_fields_has_no_subgroups():
    items = [BenchmarkItem("a", "n", {"red": 1.0}), BenchmarkItem("u", "n", {})]
    joined = join_predictions(
        Items.from_rows(items), model({"a": ("red", 1.0), "u": ("red", 0.0)}), ScoringOptions()
    )
    assert "has no fields to group its items by" in score_subgroups(joined, ScoringOptions())["unavailable"]


@pytest.mark.parametrize("count", [1, 3, 11, 19])
def test_where_all_or_none_are_right_the_interval_is_clopper_and_pearsons(count):
    exact = binomtest(count, count).proportion_ci(0.95, "exact")
    assert bounded_mean_interval(1.0, count) == pytest.approx((exact.low, 1.0), abs=1e-9)
    assert bounded_mean_interval(0.0, count) == pytest.approx((0.0, 1 - exact.low), abs=1e-9)


@pytest.mark.parametrize("count", [1, 4, 10, 19])
def test_the_interval_holds_what_is_estimated_at_least_95_times_in_100(count):
    # The chance that it does, added up over all outcomes of `count` draws of a share p.
    intervals = [bounded_mean_interval(hits / count, count) for hits in range(count + 1)]
    for p in np.linspace(0.01, 0.99, 99):
        chance = sum(
            comb(count, hits) * p**hits * (1 - p) ** (count - hits)
            for hits, (low, high) in enumerate(intervals)
            if low <= p <= high
        )
        assert chance >= 0.95


def test_the_interval_is_no_wider_than_it_must_be_and_undefined_with_the_mean():
    # 5 of 10: KL(0.5, p) = log(40) / 10 at p = (1 +- sqrt(1 - 40 ** (-1/5))) / 2, as -log(4 p (1 - p)) / 2 is KL.
    away = math.sqrt(1 - 40 ** (-1 / 5)) / 2
    assert bounded_mean_interval(0.5, 10) == pytest.approx((0.5 - away, 0.5 + away), abs=1e-9)
    assert all(map(math.isnan, bounded_mean_interval(math.nan, 5)))


def many(uqs, images=None):
    """30 right AQs and some UQs, all below the AQs, of a category."""
    items = [BenchmarkItem(f"a{i}", f"n{i}", {"red": 1.0}) for i in range(30)]
    items += [
        BenchmarkItem(f"u{i}", f"n{i % (images or 30)}", {}, category="missing object") for i in range(uqs)
    ]
    said = {item.id: ("red", float(bool(item.answers))) for item in items}
    return join_predictions(Items.from_rows(items), model(said), ScoringOptions())


def test_few_items_have_the_exact_interval_of_their_images():
    row = score_subgroups(many(19), ScoringOptions())["category"]["missing object"]
    assert has_too_few_items(row, "auroc") and not has_too_few_items(row, "facc")  # 19 UQs, but 30 AQs
    assert row["intervals"]["auroc"] == pytest.approx((0.025 ** (1 / 19), 1.0))
    assert "facc" not in row["intervals"]
    # Of 4 images there are 4 independent outcomes, not 19.
    row = score_subgroups(many(19, images=4), ScoringOptions())["category"]["missing object"]
    assert row["intervals"]["auroc"] == pytest.approx((0.025 ** (1 / 4), 1.0))


def test_auaf_of_few_uqs_is_at_most_facc():
    # 15 of 30 AQs are right, all above the 3 UQs: AUAF = FACC = 1/2, the interval is half of Clopper and Pearson's.
    at = many(3)
    half = at._replace(correct=at.correct * (np.arange(33) < 15))
    row = score_subgroups(half, ScoringOptions())["category"]["missing object"]
    assert (row["auaf"], row["facc"]) == (0.5, 0.5)
    assert row["intervals"]["auaf"] == pytest.approx((0.5 * 0.025 ** (1 / 3), 0.5))
    wrong = score_subgroups(at._replace(correct=at.correct * 0), ScoringOptions())["category"][
        "missing object"
    ]
    assert wrong["intervals"]["auaf"] == (0.0, 0.0)


def test_other_subgroups_have_a_bootstrap_interval_if_requested():
    assert score_subgroups(many(20), ScoringOptions())["category"]["missing object"]["intervals"] == {}
    row = score_subgroups(many(20), ScoringOptions(group_by=("category",), bootstrap=50))["category"][
        "missing object"
    ]
    # All AQs are right and above all UQs in every repetition.
    assert not has_too_few_items(row, "auroc") and row["intervals"] == {
        "auaf": (1.0, 1.0), "ff95": (0.0, 0.0), "facc": (1.0, 1.0), "auroc": (1.0, 1.0)
    }  # fmt: skip


def test_only_the_requested_subgroups_are_scored():
    assert list(score_subgroups(answered(), ScoringOptions(group_by=("category",), bootstrap=0))) == [
        "category"
    ]


# GQA diagnostics


def question(
    answer,
    structural="query",
    semantic="attr",
    group=None,
    entailed=(),
    program=("select: dog (1)", "query: color"),
    **more,
):
    pairs = [text.split(": ", 1) for text in program]
    return {
        "imageId": "n1",
        "question": "?",
        "answer": answer,
        "types": {"structural": structural, "semantic": semantic, "detailed": more.get("detailed", "")},
        "groups": {"global": group},
        "entailed": list(entailed),
        "semantic": [{"operation": o, "argument": a, "dependencies": []} for o, a in pairs],
        "annotations": {
            "question": more.get("question", {}),
            "fullAnswer": more.get("full", {}),
            "answer": {},
        },
    }


def test_accuracy_by_question_type():
    questions = {
        "a": question("red"),
        "b": question("yes", "verify", "obj", program=("select: dog (1)", "exist: ?")),
        "c": question("no", "verify", "attr"),
        "d": question("left", "choose", "rel"),
    }
    found = compute_gqa_diagnostics(questions, {"a": "red", "b": "yes", "c": "yes", "d": "right"})
    assert found["accuracy"] == {"value": 0.5, "items": 4}
    assert found["open"] == {"value": 1.0, "items": 1} and found["binary"] == {
        "value": pytest.approx(1 / 3),
        "items": 3,
    }
    assert found["by_structural"]["verify"] == {"value": 0.5, "items": 2} and found["by_semantic"]["rel"] == {
        "value": 0.0,
        "items": 1,
    }
    assert found["by_steps"] == {
        "1": {"value": 1.0, "items": 1},
        "2": {"value": pytest.approx(1 / 3), "items": 3},
    }


def test_steps_that_only_ask_do_not_count():
    assert (
        count_reasoning_steps(question("x", program=("select: dog (1)", "relate: _,on,s (2)", "query: name")))
        == 2
    )
    assert count_reasoning_steps(question("x", program=("select: dog (1)", "query: color"))) == 2


def test_consistency_is_the_mean_accuracy_on_entailed_questions_of_correct_ones():
    # a is right: of b, c one is right: 1/2. b is right: c is wrong: 0. c is wrong and does not count. (1/2 + 0) / 2
    questions = {
        "a": question("red", entailed=["a", "b", "c"]),
        "b": question("yes", entailed=["b", "c"]),
        "c": question("no", entailed=["c", "a"]),
    }
    found = compute_gqa_diagnostics(questions, {"a": "red", "b": "yes", "c": "yes"})
    assert found["consistency"] == {"value": 0.25, "items": 2}


def test_entailed_questions_of_the_unbalanced_file_count_when_predicted():
    questions, others = {"a": question("red", entailed=["a", "z"])}, {"z": question("yes")}
    assert compute_gqa_diagnostics(questions, {"a": "red", "z": "yes"}, all_questions=others)[
        "consistency"
    ] == {
        "value": 1.0,
        "items": 1,
    }
    assert (
        "1 entailed questions have no prediction"
        in compute_gqa_diagnostics(questions, {"a": "red"}, all_questions=others)["consistency"][
            "unavailable"
        ]
    )


def test_distribution_is_chi_square_weighted_by_group():
    # group g: truth red 3, blue 1; said red 4: (4-3)^2/3 + (0-1)^2/1 = 4/3, 4 items. group h: said as is, 1 item.
    questions = {str(i): question("red" if i < 3 else "blue", group="g") for i in range(4)} | {
        "h": question("dog", group="h"),
        "n": question("cat"),
    }
    found = compute_gqa_diagnostics(questions, {**{str(i): "red" for i in range(4)}, "h": "dog", "n": "dog"})
    assert found["distribution"] == {"value": pytest.approx(4 / 3 * 4 / 5 / 100), "items": 5}


def test_validity_and_plausibility_look_answers_up():
    questions = {"a": question("red"), "b": question("blue"), "c": question("color", detailed="twoCommon")}
    choices = {
        "a": {"valid": ["red", "blue"], "plausible": ["red"]},
        "b": {"valid": ["red", "blue"], "plausible": ["blue"]},
        "c": {"valid": [], "plausible": []},
    }
    found = compute_gqa_diagnostics(questions, {"a": "blue", "b": "green", "c": "shape"}, choices=choices)
    assert found["validity"] == {"value": pytest.approx(2 / 3), "items": 3} and found["plausibility"] == {
        "value": pytest.approx(1 / 3),
        "items": 3,
    }


# An image of 200 x 100 in 2 x 2 cells. Object 1 covers the left half, object 2 the upper left cell, again.
SCENES = {
    "n1": {
        "width": 200,
        "height": 100,
        "objects": {"1": {"x": 0, "y": 0, "w": 100, "h": 100}, "2": {"x": 0, "y": 0, "w": 100, "h": 50}},
    }
}


def grounding(attention, **pointers):
    return compute_gqa_diagnostics(
        {"a": question("red", **pointers)}, {"a": "red"}, scenes=SCENES, attention=attention
    )["grounding"]


def test_grounding_is_the_attention_on_every_box_that_is_pointed_to():
    # The first index is x. Left half: 0.4 + 0.3; its upper cell once more, as GQA's script counts overlaps: 0.4.
    columns = [[0.4, 0.3], [0.2, 0.1]]
    expected = {"value": pytest.approx(1.1), "items": 1}
    assert grounding({"a": columns}, question={"3": "1"}, full={"4": "2"}) == expected


def test_grounding_of_attention_over_regions():
    # Half of the first region lies in the left half, none of the second: 0.8 / 2.
    regions = [[0.25, 0.0, 0.75, 1.0, 0.8], [0.5, 0.0, 1.0, 1.0, 0.2]]
    assert grounding({"a": regions}, question={"3": "1"}) == {"value": pytest.approx(0.4), "items": 1}


def test_a_question_that_points_nowhere_is_not_grounded():
    assert grounding({"a": [[1.0]]}) == {"value": 0.0, "items": 1}


@pytest.mark.parametrize(
    ("attention", "message"),
    [
        ([[0.5, 0.5], [0.5, -0.5]], "smallest weight -0.5, sum 1"),
        ([[7.02]], "sum 7.02"),
        ([[float("nan")]], "NaN"),
        ([0.25, 0.25, 0.25, 0.25], r"shape \(4,\)"),
        ([[0.5, 0.5], [0.5]], "ragged"),
        ([["x"]], "ragged or has values that are not numbers"),
        (None, "shape"),
        ([[0.5, 0.0, 0.5, 1.0, 1.0]], "empty"),
    ],
)
def test_attention_that_is_none_is_refused(attention, message):
    with pytest.raises(UserError, match=message):
        grounding({"a": attention}, question={"3": "1"})


def test_unbalanced_questions_are_not_scored_but_can_be_entailed():
    # a, right, entails u, wrong; u itself, marked as unbalanced, counts nowhere.
    questions = {"a": question("red", entailed=["u"]), "u": question("no") | {"isBalanced": False}}
    scores = compute_gqa_diagnostics(questions, {"a": "red", "u": "yes"})
    assert scores["accuracy"] == {"value": 1.0, "items": 1}
    assert scores["consistency"] == {"value": 0.0, "items": 1}


def test_scores_without_their_files_are_unavailable_not_zero():
    found = compute_gqa_diagnostics({"a": question("red")}, {"a": "red"})
    assert {name for name, value in found.items() if "unavailable" in value} == {
        "binary",
        "consistency",
        "validity",
        "plausibility",
        "grounding",
        "distribution",
    }


def test_a_question_without_prediction_is_refused():
    with pytest.raises(UserError, match="1 question without a prediction: a"):
        compute_gqa_diagnostics({"a": question("red")}, {})


def test_entailed_questions_are_answered_in_the_same_file_of_predictions():
    asked = question("red", entailed=["other"])
    items = Items.from_rows([BenchmarkItem("a", "n1", {"red": 1.0}, gqa_question=asked)])
    joined = join_predictions(items, model({"a": ("red", 1.0), "other": ("no", 1.0)}), ScoringOptions())
    found = score_gqa(joined, ScoringOptions(all_questions={"other": question("yes")}))
    assert found["accuracy"]["value"] == 1.0 and found["consistency"] == {"value": 0.0, "items": 1}
    assert "needs GQA's questions file" in score_gqa(answered(), ScoringOptions())["unavailable"]


def test_an_unavailable_score_says_which_file_it_needs():
    def grounding_of(**given):
        return compute_gqa_diagnostics({"a": question("red")}, {"a": "red"}, **given)["grounding"]

    assert grounding_of() == {
        "unavailable": "needs the model's attention over the image (--resource attention=FILE)"
    }
    assert grounding_of(attention={"a": [[1.0]]}) == {
        "unavailable": "needs scene graphs, which GQA has for train and val only (--resource scenes=FILE)"
    }
    assert grounding_of(attention={}, scenes={}) == {
        "unavailable": "1 of 1 question have no attention or no scene graph"
    }


# Efficiency


def test_efficiency_is_worked_out_by_hand(tmp_path):
    found = compute_efficiency([1.0, 2.0, 3.0], [2, 2, 2], [10, 30, 20])
    assert (
        found["latency_p50"] == 2.0 and found["items_per_second"] == 1.0 and found["peak_memory_bytes"] == 30
    )
    # Overlapping requests: from 0 to 4 seconds, 2 items.
    (tmp_path / "log.jsonl").write_text('{"seconds": 3, "start": 0}\n{"seconds": 3, "start": 1}\n')
    log = read_run_log(tmp_path / "log.jsonl")
    assert log["items_per_second"] == 0.5 and math.isnan(log["peak_memory_bytes"]) and log["requests"] == 2


def test_percentiles_of_the_seconds_are_named_and_straight_between_measured_ones():
    found = compute_efficiency(list(range(101)))  # of 0, 1, ..., 100 seconds p % lie below p
    assert {name: value for name, value in found.items() if name.startswith("latency")} == {
        "latency_p50": 50.0, "latency_p90": 90.0, "latency_p95": 95.0, "latency_p99": 99.0, "latency_mean": 50.0
    }  # fmt: skip
    # Of 1 and 2 seconds the 90th percentile is 1 + 0.9.
    assert compute_efficiency([1.0, 2.0])["latency_p90"] == pytest.approx(1.9)


def test_a_broken_run_log_is_refused_line_by_line(tmp_path):
    rows = [{"seconds": 1}, {"second": 1}, {"seconds": -1}, {"seconds": 10**400}, {"seconds": "1_0"}, 3, []]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(UserError) as caught:
        read_run_log(tmp_path / "log.jsonl")
    assert [problem.split(":")[0] for problem in caught.value.problems[1:]] == [
        f"line {number}" for number in range(2, 8)
    ]


def test_without_requests_nothing_is_known_and_negative_seconds_are_refused():
    found = compute_efficiency([])
    assert (
        found["requests"] == 0 and math.isnan(found["latency_p50"]) and math.isnan(found["items_per_second"])
    )
    with pytest.raises(ValueError, match="seconds has 1 negative values"):
        compute_efficiency([1.0, -1.0])
