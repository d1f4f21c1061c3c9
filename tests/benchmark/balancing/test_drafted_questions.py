"""Which questions that a model drafted can be AQs."""

import pytest

from pipeline.benchmark.balancing.drafted_questions import (
    count_drafted_questions,
    describe_unjudged,
    find_unusable_questions,
    get_aq_status,
)
from pipeline.benchmark.balancing.pairing import AQ_NOT_CONFIRMED, AQ_REFUTED
from pipeline.core.records import GoldQuestionCheck, Question


def question(key, drafted_by="net"):
    drafted = {"drafted_by": drafted_by} if drafted_by else {}
    return Question(question_id=key, image_id="a", split="testdev", text="What?", answer="x", **drafted)


def check(key, status, valid=0, invalid=0):
    return GoldQuestionCheck(
        question_id=key, image_id="a", text="What?", votes_valid=valid, votes_invalid=invalid, status=status
    )


CHECKS = {
    row.question_id: row
    for row in (
        check("yes", "verified", 2),
        check("no", "refuted", 0, 2),
        check("split", "open", 1, 1),
        check("one", "open", 1),
        check("none", "open"),
        # An adjudicator decided, whose verdict is no vote.
        check("decided", "verified"),
        check("own, no", "refuted", 0, 3),
        check("own, split", "open", 1, 1),
    )
}


@pytest.mark.parametrize(
    ("key", "status"),
    [
        ("yes", "confirmed"),
        ("no", "rejected"),
        ("split", "undecided"),
        ("one", "undecided"),
        ("none", "unasked"),
        ("decided", "confirmed"),
        ("missing", "unasked"),
    ],
)
def test_a_status_says_what_annotators_decided(key, status):
    assert get_aq_status(CHECKS.get(key)) == status


QUESTIONS = [
    *map(question, ("yes", "no", "split", "one", "none", "decided", "missing")),
    *(question(key, "") for key in ("own", "own, no", "own, split")),
]


def test_only_confirmed_drafts_and_unrefuted_questions_of_people_are_usable():
    assert find_unusable_questions(QUESTIONS, CHECKS, require_confirmation=True) == {
        "no": AQ_REFUTED,
        "own, no": AQ_REFUTED,
        **dict.fromkeys(("split", "one", "none", "missing"), AQ_NOT_CONFIRMED),
    }
    assert find_unusable_questions(QUESTIONS, CHECKS, require_confirmation=False) == {
        "no": AQ_REFUTED,
        "own, no": AQ_REFUTED,
    }


@pytest.mark.parametrize(
    ("key", "drafted_by", "text"),
    [
        ("yes", "net", ""),
        ("missing", "", ""),
        ("own, split", "", ""),
        ("missing", "net", "answerable according to net, judged by nobody"),
        ("none", "vlm", "answerable according to vlm, judged by nobody"),
        ("split", "net", "answerable according to net, annotators did not decide"),
    ],
)
def test_an_aq_says_that_only_a_model_calls_it_answerable(key, drafted_by, text):
    assert describe_unjudged(question(key, drafted_by), CHECKS.get(key)) == text


def test_questions_of_people_are_not_counted():
    assert count_drafted_questions(QUESTIONS, CHECKS) == {
        "confirmed": 2,
        "rejected": 1,
        "undecided": 2,
        "unasked": 2,
    }
