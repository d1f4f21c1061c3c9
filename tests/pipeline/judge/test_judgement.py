"""The judge on incomplete evidence: what is not listed is unknown, and "unanswerable" needs something against it."""

from __future__ import annotations

import pytest

from pipeline.core.errors import UserError
from pipeline.judge.judgement import evidence_for, judge
from tests.notation import LEXICON, answered_question, facts, scene, steps

# A published graph: what it says is so, but it does not say everything.
LISTED = (
    "table 1 at 200 700: red",
    "cup 2 at 180 600: blue; on 1, to the left of 3",
    "apple 3 at 250 600: green",
    "man 4 at 800 500: sitting; wearing 5",
    "hat 5 at 800 400",
    "dog 6 at 500 900: standing",
    "dog 7 at 900 900: sitting",
)


def verdict(program: str, known) -> str:
    judgement = judge(steps(program), known)
    return judgement.category or judgement.answerability


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        # Known to hold: the answer is listed, or there certainly is one.
        ("select: cup (2)->query: color [0]", "answerable"),
        ("select: table (1)->relate: cup,on,s (2) [0]->query: color [1]", "answerable"),
        ("select: hat (5)->relate: person,wearing,s (4) [0]->query: name [1]", "answerable"),
        ("select: apple (3)->choose rel: cup,to the left of|to the right of,s (2) [0]", "answerable"),
        ("select: cup (2)->relate: apple,to the right of,s (3) [0]->query: color [1]", "answerable"),
        ("select: cup (2)->verify material: wood [0]", "answerable"),  # yes or no, it has an answer
        ("select: lamp (2)->exist: ? [0]", "answerable"),
        ("select: apple (3)->query: hposition [0]", "answerable"),  # published boxes are true
        ("select: dog (6)->filter pose: sitting [0]->query: hposition [1]", "answerable"),
        ("select: cup (2)->select: apple (3)->same color:  [0, 1]", "answerable"),
        ("select: scene->query: place [0]", "answerable"),
        # Not listed, so not known: objects, attributes, relations, values.
        ("select: lamp (2)->query: color [0]", "unknown"),
        ("select: cup (2)->filter material: metal [0]->query: color [1]", "unknown"),
        ("select: cup (2)->filter size: not(small) [0]->query: color [1]", "unknown"),
        ("select: table (1)->relate: apple,on,s (3) [0]->query: color [1]", "unknown"),
        ("select: table (1)->relate: lamp,on,s (3) [0]->query: color [1]", "unknown"),
        ("select: cup (2)->query: material [0]", "unknown"),
        ("select: hat (5)->choose color: red|blue [0]", "unknown"),
        ("select: hat (5)->select: cup (2)->same color:  [0, 1]", "unknown"),
        ("select: hat (5)->select: cup (2)->common:  [0, 1]", "unknown"),
        ("select: apple (3)->choose rel: cup,above|below,s (2) [0]", "unknown"),
        ("select: cup (2)->verify rel: lamp,near,o (3) [0]", "unknown"),
        ("select: cup (2)->choose rel: lamp,above|below,s (3) [0]", "unknown"),
        ("select: cup (2)->same: color [0]", "unknown"),
        ("select: lamp (2)->relate: cup,near,s (2) [0]->exist: ? [1]", "unknown"),
        ("select: lamp (2)->relate: cup,near,s (2) [0]->query: color [1]", "unknown"),
        (
            "select: cup (2)->filter material: metal [0]->relate: table,on,o (1) [1]->query: color [2]",
            "unknown",
        ),
        ("select: man (4)->relate: man,near,s (4) [0]->query: pose [1]", "unknown"),  # another man
        # Something listed speaks against it.
        ("select: cup (2)->filter color: red [0]->query: material [1]", "wrong attribute"),
        ("select: cup (2)->filter color: not(blue) [0]->query: material [1]", "wrong attribute"),
        ("select: apple (3)->relate: cup,to the right of,s (2) [0]->query: color [1]", "wrong relation"),
        ("select: table (1)->relate: cup,under,s (2) [0]->query: color [1]", "wrong relation"),
        ("select: cup (2)->choose color: red|green [0]", "no valid answer"),
        ("select: dog (6)->query: pose [0]", "underspecified"),
        ("select: dog (6)->verify pose: sitting [0]", "underspecified"),
        ("select: dog (6)->query: hposition [0]", "underspecified"),
        ("select: scene->query: weather [0]", "no valid answer"),  # a kitchen has none
    ],
)
def test_a_published_graph_leaves_much_unknown(program, expected):
    assert verdict(program, facts(*LISTED, complete=False)) == expected


@pytest.mark.parametrize(
    ("program", "incomplete", "complete"),
    [
        ("select: lamp (2)->query: color [0]", "unknown", "missing object"),
        ("select: cup (2)->filter material: metal [0]->query: color [1]", "unknown", "wrong attribute"),
        ("select: table (1)->relate: apple,on,s (3) [0]->query: color [1]", "unknown", "wrong relation"),
        ("select: cup (2)->query: material [0]", "unknown", "no valid answer"),
        ("select: cup (2)->filter color: red [0]->query: material [1]", "wrong attribute", "wrong attribute"),
        ("select: cup (2)->query: color [0]", "answerable", "answerable"),
    ],
)
def test_completeness_turns_unknown_into_a_category(program, incomplete, complete):
    assert verdict(program, facts(*LISTED, complete=False)) == incomplete
    assert verdict(program, facts(*LISTED)) == complete


def test_an_outdoor_scene_without_weather_may_have_one():
    assert (
        verdict("select: scene->query: weather [0]", facts(*LISTED, complete=False, place="beach"))
        == "unknown"
    )
    assert (
        verdict("select: scene->verify weather: rainy [0]", facts(*LISTED, complete=False, place="beach"))
        == "answerable"
    )
    assert (
        verdict("select: scene->verify weather: rainy [0]", facts(*LISTED, complete=False, place=""))
        == "unknown"
    )


def test_the_judgement_names_its_evidence_and_a_reason():
    wrong = steps("select: cup (2)->filter color: red [0]->query: material [1]")
    assert judge(wrong, facts(*LISTED, complete=False)).evidence == "scene graph"
    assert judge(wrong, facts(*LISTED)).evidence == "truth"
    assert judge(wrong, facts(*LISTED)).detail == "no cup is red"
    unknown = judge(steps("select: lamp (2)->query: color [0]"), facts(*LISTED, complete=False))
    assert unknown.detail == "whether there is lamp is not known"


def test_no_evidence_is_not_no_conflict():
    judgement = judge(steps("select: cup (2)->query: color [0]"), None)
    assert (judgement.answerability, judgement.category, judgement.evidence) == ("unknown", None, "none")


def test_a_question_without_a_program_is_not_judged():
    assert judge((), facts(*LISTED)).answerability == "unknown"


def test_a_malformed_program_is_an_error_that_names_the_question():
    with pytest.raises(UserError, match="What is it"):
        judge(steps("select: cup (2)->guess: color [0]"), facts(*LISTED), "What is it?")


def test_evidence_is_the_scene_graph_else_the_other_questions_else_none():
    scenes = {"p": scene(*LISTED, complete=False)}
    asked = {
        "p": [answered_question("select: cup (2)->query: color [0]", "blue")],
        "silent": [answered_question("select: cup (2)->query: color [0]", "")],
    }
    assert evidence_for("p", scenes, asked, LEXICON).source == "scene graph"
    assert evidence_for("p", {}, asked, LEXICON).source == "other questions"
    assert evidence_for("silent", {}, asked, LEXICON) is None
    assert evidence_for("unheard of", scenes, asked, LEXICON) is None
