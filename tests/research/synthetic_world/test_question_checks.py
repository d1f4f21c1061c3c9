"""Checks of a question: a correct one passes, and each fault is reported."""

from __future__ import annotations

import msgspec
import pytest

from pipeline.core.records import Relation, SceneGraph, SceneObject
from pipeline.verifier.evidence import build_scene_evidence
from research.synthetic_world.question_checks import LEXICON, CheckedQuestion, find_faults


def thing(object_id: str, name: str, *attributes: str, relations: str = "") -> SceneObject:
    edges = tuple(
        Relation(name=r.rpartition(" ")[0].strip(), object_id=r[-1]) for r in relations.split(",") if r
    )
    return SceneObject(
        object_id=object_id, name=name, x=10, y=10, w=20, h=20, attributes=attributes, relations=edges
    )


TRUTH = build_scene_evidence(
    SceneGraph(
        image_id="n1",
        split="testdev",
        width=100,
        height=100,
        location="kitchen",
        is_complete=True,
        objects=(
            thing("1", "table", "red", relations="to the left of 4,under 4"),
            thing("2", "cup", "blue", "large", relations="on 1"),
            thing("3", "cup", "green", relations="on 4"),
            thing("4", "chair", "blue", relations="to the right of 1"),
        ),
    ),
    LEXICON,
)


def entry(
    question: str, program: str, answer: str, full: str, marks: dict[str, str], **other: object
) -> dict[str, object]:
    steps = [step.split(": ", 1) for step in program.split("->")]
    return {
        "imageId": "n1",
        "question": question,
        "answer": answer,
        "fullAnswer": full,
        "semanticStr": program,
        "semantic": [
            {
                "operation": operation,
                "argument": argument.partition(" [")[0],
                "dependencies": [
                    int(i) for i in argument.partition(" [")[2].rstrip("]").replace(",", " ").split()
                ],
            }
            for operation, argument in steps
        ],
        "annotations": {"question": marks, "answer": {}, "fullAnswer": {}},
        "entailed": [],
        "equivalent": [],
    } | other


ON_TABLE = "select: table (1)->relate: cup,on,s (2) [0]->query: color [1]"
OF_CHAIR = "select: chair (4)->choose rel: table,to the left of|to the right of,s (1) [0]"
LAMP = "select: lamp (-)->exist: ? [0]"
QUESTIONS = {
    "10": entry(
        "What color is the cup on the table?",
        ON_TABLE,
        "blue",
        "The cup is blue.",
        {"4": "2", "7": "1"},
        entailed=["11"],
        equivalent=["10"],
    ),
    "11": entry(
        "Is the cup on the table blue?",
        ON_TABLE.replace("query: color", "verify color: blue"),
        "yes",
        "Yes, the cup is blue.",
        {"2": "2", "5": "1"},
        entailed=["10"],
        equivalent=["11"],
    ),
    "12": entry(
        "Is the table to the left or to the right of the chair?",
        OF_CHAIR,
        "left",
        "The table is to the left of the chair.",
        {"2": "1", "12": "4"},
        equivalent=["12"],
    ),
    "13": entry("Is there a lamp?", LAMP, "no", "No, there is no lamp.", {}, equivalent=["13"]),
    "14": entry(
        "What is the blue piece of furniture called?",
        "select: furniture (4)->filter color: blue [0]->query: name [1]",
        "chair",
        "It is a chair.",
        {"3:7": "4"},
        equivalent=["14"],
    ),
    "15": entry(
        "Are the cups on the table and the chair there?",  # about a second image
        LAMP,
        "no",
        "No.",
        {},
        imageId="n2",
        equivalent=["15"],
    ),
}


def complaints(question_id: str, **changes: object) -> list[str]:
    changed = QUESTIONS | {question_id: QUESTIONS[question_id] | changes}
    entries = {key: msgspec.convert(value, CheckedQuestion) for key, value in changed.items()}
    return list(find_faults(question_id, entries[question_id], entries, TRUTH))


@pytest.mark.parametrize("question_id", ["10", "11", "12", "13", "14"])
def test_a_right_question_passes(question_id):
    assert complaints(question_id) == []


def program(question_id: str, old: str, new: str) -> dict[str, object]:
    """Return a question's program with some text replaced."""
    text = QUESTIONS[question_id]["semanticStr"].replace(old, new)
    again = entry("", text, "", "", {})
    return {"semantic": again["semantic"], "semanticStr": again["semanticStr"]}


@pytest.mark.parametrize(
    ("question_id", "changes", "complaint"),
    [
        ("10", {"answer": "green", "fullAnswer": "The cup is green."}, "the answer is blue, not green"),
        ("12", {"answer": "right"}, "the answer is left, not right"),
        ("13", {"answer": "yes", "fullAnswer": "Yes."}, "the answer is no, not yes"),
        ("10", program("10", ",on,", ",near,"), "has no single answer: wrong relation: no cup near table"),
        ("10", program("10", "table", "lamp"), "has no single answer: missing object: no lamp"),
        ("10", program("10", "query: color", "query: material"), "has no single answer: no valid answer"),
        (
            "14",
            program("14", "->filter color: blue [0]->query: name [1]", "->query: color [0]"),
            "has no single answer: underspecified",
        ),
        ("10", program("10", "query: color", "guess: color"), "unknown operation 'guess'"),
        # ids
        ("10", program("10", "(2)", "(9)"), "step 1: 9 is not an object of the image"),
        ("10", program("10", "(1)", "(4)"), "step 0: 4 is a chair, not a table"),
        ("10", program("10", "(2)", "(3)"), "step 1: 3 is not among the objects that relate finds"),
        ("10", program("10", "(2)", "(-)"), "`-` for cup, of which there is one"),
        ("10", program("10", " (2)", ""), "step 1: cup has no object id"),
        (
            "12",
            program(
                "12",
                "table,to the left of|to the right of,s (1)",
                "table,to the left of|to the right of,s (-)",
            ),
            "`-` for table",
        ),
        ("13", program("13", "lamp (-)", "lamp (2)"), "step 0: 2 is a cup, not a lamp"),
        # annotations
        (
            "10",
            {"annotations": {"question": {"4": "4", "7": "1"}, "answer": {}, "fullAnswer": {}}},
            "words 4 of the question (cup) do not name 4, a chair",
        ),
        (
            "10",
            {"annotations": {"question": {"3": "2", "7": "1"}, "answer": {}, "fullAnswer": {}}},
            "words 3 of the question (the) do not name 2, a cup",
        ),
        (
            "10",
            {"annotations": {"question": {"4": "3", "7": "1"}, "answer": {}, "fullAnswer": {}}},
            "annotated with 3, which is not in its program",
        ),
        (
            "10",
            {"annotations": {"question": {"4": "2", "7": "9"}, "answer": {}, "fullAnswer": {}}},
            "annotated with 9, which is not an object",
        ),
        (
            "10",
            {"annotations": {"question": {"4": "2"}, "answer": {}, "fullAnswer": {}}},
            "it says table, but no word is annotated with 1",
        ),
        (
            "14",
            {"annotations": {"question": {"3:7": "4"}, "answer": {"0": "1"}, "fullAnswer": {}}},
            "words 0 of the answer (chair) do not name 1, a table",
        ),
        (
            "14",
            {"annotations": {"question": {"3:7": "4"}, "answer": {}, "fullAnswer": {"3": "2"}}},
            "words 3 of the full answer (chair.) do not name 2, a cup",
        ),
        # other questions
        ("10", {"equivalent": []}, "is not among its own equivalent questions"),
        (
            "10",
            {"equivalent": ["10", "12"]},
            "equivalent 12 (Is the table to the left or to the right of the chair? left): does not follow",
        ),
        ("10", {"entailed": ["13"]}, "entailed 13 (Is there a lamp? no): does not follow"),
        ("10", {"entailed": ["15"]}, "entailed 15: not a question about this image"),
        ("10", {"entailed": ["99"]}, "entailed 99: not a question about this image"),
        ("13", {"entailed": ["10"]}, "does not follow"),
        # spelling
        ("10", {"semanticStr": "select: table (1)"}, "semanticStr is not its program"),
        ("10", {"fullAnswer": "The cup is green."}, "does not say blue"),
        ("13", {"fullAnswer": "There is none."}, "does not say no"),
    ],
)
def test_each_fault_of_a_question_is_reported(question_id, changes, complaint):
    found = complaints(question_id, **changes)
    assert any(complaint in line for line in found), found


def test_a_presupposed_relation_must_be_that_of_the_objects_with_these_ids():
    # On each of two tables is a blue cup: the program means table 1, so it may not mean the cup on table 4.
    scene = SceneGraph(
        image_id="n1",
        split="testdev",
        width=100,
        height=100,
        is_complete=True,
        objects=(
            thing("1", "table"),
            thing("2", "cup", "blue", relations="on 1"),
            thing("3", "cup", "blue", relations="on 4"),
            thing("4", "table"),
        ),
    )
    for program_, fault in (
        (program("10", "", ""), []),
        (program("10", "(2)", "(3)"), ["step 1: 3 and 1 are not related as question and answer say"]),
    ):
        marks = {
            "annotations": {"question": {}, "answer": {}, "fullAnswer": {}},
            "entailed": [],
            "question": "What color is it?",
        }
        question = msgspec.convert(QUESTIONS["10"] | program_ | marks, CheckedQuestion)
        assert (
            list(find_faults("10", question, {"10": question}, build_scene_evidence(scene, LEXICON))) == fault
        )


def test_a_queried_relation_must_be_that_of_the_objects_with_these_ids():
    # Two tables, of which one is left of the chair and one is not: the program may only mean the first.
    scene = SceneGraph(
        image_id="n1",
        split="testdev",
        width=100,
        height=100,
        is_complete=True,
        objects=(
            thing("1", "table", relations="to the left of 4"),
            thing("4", "chair", relations="to the right of 1"),
            thing("5", "table"),
        ),
    )
    question = msgspec.convert(QUESTIONS["12"] | program("12", "(1)", "(5)"), CheckedQuestion)
    found = list(find_faults("12", question, {"12": question}, build_scene_evidence(scene, LEXICON)))
    assert "step 1: 5 and 4 are not related as question and answer say" in found
