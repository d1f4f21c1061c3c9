"""Our scores against what the published scripts compute (written again in `published`), on random cases full of ties."""

import random

import numpy as np
import pytest

from pipeline.scoring import published_scores, vqa_accuracy
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from tests.scoring import published

CASES = 5_000
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
