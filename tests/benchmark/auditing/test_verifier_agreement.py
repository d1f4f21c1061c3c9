"""Accuracy of the verifier, of screening and of estimates."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from pipeline.benchmark.auditing.estimate_reliability import measure_estimate_reliability, measure_reliability
from pipeline.benchmark.auditing.screening_accuracy import compare_with_truth, measure_screening, read_truth
from pipeline.benchmark.auditing.verifier_agreement import (
    VerifierInputs,
    count_trials,
    find_related_questions,
    measure_agreement,
    run_trials,
)
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Candidate
from pipeline.verifier.evidence import build_scene_evidence
from research.simulated_annotators.answerability import true_answerability
from research.simulated_annotators.word_senses import WordSenses
from tests.benchmark.auditing.two_images import COLOR, SIZE, A, B, asked, source
from tests.notation import LEXICON, scene, steps

# Verifier agreement
# Agreement of the verifier with the source, on questions whose verdicts were worked out by hand.


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
    )  # a3 states that a cup exists, so the question has an answer.


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


# Screening accuracy


WORDS = WordSenses(categories={}, attribute_types={"red": "color", "blue": "color"})


def candidate(program, key="a"):
    return Candidate(
        candidate_id=key, subset="pt-easy", image_id="p", question_id=key, text="", program=steps(program)
    )


def with_truth(candidates, truth):
    return [(row, truth[row.candidate_id]) for row in candidates]


def test_true_answerability_follows_from_the_complete_graph():
    table = scene("table 1: red")
    assert true_answerability(steps("select: table (1)->query: color [0]"), table, WORDS) == "answerable"
    assert true_answerability(steps("select: lamp (1)->query: color [0]"), table, WORDS) == "unanswerable"
    assert true_answerability(steps("select: table (1)->query: smell [0]"), table, WORDS) == "unknown"


def test_undecidable_candidates_are_counted_and_excluded_from_proportions():
    # a and b are unanswerable, c is answerable, d and e are undecidable. a, c and d were kept; b and e were dropped as answerable.
    candidates = [candidate("select: table (1)", key) for key in "abcde"]
    truth = dict(
        zip("abcde", ("unanswerable", "unanswerable", "answerable", "unknown", "unknown"), strict=True)
    )
    row = compare_with_truth(with_truth(candidates, truth), kept=set("acd"), dropped_as_answerable=set("be"))[
        "pt-easy"
    ]
    assert (row.kept, row.dropped, row.undecidable, row.dropped_as_answerable) == (3, 2, 2, 2)
    assert (row.precision, row.recall, row.false_drop_rate) == (
        0.5,
        0.5,
        1.0,
    )  # a of a and c; a of a and b; b of b


def test_without_truth_there_is_no_screening_accuracy(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    assert read_truth(DatasetFolders("nowhere")) == {}
    assert measure_screening(DatasetFolders("nowhere"), {}) == {}
    assert set(read_truth(DatasetFolders())) and all(
        known.is_complete for known in read_truth(DatasetFolders()).values()
    )


def test_precision_recall_and_false_drops_of_a_worked_example():
    # Of six candidates, a to d are unanswerable. Kept are a, b and e: precision 2/3, recall 2/4. Dropped as answerable are c and f,
    # one of which is unanswerable. d was dropped because of its text, which is not a false drop.
    candidates = [
        Candidate(candidate_id=i, subset="pt-easy", image_id="p", question_id=i, text="") for i in "abcdef"
    ]
    truth = dict.fromkeys("abcd", "unanswerable") | dict.fromkeys("ef", "answerable")
    found = compare_with_truth(
        with_truth(candidates, truth), kept=set("abe"), dropped_as_answerable=set("cf")
    )["pt-easy"]
    assert (found.precision, found.recall, found.false_drop_rate) == (0.6667, 0.5, 0.5)
    assert (found.kept, found.dropped, found.unanswerable, found.dropped_as_answerable) == (3, 3, 4, 2)


def test_a_subset_without_drops_has_no_false_drop_rate():
    candidates = [Candidate(candidate_id="a", subset="clip-easy", image_id="p", question_id="a", text="")]
    assert (
        compare_with_truth([(candidates[0], "unanswerable")], {"a"}, set())["clip-easy"].false_drop_rate
        is None
    )


# Estimate reliability


def test_calibrated_estimates_have_no_calibration_error():
    found = measure_reliability([0.25] * 4 + [0.5] * 2, [True, False, False, False, True, False])
    assert found.calibration_error == 0
    assert (found.candidates, found.answerable, found.expected_answerable) == (6, 2, 2.0)
    # (3 * 0.0625 + 0.5625 + 2 * 0.25) / 6 against 1/3 * 2/3
    assert (found.brier, found.base_rate_brier) == (0.2083, 0.2222)
    # Pairs of a yes and a no: the yes at 0.25 has 3 ties and 1 loss (1.5), the yes at 0.5 has 3 wins and 1 tie (3.5), of 8 pairs.
    assert found.auroc == 0.625
    assert [(row.candidates, row.mean_estimate, row.answerable_rate) for row in found.bins] == [
        (4, 0.25, 0.25),
        (2, 0.5, 0.5),
    ]


def test_overconfidence_is_a_calibration_error():
    assert measure_reliability([0.9] * 10, [True] * 5 + [False] * 5).calibration_error == 0.4


def test_without_both_outcomes_there_is_no_auroc():
    assert measure_reliability([0.1, 0.2], [False, False]).auroc is None


def test_all_candidates_of_a_run_with_a_known_truth_are_counted(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    folders = DatasetFolders()
    found = measure_estimate_reliability(folders, read_truth(folders))
    assert found["all"].candidates == sum(row.candidates for name, row in found.items() if name != "all")
    assert sum(row.candidates for row in found["all"].bins) == found["all"].candidates
    assert measure_estimate_reliability(folders, {}) == {}
