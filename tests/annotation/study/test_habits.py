from itertools import groupby, product

import numpy as np
import pandas as pd
import pytest

from annotation.study.habits import habits, pace, run_probability
from annotation.study.judged import CollectRules, judged_tasks
from pipeline.core.records import Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"


def task(key, subset="clip-hard"):
    return Task(
        task_id=key,
        picture_id="n1",
        subset=subset,
        first=TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=key),
        second=TaskQuestion(key="2", text="filter", role="filter", expected="valid"),
    )


def given(who, answers, subset="clip-hard", **more):
    """Somebody's tasks and verdicts, one for each pair of answers, in this order."""
    tasks = {f"{who}{n}": task(f"{who}{n}", subset) for n in range(len(answers))}
    verdicts = [
        Verdict(
            verdict_id=key,
            task_id=key,
            annotator=who,
            first=first,
            second=second,
            order=n,
            **{name: values[n] for name, values in more.items()},
        )
        for n, (key, (first, second)) in enumerate(zip(tasks, answers, strict=True))
    ]
    return tasks, verdicts


def found(*people):
    tasks, verdicts = {}, []
    for mine, theirs in people:
        tasks |= mine
        verdicts += theirs
    mixed = sorted(verdicts, key=lambda v: (v.verdict_id[-1], v.verdict_id))  # not the order of answering
    return habits(judged_tasks(tasks, mixed), CollectRules())


def drawn(seed, size, invalid=0.6, unsure=0.05):
    rng = np.random.default_rng(seed)
    return rng.choice([V, X, U], p=[1 - invalid - unsure, invalid, unsure], size=(size, 2)).tolist()


def kinds(row):
    return [flag.kind for flag in row.flags]


@pytest.mark.parametrize(("length", "trials"), [(1, 1), (1, 6), (2, 7), (3, 9), (5, 9), (9, 9), (10, 9)])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_the_probability_of_a_run_is_that_of_all_sequences_together(length, trials, share):
    expected = 0.0
    for row in product((0, 1), repeat=trials):
        if max((len(list(group)) for value, group in groupby(row) if value), default=0) >= length:
            expected += share ** sum(row) * (1 - share) ** (trials - sum(row))
    assert run_probability(length, trials, share) == pytest.approx(expected, abs=1e-12)


def test_certain_and_impossible_answers_run_for_ever_and_never():
    assert run_probability(50, 50, 1.0) == 1.0
    assert run_probability(1, 50, 0.0) == 0.0
    assert 0 < run_probability(400, 1000, 0.3) < 1e-200  # tiny, not lost


def test_pace_leaves_out_what_is_no_time_and_tells_quartiles():
    # 2, 4, 6, 8, 100: the quartiles are the second, third and fourth; a lunch break moves none of them.
    row = pace(pd.Series([4, None, 100, 0.0, 2, -1, 8, 6, float("nan"), float("inf")]), fast_seconds=4)
    assert (row.known, row.low, row.median, row.high, row.fast) == (5, 4, 6, 8, 1)
    empty = pace(pd.Series([None, None], dtype=float), 3)
    assert (empty.known, empty.median, empty.fast) == (0, None, 0)


def test_who_is_too_fast_in_many_tasks_is_flagged_by_either_clock():
    answers = drawn(1, 40)
    slow, quick = [9.0] * 40, [1.0] * 11 + [9.0] * 29  # 11 of 40 are more than a quarter, 10 are not
    rows = found(
        given("careful", answers, seconds=slow, gap=slow),
        given("fast", answers, seconds=quick, gap=[None] * 40),
        given("batch", answers, seconds=slow, gap=quick),
        given("limit", answers, seconds=[1.0] * 10 + [9.0] * 30),
        given("few", answers[:19], seconds=[1.0] * 19),
        given("unknown", answers),
    )
    assert {name: kinds(row) for name, row in rows.items()} == {
        "careful": [],
        "fast": ["speed"],
        "batch": ["speed"],
        "limit": [],
        "few": [],
        "unknown": [],
    }
    assert rows["fast"].flags[0].detail == "11 of 40 tasks in under 3 s by the tool's clock, median 9.0 s"
    assert "after the submission before" in rows["batch"].flags[0].detail


def test_an_hour_away_from_the_screen_makes_nobody_fast_or_slow():
    rows = found(given("a", drawn(1, 40), seconds=[9.0] * 39 + [3600.0], gap=[None, *[9.0] * 38, 3600.0]))
    assert (rows["a"].shown.median, rows["a"].between.median, rows["a"].flags) == (9, 9, ())


def test_one_answer_given_far_more_often_than_by_others_is_flagged():
    others = [given(f"p{n}", drawn(n, 200)) for n in range(4)]
    lax = drawn(9, 200, invalid=0.25)  # says valid in 70 %, others in 35 %
    rows = found(*others, given("lax", lax))
    assert kinds(rows["lax"]) == ["one answer"]
    assert rows["lax"].excess.choice == V
    assert [kinds(rows[f"p{n}"]) for n in range(4)] == [[]] * 4


def test_a_small_leaning_is_no_reason_to_suspect_however_many_answers_prove_it():
    rows = found(
        *[given(f"p{n}", drawn(n, 2000)) for n in range(3)], given("strict", drawn(8, 2000, invalid=0.7))
    )
    assert rows["strict"].excess.probability < 1e-6
    assert rows["strict"].flags == ()


def test_shares_are_compared_within_subsets():
    # In one subset nearly all is invalid. Who answered there alone is like the others there, not like the others at large.
    near = [given(f"p{n}", drawn(n, 150, invalid=0.9, unsure=0)) for n in range(2)]
    far = [given(f"q{n}", drawn(n + 5, 300, invalid=0.3), subset="pt-easy") for n in range(2)]
    rows = found(*near, *far)
    assert all(not row.flags for row in rows.values())
    assert rows["p0"].excess.expected == pytest.approx(rows["p0"].excess.share, abs=0.06)


def test_the_same_two_answers_on_and_on_are_flagged_though_their_shares_are_ordinary():
    # Valid and invalid, forty times: as many of each as others give, so that shares tell nothing.
    others = [given(f"p{n}", drawn(n, 200, invalid=0.5, unsure=0)) for n in range(3)]
    stuck = drawn(7, 100, invalid=0.5, unsure=0)
    stuck[30:70] = [[V, X]] * 40
    rows = found(*others, given("stuck", stuck))
    assert kinds(rows["stuck"]) == ["long run"]
    assert (rows["stuck"].run.first, rows["stuck"].run.second) == (V, X)
    assert rows["stuck"].run.length >= 40
    assert [kinds(rows[f"p{n}"]) for n in range(3)] == [[]] * 3


def test_honest_people_are_flagged_hardly_ever():
    # 200 people in 20 studies at level 0.001 for a study: 0.02 flags are to be expected.
    flagged = sum(
        len(row.flags)
        for study in range(20)
        for row in found(*[given(f"p{n}", drawn(100 * study + n, 120)) for n in range(10)]).values()
    )
    assert flagged == 0


def test_a_short_run_is_never_held_against_anybody():
    others = [given(f"p{n}", drawn(n, 200, unsure=0)) for n in range(3)]
    rare = drawn(7, 100, unsure=0)
    rare[10:19] = [[U, U]] * 9  # nobody else ever said so
    assert kinds(found(*others, given("rare", rare))["rare"]) == []


def test_who_says_valid_more_often_than_others_has_longer_runs_of_it_and_is_not_stuck():
    # Nine answers in ten are valid, so four tasks in five are valid twice: fifteen and more of them in a row are ordinary.
    others = [given(f"p{n}", drawn(n, 200)) for n in range(3)]
    rows = found(*others, given("lax", drawn(4, 300, invalid=0.1, unsure=0)))
    assert rows["lax"].run.length >= 10
    assert kinds(rows["lax"]) == ["one answer"]


def test_alone_there_is_nobody_to_compare_with():
    row = found(given("alone", [[V, V]] * 60))["alone"]
    assert (row.excess, row.run, row.flags, row.choices) == (None, None, (), {V: 120, X: 0, U: 0})
