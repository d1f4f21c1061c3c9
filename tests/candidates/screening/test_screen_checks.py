"""Checks of candidates, and grammar."""

import dataclasses

import msgspec
import pytest

from pipeline.candidates.screening import screen_checks as faults
from pipeline.candidates.screening import screen_rules as rules
from pipeline.candidates.screening.grammar import find_grammar_error
from pipeline.candidates.screening.screen_checks import ScreenCase
from pipeline.core.errors import UserError
from pipeline.core.records import Candidate, Edit
from pipeline.language.functional_programs import parse_program
from tests.candidates.screening.in_memory import SIZE, VOCABULARY, kept_or_why, screen
from tests.notation import question, steps

# Screen checks


def case(text, semantic="", edits=()):
    candidate = Candidate(
        candidate_id="c",
        subset="clip-easy",
        image_id="n1",
        question_id="q1",
        text=text,
        program=steps(semantic) if semantic else (),
        edits=edits,
    )
    return ScreenCase(candidate, VOCABULARY)


SAID_TWICE = [  # text, the option that stands on both sides of "or"
    ("Is it red or red?", "red"),
    ("What fruit is it, an Apple or an apple?", "an apple"),
    ("Is the woman to the right or to the right of the man?", "to the right"),
    ("Is it behind or behind the cat?", "behind"),
    ("Is it in front of or in front of the box?", "in front of"),
    ("Is it in the top or in the top part of the photo?", "in the top"),
    ("Is it red or blue?", None),
    ("Is it to the left or to the right of the man on the right?", None),
    ("Is it in or in front of the box?", None),
    ("Is it on or on top of the box?", None),
    ("Is it red or reddish?", None),
    ("Is it blue or light blue?", None),
    ("Is it light blue or blue?", None),
    ("Is it a car or a car park?", None),
    ("Is the red or the blue cup red?", None),
]


@pytest.mark.parametrize("text, option", SAID_TWICE)
def test_the_words_tell_whether_one_option_is_offered_twice(text, option):
    assert faults.find_repeated_option(case(text)) == (option and f"{option} or {option}")


TEXTS = [  # questions without a program, and whether they give their answer away
    ("What color are the black shoes?", True),
    ("What is the color of the red cup?", True),
    ("Which color is the wood table?", False),
    ("What color is the cup near the red dog?", False),
    ("What material is the wood table made of?", True),
    ("Is the red cup large?", False),
    ("What is the red cup on?", False),
    ("What color is the cup that the black dog holds?", False),
]


@pytest.mark.parametrize("text, gives_away", TEXTS)
def test_without_a_program_the_words_tell_whether_the_answer_is_given_away(text, gives_away):
    assert bool(faults.find_given_attribute_in_text(case(text))) == gives_away


BACK = [  # relation to the thing in the middle, the thing's relation to the lamp, whether that leads back to the lamp
    ("to the left of,s", "to the right of,s", True),
    ("to the left of,s", "to the left of,o", True),
    ("to the left of,s", "to the left of,s", False),
    ("to the left of,s", "near,s", False),
]


@pytest.mark.parametrize("outer, inner, back", BACK)
def test_an_inverse_relation_reveals_the_named_object(outer, inner, back):
    semantic = f"select: lamp (1)->relate: cup,{inner} (2) [0]->relate: _,{outer} (3) [1]->query: name [2]"
    fault = faults.find_inverse_relation(case("What is there?", semantic))
    assert fault == ("the lamp is an answer, and the text names it" if back else None)


def test_a_place_that_no_step_uses_keeps_the_named_object_from_being_an_answer():
    # "What is the man in the red coat wearing OVER HIS EYES?"
    asked = "select: coat (1)->relate: man,wearing,s (2) [{}]->relate: _,wearing,o (3) [{}]->query: name [{}]"
    assert faults.find_inverse_relation(case("What is there?", asked.format(0, 1, 2)))
    with_eyes = "select: eyes (4)->" + asked.format(1, 2, 3)
    assert not faults.find_inverse_relation(case("What is there?", with_eyes))


def test_in_front_may_describe_who_does_something():
    assert not find_grammar_error("What is the boy in front doing?")
    assert find_grammar_error("Is the cup in front or behind the vase?")


EDITED = (Edit(start=0, end=1, kind="object", old="a", new="b"),)


def test_an_edited_question_is_dropped_if_it_or_its_source_is_ungrammatical():
    slips, sound = "What is the cup near of?", "What is the cup near?"
    assert faults.is_ungrammatical(case(slips, edits=EDITED)) == "a superfluous preposition"
    of_slips = msgspec.structs.replace(question(slips, "", ""), text=slips)
    assert faults.is_ungrammatical(dataclasses.replace(case(sound, edits=EDITED), question=of_slips))
    assert faults.is_ungrammatical(case(sound, edits=EDITED)) is None
    assert faults.is_ungrammatical(case(slips)) is None


def test_a_question_that_has_an_answer_at_every_image_is_no_candidate():
    place = ("What place is this?", "select: scene->query: place [0]", "park")
    indoors = (
        "Is it indoors or outdoors?",
        "select: scene->choose location: indoors|outdoors [0]",
        "indoors",
    )
    exist = ("Is there a red cow?", "select: cow (-)->filter color: red [0]->exist: ? [1]", "no")
    both = (
        "Are there cows and pigs?",
        "select: cow (-)->exist: ? [0]->select: pig (-)->exist: ? [2]->and: [1, 3]",
        "no",
    )
    for source in (place, indoors, exist, both):
        other = question(
            "Unlike the text of any other?", "select: cup (1)->query: color [0]", "red", question_id="q2"
        )
        moved = Candidate(
            candidate_id="c1",
            subset="clip-easy",
            image_id="n2",
            question_id="q1",
            text=source[0],
            program=steps(source[1]),
        )
        _, dropped = screen([moved], [question(*source), other], {}, VOCABULARY)
        assert [d.reason for d in dropped] == [rules.ALWAYS_ANSWERABLE]
    which = ("Is this a park or a farm?", "select: scene->choose place: park|farm [0]", "park")
    assert kept_or_why(which, scenes=(), subset="clip-easy") == rules.ALREADY_ASKED  # of n1 itself


def test_questions_with_presuppositions_are_not_always_answerable():
    for semantic in (
        "select: table (1)->relate: cup,on,s (-) [0]->exist: ? [1]",  # a table
        "select: cup (1)->verify color: red [0]->select: pig (-)->exist: ? [2]->and: [1, 3]",  # the first half, a cup
        "select: cup (1)->query: color [0]",
        "select: scene->choose place: kitchen|office [0]",  # it may be a street, and must be indoors or outdoors
    ):
        assert not faults.is_always_answerable(parse_program(steps(semantic)))


def test_a_text_already_asked_of_the_image_goes_whatever_its_capitals_and_blanks():
    other = question(
        "What  size is the BLUE cup ?",
        "select: cup (1)->filter color: blue [0]->query: size [1]",
        "small",
        question_id="q2",
    )
    assert (
        kept_or_why(
            SIZE,
            "What size is the blue cup?",
            "select: cup (1)->filter color: blue [0]->query: size [1]",
            [("attribute", "red", "blue", 1)],
            others=(other,),
        )
        == rules.ALREADY_ASKED
    )


def test_without_programs_the_same_text_is_an_edit_without_effect():
    source = ("What is the red cup on?", "", "table")
    assert (
        kept_or_why(source, "What is the red cup on?", "", [("attribute", "red", "red", -1)], scenes=())
        == rules.EDITED_WITHOUT_EFFECT
    )


def test_without_programs_swapping_both_sides_is_seen_in_the_words():
    source = ("Is the cup to the left or to the right of the dog?", "", "left")
    edits = [("relation", "left", "right", -1)]
    assert (
        kept_or_why(source, "Is the cup to the right or to the left of the dog?", "", edits, scenes=())
        == rules.EDITED_WITHOUT_EFFECT
    )


def test_a_malformed_program_is_refused_with_the_candidates_id():
    candidate = Candidate(
        candidate_id="pthard_n1+q1",
        subset="pt-hard",
        image_id="n1",
        question_id="q1",
        text="?",
        program=steps("find: cup"),
    )
    with pytest.raises(UserError, match="pthard_n1\\+q1"):
        _ = ScreenCase(candidate, VOCABULARY).program


# Grammar


SLIPS = [
    "What is the wall that the dog is behind of made of?",
    "Which color is the table the cup is near of?",
    "What does the boy that to the left of the bench hold?",
    "The girl who to the right of the car wears what?",
    "The girl that on the car wears what?",
    "What vehicles are it?",
    "Which animals are this?",
    "How are this cows called?",
    "How is this vehicle called?",
    "How the animal that is white is called?",
    "What is these?",
    "Where is the boy sitting on?",
    "What color is the the cup?",
    "Which color do you think is the cup?",
    "Which color do you think are the cups?",
]
SOUND = [
    "What is the wall the dog is in front of made of?",
    "Is the cup on top of the table?",
    "What is outside of the window?",
    "What does the boy that is to the left of the bench hold?",
    "What is that to the left of the bench?",
    "What vehicles are these?",
    "What are those?",
    "Which animal is this?",
    "Are this man and that woman tall?",
    "What is this vehicle called?",
    "How tall is the tree?",
    "Is the cup that the man has had red?",
    "What color are that man's shoes?",
    "Where is the boy sitting?",
    "What is the boy sitting on?",
    "Who in the picture wears a hat?",
    "That on the left is what animal?",
    "Which color do you think the cup is?",
]


@pytest.mark.parametrize("text", SLIPS)
def test_grammatical_errors_of_the_source_are_found(text):
    assert find_grammar_error(text)


@pytest.mark.parametrize("text", SOUND)
def test_correct_sentences_have_no_grammatical_error(text):
    assert find_grammar_error(text) == ""
