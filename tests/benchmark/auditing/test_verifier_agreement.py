"""How often the judge agrees with the source: counted on questions whose verdicts are worked out by hand."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
from tests.benchmark.auditing.two_images import COLOR, SIZE, A, B, asked, source

from pipeline.benchmark.auditing.verifier_agreement import (
    VerifierInputs,
    count_trials,
    find_related_questions,
    measure_agreement,
    run_trials,
)
from pipeline.verifier.evidence import build_scene_evidence
from tests.notation import LEXICON, scene


def judged(found: VerifierInputs, foreign: int = 0) -> dict[tuple[str, str], str]:
    return {
        (t.question.question_id, t.image_id): " ".join(
            (t.outcome.answerability, *t.outcome.answers, str(t.is_correct))
        )
        for t in run_trials(found, foreign, np.random.default_rng(1))
    }


def test_a_question_is_judged_without_its_own_facts():
    assert judged(source(*A, *B)) == {
        ("a1", "a"): "answerable red True",  # a2 says that the cup is red
        ("a2", "a"): "answerable yes True",
        ("a3", "a"): "unknown None",  # nobody else tells the size
        ("b1", "b"): "answerable True",  # whether there is one: yes or no, it has an answer
        ("b2", "b"): "unknown None",
    }


def test_what_a_question_entails_equals_or_follows_from_is_left_out_too():
    found = judged(source(msgspec.structs.replace(A[0], entailed=("a2",)), *A[1:], *B))
    assert found[("a1", "a")] == "unknown None"  # the colour was told by a1 and a2 alone
    assert found[("a2", "a")] == "answerable True"  # there is a cup (a3): red or not, there is an answer


def test_relatives_go_both_ways_and_along_equals():
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


def test_at_other_images_the_truth_tells_who_is_right():
    truth = {
        "b": build_scene_evidence(scene("lamp 5: blue"), LEXICON),
        "a": build_scene_evidence(scene("cup 2: red, small", "lamp 6: red"), LEXICON),
    }
    found = list(run_trials(source(*A, *B, truth=truth), 12, np.random.default_rng(0)))
    told = {
        (t.question.question_id, t.image_id): (t.outcome.answerability, t.truth, t.is_correct)
        for t in found
        if not t.is_own_image
    }
    assert told[("a1", "b")] == ("unanswerable", "unanswerable", True)
    assert told[("b2", "a")] == (
        "unknown",
        "answerable",
        None,
    )  # at "a" there is a lamp, of which nothing was asked
    assert ("b1", "a") not in told  # "Is there a cup?" is answerable anywhere and says nothing
    wrong = {
        "b": build_scene_evidence(scene("lamp 5: blue", "cup 7: green, large"), LEXICON)
    }  # the evidence lies
    told = [
        t.is_correct
        for t in run_trials(source(*A, *B, truth=wrong), 12, np.random.default_rng(0))
        if t.question.question_id == "a1" and t.image_id == "b"
    ]
    assert told and not any(told)


def test_published_graphs_are_used_as_they_are():
    listed = {"a": scene("cup 2: red", complete=False)}
    found = list(run_trials(source(*A, scenes=listed), 0, np.random.default_rng(0)))
    assert [(t.evidence, t.outcome.answerability, t.outcome.answers) for t in found] == [
        ("scene graph", "answerable", ("red",)),
        ("scene graph", "answerable", ("yes",)),
        ("scene graph", "unknown", ()),
    ]


def test_the_figures_add_up():
    truth = {
        "b": build_scene_evidence(scene("lamp 5: blue"), LEXICON),
        "a": build_scene_evidence(scene("cup 2: red, small"), LEXICON),
    }
    found = [*run_trials(source(*A, *B, truth=truth), 0, np.random.default_rng(0))]
    lie = msgspec.structs.replace(A[0], answer="blue")  # judged red
    found += [
        t
        for t in run_trials(source(lie, *A[1:], truth=truth), 0, np.random.default_rng(0))
        if t.question.question_id == "a1"
    ]
    found += [
        t
        for t in run_trials(source(*A, *B, truth=truth), 12, np.random.default_rng(0))
        if (t.question.question_id, t.image_id) == ("a1", "b")
    ][:1]
    row = count_trials(Counter(trial.key for trial in found))
    # Own: a1, a2, a3, b1, b2 and the lie; a1, a2 and the lie were dared (b1 says nothing), the lie is wrong.
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
    # Answerable are the six own: three judged so. Unanswerable is the foreign one, judged so.
    assert row.recall == {"answerable": 0.5, "unanswerable": 1.0}
    assert row.precision == {"answerable": 1.0, "unanswerable": 1.0}


def test_where_nobody_knows_the_truth_nothing_is_claimed_of_other_images():
    row = count_trials(Counter(t.key for t in run_trials(source(*A, *B), 3, np.random.default_rng(0))))
    assert row.negative_correct is None and row.precision == {"answerable": None, "unanswerable": None}
    assert row.recall["unanswerable"] is None and row.negative_unanswerable > 0


def test_trials_are_counted_by_evidence_and_by_kind_of_question():
    rows = measure_agreement(run_trials(source(*A, *B), 2, np.random.default_rng(0))).by_evidence
    assert list(rows) == ["other questions"] and list(rows["other questions"]) == ["all", "structural: query"]
    assert rows["other questions"]["all"] == rows["other questions"]["structural: query"]
    assert rows["other questions"]["all"].own_trials == 5
