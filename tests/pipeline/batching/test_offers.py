import numpy as np
import pytest

from pipeline.batching import offers
from pipeline.core.records import Candidate, Judgement, Question, Screened, Step, Verified
from pipeline.judge.judgement import evidence_for
from pipeline.words.lexicon import Lexicon

LEXICON = Lexicon({"animal": ("dog", "cat")}, {"red": "color"})


def question(number, picture_id, text, answer, *steps):
    program = tuple(
        Step(operation=operation, argument=argument, dependencies=(i - 1,) if i else ())
        for i, (operation, argument) in enumerate(steps)
    )
    return Question(
        question_id=str(number), picture_id=picture_id, split="val", text=text, answer=answer, program=program
    )


def color_of(number, picture_id, name):
    return question(
        number, picture_id, f"What color is the {name}?", "red", ("select", f"{name} (1)"), ("query", "color")
    )


NO_DOG = question(1, "here", "Is there a dog?", "no", ("select", "dog (-)"), ("exist", "?"))
TABLE = color_of(2, "here", "table")
DOGS = [color_of(number, "there", "dog") for number in (3, 4, 5)]
CUP = color_of(6, "there", "cup")
FACTS = evidence_for("here", {}, {"here": [NO_DOG, TABLE]}, LEXICON)


def test_own_questions_are_offered_but_for_those_on_existence():
    (filters,) = offers.own_questions([NO_DOG, TABLE])
    assert (filters.text, filters.expected, filters.question_id) == ("What color is the table?", "valid", "2")


def test_a_foreign_question_is_offered_only_where_something_it_names_is_known_to_be_absent():
    naming = offers.by_name([NO_DOG, TABLE, *DOGS, CUP])
    rng = np.random.default_rng(0)
    filters = offers.foreign("here", naming, FACTS, 10, rng)
    assert sorted(row.question_id for row in filters) == ["3", "4", "5"]  # of a cup nobody knows
    assert {row.expected for row in filters} == {"invalid"}
    assert len(offers.foreign("here", naming, FACTS, 2, rng)) == 2
    assert offers.foreign("there", naming, FACTS, 10, rng) == []  # its own questions are not foreign
    assert offers.foreign("here", naming, None, 10, rng) == []


def test_candidates_are_offered_only_for_something_missing():
    def row(category):
        candidate = Candidate(
            candidate_id="c", subset="pt-hard", picture_id="here", question_id="9", text="?"
        )
        return Screened(
            candidate=candidate, judgement=Judgement(answerability="unanswerable", category=category)
        )

    assert [f.expected for f in offers.judged([row("missing object")])] == ["invalid"]
    assert offers.judged([row("wrong attribute"), row("underspecified"), row(None)]) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [("unanswerable", ["invalid"]), ("answerable", ["valid"]), ("doubtful", []), ("unjudged", [])],
)
def test_what_annotators_agreed_on_is_offered_as_they_said(status, expected):
    candidate = Candidate(candidate_id="c", subset="pt-hard", picture_id="here", question_id="9", text="?")
    row = Verified(
        candidate=candidate,
        judgement=Judgement(answerability="unknown"),
        status=status,
        votes_invalid=0,
        votes_valid=0,
        votes_set_aside=0,
        verdict_ids=(),
        simulated=False,
    )
    assert [filters.expected for filters in offers.verified_before([row])] == expected


def test_templates_ask_for_absent_things_beside_present_ones(vocabulary):
    made = offers.templates(vocabulary, FACTS, np.random.default_rng(0))
    (invalid,) = [row for row in made if row.expected == "invalid"]
    assert invalid.text.startswith("What color is the dog ")
    assert invalid.text.endswith(" the table?")
    assert len(made) == 3 + 3 + 1  # on the scene, on existence, on the dog
    assert {row.expected for row in offers.templates(vocabulary, None, np.random.default_rng(0))} == {"valid"}
