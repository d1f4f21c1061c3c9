import msgspec
import pytest

from annotation.study.answers_table import (
    QualityRules,
    build_answers_table,
    select_gold_answers,
    select_votes,
    split_verdict,
    to_records,
)
from annotation.study.vote_aggregation import GoldQuestionCheck
from pipeline.core.errors import UserError
from pipeline.core.params import convert_params
from tests.annotation.study.conftest import U, V, X, repeating, task, verdict


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
