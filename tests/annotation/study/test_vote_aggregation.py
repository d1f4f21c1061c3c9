"""Votes decide the status of candidates, and all answers are in one table."""

import msgspec
import pandas as pd
import pytest

from annotation.study.answers_table import (
    QualityRules,
    build_answers_table,
    select_gold_answers,
    select_votes,
    split_verdict,
    to_records,
)
from annotation.study.vote_aggregation import (
    GoldQuestionCheck,
    check_aqs,
    count_votes,
    decide_status,
    most_common_reason,
    verify_candidates,
)
from pipeline.core.errors import UserError
from pipeline.core.params import convert_params
from tests.annotation.study.conftest import RULES, U, V, X, candidates, repeating, task, verdict

# Vote aggregation


def came_to(choices, rules, posterior=0.5):
    """The status of a single candidate."""
    votes = pd.DataFrame([{choice: choices.count(choice) for choice in (V, X, U)}])
    return decide_status(votes, rules, posterior)[0]


@pytest.mark.parametrize(
    ("choices", "majority", "unanimity"),
    [
        ((X, X, X), "unanswerable", "unanswerable"),
        ((X, X, V), "unanswerable", "doubtful"),
        ((X, X, U), "unanswerable", "doubtful"),
        ((X, V, V), "answerable", "doubtful"),
        ((V, V, V), "answerable", "answerable"),
        ((X, V, U), "doubtful", "doubtful"),
        ((V, U, U), "doubtful", "doubtful"),
        ((X, V), "doubtful", "doubtful"),
        ((X, X, V, V), "doubtful", "doubtful"),
        ((X,), "no_votes", "no_votes"),
        ((), "no_votes", "no_votes"),
    ],
)
def test_status_by_majority_and_unanimity(choices, majority, unanimity):
    assert came_to(choices, QualityRules(aggregation="majority")) == majority
    assert came_to(choices, QualityRules(aggregation="unanimity")) == unanimity


def test_min_votes_can_be_one():
    assert came_to((X,), QualityRules(aggregation="majority", min_votes=1)) == "unanswerable"


@pytest.mark.parametrize(
    ("choices", "posterior", "expected"),
    [
        ((X, X, V), 0.95, "unanswerable"),
        ((X, U), 0.95, "doubtful"),  # "unsure" counts as valid
        ((X, X, V), 0.949, "doubtful"),
        ((X, V), 0.99, "doubtful"),  # a tie of votes, however probable
        ((V, V, X), 0.99, "doubtful"),  # most say the opposite
        ((X, X, V, V, V), 0.99, "unanswerable"),  # hard, but two found out
        ((U, U), 0.99, "doubtful"),
        ((V, V, X), 0.05, "answerable"),
        ((V, V, X), 0.1, "answerable"),
        ((V, V, X), 0.11, "doubtful"),
        ((V,), 0.01, "doubtful"),
        ((X, X, V), 0.01, "doubtful"),
        ((X,), 0.99, "unanswerable"),  # a single vote
        ((X,), 0.9, "doubtful"),
        ((), 0.99, "no_votes"),  # no prior alone
    ],
)
def test_status_needs_high_posterior_and_agreeing_votes(choices, posterior, expected):
    assert (
        came_to(choices, QualityRules(aggregation="dawid-skene", min_posterior=0.95), posterior) == expected
    )


def test_every_candidate_has_one_status_and_votes_add_up():
    tasks = {key: task(key) for key in "abc"}
    given = {"ax": X, "ay": X, "az": U, "bx": V, "by": X, "bz": V}
    answers = build_answers_table(tasks, [verdict(key[0], key[1], said, V) for key, said in given.items()])
    answers.loc[(answers["verdict_id"] == "by") & (answers["role"] == "candidate"), "exclusion_reason"] = (
        "gold question failed"
    )
    rows = list(verify_candidates(candidates("cba"), answers, QualityRules(aggregation="majority")))
    assert [
        (r.candidate.candidate_id, r.status, r.votes_invalid, r.votes_valid, r.votes_excluded) for r in rows
    ] == [("ca", "unanswerable", 2, 1, 0), ("cb", "answerable", 0, 2, 1), ("cc", "no_votes", 0, 0, 0)]
    assert rows[1].verdict_ids == ("bx", "by", "bz")
    assert not any(row.simulated for row in rows)


def test_repeat_is_a_vote():
    tasks = {"a": task("a"), "b": repeating("b", "a")}
    answers = build_answers_table(tasks, [verdict("a", "x", X, V), verdict("b", "y", V, X, simulated=True)])
    a, b = verify_candidates(candidates("ab"), answers, QualityRules(aggregation="majority"))
    assert (a.status, a.votes_invalid, a.verdict_ids, a.simulated) == ("unanswerable", 2, ("ax", "by"), True)
    assert (b.status, b.votes_valid) == ("no_votes", 1)


def test_each_candidate_uses_its_own_posterior():
    tasks = {key: task(key) for key in "ab"}
    answers = build_answers_table(tasks, [verdict(key, who, X, V) for key in "ab" for who in "xy"])
    rules = QualityRules(aggregation="dawid-skene", min_posterior=0.9)
    rows = list(verify_candidates(candidates("ab"), answers, rules, {"ca": 0.95, "cb": 0.6}))
    assert [row.status for row in rows] == ["unanswerable", "doubtful"]


def test_source_questions_are_verified_or_refuted():
    tasks = {"a": task("a"), "b": task("b"), "c": task("c"), "d": task("d", source="template")}
    given = {"ax": V, "ay": U, "az": X, "bx": X, "by": X, "bz": V, "cx": V, "dx": V, "dy": V}
    answers = build_answers_table(tasks, [verdict(key[0], key[1], X, said) for key, said in given.items()])
    assert [(r.question_id, r.status, r.votes_valid, r.votes_invalid) for r in check_aqs(answers)] == [
        ("qa", "verified", 2, 1),
        ("qb", "refuted", 1, 2),
        ("qc", "open", 1, 0),
    ]
    answers.loc[answers["annotator"] == "x", "exclusion_reason"] = "annotator excluded"
    answers.loc[(answers["annotator"] == "y") & (answers["role"] == "candidate"), "exclusion_reason"] = (
        "gold question failed"
    )
    assert [(r.question_id, r.status) for r in check_aqs(answers)] == [("qa", "open"), ("qb", "open")]


def test_candidates_without_counting_votes_have_zero_votes():
    answers = build_answers_table({"a": task("a")}, [verdict("a", "x", X, V)])
    assert count_votes(answers, ["ca", "cb"]).to_dict("list") == {V: [0, 0], X: [1, 0], U: [0, 0]}
    assert count_votes(answers.assign(exclusion_reason="gold question failed"), ["ca"]).to_dict("list") == {
        V: [0],
        X: [0],
        U: [0],
    }


def test_most_common_reason_with_alphabetical_ties():
    # Two of three say "wrong attribute"; an unclear image is a reason, but none of a question's own.
    assert (
        most_common_reason(["wrong attribute", "missing object", "wrong attribute", ""]) == "wrong attribute"
    )
    assert most_common_reason(["wrong relation", "missing object"]) == "missing object"
    assert most_common_reason(["", "unclear image"]) is None


def test_reason_comes_from_votes_that_count():
    said = {"x": "wrong attribute", "y": "wrong attribute", "z": "missing object"}
    verdicts = [verdict("a", who, X, V, first_reason=why) for who, why in said.items()]
    answers = build_answers_table({"a": task("a")}, verdicts)
    answers.loc[answers["annotator"].isin(["x", "y"]), "exclusion_reason"] = "annotator excluded"
    (row,) = verify_candidates(candidates("a"), answers, QualityRules(aggregation="majority", min_votes=1))
    assert row.reason == "missing object"


def test_first_answer_on_a_source_question_counts():
    twice = {"a": task("a"), "b": msgspec.structs.replace(task("a"), task_id="b")}
    answers = build_answers_table(twice, [verdict("b", "x", X, V, 0), verdict("a", "x", X, X, 1)])
    assert [(r.status, r.votes_valid, r.votes_invalid) for r in check_aqs(answers)] == [("open", 1, 0)]


def test_reason_of_a_valid_answer_is_ignored():
    tasks = {"a": task("a")}
    said = [
        verdict("a", "x", X, V, first_reason="wrong relation"),
        verdict("a", "y", V, V, first_reason="missing object"),
        verdict("a", "z", V, V, first_reason="missing object"),
    ]
    (row,) = verify_candidates(candidates("a"), build_answers_table(tasks, said), RULES)
    assert row.reason == "wrong relation"


def test_two_votes_decide_a_source_question():
    tasks = {"a": task("a"), "b": task("b"), "c": task("c")}
    given = {"ax": V, "ay": V, "bx": X, "by": X, "cx": X}
    answers = build_answers_table(tasks, [verdict(key[0], key[1], X, said) for key, said in given.items()])
    assert [row.status for row in check_aqs(answers)] == ["verified", "refuted", "open"]


# Answers table


def test_candidate_and_gold_question_are_separated_in_either_order():
    one = task("a")
    other = msgspec.structs.replace(one, task_id="b", first=one.second, second=one.first)
    said = [verdict("a", "x", X, U, first_reason="1st"), verdict("b", "x", U, X, second_reason="2nd")]
    answers = build_answers_table({"a": one, "b": other}, said)
    asked, known = select_votes(answers), select_gold_answers(answers)
    assert list(zip(asked["candidate_id"], asked["choice"], asked["invalid_reason"], strict=True)) == [
        ("ca", X, "1st"),
        ("ca", X, "2nd"),
    ]
    assert known[["image_id", "text", "choice", "position"]].values.tolist() == [
        ["na", "gold question", U, 1],
        ["na", "gold question", U, 0],
    ]
    assert [question.text for question, _, _ in split_verdict(one, said[0])] == ["candidate", "gold question"]


def test_repeat_has_the_candidate_and_its_subset():
    tasks = {"a": task("a", subset="pt-easy"), "b": repeating("b", "a", subset="clip-hard")}
    answers = build_answers_table(tasks, [verdict("b", "x", V, X)])
    assert select_votes(answers)[["candidate_id", "subset", "choice"]].values.tolist() == [
        ["cb", "clip-hard", V],
        ["ca", "pt-easy", X],
    ]
    assert select_gold_answers(answers).empty


@pytest.mark.parametrize(
    ("choice", "expected", "right"),
    [(V, V, True), (U, V, True), (X, V, False), (V, X, False), (U, X, False), (X, X, True)],
)
def test_unsure_counts_as_valid(choice, expected, right):
    answers = build_answers_table({"a": task("a", expected)}, [verdict("a", "x", V, choice)])
    assert answers["is_correct"].tolist() == [False, right]


def test_shorter_valid_clock_is_used():
    clocks = [(None, None), (3.5, None), (None, 4.0), (9.0, 2.0), (0.0, 5.0), (-1.0, float("inf"))]
    verdicts = [
        verdict("a", str(n), V, V, duration_seconds=one, seconds_since_previous=two)
        for n, (one, two) in enumerate(clocks)
    ]
    answers = build_answers_table({"a": task("a")}, verdicts)
    assert answers["duration_seconds"][::2].fillna(0).tolist() == [0, 3.5, 4, 2, 5, 0]


def test_all_answers_count_before_quality_control():
    answers = build_answers_table({"a": task("a")}, [verdict("a", "x", V, V), verdict("a", "y", V, V)])
    assert len(select_votes(answers)) == len(select_gold_answers(answers)) == 2
    answers.loc[0, "exclusion_reason"] = "gold question failed"
    answers.loc[1, "is_discarded"] = True
    assert len(select_votes(answers)) == len(select_gold_answers(answers)) == 1


def test_text_columns_are_sorted_categories_with_missing_values():
    verdicts = [verdict("a", who, V, X) for who in ("y", "x", "y2")]
    answers = build_answers_table({"a": task("a")}, verdicts)
    assert answers["annotator"].cat.categories.tolist() == ["x", "y", "y2"]
    assert answers["annotator"].tolist() == ["y", "y", "x", "x", "y2", "y2"]
    assert (
        answers["expected_choice"].isna().tolist() == [True, False] * 3
    )  # nothing is expected of a candidate


def test_rows_are_converted_to_records():
    rows = build_answers_table({"a": task("a")}, [verdict("a", "x", V, V)])
    table = rows[["question_id", "image_id", "text"]].tail(1)
    table = table.assign(votes_valid=1, votes_invalid=0, status="open")
    assert to_records(table, GoldQuestionCheck)[0].question_id == "qa"


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_votes": 0},
        {"aggregation": "most"},
        {"min_posterior": 0.5},  # would call the same candidate answerable and unanswerable
        {"min_sensitivity": 80},
        {"drift_window": 3},
        {"exclusion_checks": ["pace"]},
        {"min_task_seconds": -1},
        {"min_vote": 2},
    ],
)
def test_invalid_rule_is_refused(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        convert_params(wrong, QualityRules, "collect")
