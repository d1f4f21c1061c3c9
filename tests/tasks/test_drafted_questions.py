"""Questions that a model drafted become candidates, and annotators decide whether they can be AQs."""

import pytest
from msgspec.structs import replace

from pipeline.core.records import (
    DRAFTED_AQ,
    Candidate,
    CollectedCandidate,
    Edit,
    GoldQuestionCheck,
    Question,
    VerifierResult,
)
from pipeline.tasks.drafted_questions import (
    JoinedSequence,
    find_drafted_questions,
    merge_checks,
    read_drafted_questions,
    split_by_rounds,
)
from pipeline.tasks.task_builder import make_task

EDIT = Edit(start=0, end=1, kind="object", old="cup", new="hat")


def question(key, text="What color is the cup?", drafted_by="net", image_id="a"):
    drafted = {"drafted_by": drafted_by} if drafted_by else {}
    return Question(question_id=key, image_id=image_id, split="testdev", text=text, answer="x", **drafted)


def candidate(key, question_id, text, edits=(), image_id="a"):
    return Candidate(
        candidate_id=key, subset="pt-easy", image_id=image_id, question_id=question_id, text=text, edits=edits
    )


def test_the_questions_that_candidates_need_as_aqs_are_asked():
    questions = [
        question("3", "Where is the hat?", image_id="b"),
        question("1"),
        question("2", "What is red?"),
        question("4", "What is blue?", drafted_by=""),
        question("5", "What color is the hat?", image_id="b"),
    ]
    candidates = [
        candidate("c1", "1", "What color is the hat?", (EDIT,)),
        candidate("c2", "1", "What color is the dog?", (EDIT,)),
        candidate("c4", "4", "What is green?", (EDIT,)),
        # An unedited candidate needs an AQ of its text: here the question 3 itself.
        candidate("c3", "9", "Where is the hat?"),
    ]
    rows, order = find_drafted_questions(questions, candidates, {"c1": 0.4, "c2": 0.2, "c3": 0.3})
    # The text of c1 is that of the question 5, but an edited candidate has its original as AQ.
    assert [(row.candidate_id, row.question_id, row.image_id, row.subset) for row in rows] == [
        ("draftedaq_a+1", "1", "a", DRAFTED_AQ),
        ("draftedaq_b+3", "3", "b", DRAFTED_AQ),
    ]
    # A question comes as early as the first candidate that needs it.
    assert order == [("draftedaq_a+1", 0.2), ("draftedaq_b+3", 0.3)]


def test_existence_questions_are_asked_if_candidates_were_made_of_them():
    asked = question("1", "Is there a cup on the table?")
    rows, order = find_drafted_questions(
        [asked], [candidate("c", "1", "Is there a cup on the sofa?", (EDIT,))]
    )
    assert [row.question_id for row in rows] == ["1"] and order == []


def test_tasks_keep_what_is_needed_of_a_drafted_question():
    (asked,), _ = find_drafted_questions(
        [question("1")], [candidate("c", "1", "What color is the hat?", (EDIT,))]
    )
    other = candidate("c", "1", "What color is the hat?", (EDIT,))
    tasks = [make_task(asked, other, candidate_first=False), make_task(other, asked, candidate_first=True)]
    found = read_drafted_questions(tasks)
    assert {key: row.candidate for key, row in found.items()} == {asked.candidate_id: asked}


def judged(key, status, valid=0, invalid=0):
    return CollectedCandidate(
        candidate=Candidate(
            candidate_id=f"draftedaq_a+{key}", subset=DRAFTED_AQ, image_id="a", question_id=key, text="What?"
        ),
        verifier_result=VerifierResult(answerability="unknown"),
        status=status,
        votes_invalid=invalid,
        votes_valid=valid,
        votes_excluded=0,
        verdict_ids=(),
        simulated=False,
    )


def gold(key, status, valid=0, invalid=0):
    return GoldQuestionCheck(
        question_id=key, image_id="a", text="What?", votes_valid=valid, votes_invalid=invalid, status=status
    )


@pytest.mark.parametrize(
    ("as_gold", "as_candidate", "expected"),
    [
        ((), judged("1", "answerable", 2), ("verified", 2, 0)),
        ((), judged("1", "unanswerable", 0, 1), ("refuted", 0, 1)),
        ((), judged("1", "doubtful", 1, 1), ("open", 1, 1)),
        ((), judged("1", "no_votes"), ("open", 0, 0)),
        # The task decides. A gold question helps only if there are no votes on the task.
        ([gold("1", "refuted", 0, 2)], judged("1", "answerable", 2), ("verified", 2, 0)),
        ([gold("1", "verified", 2)], judged("1", "doubtful", 1, 1), ("open", 1, 1)),
        ([gold("1", "verified", 2)], judged("1", "no_votes"), ("verified", 2, 0)),
    ],
)
def test_the_verdict_on_the_task_of_a_question_decides(as_gold, as_candidate, expected):
    (row,) = merge_checks(as_gold, [as_candidate])
    assert (row.status, row.votes_valid, row.votes_invalid) == expected


def test_what_an_earlier_round_decided_is_not_asked_again():
    asked, _ = find_drafted_questions(
        [question("1"), question("2", "What is red?"), question("3", "Who is it?"), question("4", "Why?")],
        [candidate(f"c{key}", key, "What color is the hat?", (EDIT,)) for key in "1234"],
    )
    earlier = [judged("1", "answerable", 2), judged("2", "unanswerable", 0, 1), judged("3", "answerable", 2)]
    texts = {"1": "What color is the cup?", "2": "What is red?", "3": "Who was it?"}
    earlier = [
        replace(row, candidate=replace(row.candidate, text=texts[row.candidate.question_id]))
        for row in earlier
    ]
    left, known = split_by_rounds(asked, earlier)
    # The text of question 3 is not the one that was judged.
    assert [row.question_id for row in left] == ["3", "4"]
    assert [(row.question_id, row.status, row.votes_valid, row.votes_invalid) for row in known] == [
        ("1", "verified", 2, 0),
        ("2", "refuted", 0, 1),
    ]
    # A later answer to the same question as a gold question changes nothing.
    assert merge_checks([gold("1", "refuted", 0, 2)], (), known)[0] == known[0]


def test_checks_of_all_questions_are_sorted():
    rows = merge_checks([gold("3", "verified", 2), gold("1", "open", 1)], [judged("2", "answerable", 2)])
    assert [row.question_id for row in rows] == ["1", "2", "3"]


def test_joined_sequences_have_the_elements_of_both():
    joined = JoinedSequence(["a", "b"], ["c"])
    assert [joined[0], joined[1], joined[2]] == ["a", "b", "c"] == [*joined] and len(joined) == 3
    with pytest.raises(IndexError):
        joined[3]
