import subprocess
import sys
from collections import Counter
from random import Random

import pytest
from scipy.stats import binomtest

from annotation.study.answers_table import QualityRules
from annotation.study.assignment import (
    AdaptiveAssigner,
    AssignmentRules,
    is_audit_task,
    wilson_interval,
)
from annotation.study.assignment_params import AnnotateParams, StudySizes
from pipeline.core.errors import UserError
from pipeline.core.params import convert_params

V, X, U = "valid", "invalid", "unsure"
# Votes are requested one at a time, except for the first task.
SEQUENTIAL = AssignmentRules(overlap_rate=0, wave_size=1, max_votes=3, min_posterior=0.95)


def task(number, block=0, expected=V, repeat=None):
    second = {"role": "gold", "candidate": None, "expected": expected}
    if repeat is not None:
        second = {"role": "repeat", "candidate": f"c{repeat}", "expected": None}
    first = {"role": "candidate", "candidate": f"c{number}", "expected": None}
    return {"key": f"t{number}", "block": block, "first": first, "second": second}


def make_assigner(count=10, prior=0.1, rules=SEQUENTIAL, **more):
    """Return a study with tasks t0, t1, ... in this order. With waves of one task, they are assigned in this order."""
    return AdaptiveAssigner(
        [task(n, block=n, **more) for n in range(count)], {f"c{n}": prior for n in range(count)}, rules
    )


def judge(study, person, *said):
    """Answer one task per choice. The gold questions are answered correctly. Return the task keys."""
    keys = []
    for choice in said:
        keys.append(key := study.assign_next_task(person))
        study.record_answer(person, key, choice, V)
    return keys


def votes_on(study, key):
    return sum(who.votes[study.task_index[key]] != 0 for who in study.annotators.values())


def everybody(study, names, say, most=10_000):
    """Let annotators take turns until there are no tasks left; return (annotator, task) in order."""
    given = []
    while len(given) < most:
        before = len(given)
        for name in names:
            if key := study.assign_next_task(name):
                given.append((name, key))
                study.record_answer(name, key, *say(name, key))
        if len(given) == before:
            return given
    raise AssertionError("does not end")


def test_open_task_is_returned_until_it_is_answered():
    study = make_assigner()
    assert study.assign_next_task("ann") == study.assign_next_task("ann") == "t0"
    study.record_answer("ann", "t0", X, V)
    assert study.assign_next_task("ann") == "t1"


def test_posterior_follows_bayes_rule():
    # Prior odds of invalid 0.9 / 0.1. Before any gold question, sensitivity is 18 / 20 and specificity 19 / 20. One correct valid gold
    # question makes the latter 20 / 21, so that the false alarm rate is 1 / 21. 8 % of the unanswerable and 1 % of the answerable
    # candidates are hard, so that half of the annotators err: "invalid" multiplies the odds by (0.92 * 0.9 + 0.08 / 2) /
    # (0.99 / 21 + 0.01 / 2) = 16.6466, "valid" by (0.92 * 0.1 + 0.08 / 2) / (0.99 * 20 / 21 + 0.01 / 2) = 0.139262.
    study = make_assigner()
    # With a single vote, the uncertainty of the base rate makes no difference.
    study = make_assigner()
    assert study.get_posterior_invalid("c0") == pytest.approx(0.9, abs=1e-4)
    judge(study, "ann", X)
    assert study.get_posterior_invalid("c0") == pytest.approx(9 * 16.6466 / (1 + 9 * 16.6466), abs=1e-4)
    study = make_assigner()
    judge(study, "ann", V)
    assert study.get_posterior_invalid("c0") == pytest.approx(9 * 0.139262 / (1 + 9 * 0.139262), abs=1e-4)


def test_one_valid_vote_never_decides():
    # An estimate of 98 % and one "valid" have odds of 49 * 0.95 / 0.1 = 466 to 1, more than 19 to 1. Two decide.
    study = make_assigner(prior=0.98)
    study.record_answer("lazy", "t5", V, V)
    assert study.get_posterior_invalid("c5") < 0.01 and not study.is_decided("t5")
    study.record_answer("ann", "t5", V, V)
    assert study.is_decided("t5") and not study.find_doubtful_tasks().any()
    once = make_assigner(prior=0.98, rules=SEQUENTIAL._replace(max_votes=1))
    once.record_answer("lazy", "t5", V, V)
    assert once.find_doubtful_tasks()[once.task_index["t5"]]


def test_base_rates_are_learned_for_each_subset():
    tasks = [task(n) | {"subset": "ab"[n % 2]} for n in range(200)]
    study = AdaptiveAssigner(tasks, {f"c{n}": 0.15 for n in range(200)}, SEQUENTIAL)
    before = study.get_base_rates()
    assert [rate.rate for rate in before.values()] == pytest.approx([0.15, 0.15], abs=1e-3)
    for n in range(100):  # all of a are called invalid twice, and 60 % of b are called valid twice
        for name in ("ann", "ben"):
            study.record_answer(name, f"t{n}", V if n % 2 and n % 10 != 1 and n % 10 != 3 else X, V)
    after = study.get_base_rates()
    assert after["a"].rate < 0.03 and after["b"].rate == pytest.approx(0.6, abs=0.05)
    assert after["b"].low < 0.6 < after["b"].high and after["b"].high - after["b"].low < 0.2
    # Candidates that nobody has judged have the base rate of their subset.
    assert 1 - study.get_posterior_invalid("c150") < 0.05
    assert 1 - study.get_posterior_invalid("c151") == pytest.approx(0.6, abs=0.05)


def test_subsets_learn_from_each_other():
    tasks = [task(n) | {"subset": "ab"[n % 2]} for n in range(100)]
    study = AdaptiveAssigner(tasks, {f"c{n}": 0.15 for n in range(100)}, SEQUENTIAL)
    for n in range(1, 100, 2):
        for name in ("ann", "ben"):
            study.record_answer(name, f"t{n}", V, V)
    assert study.get_base_rates()["a"].rate > 0.2  # nobody has judged a


def test_unsure_counts_as_valid():
    said, unsure = make_assigner(), make_assigner()
    judge(said, "ann", V)
    judge(unsure, "ann", U)
    assert said.get_posterior_invalid("c0") == unsure.get_posterior_invalid("c0")


def test_priors_are_clipped():
    assert make_assigner(prior=0.0).get_posterior_invalid("c0") == pytest.approx(0.98, abs=1e-4)
    assert make_assigner(prior=1.0).get_posterior_invalid("c0") == pytest.approx(0.02, abs=1e-4)
    assert AdaptiveAssigner([task(0)], {}).get_posterior_invalid("c0") == pytest.approx(0.5)


def test_one_vote_can_decide_and_doubt_requests_another():
    study = make_assigner()
    judge(study, "ann", V, X)  # t0 gets all votes; t1 is known: 9 * 0.9 / 0.05 = 162
    assert not study.is_decided("t0") and study.is_decided("t1")
    study = make_assigner(count=3)
    judge(study, "ann", X, V, X)  # t1: 0.9 * 20 / 19 to 1: doubtful
    assert [study.is_decided(f"t{n}") for n in range(3)] == [False, False, True]
    assert judge(study, "ben", X, X) == ["t0", "t1"]
    assert study.assign_next_task("ben") is None  # t2 is known


def test_every_task_gets_at_least_one_vote():
    study = make_assigner(prior=0.0)
    assert not study.is_decided("t5")


def test_verdict_needs_a_majority_of_votes():
    study = make_assigner(prior=0.0)
    # 49 to 1 for invalid; one "valid": 49 * 0.139262 = 6.857 to 1 (see above), less than 19 to 1
    study.record_answer("ann", "t1", V, V)
    assert study.get_posterior_invalid("c1") == pytest.approx(6.857 / 7.857, abs=1e-3)
    assert not study.is_decided("t1")
    loose = make_assigner(prior=0.0, rules=SEQUENTIAL._replace(min_posterior=0.6))
    judge(loose, "ann", X, V)
    assert loose.get_posterior_invalid("c1") > 0.6 and not loose.is_decided("t1")


def test_votes_stop_at_the_maximum_or_when_they_cannot_decide():
    study = make_assigner(rules=SEQUENTIAL._replace(max_votes=2), prior=0.5)
    given = everybody(study, "abcde", lambda name, key: (X if name in "ace" else V, V))
    votes = Counter(key for _, key in given)
    assert max(votes.values()) == 2 and all(study.is_decided(f"t{n}") for n in range(10))
    # At a prior of 0.1 for answerable, two "valid" votes multiply the odds 9 of invalid by (0.92 * 0.1 ** 2 + 0.08 / 4) /
    # (0.98 * 0.95 ** 2 + 0.02 / 4) = 0.033: 0.3 to 1, so not 0.9 for answerable. One "invalid" more would be a tie.
    strict = make_assigner(rules=SEQUENTIAL._replace(max_votes=2, min_posterior=0.999), prior=0.1)
    judge(strict, "ann", V, V)
    assert strict.is_decided("t1")


def test_votes_are_requested_one_at_a_time():
    study = make_assigner(count=3, rules=SEQUENTIAL._replace(wave_size=1))
    assert [study.assign_next_task(name) for name in "abcde"] == [
        "t0",
        "t0",
        "t0",
        "t1",
        "t2",
    ]  # the first wave gets all three
    assert study.assign_next_task("f") is None
    study.release_open_task("d")
    assert study.assign_next_task("f") == "t1"


def test_first_wave_and_overlap_get_all_votes():
    rules = AssignmentRules(max_votes=3, overlap_rate=0.2, wave_size=10, seed=3)
    study = make_assigner(count=100, prior=0.01, rules=rules)
    votes = Counter(key for _, key in everybody(study, "abcdef", lambda name, key: (X, V)))
    assert all(votes[f"t{n}"] == 3 for n in range(10))
    assert sorted(set(votes.values())) == [1, 3]
    # About 20 of 100 are drawn, some of them in the first wave.
    assert 10 < sum(given == 3 for given in votes.values()) <= 30
    assert study.is_overlap.sum() == sum(given == 3 for given in votes.values())


def test_overlap_tasks_get_more_votes_only_in_doubt():
    rules = AssignmentRules(max_votes=5, overlap_rate=0, wave_size=40, min_posterior=0.95)
    plain = everybody(make_assigner(count=40, rules=rules), "abcdef", lambda name, key: (X, V))
    assert set(Counter(key for _, key in plain).values()) == {3}
    # Three say invalid and three say valid, not the same ones for each candidate.
    torn = everybody(
        make_assigner(count=40, rules=rules),
        "abcdef",
        lambda name, key: ((V, X)[("abcdef".index(name) + int(key[1:])) % 2], V),
    )
    assert set(Counter(key for _, key in torn).values()) <= {3, 4, 5} and len(torn) > len(plain)


def test_wave_is_finished_before_the_next_begins():
    study = make_assigner(
        count=60, rules=AssignmentRules(max_votes=3, overlap_rate=0.5, wave_size=20), prior=0.05
    )
    given = everybody(study, "abcd", lambda name, key: (X, V))
    waves = [int(key[1:]) // 20 for _, key in given]
    # With four people, who must be different ones for a task, the last of a wave may overlap with the next.
    assert all(waves[i] <= waves[j] + 1 for i in range(len(waves)) for j in range(i, len(waves)))
    for name in "abcd":
        own = [int(key[1:]) // 20 for who, key in given if who == name]
        assert own == sorted(own)


def test_tasks_with_votes_come_first_within_a_wave():
    study = make_assigner(count=30, rules=AssignmentRules(max_votes=2, wave_size=30))
    (first,) = judge(study, "ann", X)
    assert study.assign_next_task("ben") == first


def test_annotators_see_a_wave_in_different_orders():
    study = make_assigner(count=30, rules=AssignmentRules(max_votes=1, wave_size=30))
    orders = {
        name: [key for _, key in everybody(make_assigner(30, rules=study.rules), [name], lambda *_: (X, V))]
        for name in "ab"
    }
    assert sorted(orders["a"]) == sorted(orders["b"]) and orders["a"] != orders["b"]


def test_vote_weight_depends_on_gold_accuracy():
    study = make_assigner(count=40, expected=X)
    for n in range(20):  # blind to what is invalid: of no worth
        study.record_answer("careless", f"t{n}", X, V)
        study.record_answer("good", f"t{n}", X, X)
    study.record_answer("careless", "t25", X, V)
    # As a candidate without votes, whose base rate is learned from the others.
    before = study.get_posterior_invalid("c25")
    assert before == study.get_posterior_invalid("c30") > 0.9
    assert not study.is_decided("t25")
    study.record_answer("good", "t25", X, X)
    # 18 + 21 of 20 + 21 invalid gold questions found; no valid one was asked. With hard candidates (see above):
    odds = before / (1 - before) * (0.92 * 39 / 41 + 0.04) / (0.98 * 0.05 + 0.01)
    after = study.get_posterior_invalid("c25")
    assert after / (1 - after) == pytest.approx(odds, rel=0.1) and study.is_decided("t25")


def test_decisions_of_careless_annotators_are_reopened():
    study = make_assigner(count=60, expected=X)
    study.record_answer("ann", "t1", X, X)
    assert study.is_decided("t1")
    for n in range(2, 50):
        study.record_answer("ann", f"t{n}", X, V)
    assert not study.is_decided("t1")
    study.record_answer("ben", "t0", X, X)
    study.record_answer("ben", "t2", X, X)
    assert study.assign_next_task("ben") == "t1"


def test_vote_with_failed_gold_question_does_not_count():
    study = make_assigner()
    study.record_answer("ann", "t3", X, X)  # the filter is valid
    assert (
        study.get_posterior_invalid("c3") == pytest.approx(0.9, abs=1e-4)
        and not study.is_decided("t3")
        and votes_on(study, "t3") == 0
    )
    study.record_answer("ann", "t3", X, V)  # the first answer to a gold question counts
    assert votes_on(study, "t3") == 0


def test_correction_changes_the_vote_but_not_the_gold_question():
    study = make_assigner()
    study.record_answer("ann", "t3", X, V)
    study.record_answer("ann", "t3", V, X)
    (state,) = study.annotators.values()
    assert state.votes[study.task_index["t3"]] == 1  # valid now
    assert state.gold_counts[False, False] == 1 and state.gold_counts[False, True] == 0
    study.record_skip("ann", "t3")
    assert not any(state.gold_counts.values())
    study.record_answer("ann", "t3", X, X)  # an answer after a skip does not start again
    assert state.gold_counts[False, False] == 1 and state.gold_counts[False, True] == 0


def test_excluded_annotator_cannot_find_gold_questions_by_correcting():
    # Every second task has a gold question. Who calls everything invalid fails the valid ones, and is blocked. Before, every answer
    # that was corrected to the right choice of a gold question moved the rates towards the limit, and the attacker was let in again.
    tasks = [task(n, repeat=(n + 1) % 60 if n % 2 else None) for n in range(60)]
    study = AdaptiveAssigner(tasks, {}, SEQUENTIAL)
    asked = []
    while key := study.assign_next_task("eve"):
        asked.append(key)
        study.record_answer("eve", key, X, X)
    assert study.has_failed_gold("eve") and len(asked) < 60
    for key in asked:
        for choices in ((X, V), (V, X), (V, V)):
            study.record_answer("eve", key, *choices)
            assert study.has_failed_gold("eve") and study.assign_next_task("eve") is None


# Of k right and k wrong answers, the evidence against a limit of 0.7 is the mean of 1.11 ** k, 1.1875 ** k, 1.0833 ** k and
# 0.6875 ** k: 32.2 for 27, 37.6 for 28. Against 0.8 it is the mean of 1.26 ** k, 1.5 ** k, 1.5 ** k and 1: 31.6 for 10, 46.7 for 11.
# It must reach 1 / 0.03.
@pytest.mark.parametrize(("expected", "wanted"), [(X, 56), (V, 22)])
def test_annotator_who_fails_gold_questions_gets_no_more_tasks(expected, wanted):
    wrong = V if expected == X else X
    study, asked = make_assigner(count=200, expected=expected), 0
    while key := study.assign_next_task("ann"):
        asked += 1
        study.record_answer("ann", key, X, expected if asked % 2 else wrong)  # every second one is failed
    assert asked == wanted and study.has_failed_gold("ann") and not study.has_failed_gold("ben")
    assert study.get_progress("ann") == (asked, asked)
    assert all(study.get_posterior_invalid(f"c{n}") == pytest.approx(0.9, abs=1e-4) for n in range(200))
    study.assign_next_task("ben")


def test_few_gold_questions_never_block_an_annotator():
    study = make_assigner(count=30)
    for n in range(9):
        study.record_answer("ann", f"t{n}", X, X)
    assert not study.has_failed_gold("ann") and study.assign_next_task("ann")
    study.record_answer("ann", "t9", X, X)
    assert study.has_failed_gold("ann") and study.assign_next_task("ann") is None


def test_discarded_gold_question_has_no_effect():
    discarded, none = make_assigner(expected=None), make_assigner(expected=None)
    discarded.record_answer("ann", "t1", X, V)
    none.record_answer("ann", "t1", X, X)
    assert discarded.get_posterior_invalid("c1") == none.get_posterior_invalid("c1")


def test_repeat_is_a_vote_on_the_candidate_of_another_task():
    study = AdaptiveAssigner(
        [task(0), task(1, repeat=2), task(2, block=1)],
        {f"c{n}": 0.1 for n in range(3)},
        AssignmentRules(wave_size=1, overlap_rate=0),
    )
    study.record_answer("ann", "t1", X, X)
    # No gold question was answered: 9 * (0.92 * 0.9 + 0.04) / (0.98 * 0.05 + 0.01) = 132.4, and a little more, because the other vote
    # lowers the base rate
    assert study.get_posterior_invalid("c1") == study.get_posterior_invalid("c2")
    assert 132.4 / 133.4 < study.get_posterior_invalid("c1") < 264.8 / 265.8
    assert study.is_decided("t2")


def test_contradicting_repeat_cancels_the_vote():
    rules = AssignmentRules(wave_size=3, overlap_rate=0)
    tasks, prior = [task(0), task(1, repeat=2), task(2)], {f"c{n}": 0.1 for n in range(3)}
    study = AdaptiveAssigner(tasks, prior, rules)
    study.record_answer("ann", "t1", X, X)
    once = study.get_posterior_invalid("c2")
    study.record_answer("ann", "t2", X, U)
    assert votes_on(study, "t2") == 1
    assert study.get_posterior_invalid("c2") >= once  # one vote, of somebody who passed a filter since
    study.record_answer("ann", "t2", V, U)
    assert (
        study.get_posterior_invalid("c2") == study.get_posterior_invalid("c0") and votes_on(study, "t2") == 0
    )
    other = AdaptiveAssigner(tasks, prior, rules)
    other.record_answer("ben", "t1", X, X)
    assert "t2" not in {key for _, key in everybody(other, ["ben"], lambda *_: (X, V))}  # adds no vote


def test_correction_replaces_the_answer():
    study, right = make_assigner(), make_assigner()
    study.record_answer("ann", "t3", X, V)
    study.record_answer("ann", "t3", V, V)
    right.record_answer("ann", "t3", V, V)
    assert study.get_posterior_invalid("c3") == right.get_posterior_invalid("c3") and study.get_progress(
        "ann"
    ) == right.get_progress("ann") == (
        1,
        10,
    )


def test_skipped_task_is_not_shown_again():
    study = make_assigner(count=2)
    assert study.assign_next_task("ann") == "t0"
    study.record_skip("ann", "t0")
    assert study.assign_next_task("ann") == "t1" and study.assign_next_task("ben") == "t0"
    assert study.get_progress("ann") == (0, 1)


def test_skipping_removes_an_earlier_answer():
    study = make_assigner(rules=SEQUENTIAL._replace(max_judgements=1))
    judge(study, "ann", X)
    study.record_skip("ann", "t0")
    assert (
        study.get_posterior_invalid("c0") == make_assigner().get_posterior_invalid("c0")
        and study.assign_next_task("ann") == "t1"
    )


def test_release_frees_the_open_task_and_keeps_answers():
    study = make_assigner(count=3, rules=SEQUENTIAL._replace(wave_size=1, max_votes=1))
    assert judge(study, "ann", X) == ["t0"] and study.assign_next_task("ann") == "t1"
    said = study.get_posterior_invalid("c0")
    study.release_open_task("ann")
    assert study.assign_next_task("ben") == "t1" and study.get_posterior_invalid("c0") == said
    assert study.assign_next_task("ann") == "t2"  # back again


def test_open_tasks_can_be_restored_after_a_restart():
    study = make_assigner(count=3, rules=SEQUENTIAL._replace(max_votes=1))
    study.assign_task("ann", "t1")
    assert study.assign_next_task("ann") == "t1" and [study.assign_next_task(name) for name in "bcd"] == [
        "t0",
        "t2",
        None,
    ]
    study.assign_task("ann", "t0")  # one alone
    assert study.num_open.tolist() == [2, 0, 1]


def test_wanted_votes_of_all_tasks():
    study = make_assigner(count=3)
    judge(study, "ann", X, X)
    assert study.get_wanted_votes().tolist() == [2, 0, 1]


def test_answer_after_release_counts():
    study = make_assigner()
    key = study.assign_next_task("ann")
    study.release_open_task("ann")
    study.record_answer("ann", key, X, V)
    assert study.get_progress("ann")[0] == 1 and study.num_open.sum() == 0


def test_removed_annotator_leaves_no_trace():
    study, never = (
        make_assigner(rules=SEQUENTIAL._replace(max_judgements=5)),
        make_assigner(rules=SEQUENTIAL._replace(max_judgements=5)),
    )
    judge(study, "ann", X, V, X)
    study.assign_next_task("ann")
    study.remove_annotator("ann")
    assert [study.get_posterior_invalid(f"c{n}") for n in range(10)] == [
        never.get_posterior_invalid(f"c{n}") for n in range(10)
    ]
    assert study.get_progress("ann") == never.get_progress("ann") == (0, 5)
    assert judge(study, "ben", X, X, X) == judge(never, "ben", X, X, X)


def test_max_judgements_includes_open_tasks():
    study = make_assigner(rules=SEQUENTIAL._replace(max_judgements=4))
    assert study.get_progress("ann") == (0, 4)
    given = everybody(study, "abc", lambda *_: (X, V))
    assert len(given) == 4 and study.get_progress("a")[1] == study.get_progress("a")[0]
    study = make_assigner(rules=SEQUENTIAL._replace(max_judgements=2))
    assert study.assign_next_task("a") and study.assign_next_task("b") and study.assign_next_task("c") is None


def test_max_tasks_per_annotator_is_respected():
    study = make_assigner(rules=SEQUENTIAL._replace(max_tasks_per_annotator=2))
    assert study.get_progress("ann") == (0, 2)
    assert (
        len(judge(study, "ann", X, X)) == 2
        and study.assign_next_task("ann") is None
        and study.assign_next_task("ben")
    )


def test_progress_counts_available_tasks():
    study = make_assigner(count=7)
    assert study.get_progress("ann") == (0, 7)
    judge(study, "ann", X, X)
    assert study.get_progress("ann") == (2, 7)
    judge(study, "ben", X, X)  # t0, and t2 since ann's vote settled t1
    assert study.get_progress("ann") == (2, 6)


def noise(name, key, expected=V):
    """One filter in ten is failed."""
    draw = Random(name + key)
    return draw.choice([V, X, U]), expected if draw.random() < 0.9 else X


def test_assignment_does_not_depend_on_task_order():
    tasks = [task(n, block=n // 20, expected=V) for n in range(100)]
    prior = {f"c{n}": n / 100 for n in range(100)}
    runs = [
        everybody(AdaptiveAssigner(given, prior, AssignmentRules(wave_size=20)), "abcde", noise)
        for given in (tasks, tasks[::-1])
    ]
    assert runs[0] == runs[1] and len(runs[0]) > 100


def test_replayed_state_equals_the_original():
    rules = AssignmentRules(wave_size=20, overlap_rate=0.2)
    old, given = make_assigner(count=60, rules=rules, prior=0.3), []
    for _ in range(25):
        for name in "abc":
            given.append((name, old.assign_next_task(name)))
            old.record_answer(*given[-1], *noise(*given[-1]))
    new = make_assigner(count=60, rules=rules, prior=0.3)
    for name in "cba":  # in another order
        for who, key in given:
            if who == name:
                new.record_answer(who, key, *noise(who, key))
    assert [old.assign_next_task(name) for name in "abc"] == [new.assign_next_task(name) for name in "abc"]
    assert [old.is_decided(key) for key in old.keys] == [new.is_decided(key) for key in old.keys]


def test_empty_study_has_no_tasks():
    study = AdaptiveAssigner([], {})
    assert study.assign_next_task("ann") is None and study.get_progress("ann") == (0, 0)


@pytest.mark.parametrize("tasks", [[task(0), task(0)], [task(0), task(0) | {"key": "other"}]])
def test_duplicate_candidate_is_refused(tasks):
    with pytest.raises(ValueError, match="c0"):
        AdaptiveAssigner(tasks, {})


def test_module_imports_only_numpy():
    code = "import sys, annotation.study.assignment; print(sorted({n.split('.')[0] for n in sys.modules} & {'pipeline', 'msgspec', 'pandas', 'scipy', 'yaml'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def torn():
    """Of six tasks t0, t1 and t2 are in doubt when all votes are used up; t3 to t5 are known. Eve is an adjudicator."""
    study = AdaptiveAssigner(
        [task(n) for n in range(6)],
        {f"c{n}": 0.9 if n == 5 else 0.5 for n in range(6)},
        SEQUENTIAL._replace(max_votes=2),
    )
    study.mark_adjudicator("eve")
    for n, (one, other) in enumerate([(X, V), (V, X), (V, X), (X, X), (X, X), (V, V)]):
        study.record_answer("ann", f"t{n}", one, V)
        study.record_answer("ben", f"t{n}", other, V)
    return study


def test_adjudicator_gets_only_doubtful_tasks():
    study = torn()
    doubts = {key for key, doubt in zip(study.keys, study.find_doubtful_tasks(), strict=True) if doubt}
    assert doubts == {"t0", "t1", "t2"} and study.get_progress("eve") == (0, 3)
    assert {key for _, key in everybody(study, ["eve"], lambda *_: (X, V))} == doubts
    assert study.get_progress("eve") == (3, 3) and not study.find_doubtful_tasks().any()


def test_adjudicator_waits_until_votes_are_complete():
    study = torn()
    study.record_skip("ann", "t0")  # one vote is missing
    assert (
        study.get_wanted_votes()[study.task_index["t0"]] == 1
        and not study.find_doubtful_tasks()[study.task_index["t0"]]
    )
    study.assign_task("cem", "t2")  # one who came late; what they say may end the doubt
    assert [study.assign_next_task("eve"), study.assign_next_task("fay")] == ["t1", "t0"]


def test_most_doubtful_task_comes_first():
    # Four filters were answered right, so that one vote each way moves the log odds by log(0.9 * 24) + log(0.1 * 24 / 23) = 0.81:
    # t0 stands at 0.81, t1 at log(4 / 6) + 0.81 = 0.40, t2 at 1.22. t3 is known by the votes, and collect says 0.501.
    prior = {"c0": 0.5, "c1": 0.6, "c2": 0.4, "c3": 0.5}
    study = AdaptiveAssigner(
        [task(n) for n in range(4)], prior, SEQUENTIAL._replace(max_votes=2), {"c3": 0.501}
    )
    study.mark_adjudicator("eve")
    for n in range(4):
        study.record_answer("ann", f"t{n}", X, V)
        study.record_answer("ben", f"t{n}", X if n == 3 else V, V)
    given = everybody(study, ["eve"], lambda *_: (X, V))
    assert [key for _, key in given] == ["t3", "t1", "t0", "t2"]


def test_adjudication_decides_and_ends_voting():
    study = torn()
    study.record_answer("eve", "t0", V, V)
    assert study.is_decided("t0") and study.get_posterior_invalid("c0") == pytest.approx(0.01)
    study.record_answer("eve", "t1", X, V)
    assert study.is_decided("t1") and study.get_posterior_invalid("c1") == pytest.approx(0.99)
    fresh = make_assigner(prior=0.1)
    fresh.mark_adjudicator("eve")
    fresh.record_answer("eve", "t5", V, V)  # against all that is thought of it, before anybody
    assert fresh.is_decided("t5") and fresh.get_posterior_invalid("c5") == pytest.approx(0.01)


def test_tied_adjudicators_leave_doubt_until_a_third_decides():
    study = torn()
    for name in ("fay", "gil"):
        study.mark_adjudicator(name)
    study.record_answer("eve", "t0", V, V)
    study.record_answer("fay", "t0", X, V)
    assert study.find_doubtful_tasks()[study.task_index["t0"]]
    study.record_answer("gil", "t0", X, V)
    assert (
        study.get_posterior_invalid("c0") == pytest.approx(0.99)
        and not study.find_doubtful_tasks()[study.task_index["t0"]]
    )


def test_adjudication_with_failed_gold_question_does_not_count():
    study = torn()
    study.record_answer("eve", "t0", V, X)
    assert study.find_doubtful_tasks()[study.task_index["t0"]] and study.assign_next_task("eve") != "t0"


def test_adjudications_are_not_limited_by_max_judgements():
    study = make_assigner(
        count=4,
        rules=SEQUENTIAL._replace(
            max_votes=3, max_judgements=2, max_tasks_per_annotator=1, min_posterior=0.99
        ),
        prior=0.5,
    )
    study.mark_adjudicator("eve")
    study.record_answer("ann", "t0", X, V)
    assert study.assign_next_task("eve") is None  # one judgement more may end the doubt
    study.record_answer("ben", "t1", X, V)
    keys = {study.assign_next_task("eve")}
    study.record_answer("eve", min(keys), X, V)
    keys.add(study.assign_next_task("eve"))
    assert keys == {"t0", "t1"} and study.num_judgements == 2 and study.assign_next_task("cem") is None
    study.record_skip("eve", "t1")
    study.remove_annotator("eve")
    assert study.num_judgements == 2 and study.find_doubtful_tasks().sum() == 2


@pytest.mark.parametrize(("good", "total"), [(0, 1), (1, 1), (5, 10), (8, 10), (99, 100), (1200, 1234)])
def test_wilson_agrees_with_scipy(good, total):
    expected = binomtest(good, total).proportion_ci(method="wilson")
    assert wilson_interval(good, total) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_tasks_without_votes_are_not_doubtful():
    study = make_assigner(count=3, prior=0.5, rules=SEQUENTIAL._replace(max_judgements=1))
    study.mark_adjudicator("eve")
    study.record_answer("ann", "t0", V, X)  # beside a failed filter: no vote
    assert not study.find_doubtful_tasks().any() and study.assign_next_task("eve") is None


def test_open_task_of_adjudicator_does_not_count_as_judgement():
    study = torn()
    study.rules = study.rules._replace(max_judgements=12)  # as many are given
    assert study.assign_next_task("eve") and study.get_progress("cem") == (0, 0)
    study.record_skip("ann", "t5")
    assert study.assign_next_task("cem") == "t5"
    assert study.assign_next_task("dan") is None


def test_votes_below_the_accuracy_limit_do_not_count():
    # With what is thought before, 2 of 9 are (18 + 2) / 29 = 0.69, below 0.7; 2 of 8 are 20 / 28 = 0.71.
    for missed, counts in ((7, False), (6, True)):
        study = make_assigner(count=60, expected=X)
        for n in range(1 + missed):
            study.record_answer("ann", f"t{n}", X, V if n else X)
        study.record_answer("ann", "t40", X, X)
        assert (
            study.get_posterior_invalid("c40") != pytest.approx(0.9)
        ) is counts and not study.has_failed_gold("ann")


def test_excluded_annotator_gets_no_tasks_and_others_replace_the_votes():
    study = make_assigner(count=4, rules=SEQUENTIAL._replace(max_votes=1))
    assert judge(study, "ann", X, X, X) == ["t0", "t1", "t2"]
    study.assign_next_task("ann")
    study.exclude_annotator("ann", since=1)  # from their second task on
    assert study.assign_next_task("ann") is None and study.get_progress("ann") == (3, 3)
    assert [study.is_decided(f"t{n}") for n in range(4)] == [True, False, False, False]
    assert study.get_posterior_invalid("c1") == study.get_posterior_invalid("c3")  # as without any vote
    assert judge(study, "ben", X, X, X) == ["t1", "t2", "t3"]


def test_gold_answers_after_exclusion_have_no_effect():
    study = make_assigner(rules=SEQUENTIAL._replace(max_votes=1))
    judge(study, "ann", X)
    before = study.get_posterior_invalid("c0")
    for _ in range(3):
        study.record_answer("ann", study.assign_next_task("ann"), X, X)  # fails the filters
    study.exclude_annotator("ann", since=1)
    assert study.get_posterior_invalid("c0") == before


def test_assignment_rules_are_parameters_of_the_same_names():
    given = {
        "max_votes": 4,
        "min_posterior": 0.9,
        "overlap_rate": 0.2,
        "audit_rate": 0.25,
        "wave_size": 50,
        "max_judgements": 7,
        "max_tasks_per_annotator": 8,
        "seed": 9,
    }
    expected = AssignmentRules(**given, min_release_posterior=0.8)
    quality = QualityRules(min_posterior=0.8)
    assert AnnotateParams(**given).to_assignment_rules(StudySizes(50, 0, 0, 0.25), quality) == expected


def test_defaults_are_equal():
    assert (
        AnnotateParams().to_assignment_rules(StudySizes(100, 0, 0, 0.0), QualityRules()) == AssignmentRules()
    )


@pytest.mark.parametrize(
    "name, value",
    [("min_posterior", 1), ("min_posterior", 0.5), ("max_votes", 0), ("wave_size", 0), ("overlap_rate", 1.1)],
)
def test_invalid_parameter_is_refused(name, value):
    with pytest.raises(UserError, match=name):
        convert_params({name: value}, AnnotateParams, "params.yaml, tiny.annotate")


def test_audit_tasks_are_judged_by_an_adjudicator_although_the_votes_decide():
    rules = SEQUENTIAL._replace(audit_rate=0.3)
    study = make_assigner(count=40, rules=rules)
    study.mark_adjudicator("eve")
    everybody(study, ["ann"], lambda *_: (X, V))
    audited = {f"t{n}" for n in range(40) if is_audit_task(f"t{n}", rules)}
    # The first wave is t0, which needs three votes in any case.
    assert 4 <= len(audited - {"t0"}) <= 20 and all(study.is_decided(f"t{n}") for n in range(1, 40))
    assert {key for _, key in everybody(study, ["eve"], lambda *_: (X, V))} == audited


def test_nobody_gives_more_than_half_of_the_judgements():
    study = make_assigner(count=60, rules=SEQUENTIAL._replace(wave_size=5))
    judge(study, "ben", X, X)
    assert len(judge(study, "ann", *[X] * 20)) == 20  # two people only
    judge(study, "eva", X)
    assert study.has_reached_share("ann") and study.assign_next_task("ann") is None
    judge(study, "ben", *[X] * 18)
    assert not study.has_reached_share("ann") and study.assign_next_task("ann")


def test_votes_that_do_not_depend_on_the_images_are_replaced_by_others():
    # Every second candidate is answerable. Lia answers all gold questions correctly, and calls every candidate valid.
    study = make_assigner(count=200, prior=0.5, rules=SEQUENTIAL._replace(wave_size=200))
    people = ["ann", "ben", "cem", "lia"]
    everybody(study, people, lambda name, key: (X if int(key[1:]) % 2 and name != "lia" else V, V))
    assert study.is_distrusted("lia") and not any(study.is_distrusted(name) for name in people[:3])
    assert study.assign_next_task("lia") is None
    assert all((study.get_posterior_invalid(f"c{n}") > 0.5) == n % 2 for n in range(200))


def test_copies_do_not_judge_the_same_candidate():
    study = make_assigner(count=2)
    study._groups = {"ann": 0, "ben": 0, "cem": 2}
    # A single "valid" does not decide, so the task is open for another person.
    assert judge(study, "ann", V) == ["t0"]
    assert study.assign_next_task("ben") == "t1" and study.assign_next_task("cem") == "t0"


def test_a_study_ends_only_after_a_thorough_fit():
    """The last fit sees all votes, as that of stage `collect`."""
    study = make_assigner(count=120, rules=SEQUENTIAL._replace(wave_size=10))
    everybody(study, "abcd", lambda _, key: ((X, V)[int(key[1:]) % 10 == 0], V))
    assert study.num_judgements == study._num_fitted > 120


def test_people_who_are_not_trusted_get_no_task_while_most_are_trusted():
    """Four look, and one always says invalid. One candidate in four is valid."""
    study = make_assigner(count=200, rules=SEQUENTIAL._replace(wave_size=200, max_votes=5))
    everybody(study, "abcde", lambda name, key: (X if name == "e" or int(key[1:]) % 4 else V, V))
    assert study.is_distrusted("e") and not any(study.is_distrusted(name) for name in "abcd")
    # The others have judged what "e" had judged.
    assert len(study.annotators["e"].answers) < 120
    assert all(study.is_decided(f"t{n}") for n in range(200))


@pytest.mark.parametrize(
    ("prior", "released", "is_asked"), [(0.6, 0.95, 0), (0.6, 0.9, 1), (0.3, 0.95, 1), (0.3, 0.985, 0)]
)
def test_voting_goes_on_as_long_as_stage_collect_can_release_the_candidate(prior, released, is_asked):
    """One of three votes is left, after one for each choice. With it, the posterior would be 0.94 or 0.98, below the 0.99 that
    end voting.
    """
    rules = SEQUENTIAL._replace(min_posterior=0.99, min_release_posterior=released)
    study = make_assigner(count=2, prior=prior, rules=rules)
    # The first task, in the first wave, gets three votes in any case.
    study.record_answer("ann", "t1", V, V)
    study.record_answer("ben", "t1", X, V)
    assert study.get_wanted_votes()[1] == is_asked


def make_panel_assigner(**panel):
    rules = SEQUENTIAL._replace(max_votes=5, min_posterior=0.99)
    tasks = [task(n, block=n) for n in range(4)]
    return AdaptiveAssigner(tasks, {f"c{n}": 0.6 for n in range(4)}, rules, **panel)


def test_nobody_is_asked_about_what_a_panel_decides_outside_the_overlap():
    study = make_panel_assigner(decided_by_panel=["c0", "c2"])
    # Task t0 is the first wave, which is in the overlap.
    assert [study.is_decided(f"t{n}") for n in range(4)] == [False, False, True, False]
    asked = {key for _, key in everybody(study, ("a", "b", "c"), lambda name, key: (X, V))}
    assert asked == {"t0", "t1", "t3"}


def test_one_valid_vote_decides_where_a_panel_says_valid_too():
    alone, beside = make_panel_assigner(), make_panel_assigner(called_valid_by_panel=["c1"])
    for study in (alone, beside):
        for n in (1, 2):
            study.record_answer("ann", f"t{n}", V, V)
    # The posterior of valid is above 0.9 after one vote for a prior of 0.6.
    assert 1 - alone.get_posterior_invalid("c1") > 0.9
    assert [study.is_decided("t1") for study in (alone, beside)] == [False, True]
    assert [study.is_decided("t2") for study in (alone, beside)] == [False, False]


def test_one_valid_vote_against_the_prior_does_not_decide_even_if_a_panel_says_valid():
    rules = SEQUENTIAL._replace(max_votes=5, min_posterior=0.99)
    study = AdaptiveAssigner([task(0)], {"c0": 0.1}, rules, called_valid_by_panel=["c0"])
    study.record_answer("ann", "t0", V, V)
    assert 1 - study.get_posterior_invalid("c0") < 0.9
    assert not study.is_decided("t0")
