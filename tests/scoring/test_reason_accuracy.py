"""Reason accuracy: what a reply says about the fault of its question, and the scores made of it."""

import json

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.abstention import classify_abstention
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import BenchmarkItem, Fault, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.model_report import score_models
from pipeline.scoring.provenance import find_false_presuppositions
from pipeline.scoring.reason_accuracy import NO_FAULTS, NOT_GIVEN, compute_reason_columns, score_reasons
from pipeline.scoring.reason_reader import read_reason
from pipeline.scoring.reason_words import find_word_forms
from pipeline.scoring.text_summary import format_summary

DOG = Fault("object", "dog", "cat")
RED = Fault("attribute", "red", "blue")
UNDER = Fault("relation", "under", "on")


def read(question, reply, *faults):
    """The three properties of a reply, as letters: C claims a fault, F names it, I names what is there instead."""
    abstains = classify_abstention([question], [reply])[0] == 0
    found = read_reason(question, reply, bool(abstains), faults)
    return "".join(letter for letter, holds in zip("CFI", found, strict=True) if holds)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("There is no dog in the image; I see a cat.", "CFI"),
        ("No dog.", "CF"),
        ("The animal is a cat, not a dog.", "CFI"),
        ("I don't see any dogs.", "CF"),
        ("The dog is not visible.", "CF"),
        ('{"answer": "unanswerable", "reason": "no dog in the picture"}', "CF"),
        ("Unanswerable. There are no animals in the picture.", "CF"),  # a more general name
        ("It's actually a kitten.", "CI"),  # a synonym of what is there
        ("There is no horse.", "C"),  # a wrong thing
        ("There is no collar on the dog.", "C"),
        ("unanswerable", ""),
        ("I cannot tell.", ""),
        ("The picture is too dark to see the dog clearly.", ""),
        ("The dog is brown.", ""),
        ("brown", ""),
        ("<think>There is no dog.</think>brown", ""),  # only the final answer counts
    ],
)
def test_a_missing_object(reply, says):
    assert read("What color is the dog?", reply, DOG) == says


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("The car is blue, not red.", "CFI"),
        ("There is no red car.", "CF"),
        ("Unanswerable. The color does not match.", "CF"),
        ("There is no car.", "C"),
        ("Unanswerable. The car is not green.", "C"),
        ("A Volvo.", ""),
    ],
)
def test_a_wrong_attribute(reply, says):
    assert read("What brand is the red car?", reply, RED) == says


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("The cup is on the table, not under it.", "CFI"),
        ("There is no cup underneath the table.", "CF"),  # a synonym
        ("There is no cup.", "C"),
        ("White.", ""),
    ],
)
def test_a_wrong_relation(reply, says):
    assert read("What color is the cup under the table?", reply, UNDER) == says


@pytest.mark.parametrize(
    ("question", "reply", "says"),
    [
        ("What color is the dog?", "There is no dog in the image.", "C"),
        ("What color is the dog?", "Brown, not black.", ""),
        ("Is there a dog on the sofa?", "No, there is no dog on the sofa.", ""),
        ("What is on the table?", "Nothing.", ""),
        ("How many dogs are there?", "There are no dogs.", ""),
        ("What color is the dog?", "I can't make it out.", ""),
    ],
)
def test_claims_about_answerable_questions(question, reply, says):
    assert read(question, reply) == says


def test_one_of_several_faults_is_enough():
    zebra, fence = Fault("object", "zebra"), Fault("object", "fence")
    assert read("What is the zebra behind the fence doing?", "I see no fence.", zebra, fence) == "CF"


def test_names_come_from_wordnet():
    forms = find_word_forms("object", "couches")
    assert ("sofa",) in forms.same and ("furniture",) in forms.general
    assert ("armchair",) in find_word_forms("object", "chair").special


# What is known of a UQ


def edit(kind, old, new):
    return {"kind": kind, "old": old, "new": new}


PROGRAM = [
    {"operation": "select", "argument": "table (12)"},
    {"operation": "filter color", "argument": "red"},
    {"operation": "relate", "argument": "cup,on,s (13)"},
    {"operation": "relate", "argument": "_,in,s (14)"},
    {"operation": "query", "argument": "name"},
]


@pytest.mark.parametrize(
    ("item", "faults"),
    [
        ({"edits": [edit("object", "cat", "dog")], "category": "missing object"}, [DOG]),
        # The category of an item without a known reason is null.
        ({"edits": [edit("attribute", "blue", "red")], "category": None}, [RED]),
        ({"edits": [edit("object", "a", "b"), edit("object", "c", "d")]}, [Fault("object", "b", "a"), Fault("object", "d", "c")]),
        # A candidate of CLIP subsets: any object that the question names may be the missing one.
        ({"category": "missing object", "program": PROGRAM}, [Fault("object", "table"), Fault("object", "cup")]),
        ({"category": "missing object"}, []),
        ({"category": "wrong attribute", "program": PROGRAM}, []),
        ({"category": None, "program": PROGRAM}, []),
        ({"edits": [edit("relation", "on", "behind")], "query_only": True}, []),
        ({"edits": [edit("object", "cat", "dog")], "category": "no valid answer"}, []),
        ({"edits": [edit("attribute", "red", "not red")]}, []),
        ({"edits": [edit("attribute", "not red", "red")]}, [Fault("attribute", "red")]),
        ({"edits": [{"kind": "object"}]}, []),
        ({"edits": [edit("object", "cat", "dog")], "unanswerable": False}, []),
    ],
)  # fmt: skip
def test_faults_come_from_edits_or_from_the_program(item, faults):
    assert [*find_false_presuppositions({"unanswerable": True} | item)] == faults


# Scores


def joined(rows, **changes):
    """Join rows of (id, pair, answer, reply); an id that begins with "u" is a UQ about a dog edited from a cat."""
    items = Items.from_rows(
        BenchmarkItem(
            name,
            f"image of {pair}",
            {} if name[0] == "u" else {answer: 1.0},
            question_text="What color is the dog?" if name[0] == "u" else "What color is the cat?",
            pair_id=pair,
            faults=(DOG,) if name[0] == "u" else (),
        )
        for name, pair, answer, _ in rows
    )
    said = {name: reply for name, _, _, reply in rows if reply is not None}
    predictions = Predictions(
        "m", "", {name: place for place, name in enumerate(said)}, [*said.values()], np.ones(len(said))
    )
    return join_predictions(items, predictions, ScoringOptions(split="all", missing="wrong", **changes))


ROWS = [
    ("u1", "p1", "", "There is no dog, only a cat."),  # names the fault, and its AQ claims none
    ("a1", "p1", "black", "black"),
    ("u2", "p2", "", "There is no dog."),  # names the fault, but its AQ claims one
    ("a2", "p2", "white", "There is no cat in the image."),
    ("u3", "p3", "", "unanswerable"),
    ("a3", "p3", "brown", "brown"),
    ("u4", "p4", "", "The dog is not there."),  # no AQ
    ("u5", "p5", "", "brown"),
    ("a5", "p5", "brown", "I cannot tell."),
]


def test_scores_of_five_pairs():
    scores = score_reasons(joined(ROWS), ScoringOptions())
    assert scores == {
        "reason_accuracy": 1 / 4,  # of the pairs 1, 2, 3 and 5, only 1
        "names_fault": 3 / 5,  # u1, u2, u4
        "names_instead": 1 / 5,  # u1
        "claims_fault_on_uqs": 3 / 5,
        "claims_fault_on_aqs": 1 / 4,  # a2 of a1, a2, a3, a5
        "pairs": 4,
        "uqs_with_known_fault": 5,
        "uqs_with_several_possible_faults": 0,
        "uqs_with_unknown_fault": 0,
    }


def test_naming_the_object_of_every_question_as_missing_is_worth_nothing():
    rows = [
        row
        for number in range(4)
        for row in (
            (f"u{number}", f"p{number}", "", "There is no dog."),
            (f"a{number}", f"p{number}", "black", "There is no cat."),
        )
    ]
    scores = score_reasons(joined(rows), ScoringOptions())
    assert (scores["names_fault"], scores["reason_accuracy"]) == (1.0, 0.0)


def test_a_missing_prediction_names_nothing_and_its_pair_does_not_count_as_right():
    rows = [*ROWS[:2], ("u6", "p6", "", None), ("a6", "p6", "red", "red"), ("u7", "p7", "", "No dog there."), ("a7", "p7", "red", None)]  # fmt: skip
    columns = compute_reason_columns(joined(rows), ScoringOptions())
    assert columns["reason_accuracy"][[0, 2, 4]].tolist() == [1, 0, 0]
    assert columns["names_fault"][[0, 2, 4]].tolist() == [1, 0, 1]
    assert np.isnan(columns["claims_fault_on_aqs"][5])


def test_without_reasons_or_known_faults_nothing_is_scored():
    answers = [(name, pair, answer, "unanswerable") for name, pair, answer, _ in ROWS]
    assert score_reasons(joined(answers), ScoringOptions()) == {"unavailable": NOT_GIVEN}
    unknown = joined(ROWS)
    unknown = unknown._replace(items=unknown.items.with_columns(faults=[()] * len(ROWS)))
    assert score_reasons(unknown, ScoringOptions()) == {"unavailable": NO_FAULTS}


@pytest.fixture
def release(tmp_path):
    """A release with 30 pairs: UQs about dogs that were edited from questions about cats."""
    folder = tmp_path / "1.0.0"
    (folder / "rgqa").mkdir(parents=True)
    rows, lines, said = [], [], []
    for number in range(30):
        for name, answer in ((f"u{number}", "UQ"), (f"a{number}", "black")):
            is_uq = answer == "UQ"
            word = "dog" if is_uq else "cat"
            rows.append({"img_id": f"n{number}", "question_id": name, "sent": f"What color is the {word}?", "label": {answer: 1.0}})  # fmt: skip
            item = {
                "item_id": name,
                "subset": "pt-easy",
                "unanswerable": is_uq,
                "pair_id": f"p{number}",
                "split": "test",
            }
            edits = [edit("object", "cat", "dog")] if is_uq else []
            lines.append({"item": item | {"edits": edits, "category": "missing object" if is_uq else None}})
            # Two of three UQs are explained.
            reply = (
                "Unanswerable. There is no dog."
                if is_uq and number % 3
                else "unanswerable"
                if is_uq
                else "black"
            )
            said.append({"questionId": name, "prediction": reply, "confidence": float(not is_uq)})
    (folder / "rgqa/pt-easy.json").write_text(json.dumps(rows))
    (folder / "provenance.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "params.json").write_text(json.dumps({"version": "1.0.0"}))
    return folder, said


def test_the_report_has_reasons_with_intervals_where_replies_give_them(release):
    folder, said = release
    names = {row["questionId"]: place for place, row in enumerate(said)}
    confidence = np.array([row["confidence"] for row in said])

    def report(replies, **options):
        model = Predictions("m", "", names, replies, confidence)
        return score_models(read_benchmark(folder), [model], ScoringOptions(bootstrap=200, **options))

    found = report([row["prediction"] for row in said])
    groups = found.models[0].subsets["pt-easy"]
    assert groups["reasons"]["reason_accuracy"] == pytest.approx(2 / 3)
    low, high = groups["intervals"]["reason_accuracy"]
    # The standard error of a proportion of 2/3 in 30 images is sqrt(2/9 / 30) = 0.086, so 95 % are +-0.17.
    assert low == pytest.approx(2 / 3 - 0.17, abs=0.05) and high == pytest.approx(2 / 3 + 0.17, abs=0.05)
    assert "pt-easy: reason accuracy 66.67" in " ".join(format_summary(found).split())
    silent = report(["unanswerable"] * len(said))
    assert silent.models[0].subsets["pt-easy"]["reasons"] == {"unavailable": NOT_GIVEN}
    assert "reason accuracy" not in format_summary(silent)


def test_edits_of_another_type_are_a_fault_of_the_release(release):
    folder, _ = release
    row = {"item": {"item_id": "u", "subset": "pt-easy", "edits": [{"kind": "object", "new": 3}]}}
    (folder / "provenance.jsonl").write_text(json.dumps(row))
    with pytest.raises(UserError, match="edits is"):
        read_benchmark(folder)


def test_only_the_beginning_of_a_very_long_reply_is_read():
    """A model that repeats itself would take minutes otherwise."""
    fault = [Fault("object", "dog", "cat")]
    reply = "There is no dog. " + "I see a street with a car and a tree, and no bird. " * 3000
    found = read_reason("What color is the dog?", reply, True, fault)
    assert found.names_fault and found.claims_fault and not found.names_instead
    late = read_reason("What color is the dog?", "It is a street. " * 3000 + "There is no dog.", True, fault)
    assert not late.names_fault
