from pipeline.core.records import Candidate
from pipeline.screening import screen_rules as rules
from tests.notation import question, steps
from tests.pipeline.screening.in_memory import SIZE, VOCABULARY, kept_or_why, screen


def test_a_question_that_has_an_answer_at_every_picture_is_no_candidate():
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
            picture_id="n2",
            question_id="q1",
            text=source[0],
            program=steps(source[1]),
        )
        _, dropped = screen([moved], [question(*source), other], {}, VOCABULARY)
        assert [d.reason for d in dropped] == [rules.ALWAYS_ANSWERABLE]
    which = ("Is this a park or a farm?", "select: scene->choose place: park|farm [0]", "park")
    assert kept_or_why(which, scenes=(), subset="clip-easy") == rules.ALREADY_ASKED  # of n1 itself


def test_a_text_already_asked_of_the_picture_goes_whatever_its_capitals_and_blanks():
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
        == rules.WITHOUT_EFFECT
    )


def test_without_programs_swapping_both_sides_is_seen_in_the_words():
    source = ("Is the cup to the left or to the right of the dog?", "", "left")
    edits = [("relation", "left", "right", -1)]
    assert (
        kept_or_why(source, "Is the cup to the right or to the left of the dog?", "", edits, scenes=())
        == rules.WITHOUT_EFFECT
    )
