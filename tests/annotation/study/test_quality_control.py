"""Quality control of annotators by known answers, repeated questions and response times."""

import numpy as np
import pandas as pd
from msgspec.structs import replace

from annotation.study.answers_table import QualityRules, build_answers_table, select_votes
from annotation.study.assignment import MIN_SENSITIVITY_SPECIFICITY
from annotation.study.quality_control import (
    AccuracyRate,
    Exclusion,
    assess_quality,
    find_discarded_gold,
    find_flags,
    list_excluded_answers,
    make_rate,
    mark_excluded_answers,
    measure_gold_accuracy,
)
from annotation.study.response_times import describe_if_too_fast, summarize_by_annotator, summarize_times
from pipeline.core.records import FirstAnswer
from tests.annotation.study.conftest import U, V, X, crowd, repeating, task, verdict

# Quality control


OTHER = {V: X, X: V}


def right(n, expected):
    return expected


def always(choice):
    return lambda n, expected: choice


def errs(seed, misses, false_alarms, since=0):
    """Return an annotator who errs at random from task `since` on."""
    draws = np.random.default_rng(seed).random(5000)
    return lambda n, expected: (
        OTHER[expected] if n >= since and draws[n] < (misses if expected == X else false_alarms) else expected
    )


def test_annotators_who_call_everything_invalid_cannot_discard_gold_questions():
    """An attack: three annotators call everything invalid, so that every valid gold question is contradicted by all of them."""
    people = {name: always(X) for name in ("one", "two", "three")}
    _, answers = crowd(people, 60, duration_seconds=8.0)
    assessment = assess_quality(answers, QualityRules())
    assert sorted(assessment.excluded) == ["one", "three", "two"]
    assert (
        assessment.excluded["one"]
        .reasons[-1]
        .startswith("specificity: 0 of 30 valid gold questions correct (0.0%")
    )
    assert select_votes(assessment.answers).empty and not assessment.answers["is_discarded"].any()


def test_gold_question_is_discarded_by_three_reliable_annotators():
    def doubts(n, expected):
        return OTHER[expected] if n == 4 else expected

    people = {"a": doubts, "b": doubts, "c": doubts}
    _, answers = crowd(people, 14)
    assert set(answers[find_discarded_gold(answers)]["task_id"]) == {"0004"}
    for few in (
        {"a": doubts, "b": doubts},
        people | {"d": right, "e": right},
    ):  # too few; a third gave what was known
        _, answers = crowd(few, 14)
        assert not find_discarded_gold(answers).any()
    _, answers = crowd(
        people, 8
    )  # four valid, four invalid: three others of a kind say too little of anybody
    assert not find_discarded_gold(answers).any()


def test_repeated_answers_of_one_annotator_count_once():
    _, answers = crowd({"a": lambda n, e: OTHER[e] if n in (4, 6) else e, "b": right}, 14)
    answers["text"] = answers["text"].where(answers["task_id"] != "0006", "gold question")
    answers["image_id"] = answers["image_id"].where(answers["task_id"] != "0006", "n0004")
    assert not find_discarded_gold(answers).any()  # a said it twice, nobody else did


def test_first_answer_on_a_gold_question_counts():
    _, answers = crowd({who: lambda n, e: OTHER[e] if n == 4 else e for who in "abc"}, 14)
    again = answers["task_id"] == "0006"  # the same question once more, answered as known
    answers["text"] = answers["text"].where(~again | (answers["role"] != "gold"), "gold question")
    answers["image_id"] = answers["image_id"].where(~again, "n0004")
    for rows in (answers, answers.iloc[::-1]):
        assert set(rows[find_discarded_gold(rows)]["task_id"]) == {"0004", "0006"}


def test_many_discarded_gold_questions_stop_nothing():
    people = {name: lambda n, e: OTHER[e] if n < 2 else e for name in "abc"}
    _, answers = crowd(people, 14)
    assert assess_quality(answers, QualityRules()).answers["is_discarded"].sum() == 3 * 2


def test_correction_of_a_gold_question_does_not_count():
    """Who is excluded cannot correct the way back, and a correction of the candidate is one."""
    tasks = {f"{n:04}": task(f"{n:04}", (V, X)[n % 2]) for n in range(40)}
    verdicts = [verdict(key, "eve", X, X, n) for n, key in enumerate(tasks)]
    corrected = [
        replace(row, first=V, second=tasks[row.task_id].second.expected_choice,
                first_answer=FirstAnswer(first=row.first, second=row.second))
        for row in verdicts
    ]  # fmt: skip
    before, after = (
        assess_quality(build_answers_table(tasks, rows), QualityRules()) for rows in (verdicts, corrected)
    )
    assert before.gold_accuracy == after.gold_accuracy and before.excluded == after.excluded
    assert [*after.excluded] == ["eve"]
    assert set(after.answers[after.answers["role"] == "candidate"]["choice"]) == {V}


def test_low_specificity_excludes_despite_high_overall_accuracy():
    def biased(n, expected):  # 39 of 100 known valid ones
        return X if n // 2 * 39 % 100 < 39 else expected

    people = {"biased": biased, "careful": errs(2, 0.05, 0.02)}
    _, answers = crowd(people, 200)
    found = measure_gold_accuracy(answers)["biased"]
    both = (found.sensitivity.num_correct + found.specificity.num_correct) / 200
    assert both == 0.805  # what was looked at before
    excluded = assess_quality(answers, QualityRules()).excluded
    assert list(excluded) == ["biased"]
    assert any(reason.startswith("specificity") for reason in excluded["biased"].reasons)


def test_insignificant_low_rate_is_only_reported():
    # Evidence against 80 % of 10 of 20 known valid, by the accuracies 72, 60, 40 and 20 %: 0.9 ** 10 * 1.4 ** 10 = 10.1,
    # 0.75 ** 10 * 2 ** 10 = 57.7, 0.5 ** 10 * 3 ** 10 = 57.7 and 0.25 ** 10 * 4 ** 10 = 1, the mean 31.6 is below 1 / 0.03.
    # Of 9 of 20: 15.7, 153.8, 346.0 and 16, mean 132.9.
    for wrong, sure in ((5, False), (10, False), (11, True)):
        people = {"x": lambda n, e, wrong=wrong: X if e == V and n < 2 * wrong else e}
        assessment = assess_quality(crowd(people, 40)[1], QualityRules(drift_window=100))
        (flag,) = assessment.flags["x"]
        assert (flag.kind, flag.is_significant, bool(assessment.excluded)) == ("specificity", sure, sure)
    assert flag.detail == "9 of 20 valid gold questions correct (45.0%, 95 % interval up to 65.8%), below 80%"


def test_single_failed_gold_question_excludes_nobody():
    """0 of 1 has an upper end of 0.793 (Wilson 1927: z^2 / (1 + z^2)), below the limit of 0.8, and says nothing of anybody."""
    _, answers = crowd({"new": always(X)}, 1)
    assert assess_quality(answers, QualityRules()).excluded == {}


def test_limits_match_task_assignment():
    assert (QualityRules().min_sensitivity, QualityRules().min_specificity) == MIN_SENSITIVITY_SPECIFICITY


def test_drift_excludes_only_later_tasks():
    people = {"tired": errs(3, 0.45, 0.4, since=200), "steady": errs(4, 0.05, 0.03)}
    _, answers = crowd(people, 600)
    assessment = assess_quality(answers, QualityRules())
    assert list(assessment.excluded) == ["tired"]
    out = assessment.excluded["tired"]
    assert {reason.split(":")[0] for reason in out.reasons} == {"drift"}
    assert 150 <= out.excluded_since <= 260
    counting = select_votes(assessment.answers)
    assert counting[counting["annotator"] == "tired"]["sequence_index"].max() < out.excluded_since
    assert len(counting[counting["annotator"] == "tired"]) > 100
    reported = assess_quality(answers, QualityRules(exclusion_checks=("speed",)))  # only told
    assert not reported.excluded and "drift" in [flag.kind for flag in reported.flags["tired"]]


def test_careless_from_the_start_excludes_all_tasks():
    assessment = assess_quality(crowd({"x": errs(5, 0.45, 0.4)}, 600)[1], QualityRules())
    assert [reason.split(":")[0] for reason in assessment.excluded["x"].reasons] == [
        "sensitivity",
        "specificity",
    ]
    assert assessment.excluded["x"].excluded_since == 0 and select_votes(assessment.answers).empty


def test_fast_annotators_are_excluded_by_default():
    # 93 of 95 in under three seconds.
    _, answers = crowd({"x": right, "y": right}, 95, duration_seconds=9.0)
    fast = (answers["annotator"] == "x") & (answers["sequence_index"] < 93)
    answers["duration_seconds"] = answers["duration_seconds"].where(~fast, 1.5)
    assessment = assess_quality(answers, QualityRules())
    assert list(assessment.excluded) == ["x"]
    assert assessment.excluded["x"].reasons == ("speed: 93 of 95 tasks in under 3 s, median 1.5 s",)
    assert not assess_quality(answers, QualityRules(min_task_seconds=1)).excluded


def test_excluded_answers_have_reasons():
    tasks = {
        "a": task("a"),
        "b": task("b", X),
        "c": repeating("c", "a"),
        "d": repeating("d", "b"),
        "e": repeating("e", "d"),
    }
    verdicts = [
        verdict("a", "x", X, V, 0),
        verdict("b", "x", X, U, 1),
        verdict("c", "x", V, X, 2),  # a once more
        verdict("d", "x", V, V, 3),  # b once more; the first did not count
        verdict("e", "x", V, X, 4),  # d once more, and the other way round
        verdict("a", "z", X, V, 0),
        verdict("b", "z", X, X, 1),
    ]
    assessment = assess_quality(build_answers_table(tasks, verdicts), QualityRules())
    rows = list_excluded_answers(
        mark_excluded_answers(
            assessment.answers, {"z": Exclusion(reasons=("speed: 8 of 9", "drift"), excluded_since=1)}
        )
    )
    assert [(row.verdict_id, row.candidate_id, row.reason, row.detail) for row in rows] == [
        ("bx", "cb", "gold question failed", "answered unsure, expected invalid"),
        ("bz", "cb", "annotator excluded", "speed: 8 of 9; drift"),
        ("cx", "ca", "duplicate", ""),
        ("dx", "cd", "self-contradiction", ""),
        ("ex", "cd", "self-contradiction", ""),
    ]
    none_failed = mark_excluded_answers(assessment.answers.assign(is_discarded=True), {})
    assert set(none_failed["exclusion_reason"]) == {
        "",
        "duplicate",
        "self-contradiction",
    }  # a discarded gold question fails nobody


def test_accuracy_is_separate_by_kind_and_ignores_discarded_questions():
    tasks = {"a": task("a"), "b": task("b", X), "c": task("c"), "d": task("d", X), "e": task("e")}
    said = {"a": V, "b": V, "c": U, "d": X, "e": X}  # right, wrong, right, right, wrong
    answers = build_answers_table(tasks, [verdict(key, "ann", V, choice) for key, choice in said.items()])
    found = measure_gold_accuracy(answers)["ann"]
    assert (found.sensitivity.num_correct, found.sensitivity.num_answered) == (1, 2)
    assert (found.specificity.num_correct, found.specificity.num_answered) == (2, 3)
    assert found.specificity == make_rate(2, 3)
    discarded = measure_gold_accuracy(answers.assign(is_discarded=answers["task_id"].isin(["b", "d"])))["ann"]
    assert discarded.sensitivity == AccuracyRate(num_correct=0, num_answered=0)


def test_good_annotator_has_no_flags():
    _, answers = crowd({"x": errs(9, 0.1, 0.05)}, 400)
    assert list(find_flags(answers[answers["role"] == "gold"], QualityRules())) == []


def test_three_answers_of_one_annotator_discard_nothing():
    """The same question in three tasks: a contradicts it each time, and is still one of the three people it takes."""
    people = {
        name: lambda n, e, name=name: OTHER[e] if (n in (4, 6, 8) if name == "a" else n == 4) else e
        for name in "ab"
    }
    _, answers = crowd(people, 40)
    same = answers["task_id"].isin(["0004", "0006", "0008"]) & (answers["role"] == "gold")
    answers["text"] = answers["text"].mask(same, "gold question")
    answers["image_id"] = answers["image_id"].mask(same, "n0004")
    assert not find_discarded_gold(answers.assign(is_correct=answers["is_correct"] & ~same)).any()


def test_drift_without_enough_good_answers_excludes_all_tasks():
    # 20 gold questions of a kind are answered correctly, then none. The good answers are fewer than a window of 40.
    people = {"late": lambda n, e: e if n < 20 else OTHER[e]}
    assessment = assess_quality(crowd(people, 300)[1], QualityRules())
    assert assessment.excluded["late"].excluded_since == 0


def test_reported_drift_does_not_affect_other_checks():
    # Right 100 times, wrong 300 times: over all far below the limits, whatever was before.
    people = {"x": lambda n, e: e if n < 100 else OTHER[e]}
    assessment = assess_quality(
        crowd(people, 400)[1], QualityRules(exclusion_checks=("sensitivity", "specificity"))
    )
    assert {reason.split(":")[0] for reason in assessment.excluded["x"].reasons} == {
        "sensitivity",
        "specificity",
    }


def test_first_of_two_equal_answers_counts():
    tasks = {"a": task("a"), "b": repeating("b", "a")}
    answers = build_answers_table(
        tasks, [verdict("a", "x", X, V, 5), verdict("b", "x", V, X, 2)]
    )  # the repeat came first
    rows = mark_excluded_answers(answers, {})
    assert rows[rows["exclusion_reason"] == "duplicate"]["verdict_id"].tolist() == ["ax"]


def test_discarding_needs_at_most_a_quarter_of_expected_answers():
    # 1 / 4 is just as much as may have given it; 1 / 3 is more.
    def doubts(n, expected):
        return OTHER[expected] if n == 4 else expected

    for doubting, falls in (("abc", True), ("ab", False)):
        _, answers = crowd(dict.fromkeys(doubting, doubts) | {"d": right}, 14)
        assert find_discarded_gold(answers).any() == falls


# Response times


def given(who, seconds, gaps=None):
    gaps = gaps or [None] * len(seconds)
    return [
        verdict(f"{n:02}", who, V, V, n, duration_seconds=one, seconds_since_previous=other)
        for n, (one, other) in enumerate(zip(seconds, gaps, strict=True))
    ]


def found(*people):
    tasks = {f"{n:02}": task(f"{n:02}") for n in range(40)}
    return summarize_by_annotator(
        build_answers_table(tasks, [row for rows in people for row in rows]), QualityRules()
    )


def test_quartiles_of_known_times():
    # 2, 4, 6, 8, 100: the quartiles are the second, third and fourth; a lunch break moves none of them.
    row = summarize_times(pd.Series([4, None, 100, 2, 8, 6, float("nan")], dtype=float), fast_seconds=4)
    assert (row.num_timed, row.lower_quartile, row.median, row.upper_quartile, row.num_fast) == (
        5,
        4,
        6,
        8,
        1,
    )
    empty = summarize_times(pd.Series([None, None], dtype=float), 3)
    assert (empty.num_timed, empty.median, empty.num_fast) == (0, None, 0)


def test_fast_annotators_are_found_by_either_clock():
    slow, quick = [9.0] * 40, [1.0] * 21 + [9.0] * 19  # 21 of 40 are more than half, 20 are not
    rows = found(
        given("careful", slow, slow),
        given("fast", quick),
        given("batch", slow, quick),
        given("limit", [1.0] * 20 + [9.0] * 20),
        given("few", [1.0] * 19),
        given("unknown", [None] * 40),
    )
    text = "21 of 40 tasks in under 3 s, median 1.0 s"
    assert {name: describe_if_too_fast(row, QualityRules()) for name, row in rows.items()} == {
        "batch": text,
        "careful": "",
        "fast": text,
        "few": "",
        "limit": "",
        "unknown": "",
    }


def test_long_pause_has_no_effect():
    (row,) = found(given("a", [9.0] * 39 + [3600.0], [None, *[9.0] * 38, 3600.0])).values()
    assert (row.median, row.num_timed, row.num_fast) == (9, 40, 0)
