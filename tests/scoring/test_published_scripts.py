"""Scores against published scripts."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, f1_score, precision_recall_curve, roc_curve

from pipeline.scoring import aupr, detection_error, ff95, fpr_at_tpr, published_scores, vqa_accuracy
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.published_scripts import published_selective_scores
from pipeline.scoring.selective_prediction import score_selective_prediction
from tests.scoring import published
from tests.scoring.conftest import vqa_answered

# Published scripts
# The published script is made of scikit-learn's curves and NumPy's interpolation; so is the oracle here.


ROWS = st.lists(
    st.tuples(
        st.one_of(st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.floats(0, 1, width=32)),
        st.booleans(),
        st.booleans(),
    ),
    min_size=2,
    max_size=80,
).filter(lambda rows: len({row[2] for row in rows}) == 2)


def oracle(confidence, correct, answerable):
    fpr, tpr, _ = roc_curve(answerable, confidence)
    kept = confidence > 0.5
    thresholds = np.unique(confidence)[::-1]
    acc = np.array(
        [0, *((correct & answerable & (confidence >= t)).sum() / answerable.sum() for t in thresholds)]
    )
    false = np.array(
        [0, *((~answerable & (confidence >= t)).sum() / (~answerable).sum() for t in thresholds)]
    )
    found = {"auaf": auc(false, acc), "ff95": np.interp(acc[-1] * 0.95, acc, false) if acc[-1] else 0.0}
    found |= {
        "accuracy_indomain": correct[answerable].mean(),
        "facc": (correct & answerable).sum() / answerable.sum(),
    }
    if not kept.all():
        precision, recall, _ = precision_recall_curve(answerable, confidence)
        out_precision, out_recall, _ = precision_recall_curve(~answerable, -confidence)
        share = answerable.mean()
        found |= {
            "fpr95": np.interp(0.95, tpr, fpr),
            "fpr81.4": np.interp(0.814, tpr, fpr),
            "auroc": auc(fpr, tpr),
            "aupr_in": auc(recall, precision),
            "aupr_out": auc(out_recall, out_precision),
            "detection_error": (share * (1 - tpr) + (1 - share) * fpr)[tpr >= 0.95].min(),
            "accuracy": correct.mean(),
            "accuracy_accept": correct[kept].mean() if kept.any() else 0.0,
            "f1": f1_score(answerable, kept, zero_division=0),
        }
    return found


@given(ROWS)
def test_numbers_are_scikit_learns_and_numpys_to_the_last_bits(rows):
    confidence, correct, answerable = map(np.array, zip(*rows, strict=True))
    found = published_scores(confidence, correct, answerable)
    expected = oracle(confidence, correct, answerable)
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_when_everything_is_accepted_nine_numbers_are_not_given():
    found = published_scores([0.9, 0.8], [True, False], [True, False])
    assert {name for name, value in found.items() if np.isnan(value)} == {
        "fpr95",
        "fpr81.4",
        "auroc",
        "aupr_in",
        "aupr_out",
        "detection_error",
        "accuracy_accept",
        "accuracy",
        "f1",
    }


def test_ff95_is_read_off_the_end_of_a_flat_part():
    # 20 AQs, 19 right ones first: ACC is 19/20 = 0.95 x FACC from there on, while one UQ after the other is accepted,
    # until the last AQ. Strict: the lowest such FPR, 0. The script: the highest, 2/4 (then ACC rises to 1).
    confidence = np.linspace(1, 0, 24)
    answerable = np.array([True] * 19 + [False, False, True, False, False])
    correct = answerable.copy()
    assert ff95(confidence, correct, answerable) == 0.0
    assert published_scores(confidence, correct, answerable)["ff95"] == pytest.approx(0.5)
    assert fpr_at_tpr(confidence, answerable) == 0.0
    assert published_scores(confidence, correct, answerable)["fpr95"] == pytest.approx(0.5)


def test_nothing_right_has_ff95_zero_in_the_script():
    assert published_scores([0.9, 0.4], [False, False], [True, False])["ff95"] == 0.0
    assert np.isnan(ff95([0.9, 0.4], [False, False], [True, False]))


def test_aupr_by_trapezoids_is_not_average_precision():
    # All tied, half AQs: precision 1/2 at recall 1, and the script's (0, 1): area 3/4. Average precision is 1/2.
    assert published_scores([0.4, 0.4], [True, False], [True, False])["aupr_in"] == pytest.approx(0.75)
    assert aupr([0.4, 0.4], [True, False]) == pytest.approx(0.5)


def test_detection_error_misses_thresholds_between_equal_steps():
    # 40 AQs above the one UQ, all apart: the curve rises in equal steps and the script keeps its ends alone; both
    # find 0 there. With a UQ after 38 AQs and one after the 40th, the best threshold is before the first UQ: 2 of 42.
    confidence = np.linspace(1, 0, 42)
    answerable = np.array([True] * 38 + [False] + [True] * 2 + [False])
    assert detection_error(confidence, answerable) == pytest.approx(1 / 42)  # all AQs and the first UQ
    assert published_scores(confidence, answerable, answerable)["detection_error"] == pytest.approx(1 / 42)
    # 40 AQs in one row, then 60 UQs in a row: TPR >= 0.95 is first reached inside the row, where the points are gone,
    # but the row's end has TPR 1 and FPR 0 as well.
    assert (
        published_scores(np.linspace(1, 0, 100), [True] * 40 + [False] * 60, [True] * 40 + [False] * 60)[
            "detection_error"
        ]
        == 0
    )


def test_detection_error_is_higher_where_the_best_threshold_lies_inside_of_equal_steps():
    # 40 confidences, each of one AQ and two UQs. Strict: at 38 AQs 2 + 76 of 120 are wrong. The script keeps the ends of
    # the straight line alone: 80 of 120.
    confidence = np.repeat(np.arange(40)[::-1] / 40, 3)
    answerable = np.tile([True, False, False], 40)
    assert detection_error(confidence, answerable) == pytest.approx(78 / 120)
    found = published_scores(confidence, answerable, answerable)["detection_error"]
    assert found == pytest.approx(80 / 120)
    assert found == pytest.approx(oracle(confidence, answerable, answerable)["detection_error"])


def test_uq_is_a_correct_answer_to_a_uq_only_at_the_fixed_threshold():
    # accept > 0.5: the AQ (right) and one UQ, for which the model said "UQ".
    found = published_scores([0.9, 0.8, 0.1], [True, True, False], [True, False, False])
    assert (
        found["accuracy_accept"] == 1.0 and found["accuracy"] == pytest.approx(2 / 3) and found["facc"] == 1.0
    )


def test_confidence_equal_to_tau_is_rejected():
    # F1 of "answerable": with 0.5 rejected nothing is found.
    assert published_scores([0.5, 0.4], [True, False], [True, False])["f1"] == 0.0


def test_a_single_kind_is_refused():
    with pytest.raises(ValueError, match="only AQs"):
        published_scores([0.5], [True], [True])


@pytest.mark.parametrize(("answerable", "kind"), [([True, True], "AQs"), ([False, False], "UQs")])
def test_the_published_script_needs_both_kinds(answerable, kind):
    with pytest.raises(ValueError, match=f"needs AQs and UQs; there are only {kind}"):
        published_scores([0.9, 0.1], [True, False], answerable)


CASES = 5_000


def selective_rows(draw):
    levels = draw.choice([[0.1, 0.5, 0.9], list(np.linspace(0, 1, 7)), list(np.linspace(0, 1, 1000))])
    worths = draw.choice([[0.0, 1.0], [0.0, 0.3, 0.6, 0.9, 1.0], [0.0, 1 / 3, 2 / 3, 1.0]])
    return [(draw.choice(levels), draw.choice(worths)) for _ in range(draw.randint(2, 30))]


def test_published_selective_scores_are_those_of_reliable_vqas_script():
    draw, risks, costs = random.Random(3), (0.01, 0.05, 0.1, 0.2, 0.5), (1, 10, 100)
    for _ in range(CASES):
        test, dev = selective_rows(draw), selective_rows(draw)
        expected = published.reliable_vqa(test, dev, risks, costs)
        ours = published_selective_scores(
            *zip(*test, strict=True), *zip(*dev, strict=True), risks=risks, costs=costs
        )
        assert ours == pytest.approx(expected, abs=1e-12)


def test_published_mode_gives_the_scripts_numbers():
    # Two of two people agree on the first, none on the others: accuracies 1/3 and 0.
    joined = vqa_answered(
        [["red", "red"], ["cat", "cat"], ["cat", "cat"]], ["red", "dog", "dog"], [0.9, 0.5, 0.5]
    )
    scores = score_selective_prediction(joined, ScoringOptions(mode="published"))
    expected = published.reliable_vqa([(0.9, 1 / 3), (0.5, 0.0), (0.5, 0.0)], [], (0.01, 0.05, 0.1, 0.2), ())
    assert scores == pytest.approx(expected)


def test_one_item_has_no_area():
    with pytest.raises(ValueError, match="1 item, expected 2 or more"):
        published_selective_scores([0.5], [1])


# Published
# Our scores against what the published scripts compute (written again in `published`), on random cases full of ties.


PIECES = [
    "the",
    "a",
    "an",
    "two",
    "none",
    "ten",
    "dog",
    "Dog",
    "don't",
    "dont",
    "Im",
    "Ive",
    "I'm",
    "p.m.",
    "pm",
    "p.m",
    "1,000",
    "1000",
    "1.5",
    ".5",
    "U.S.",
    "U.S",
    "black-and-white",
    "b/w",
    "red.",
    "red",
    "red,",
    "'s",
    "somebody'd",
    "ow's'at",
    "yes!",
    "yes",
    "?",
    "-",
    "a.m.",
    "3",
    "three",
    "it's",
    "its",
    "(left)",
    "left/right",
    "x",
]
GAPS = [" ", " ", " ", "", "  ", "\n", "\t", ", ", ". ", " -", "- "]


def tricky_answer(draw):
    text = draw.choice(PIECES)
    for _ in range(draw.choice([0, 0, 0, 1, 1, 2])):
        text += draw.choice(GAPS) + draw.choice(PIECES)
    return draw.choice(["", "", "", " "]) + text + draw.choice(["", "", "", ".", "!", " ", "\n"])


@pytest.mark.parametrize(
    ("form", "theirs"),
    [("official", published.vqa_accuracy_master), ("official-2017", published.vqa_accuracy_2017)],
)
def test_vqa_accuracy_is_that_of_the_published_code(form, theirs):
    draw = random.Random(0)
    said, people = [], []
    for _ in range(CASES):
        pool = [tricky_answer(draw) for _ in range(draw.choice([1, 2, 3]))]
        people.append([draw.choice(pool) for _ in range(draw.choice([2, 3, 10, 10, 10]))])
        said.append(draw.choice([*pool, draw.choice(pool).strip(" .!").lower()]))
    expected = [theirs(text, answers) for text, answers in zip(said, people, strict=True)]
    assert vqa_accuracy(said, people, normalization=form) == pytest.approx(expected, abs=1e-12)
    assert 0.05 < np.mean(expected) < 0.95  # the cases are not all alike


def test_corrected_vqa_accuracy_loses_no_match_that_official_makes():
    draw = random.Random(1)
    for _ in range(CASES):
        text, other = tricky_answer(draw), tricky_answer(draw)
        people = [text] * 5 + [other] * 5
        assert (
            vqa_accuracy([text], [people], normalization="corrected")
            >= vqa_accuracy([text], [people]) - 1e-12
        )


def realistic_rows(draw):
    levels = draw.choice([[0.1, 0.3, 0.5, 0.9], [0.6, 0.7, 0.9], list(np.linspace(0, 1, 50))])
    rows = [
        (draw.choice(levels), draw.choice(["red", "dog", "UQ"]), draw.choice(["red", "dog", "UQ", "UQ"]))
        for _ in range(draw.randint(2, 40))
    ]
    return [*rows, (draw.choice(levels), "dog", "dog"), (draw.choice(levels), "dog", "UQ")]


def test_published_mode_is_the_script_of_rgqas_authors():
    draw = random.Random(2)
    for _ in range(CASES):
        rows = realistic_rows(draw)
        expected = published.rgqa(rows)
        confidence, said, labels = map(np.array, zip(*rows, strict=True))
        ours = published_scores(confidence, said == labels, labels != "UQ")
        assert {name: ours[name] for name in expected} == pytest.approx(expected, abs=1e-12)
        assert {name for name, value in ours.items() if not np.isnan(value)} == set(expected)


def gqa_case(draw):
    answers = ["red", "blue", "yes", "no", "dog"]
    names = [str(i) for i in range(draw.randint(2, 12))]
    boxes = {
        str(i): {
            "x": draw.randint(0, 60),
            "y": draw.randint(0, 60),
            "w": draw.randint(1, 60),
            "h": draw.randint(1, 60),
        }
        for i in range(3)
    }
    scenes = {"p": {"width": 100, "height": 80, "objects": boxes}}
    questions = {
        name: {
            "imageId": "p",
            "answer": draw.choice(answers),
            "isBalanced": draw.random() < 0.7 or name == "0",
            "types": {
                "structural": draw.choice(["query", "verify", "choose"]),
                "semantic": "attr",
                "detailed": draw.choice(["twoCommon", "color"]),
            },
            "semantic": [
                {"operation": "select", "argument": draw.choice(["scene", "dog (1)"]), "dependencies": []}
            ],
            "groups": {"global": draw.choice(["color", "animal", None])},
            "entailed": draw.sample(names, draw.randint(0, len(names))),
            "annotations": {
                "question": {str(k): draw.choice("012") for k in range(draw.randint(0, 2))},
                "fullAnswer": {str(k): draw.choice("012") for k in range(draw.randint(0, 2))},
            },
        }
        for name in names
    }
    choices = {
        name: {"valid": draw.sample(answers, 3), "plausible": draw.sample([*answers, "color"], 2)}
        for name in names
    }
    attention = {}
    for name in names:
        weights = np.array([[draw.random() for _ in range(4)] for _ in range(4)])
        attention[name] = (weights / weights.sum()).tolist()
    return questions, {name: draw.choice([*answers, "color"]) for name in names}, choices, scenes, attention


def test_gqas_diagnostics_are_those_of_gqas_script():
    draw = random.Random(5)
    for _ in range(CASES):
        questions, predictions, choices, scenes, attention = gqa_case(draw)
        expected = published.gqa(questions, predictions, choices, scenes, attention, 4)
        ours = compute_gqa_diagnostics(
            questions, predictions, choices=choices, scenes=scenes, attention=attention
        )
        # What has no item is 0 in the script and absent in ours.
        assert {name: ours[name].get("value", 0) for name in expected} == pytest.approx(expected, abs=1e-12)
