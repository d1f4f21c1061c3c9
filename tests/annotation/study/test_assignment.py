import subprocess
import sys
from collections import Counter
from math import isclose
from random import Random

import pytest
from scipy.stats import binomtest

from annotation.study.assignment import Asking, AskingRules, wilson

V, X, U = "valid", "invalid", "unsure"
ALONE = AskingRules(overlap=0, wave=1, votes=3, sure=0.95)  # one after the other, but for the task in front


def task(number, block=0, expected=V, repeat=None):
    second = {"role": "filter", "candidate": None, "expected": expected}
    if repeat is not None:
        second = {"role": "repeat", "candidate": f"c{repeat}", "expected": None}
    first = {"role": "candidate", "candidate": f"c{number}", "expected": None}
    return {"key": f"t{number}", "block": block, "first": first, "second": second}


def asking(count=10, prior=0.1, rules=ALONE, **more):
    """Tasks t0, t1, ..., whose blocks put them in this order, so that with waves of one they are asked in it."""
    return Asking(
        [task(n, block=n, **more) for n in range(count)], {f"c{n}": prior for n in range(count)}, rules
    )


def judge(study, person, *said):
    """One task after the other: what is said of the candidate; of the filter what is right."""
    keys = []
    for choice in said:
        keys.append(key := study.next(person))
        study.answer(person, key, choice, V)
    return keys


def votes_on(study, key):
    return sum(who.votes[study.place[key]] != 0 for who in study.people.values())


def everybody(study, names, say, most=10_000):
    """All ask in turn until nobody gets a task: (person, task) in the order of answering."""
    given = []
    while len(given) < most:
        before = len(given)
        for name in names:
            if key := study.next(name):
                given.append((name, key))
                study.answer(name, key, *say(name, key))
        if len(given) == before:
            return given
    raise AssertionError("does not end")


def test_somebody_gets_the_same_task_until_they_answer_it():
    study = asking()
    assert study.next("ann") == study.next("ann") == "t0"
    study.answer("ann", "t0", X, V)
    assert study.next("ann") == "t1"


def test_a_posterior_is_bayes_rule_on_the_prior_and_the_votes():
    # Prior odds of invalid 0.9 / 0.1. Before any filter sensitivity is 18 / 20 and specificity 19 / 20; one valid filter
    # answered as expected makes the latter 20 / 21, so that a false alarm is said in 1 / 21: 9 * 0.9 * 21 = 170.1
    study = asking()
    assert isclose(study.invalid("c0"), 0.9)
    judge(study, "ann", X)
    assert isclose(study.invalid("c0"), 170.1 / 171.1)
    study = asking()
    judge(study, "ann", V)  # 9 * 0.1 * 21 / 20
    assert isclose(study.invalid("c0"), 0.945 / 1.945)


def test_unsure_counts_as_valid():
    said, unsure = asking(), asking()
    judge(said, "ann", V)
    judge(unsure, "ann", U)
    assert said.invalid("c0") == unsure.invalid("c0")


def test_no_estimate_is_believed_without_a_limit():
    assert isclose(asking(prior=0.0).invalid("c0"), 0.99) and isclose(asking(prior=1.0).invalid("c0"), 0.01)
    assert Asking([task(0)], {}).invalid("c0") == 0.5


def test_one_vote_is_enough_where_it_makes_sure_and_a_doubt_gets_another():
    study = asking()
    judge(study, "ann", V, X)  # t0 gets all votes; t1 is known: 9 * 0.9 / 0.05 = 162
    assert not study.known("t0") and study.known("t1")
    study = asking(count=3)
    judge(study, "ann", X, V, X)  # t1: 0.9 * 20 / 19 to 1: doubtful
    assert [study.known(f"t{n}") for n in range(3)] == [False, False, True]
    assert judge(study, "ben", X, X) == ["t0", "t1"]
    assert study.next("ben") is None  # t2 is known


def test_however_sure_the_estimate_a_task_gets_one_vote():
    study = asking(prior=0.0)
    assert not study.known("t5")


def test_a_verdict_needs_more_votes_for_it_than_against_it():
    study = asking(
        prior=0.0
    )  # 99 to 1 for invalid; one "valid": 99 * 0.1 * 21 / 20 = 10 to 1, less than 19 to 1
    judge(study, "ann", V, V)
    judge(study, "ben", V, V)
    assert 0.5 < study.invalid("c1") < 0.95
    loose = asking(prior=0.0, rules=ALONE._replace(sure=0.6))
    judge(loose, "ann", X, V)
    assert loose.invalid("c1") > 0.6 and not loose.known("t1")


def test_no_task_gets_more_than_all_votes_and_none_that_cannot_change_anything():
    study = asking(rules=ALONE._replace(votes=2), prior=0.5)
    given = everybody(study, "abcde", lambda name, key: (X if name in "ace" else V, V))
    votes = Counter(key for _, key in given)
    assert max(votes.values()) == 2 and all(study.known(f"t{n}") for n in range(10))
    # At 0.5 the first vote, "valid", gives 0.1 * 20 / 19: below 1 / 19 is out of reach for one more if sure is 0.999, and
    # one "invalid" more would be a tie.
    strict = asking(rules=ALONE._replace(votes=2, sure=0.999), prior=0.5)
    judge(strict, "ann", V, V)
    assert strict.known("t1")


def test_votes_are_asked_one_after_the_other():
    study = asking(count=3, rules=ALONE._replace(wave=1))
    assert [study.next(name) for name in "abcde"] == [
        "t0",
        "t0",
        "t0",
        "t1",
        "t2",
    ]  # the first wave gets all three
    assert study.next("f") is None
    study.leave("d")
    assert study.next("f") == "t1"


def test_the_first_wave_and_the_tasks_drawn_get_all_votes():
    rules = AskingRules(votes=3, overlap=0.2, wave=10, seed=3)
    study = asking(count=100, prior=0.01, rules=rules)
    votes = Counter(key for _, key in everybody(study, "abcdef", lambda name, key: (X, V)))
    assert all(votes[f"t{n}"] == 3 for n in range(10))
    assert sorted(set(votes.values())) == [1, 3]
    # About 20 of 100 are drawn, some of them in the first wave.
    assert 10 < sum(given == 3 for given in votes.values()) <= 30
    assert study.thorough.sum() == sum(given == 3 for given in votes.values())


def test_where_several_judge_more_are_asked_only_in_doubt():
    rules = AskingRules(votes=5, overlap=0, wave=40, sure=0.95)
    plain = everybody(asking(count=40, rules=rules), "abcdef", lambda name, key: (X, V))
    assert set(Counter(key for _, key in plain).values()) == {3}
    torn = everybody(
        asking(count=40, rules=rules), "abcdef", lambda name, key: (X if name in "ace" else V, V)
    )
    assert set(Counter(key for _, key in torn).values()) <= {3, 4, 5} and len(torn) > len(plain)


def test_a_wave_is_finished_before_the_next_begins():
    study = asking(count=60, rules=AskingRules(votes=3, overlap=0.5, wave=20), prior=0.05)
    given = everybody(study, "abcd", lambda name, key: (X, V))
    waves = [int(key[1:]) // 20 for _, key in given]
    # With four people, who must be different ones for a task, the last of a wave may overlap with the next.
    assert all(waves[i] <= waves[j] + 1 for i in range(len(waves)) for j in range(i, len(waves)))
    for name in "abcd":
        own = [int(key[1:]) // 20 for who, key in given if who == name]
        assert own == sorted(own)


def test_within_a_wave_what_has_votes_is_finished_first():
    study = asking(count=30, rules=AskingRules(votes=2, wave=30))
    (first,) = judge(study, "ann", X)
    assert study.next("ben") == first


def test_people_go_through_a_wave_in_different_orders():
    study = asking(count=30, rules=AskingRules(votes=1, wave=30))
    orders = {
        name: [key for _, key in everybody(asking(30, rules=study.rules), [name], lambda *_: (X, V))]
        for name in "ab"
    }
    assert sorted(orders["a"]) == sorted(orders["b"]) and orders["a"] != orders["b"]


def test_a_vote_weighs_as_much_as_the_filters_say_of_its_voter():
    study = asking(count=40, expected=X)
    for n in range(20):  # blind to what is invalid: of no worth
        study.answer("careless", f"t{n}", X, V)
        study.answer("good", f"t{n}", X, X)
    study.answer("careless", "t25", X, V)
    assert isclose(study.invalid("c25"), 0.9)
    assert not study.known("t25")
    study.answer("good", "t25", X, X)
    # 18 + 21 of 20 + 21 invalid filters found; no valid one was asked: 9 * (39 / 41) / 0.05
    odds = 9 * (39 / 41) / 0.05
    assert isclose(study.invalid("c25"), odds / (1 + odds)) and study.known("t25")


def test_what_somebody_settled_is_open_again_when_they_turn_out_to_be_careless():
    study = asking(count=60, expected=X)
    study.answer("ann", "t1", X, X)
    assert study.known("t1")
    for n in range(2, 50):
        study.answer("ann", f"t{n}", X, V)
    assert not study.known("t1")
    study.answer("ben", "t0", X, X)
    study.answer("ben", "t2", X, X)
    assert study.next("ben") == "t1"


def test_a_vote_beside_a_failed_filter_does_not_count():
    study = asking()
    study.answer("ann", "t3", X, X)  # the filter is valid
    assert isclose(study.invalid("c3"), 0.9) and not study.known("t3") and votes_on(study, "t3") == 0
    study.answer("ann", "t3", X, V)
    assert votes_on(study, "t3") == 1


@pytest.mark.parametrize(("expected", "limit"), [(X, 0.7), (V, 0.8)])
def test_who_fails_too_many_filters_for_any_vote_to_count_gets_no_more_tasks(expected, limit):
    wrong = V if expected == X else X
    study, right, asked = asking(count=200, expected=expected), 0, 0
    while key := study.next("ann"):
        asked += 1
        right += asked % 2
        study.answer("ann", key, X, expected if asked % 2 else wrong)  # every second one is failed
    upper = binomtest(right, asked).proportion_ci(method="wilson").high
    before = binomtest(right - asked % 2, asked - 1).proportion_ci(method="wilson").high
    assert upper < limit <= max(before, upper + 0.05) and study.out("ann") and not study.out("ben")
    assert study.progress("ann") == (asked, asked)
    assert all(isclose(study.invalid(f"c{n}"), 0.9) for n in range(200))
    study.next("ben")


def test_nobody_is_out_for_their_first_few_filters():
    study = asking(count=30)
    for n in range(9):
        study.answer("ann", f"t{n}", X, X)
    assert not study.out("ann") and study.next("ann")
    study.answer("ann", "t9", X, X)
    assert study.out("ann") and study.next("ann") is None


def test_a_filter_that_has_fallen_tells_nothing_of_anybody():
    fallen, none = asking(expected=None), asking(expected=None)
    fallen.answer("ann", "t1", X, V)
    none.answer("ann", "t1", X, X)
    assert fallen.invalid("c1") == none.invalid("c1")


def test_a_repeat_is_a_vote_on_the_candidate_of_another_task():
    study = Asking(
        [task(0), task(1, repeat=2), task(2, block=1)],
        {f"c{n}": 0.1 for n in range(3)},
        AskingRules(wave=1, overlap=0),
    )
    study.answer("ann", "t1", X, X)
    # No filter was answered: 9 * 0.9 / 0.05 = 162
    assert isclose(study.invalid("c1"), 162 / 163) and isclose(study.invalid("c2"), 162 / 163)
    assert study.known("t2")


def test_who_contradicts_themselves_on_a_repeat_has_no_vote_and_who_does_not_has_one():
    rules = AskingRules(wave=3, overlap=0)
    tasks, prior = [task(0), task(1, repeat=2), task(2)], {f"c{n}": 0.1 for n in range(3)}
    study = Asking(tasks, prior, rules)
    study.answer("ann", "t1", X, X)
    once = study.invalid("c2")
    study.answer("ann", "t2", X, U)
    assert votes_on(study, "t2") == 1
    assert study.invalid("c2") >= once  # one vote, of somebody who passed a filter since
    study.answer("ann", "t2", V, U)
    assert isclose(study.invalid("c2"), 0.9) and votes_on(study, "t2") == 0
    other = Asking(tasks, prior, rules)
    other.answer("ben", "t1", X, X)
    assert "t2" not in {key for _, key in everybody(other, ["ben"], lambda *_: (X, V))}  # adds no vote


def test_a_correction_takes_the_place_of_what_was_said():
    study, right = asking(), asking()
    study.answer("ann", "t3", X, X)
    study.answer("ann", "t3", V, V)
    right.answer("ann", "t3", V, V)
    assert study.invalid("c3") == right.invalid("c3") and study.progress("ann") == right.progress("ann") == (
        1,
        10,
    )


def test_what_is_skipped_is_not_shown_again_to_whoever_skipped_it():
    study = asking(count=2)
    assert study.next("ann") == "t0"
    study.skip("ann", "t0")
    assert study.next("ann") == "t1" and study.next("ben") == "t0"
    assert study.progress("ann") == (0, 1)


def test_an_answer_that_is_skipped_afterwards_counts_no_more():
    study = asking(rules=ALONE._replace(budget=1))
    judge(study, "ann", X)
    study.skip("ann", "t0")
    assert study.invalid("c0") == asking().invalid("c0") and study.next("ann") == "t1"


def test_leaving_frees_what_is_open_and_keeps_what_was_said():
    study = asking(count=3, rules=ALONE._replace(wave=1, votes=1))
    assert judge(study, "ann", X) == ["t0"] and study.next("ann") == "t1"
    said = study.invalid("c0")
    study.leave("ann")
    assert study.next("ben") == "t1" and study.invalid("c0") == said
    assert study.next("ann") == "t2"  # back again


def test_what_was_open_before_a_restart_is_held_again():
    study = asking(count=3, rules=ALONE._replace(votes=1))
    study.hold("ann", "t1")
    assert study.next("ann") == "t1" and [study.next(name) for name in "bcd"] == ["t0", "t2", None]
    study.hold("ann", "t0")  # one alone
    assert study.open.tolist() == [2, 0, 1]


def test_what_is_wanted_is_told_of_all_tasks_at_once():
    study = asking(count=3)
    judge(study, "ann", X, X)
    assert study.wanted().tolist() == [2, 0, 1]


def test_what_somebody_answers_after_leaving_counts():
    study = asking()
    key = study.next("ann")
    study.leave("ann")
    study.answer("ann", key, X, V)
    assert study.progress("ann")[0] == 1 and study.open.sum() == 0


def test_who_is_forgotten_was_never_there():
    study, never = asking(rules=ALONE._replace(budget=5)), asking(rules=ALONE._replace(budget=5))
    judge(study, "ann", X, V, X)
    study.next("ann")
    study.forget("ann")
    assert [study.invalid(f"c{n}") for n in range(10)] == [never.invalid(f"c{n}") for n in range(10)]
    assert study.progress("ann") == never.progress("ann") == (0, 5)
    assert judge(study, "ben", X, X, X) == judge(never, "ben", X, X, X)


def test_the_budget_is_of_all_judgements_with_what_is_open():
    study = asking(rules=ALONE._replace(budget=4))
    assert study.progress("ann") == (0, 4)
    given = everybody(study, "abc", lambda *_: (X, V))
    assert len(given) == 4 and study.progress("a")[1] == study.progress("a")[0]
    study = asking(rules=ALONE._replace(budget=2))
    assert study.next("a") and study.next("b") and study.next("c") is None


def test_nobody_judges_more_than_they_may():
    study = asking(rules=ALONE._replace(most_tasks=2))
    assert study.progress("ann") == (0, 2)
    assert len(judge(study, "ann", X, X)) == 2 and study.next("ann") is None and study.next("ben")


def test_progress_ends_at_what_there_is():
    study = asking(count=7)
    assert study.progress("ann") == (0, 7)
    judge(study, "ann", X, X)
    assert study.progress("ann") == (2, 7)
    judge(study, "ben", X, X)  # t0, and t2 since ann's vote settled t1
    assert study.progress("ann") == (2, 6)


def noise(name, key, expected=V):
    """One filter in ten is failed."""
    draw = Random(name + key)
    return draw.choice([V, X, U]), expected if draw.random() < 0.9 else X


def test_the_same_calls_give_the_same_tasks_however_the_tasks_are_given():
    tasks = [task(n, block=n // 20, expected=V) for n in range(100)]
    prior = {f"c{n}": n / 100 for n in range(100)}
    runs = [
        everybody(Asking(given, prior, AskingRules(wave=20)), "abcde", noise)
        for given in (tasks, tasks[::-1])
    ]
    assert runs[0] == runs[1] and len(runs[0]) > 100


def test_a_state_rebuilt_from_the_answers_goes_on_as_the_old_one():
    rules = AskingRules(wave=20, overlap=0.2)
    old, given = asking(count=60, rules=rules, prior=0.3), []
    for _ in range(25):
        for name in "abc":
            given.append((name, old.next(name)))
            old.answer(*given[-1], *noise(*given[-1]))
    new = asking(count=60, rules=rules, prior=0.3)
    for name in "cba":  # in another order
        for who, key in given:
            if who == name:
                new.answer(who, key, *noise(who, key))
    assert [old.next(name) for name in "abc"] == [new.next(name) for name in "abc"]
    assert [old.known(key) for key in old.keys] == [new.known(key) for key in old.keys]


def test_no_tasks_are_no_tasks():
    study = Asking([], {})
    assert study.next("ann") is None and study.progress("ann") == (0, 0)


@pytest.mark.parametrize("tasks", [[task(0), task(0)], [task(0), task(0) | {"key": "other"}]])
def test_a_candidate_under_judgement_twice_is_refused(tasks):
    with pytest.raises(ValueError, match="c0"):
        Asking(tasks, {})


def test_it_needs_numpy_alone():
    code = "import sys, annotation.study.assignment; print(sorted({n.split('.')[0] for n in sys.modules} & {'pipeline', 'msgspec', 'pandas', 'scipy', 'yaml'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def torn():
    """Of six tasks t0, t1 and t2 are in doubt when all votes are used up; t3 to t5 are known. Eve is an expert."""
    study = Asking([task(n) for n in range(6)], {f"c{n}": 0.5 for n in range(6)}, ALONE._replace(votes=2))
    study.appoint("eve")
    for n, (one, other) in enumerate([(X, V), (V, X), (V, X), (X, X), (X, X), (V, V)]):
        study.answer("ann", f"t{n}", one, V)
        study.answer("ben", f"t{n}", other, V)
    return study


def test_an_expert_gets_what_the_votes_leave_in_doubt_and_nothing_else():
    study = torn()
    doubts = {key for key, doubt in zip(study.keys, study.doubtful(), strict=True) if doubt}
    assert doubts == {"t0", "t1", "t2"} and study.progress("eve") == (0, 3)
    assert {key for _, key in everybody(study, ["eve"], lambda *_: (X, V))} == doubts
    assert study.progress("eve") == (3, 3) and not study.doubtful().any()


def test_an_expert_gets_nothing_while_others_are_still_asked():
    study = torn()
    study.skip("ann", "t0")  # one vote is missing
    assert study.wanted()[study.place["t0"]] == 1 and not study.doubtful()[study.place["t0"]]
    study.hold("cem", "t2")  # one who came late; what they say may end the doubt
    assert [study.next("eve"), study.next("fay")] == ["t1", "t0"]


def test_what_is_most_in_doubt_comes_first_by_whoever_doubts():
    # Four filters were answered right, so that one vote each way moves the log odds by log(0.9 * 24) + log(0.1 * 24 / 23) = 0.81:
    # t0 stands at 0.81, t1 at log(4 / 6) + 0.81 = 0.40, t2 at 1.22. t3 is known by the votes, and collect says 0.501.
    prior = {"c0": 0.5, "c1": 0.6, "c2": 0.4, "c3": 0.5}
    study = Asking([task(n) for n in range(4)], prior, ALONE._replace(votes=2), {"c3": 0.501})
    study.appoint("eve")
    for n in range(4):
        study.answer("ann", f"t{n}", X, V)
        study.answer("ben", f"t{n}", X if n == 3 else V, V)
    given = everybody(study, ["eve"], lambda *_: (X, V))
    assert [key for _, key in given] == ["t3", "t1", "t0", "t2"]


def test_an_experts_word_decides_and_ends_the_asking():
    study = torn()
    study.answer("eve", "t0", V, V)
    assert study.known("t0") and study.invalid("c0") == pytest.approx(0.01)
    study.answer("eve", "t1", X, V)
    assert study.known("t1") and study.invalid("c1") == pytest.approx(0.99)
    fresh = asking(prior=0.1)
    fresh.appoint("eve")
    fresh.answer("eve", "t5", V, V)  # against all that is thought of it, before anybody
    assert fresh.known("t5") and fresh.invalid("c5") == pytest.approx(0.01)


def test_experts_who_contradict_each_other_leave_it_in_doubt_and_a_third_decides():
    study = torn()
    for name in ("fay", "gil"):
        study.appoint(name)
    study.answer("eve", "t0", V, V)
    study.answer("fay", "t0", X, V)
    assert study.doubtful()[study.place["t0"]]
    study.answer("gil", "t0", X, V)
    assert study.invalid("c0") == pytest.approx(0.99) and not study.doubtful()[study.place["t0"]]


def test_a_word_beside_a_failed_filter_is_none():
    study = torn()
    study.answer("eve", "t0", V, X)
    assert study.doubtful()[study.place["t0"]] and study.next("eve") != "t0"


def test_an_experts_word_is_no_vote_of_the_budget_and_comes_when_it_is_used_up():
    study = asking(count=4, rules=ALONE._replace(votes=3, budget=2, most_tasks=1, sure=0.99), prior=0.5)
    study.appoint("eve")
    study.answer("ann", "t0", X, V)
    assert study.next("eve") is None  # one judgement more may end the doubt
    study.answer("ben", "t1", X, V)
    keys = {study.next("eve")}
    study.answer("eve", min(keys), X, V)
    keys.add(study.next("eve"))
    assert keys == {"t0", "t1"} and study.judged == 2 and study.next("cem") is None
    study.skip("eve", "t1")
    study.forget("eve")
    assert study.judged == 2 and study.doubtful().sum() == 2


@pytest.mark.parametrize(("good", "total"), [(0, 1), (1, 1), (5, 10), (8, 10), (99, 100), (1200, 1234)])
def test_wilson_agrees_with_scipy(good, total):
    expected = binomtest(good, total).proportion_ci(method="wilson")
    assert wilson(good, total) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_what_nobody_judged_is_no_doubt_of_an_experts_even_when_the_budget_is_used_up():
    study = asking(count=3, prior=0.5, rules=ALONE._replace(budget=1))
    study.appoint("eve")
    study.answer("ann", "t0", V, X)  # beside a failed filter: no vote
    assert not study.doubtful().any() and study.next("eve") is None


def test_what_an_expert_has_open_takes_nothing_from_the_budget():
    study = torn()
    study.rules = study.rules._replace(budget=12)  # as many are given
    assert study.next("eve") and study.progress("cem") == (0, 0)
    study.skip("ann", "t5")
    assert study.next("cem") == "t5"
    assert study.next("dan") is None


def test_votes_of_whoever_is_below_a_limit_count_for_nothing_though_they_are_asked_on():
    # With what is thought before, 2 of 9 are (18 + 2) / 29 = 0.69, below 0.7; 2 of 8 are 20 / 28 = 0.71.
    for missed, counts in ((7, False), (6, True)):
        study = asking(count=60, expected=X)
        for n in range(1 + missed):
            study.answer("ann", f"t{n}", X, V if n else X)
        study.answer("ann", "t40", X, X)
        assert (study.invalid("c40") != pytest.approx(0.9)) is counts and not study.out("ann")


def test_whoever_collect_excluded_gets_no_more_and_others_are_asked_what_counts_no_more():
    study = asking(count=4, rules=ALONE._replace(votes=1))
    assert judge(study, "ann", X, X, X) == ["t0", "t1", "t2"]
    study.next("ann")
    study.exclude("ann", since=1)  # from their second task on
    assert study.next("ann") is None and study.progress("ann") == (3, 3)
    assert [study.known(f"t{n}") for n in range(4)] == [True, False, False, False]
    assert isclose(study.invalid("c1"), 0.9)  # the prior alone
    assert judge(study, "ben", X, X, X) == ["t1", "t2", "t3"]


def test_the_filters_of_what_counts_no_more_say_nothing_of_what_does():
    study = asking(rules=ALONE._replace(votes=1))
    judge(study, "ann", X)
    before = study.invalid("c0")
    for _ in range(3):
        study.answer("ann", study.next("ann"), X, X)  # fails the filters
    study.exclude("ann", since=1)
    assert study.invalid("c0") == before
