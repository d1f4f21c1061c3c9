"""What answered questions tell of a picture."""

from __future__ import annotations

import pytest

from pipeline.judge.judgement import judge
from pipeline.judge.reconstruct import reconstruct
from tests.pipeline.judge.notation import LEXICON, question, steps


def told(*answered: tuple[str, str]):
    """Facts from (program, answer) pairs about one picture."""
    return reconstruct([question(program, answer, str(i)) for i, (program, answer) in enumerate(answered)], LEXICON)


RED_CUP = ("select: table (1)->relate: cup,on,s (2) [0]->filter size: small [1]->query: color [2]", "red")
IN_FRONT = ("select: dog (3)->filter color: not(red) [0]->relate: _,in front of,o (4) [1]->query: name [2]", "chair")


@pytest.mark.parametrize(("answered", "program", "expected"), [
    # What a question presupposes and answers is known.
    (RED_CUP, "select: cup (2)->filter color: red [0]->query: size [1]", "answerable"),
    (RED_CUP, "select: table (1)->relate: _,on,s (2) [0]->filter color: red [1]->query: name [2]", "answerable"),
    (RED_CUP, "select: cup (2)->relate: _,under,s (2) [0]->query: name [1]", "unknown"),
    (RED_CUP, "select: lamp (2)->query: color [0]", "unknown"),
    # The cup had to be told from other cups: of those nothing is known. "The table" was said of the only one.
    (RED_CUP, "select: cup (2)->filter color: blue [0]->query: size [1]", "unknown"),
    (("select: table (1)->query: color [0]", "red"), "select: table (1)->filter color: blue [0]->query: size [1]", "wrong attribute"),
    (("select: animal (1)->query: name [0]", "dog"), "select: animal (1)->filter size: small [0]->query: name [1]", "unknown"),
    (("select: animal (1)->query: name [0]", "dog"), "select: cat (1)->query: color [0]", "missing object"),
    # Negations, blanks and inverse relations.
    (IN_FRONT, "select: chair (4)->relate: dog,in front of,s (3) [0]->query: color [1]", "unknown"),
    (IN_FRONT, "select: dog (4)->filter color: red [0]->query: size [1]", "unknown"),
    (IN_FRONT, "select: chair (4)->relate: animal,behind,o (3) [0]->query: name [1]", "answerable"),
    (IN_FRONT, "select: chair (4)->relate: animal,in front of,s (3) [0]->query: name [1]", "answerable"),
    # Yes and no.
    (("select: cup (2)->verify color: red [0]", "yes"), "select: cup (2)->query: color [0]", "answerable"),
    (("select: cup (2)->verify color: red [0]", "no"), "select: cup (2)->filter color: red [0]->query: size [1]", "wrong attribute"),
    (("select: cup (2)->verify color: red [0]", "no"), "select: cup (2)->filter color: blue [0]->query: size [1]", "unknown"),
    (("select: cup (2)->verify rel: box,in,o (3) [0]", "yes"), "select: box (3)->relate: _,inside,s (2) [0]->query: name [1]", "answerable"),
    (("select: cup (2)->verify rel: box,left of,s (3) [0]", "no"), "select: cup (2)->relate: box,to the left of,s (3) [0]->query: size [1]", "unknown"),
    (("select: umbrella (-)->exist: ? [0]", "no"), "select: umbrellas (9)->query: color [0]", "missing object"),
    (("select: animal (-)->exist: ? [0]", "no"), "select: dog (9)->query: color [0]", "missing object"),
    (("select: umbrella (8)->exist: ? [0]", "yes"), "select: umbrella (9)->verify color: red [0]", "answerable"),
    (("select: hat (8)->filter color: red [0]->exist: ? [1]", "yes"), "select: hat (9)->query: color [0]", "answerable"),
    # and: yes to both; or: no to both.
    (("select: cup (2)->verify color: red [0]->verify size: small [0]->and:  [1, 2]", "yes"), "select: cup (2)->query: size [0]", "answerable"),
    (("select: cup (2)->verify color: red [0]->verify size: small [0]->and:  [1, 2]", "no"), "select: cup (2)->query: size [0]", "unknown"),
    (("select: cat (-)->exist: ? [0]->select: dog (-)->exist: ? [2]->or:  [1, 3]", "no"), "select: dog (9)->query: color [0]", "missing object"),
    (("select: cat (-)->exist: ? [0]->select: dog (4)->exist: ? [2]->or:  [1, 3]", "yes"), "select: cat (9)->query: color [0]", "missing object"),
    # Choices tell what is so and what is not.
    (("select: cup (2)->choose color: red|blue [0]", "blue"), "select: cup (2)->query: color [0]", "answerable"),
    (("select: cup (2)->choose material: wood|metal [0]", "wooden"), "select: cup (2)->filter material: wood [0]->exist: ? [1]", "answerable"),
    (("select: cup (2)->choose rel: box,in front of|behind,s (3) [0]", "front"), "select: cup (2)->relate: _,in front of,s (3) [0]->query: name [1]", "answerable"),
    (("select: animal (2)->choose name: cow|horse [0]", "cow"), "select: cow (2)->verify size: small [0]", "answerable"),
    # The scene.
    (("select: scene->query: room [0]", "kitchen"), "select: scene->choose location: indoors|outdoors [0]", "answerable"),
    (("select: scene->verify location: indoors [0]", "no"), "select: scene->choose location: indoors|outdoors [0]", "answerable"),
    (("select: scene->verify weather: rainy [0]", "no"), "select: scene->query: weather [0]", "unknown"),
    (("select: scene->verify weather: rainy [0]", "yes"), "select: scene->query: weather [0]", "answerable"),
    # Positions, as far as they were told.
    (("select: cup (2)->query: hposition [0]", "left"), "select: cup (2)->filter hposition: right [0]->query: color [1]", "wrong attribute"),
    (("select: cup (2)->verify hposition: left [0]", "no"), "select: cup (2)->filter hposition: left [0]->query: color [1]", "wrong attribute"),
    (("select: cup (2)->verify hposition: left [0]", "no"), "select: cup (2)->query: hposition [0]", "unknown"),
    # Known as a person only, he may be a man; known as a man, he is a person.
    (("select: person (5)->query: pose [0]", "standing"), "select: man (5)->query: pose [0]", "unknown"),
    (("select: man (5)->query: pose [0]", "standing"), "select: person (5)->filter pose: standing [0]->query: name [1]", "answerable"),
    (("select: she (5)->verify pose: standing [0]", "yes"), "select: person (5)->query: pose [0]", "answerable"),
])
def test_answers_and_presuppositions_are_evidence(answered, program, expected):
    judgement = judge(steps(program), told(answered))
    assert (judgement.category or judgement.answerability, judgement.evidence) == (expected, "other questions")


def test_no_to_a_phrase_of_one_claim_denies_it_and_of_two_tells_nothing():
    one = told(("select: hat (8)->filter color: red [0]->exist: ? [1]", "no"))
    assert one.has(one.things[0], "red") is False
    two = told(("select: hat (8)->filter color: red [0]->filter size: small [1]->exist: ? [2]", "no"))
    assert two.has(two.things[0], "red") is None
    assert [thing.label for thing in two.things] == ["hat"]


def test_no_cup_on_the_table_denies_it_of_every_cup_that_is_known():
    known = told(("select: table (1)->relate: cup,on,s (-) [0]->exist: ? [1]", "no"), ("select: cup (2)->query: color [0]", "red"))
    cup, table = known.named("cup").sure[0], known.named("table").sure[0]
    assert known.holds(cup, "on", table) is False
    assert known.absent == frozenset()  # there is a cup elsewhere


def test_facts_of_several_questions_meet_at_the_object_ids():
    known = told(("select: clothing (7)->filter color: red [0]->query: name [1]", "hat"), ("select: man (5)->relate: hat,wearing,o (7) [0]->query: size [1]", "small"))
    (hat,) = known.named("hat").sure
    assert (hat.names, hat.label, hat.attributes) == (("hat", "clothing"), "hat", {"red": "color", "small": "size"})


def test_the_absent_names_are_told():
    assert told(("select: umbrellas (-)->exist: ? [0]", "no")).absent == {"umbrella"}


def test_nothing_asked_is_nothing_known():
    known = told()
    assert (known.things, known.absent, known.scene["location"]) == ((), frozenset(), "")
