"""Agreement of the verifier with the source, on questions whose verdicts were worked out by hand."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from pipeline.benchmark.auditing.verifier_agreement import (
    VerifierInputs,
    count_trials,
    find_related_questions,
    measure_agreement,
    run_trials,
)
from pipeline.verifier.evidence import build_scene_evidence
from tests.benchmark.auditing.two_images import COLOR, SIZE, A, B, asked, source
from tests.notation import LEXICON, scene


def run(inputs: VerifierInputs, num_negative_trials: int = 0) -> dict[tuple[str, str], str]:
    return {
        (t.question.question_id, t.image_id): " ".join(
            (t.outcome.answerability, *t.outcome.answers, str(t.is_correct))
        )
        for t in run_trials(inputs, num_negative_trials, np.random.default_rng(1))
    }


def test_a_question_is_verified_without_its_own_facts():
    assert run(source(*A, *B)) == {
        ("a1", "a"): "answerable red True",  # a2 states that the cup is red.
        ("a2", "a"): "answerable yes True",
        ("a3", "a"): "unknown None",  # No other question states the size.
        ("b1", "b"): "answerable True",  # A question for existence always has an answer.
        ("b2", "b"): "unknown None",
    }


def test_related_questions_are_excluded_too():
    found = run(source(msgspec.structs.replace(A[0], entailed=("a2",)), *A[1:], *B))
    assert found[("a1", "a")] == "unknown None"  # Only a1 and a2 state the colour.
    assert (
        found[("a2", "a")] == "answerable True"
    )  # a3 states that there is a cup, so the question has an answer.


def test_related_questions_are_symmetric_and_include_those_of_equivalent_ones():
    rows = [
        asked("1", "a", COLOR, "red", entailed=("2",)),
        asked("2", "a", SIZE, "small", equivalent=("3",)),
        asked("3", "a", SIZE, "small"),
        asked("4", "a", SIZE, "small", entailed=("3",)),
        asked("5", "a", SIZE, "small"),
    ]
    found = find_related_questions(rows)
    assert found["1"] == {"1", "2"}
    assert found["2"] == {"2", "3", "1", "4"}  # its equal 3, who entails it (1), who entails its equal (4)
    assert found["3"] == found["2"]
    assert found["5"] == {"5"}


def test_verdicts_at_other_images_are_compared_with_the_truth():
    truth = {
        "b": build_scene_evidence(scene("lamp 5: blue"), LEXICON),
        "a": build_scene_evidence(scene("cup 2: red, small", "lamp 6: red"), LEXICON),
    }
    found = list(run_trials(source(*A, *B, truth=truth), 12, np.random.default_rng(0)))
    verdicts = {
        (t.question.question_id, t.image_id): (t.outcome.answerability, t.truth, t.is_correct)
        for t in found
        if not t.is_own_image
    }
    assert verdicts[("a1", "b")] == ("unanswerable", "unanswerable", True)
    assert verdicts[("b2", "a")] == (
        "unknown",
        "answerable",
        None,
    )  # at "a" there is a lamp, of which nothing was asked
    assert ("b1", "a") not in verdicts  # "Is there a cup?" is answerable anywhere and says nothing
    wrong = {
        "b": build_scene_evidence(scene("lamp 5: blue", "cup 7: green, large"), LEXICON)
    }  # This truth contradicts the evidence.
    correct = [
        t.is_correct
        for t in run_trials(source(*A, *B, truth=wrong), 12, np.random.default_rng(0))
        if t.question.question_id == "a1" and t.image_id == "b"
    ]
    assert correct and not any(correct)


def test_published_graphs_are_used_as_they_are():
    listed = {"a": scene("cup 2: red", complete=False)}
    found = list(run_trials(source(*A, scenes=listed), 0, np.random.default_rng(0)))
    assert [(t.evidence, t.outcome.answerability, t.outcome.answers) for t in found] == [
        ("scene graph", "answerable", ("red",)),
        ("scene graph", "answerable", ("yes",)),
        ("scene graph", "unknown", ()),
    ]


def test_counts_and_proportions_by_arithmetic():
    truth = {
        "b": build_scene_evidence(scene("lamp 5: blue"), LEXICON),
        "a": build_scene_evidence(scene("cup 2: red, small"), LEXICON),
    }
    found = [*run_trials(source(*A, *B, truth=truth), 0, np.random.default_rng(0))]
    wrong_answer = msgspec.structs.replace(A[0], answer="blue")  # The verifier answers "red".
    found += [
        t
        for t in run_trials(source(wrong_answer, *A[1:], truth=truth), 0, np.random.default_rng(0))
        if t.question.question_id == "a1"
    ]
    found += [
        t
        for t in run_trials(source(*A, *B, truth=truth), 12, np.random.default_rng(0))
        if (t.question.question_id, t.image_id) == ("a1", "b")
    ][:1]
    row = count_trials(Counter(trial.key for trial in found))
    # Own trials: a1, a2, a3, b1, b2 and the wrong answer. Committed: a1, a2 and the wrong answer; b1 carries no information.
    assert (row.own_trials, row.own_committed, row.own_correct, row.answers_given, row.answers_correct) == (
        6,
        3,
        2,
        3,
        2,
    )
    assert (row.coverage, row.agreement) == (0.5, 0.6667)
    assert (
        row.negative_trials,
        row.negative_unanswerable,
        row.negative_answerable,
        row.negative_checkable,
        row.negative_correct,
    ) == (1, 1, 0, 1, 1)
    # The six own trials are answerable, and three are called so. The negative trial is unanswerable and called so.
    assert row.recall == {"answerable": 0.5, "unanswerable": 1.0}
    assert row.precision == {"answerable": 1.0, "unanswerable": 1.0}


def test_without_truth_there_is_no_precision_at_other_images():
    row = count_trials(Counter(t.key for t in run_trials(source(*A, *B), 3, np.random.default_rng(0))))
    assert row.negative_correct is None and row.precision == {"answerable": None, "unanswerable": None}
    assert row.recall["unanswerable"] is None and row.negative_unanswerable > 0


def test_trials_are_counted_by_evidence_and_question_type():
    rows = measure_agreement(run_trials(source(*A, *B), 2, np.random.default_rng(0))).by_evidence
    assert list(rows) == ["other questions"] and list(rows["other questions"]) == ["all", "structural: query"]
    assert rows["other questions"]["all"] == rows["other questions"]["structural: query"]
    assert rows["other questions"]["all"].own_trials == 5
