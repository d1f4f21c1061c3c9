"""Unconfirmed gold questions: who is believed, and who is recognized."""

import numpy as np
import pytest

from annotation.study.answers_table import QualityRules, build_answers_table, select_gold_answers
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules, GoldAgreement
from annotation.study.assignment_params import to_task_mapping
from annotation.study.exports import ADJUDICATOR_PREFIX
from annotation.study.gold_agreement import GoldVotes, count_votes, decide_gold_status, is_uniform
from annotation.study.gold_status import (
    check_unconfirmed_gold,
    count_by_status,
    find_uniform_annotators,
    list_questions_to_check,
    resolve_unconfirmed_gold,
)
from annotation.study.qualification import score_answers
from annotation.study.quality_control import assess_quality
from pipeline.core.records import UNCONFIRMED, Task, TaskQuestion, Verdict

V, X = "valid", "invalid"
OWN, ABSENT = "own question" + UNCONFIRMED, "absent object" + UNCONFIRMED


def make_task(number, source=None):
    """A task with an unconfirmed gold question: even numbers are valid, odd ones invalid."""
    expected = X if number % 2 else V
    gold = TaskQuestion(
        key=f"g{number}",
        text=f"gold {number}",
        role="gold",
        expected_choice=expected,
        question_id=f"q{number}",
        gold_source=source or (ABSENT if expected == X else OWN),
    )
    candidate = TaskQuestion(
        key=f"c{number}", text=f"candidate {number}", role="candidate", candidate_id=f"c{number}"
    )
    first, second = (gold, candidate) if number % 3 else (candidate, gold)
    return Task(task_id=f"t{number:03}", image_id=f"i{number}", subset="pt-easy", first=first, second=second)


# What people answer to a gold question, given its number, what is presumed, and a random number.
PEOPLE = {
    "careful": lambda number, expected, chance: expected if chance < 0.93 else V if expected == X else X,
    "always valid": lambda number, expected, chance: V,
    "always invalid": lambda number, expected, chance: X,
    "alternates": lambda number, expected, chance: X if number // 2 % 2 else V,
    "random": lambda number, expected, chance: X if chance < 0.5 else V,
}
DISHONEST = [name for name in PEOPLE if name != "careful"]


def answer(crowd, num_tasks=40, seed=0, reasons=None, wrong=()):
    """The answers table of people with given habits (name -> habit). The presumption about `wrong` tasks is wrong."""
    tasks = {row.task_id: row for row in map(make_task, range(num_tasks))}
    verdicts = []
    for person, (name, habit) in enumerate(crowd.items()):
        rng = np.random.default_rng([seed, person])
        for number, (key, task) in enumerate(tasks.items()):
            truth = X if (number % 2 == 1) != (number in wrong) else V
            choice = PEOPLE[habit](number, truth, rng.random())
            given = {"gold": choice, "candidate": X if choice == X else V}
            sides = given[task.first.role], given[task.second.role]
            reason = (reasons or {}).get((name, number), "")
            marks = {"first_reason" if task.first.role == "gold" else "second_reason": reason}
            verdicts.append(
                Verdict(
                    verdict_id=f"{name} {key}",
                    task_id=key,
                    annotator=name,
                    first=sides[0],
                    second=sides[1],
                    sequence_index=number,
                    duration_seconds=9.0,
                    **marks,
                )
            )
    return build_answers_table(tasks, verdicts)


@pytest.mark.parametrize(
    ("votes", "status"),
    [
        (GoldVotes(), "open"),
        (GoldVotes(num_expected=1), "open"),
        (GoldVotes(num_other=1), "open"),
        (GoldVotes(num_expected=1, num_other=1), "contested"),
        (GoldVotes(num_expected=2), "confirmed"),
        (GoldVotes(num_expected=2, num_other=1), "confirmed"),
        (GoldVotes(num_expected=2, num_other=2), "contested"),
        (GoldVotes(num_other=2), "refuted"),
        (GoldVotes(num_other=2, adjudicated=True), "confirmed"),
        (GoldVotes(num_expected=5, adjudicated=False), "refuted"),
        (GoldVotes(num_expected=5, num_other=2, num_underspecified=2), "refuted"),
    ],
)
def test_status_follows_two_annotators_and_the_adjudicator(votes, status):
    assert decide_gold_status(votes, 2) == status


def test_more_annotators_can_be_required():
    assert decide_gold_status(GoldVotes(num_expected=2), 3) == "open"
    assert decide_gold_status(GoldVotes(num_expected=3), 3) == "confirmed"


def test_adjudicators_are_no_annotators_and_their_tie_decides_nothing():
    votes = count_votes({"ann": True, "eva": True, "zoe": False}, True, ["eva", "zoe"])
    assert votes == GoldVotes(num_expected=1, num_other=0, adjudicated=None)


def test_underspecified_counts_for_valid_questions_called_invalid_only():
    assert count_votes({"ann": True, "ben": False}, False, (), ["ann", "ben"]).num_underspecified == 1
    assert count_votes({"ann": True}, True, (), ["ann"]).num_underspecified == 0


def test_uniform_needs_ten_answers_and_a_fifth_of_each_kind():
    assert is_uniform(5, 5, 0) and is_uniform(5, 5, 10)
    assert not is_uniform(5, 4, 0)  # nine answers
    assert not is_uniform(8, 2, 0)  # two of one kind
    # 57 of 60 are called valid, as they are.
    assert not is_uniform(57, 3, 3)
    assert not is_uniform(10, 10, 2)  # 18 of 20 are 90 %
    assert is_uniform(10, 10, 1)  # 19 of 20 are 95 %


def test_nothing_counts_before_two_annotators_agree():
    answers = answer({"ann": "careful"})
    assessed = assess_quality(answers, QualityRules())
    assert assessed.gold_accuracy["ann"].sensitivity.num_answered == 0
    assert select_gold_answers(assessed.answers).empty and not assessed.excluded
    assert not (assessed.answers["exclusion_reason"] != "").any()
    assert {row.status for row in assessed.gold_checks} == {"open"}
    # With two, what they agree on counts.
    assessed = assess_quality(answer({"ann": "careful", "ben": "careful"}), QualityRules())
    confirmed = sum(row.status == "confirmed" for row in assessed.gold_checks)
    assert 30 <= confirmed <= 40  # 0.93 ** 2 of 40 is 34.6
    accuracy = assessed.gold_accuracy["ann"]
    assert accuracy.sensitivity.num_answered + accuracy.specificity.num_answered == confirmed


@pytest.mark.parametrize("habit", DISHONEST)
@pytest.mark.parametrize("seed", range(5))
def test_dishonest_annotators_are_excluded_and_honest_ones_are_not(habit, seed):
    crowd = {"ann": "careful", "ben": "careful", "cyd": "careful", "max": habit}
    assert [*assess_quality(answer(crowd, 200, seed), QualityRules()).excluded] == ["max"]


@pytest.mark.parametrize("habit", ["always valid", "always invalid"])
def test_a_majority_that_always_answers_the_same_is_excluded_nevertheless(habit):
    crowd = {"ann": "careful", "kim": habit, "max": habit, "zoe": habit}
    assessed = assess_quality(answer(crowd), QualityRules())
    assert [*assessed.excluded] == ["kim", "max", "zoe"]
    assert all(
        row.reasons[0].startswith("uniform: 40 of 40 gold questions") for row in assessed.excluded.values()
    )
    # They have no say, so nothing is refuted.
    assert all(row.status == "open" for row in assessed.gold_checks)


def test_single_person_who_always_says_valid_is_excluded():
    answers = answer({"max": "always valid"})
    assert find_uniform_annotators(answers) == {
        "max": "40 of 40 gold questions called valid, although 20 are probably invalid and 20 valid"
    }
    assert [*assess_quality(answers, QualityRules()).excluded] == ["max"]


def test_wrong_presumptions_are_refuted_and_count_for_nobody():
    crowd = {"ann": "careful", "ben": "careful", "cyd": "careful"}
    answers = answer(crowd, wrong={1, 2}, seed=4)
    assessed = assess_quality(answers, QualityRules())
    status = {row.text: row.status for row in assessed.gold_checks}
    assert (status["gold 1"], status["gold 2"]) == ("refuted", "refuted")
    assert not assessed.excluded
    about = assessed.answers[assessed.answers["text"].isin(["candidate 1", "candidate 2"])]
    assert (about["exclusion_reason"] == "").all()  # nobody failed these
    # The owner hears of the own question only.
    assert "gold 2" in [row.text for row in list_questions_to_check(assessed.gold_checks)]
    assert "gold 1" not in [row.text for row in list_questions_to_check(assessed.gold_checks)]


def test_question_that_two_find_underspecified_is_reported_and_not_held_against_them():
    crowd = dict.fromkeys(("ann", "ben", "cyd", "dan", "eli"), "careful")
    answers = answer(crowd, seed=1)
    own = (answers["text"] == "gold 4") & answers["annotator"].isin(["ann", "ben"])
    answers.loc[own, "choice"], answers.loc[own, "is_correct"] = X, False
    answers["invalid_reason"] = answers["invalid_reason"].cat.add_categories("underspecified")
    answers.loc[own, "invalid_reason"] = "underspecified"
    assessed = assess_quality(answers, QualityRules())
    (row,) = [row for row in list_questions_to_check(assessed.gold_checks) if row.text == "gold 4"]
    assert (row.status, row.num_underspecified, row.question_id) == ("refuted", 2, "q4")
    assert row.reasons == {"underspecified": 2}
    about = assessed.answers[(assessed.answers["text"] == "candidate 4")]
    assert not (about["exclusion_reason"] == "gold question failed").any()


def test_adjudicator_decides_conflicts():
    crowd = {"ann": "careful", "max": "alternates", f"{ADJUDICATOR_PREFIX}01": "careful"}
    answers = answer(crowd, seed=3)
    without = answers[answers["annotator"] != f"{ADJUDICATOR_PREFIX}01"]
    contested = {row.text for row in check_unconfirmed_gold(without, 2) if row.status == "contested"}
    assert len(contested) > 10
    checks = check_unconfirmed_gold(answers, 2)
    assert {row.status for row in checks} <= {"confirmed", "refuted"}
    assert all(row.is_adjudicated for row in checks)
    assert sum(sum(each.values()) for each in count_by_status(checks).values()) == 40


def test_gold_questions_of_known_sources_stay_as_they_are():
    tasks = {row.task_id: row for row in (make_task(number, "own question") for number in range(12))}
    verdicts = [
        Verdict(verdict_id=key, task_id=key, annotator="ann", first=V, second=X, sequence_index=number)
        for number, key in enumerate(tasks)
    ]
    answers = build_answers_table(tasks, verdicts)
    assert check_unconfirmed_gold(answers, 2) == []
    assert resolve_unconfirmed_gold(answers, []) is answers
    assert len(select_gold_answers(answers)) == 12


def make_assigner(num_tasks, **rules):
    tasks = [to_task_mapping(make_task(number)) for number in range(num_tasks)]
    return AdaptiveAssigner(tasks, {}, AssignmentRules(overlap_rate=1.0, **rules))


def give(assigner, name, habit, num_tasks, seed=0):
    rng = np.random.default_rng([seed, len(name)])
    for number in range(num_tasks):
        task = make_task(number)
        expected = X if number % 2 else V
        choice = PEOPLE[habit](number, expected, rng.random())
        gold_first = task.first.role == "gold"
        assigner.record_answer(name, task.task_id, *((choice, V) if gold_first else (V, choice)))


def test_server_counts_gold_answers_when_two_agree_also_those_before():
    assigner = make_assigner(2)
    assigner.record_answer("ann", "t001", X, X)  # gold 1 first: presumed invalid
    state = assigner.annotators["ann"]
    assert sum(state.gold_counts.values()) == 0
    assigner.record_answer("ben", "t001", V, X)
    assert sum(state.gold_counts.values()) == 0
    assert assigner.get_posterior_invalid("c1") > 0.9  # both votes count, because nobody has failed
    assigner.record_answer("cyd", "t001", X, X)
    assert state.gold_counts[True, True] == 1
    assert assigner.annotators["ben"].gold_counts[True, False] == 1
    assert assigner.annotators["ben"].votes.max() == 0  # the vote of somebody who failed does not count
    # A correction does not undo that: the first answer counts.
    assigner.record_answer("cyd", "t001", V, X)
    assert assigner.annotators["ben"].gold_counts[True, False] == 1
    assert assigner.gold_agreement.get_status("i1\x1fgold 1") == "confirmed"
    assigner.remove_annotator("cyd")
    assert assigner.gold_agreement.get_status("i1\x1fgold 1") == "contested"


def test_server_blocks_dishonest_annotators():
    for habit in DISHONEST:
        assigner = make_assigner(60)
        for name, own in (("ann", "careful"), ("bob", "careful"), ("maxim", habit)):
            give(assigner, name, own, 60)
        assert assigner.has_failed_gold("maxim"), habit
        assert not assigner.has_failed_gold("ann") and not assigner.has_failed_gold("bob")


def test_server_blocks_who_always_answers_the_same_without_anybody_else():
    for habit in ("always valid", "always invalid"):
        assigner = make_assigner(20)
        give(assigner, "max", habit, 20)
        assert assigner.has_failed_gold("max")
        assert assigner.assign_next_task("max") is None


def test_adjudicator_gets_tasks_whose_gold_question_is_contested():
    assigner = make_assigner(1, max_votes=2)
    assigner.record_answer("ann", "t000", X, X)
    assigner.record_answer("ben", "t000", X, V)
    assigner.mark_adjudicator("eva")
    assert assigner.assign_next_task("eva") == "t000"
    assigner.record_answer("eva", "t000", X, V)
    assert assigner.gold_agreement.get_status("i0\x1fgold 0") == "confirmed"
    assert assigner.assign_next_task("eva") is None


def test_order_of_answers_does_not_change_the_agreement():
    agreement = [GoldAgreement(2), GoldAgreement(2)]
    rows = [(f"p{p}", f"t{q}", f"q{q}", bool(q % 2), bool((p * q) % 3)) for p in range(4) for q in range(12)]
    for each, order in zip(agreement, (rows, rows[::-1]), strict=True):
        for row in order:
            each.record(*row)
    assert [agreement[0].get_status(f"q{q}") for q in range(12)] == [
        agreement[1].get_status(f"q{q}") for q in range(12)
    ]


# The qualification test: 10 tasks with 20 questions. For each attempt the presumed choices are known.
def make_test(num_tasks, seed):
    rng = np.random.default_rng(seed)
    pairs = [(X, X), (V, V)] * (num_tasks // 4) + [(V, X)] * (num_tasks - num_tasks // 4 * 2)
    return [
        {
            "key": f"k{number}",
            **{
                side: {"text": f"{number} {side}", "expected": kind, "unconfirmed": f"{number} {side}"}
                for side, kind in zip(("first", "second"), rng.permutation(pair).tolist(), strict=True)
            },
        }
        for number, pair in enumerate(pairs)
    ]


def take_test(known, habit, seed):
    rng = np.random.default_rng([seed, 1])
    asked = [(row["key"], side, row[side]["expected"]) for row in known for side in ("first", "second")]
    given = {
        (key, side): {"alternates": X if number % 2 else V}.get(habit)
        or PEOPLE[habit](number, expected, rng.random())
        for number, (key, side, expected) in enumerate(asked)
    }
    return {row["key"]: (given[row["key"], "first"], given[row["key"], "second"]) for row in known}


@pytest.mark.parametrize("num_tasks", [4, 10])
@pytest.mark.parametrize("habit", ["always valid", "always invalid"])
@pytest.mark.parametrize("is_counted", [True, False], ids=["confirmed", "pending"])
def test_nobody_passes_the_test_with_one_answer(num_tasks, habit, is_counted):
    known = make_test(num_tasks, 0)
    assert not score_answers(known, take_test(known, habit, 0), lambda _: is_counted).has_passed(0.8)


@pytest.mark.parametrize("habit", ["alternates", "random"])
def test_who_alternates_or_guesses_passes_the_confirmed_test_rarely(habit):
    # 10 questions of each kind, each right with probability 1/2: P(at least 8 of 10) is 56/1024, and its square
    # 0.3 %. 4 of 200 tests are far above that.
    passed = sum(
        score_answers(known, take_test(known, habit, seed)).has_passed(0.8)
        for seed, known in ((seed, make_test(10, seed)) for seed in range(200))
    )
    assert passed <= 4


def test_first_annotator_passes_for_the_time_being_whatever_the_test_presumes():
    known = make_test(10, 0)
    answers = take_test(known, "alternates", 0)
    score = score_answers(known, answers, lambda question: False)
    assert (score.num_answered, score.num_pending) == (0, 20)
    assert score.has_passed(0.8)
    assert not score_answers(known, answers).has_passed(0.8)  # scored again, when others agree
