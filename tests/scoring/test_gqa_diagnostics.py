import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics, count_reasoning_steps, score_gqa
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import ScoringOptions
from tests.scoring.conftest import answered, model


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
