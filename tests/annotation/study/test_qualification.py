import subprocess
import sys

import pytest

from annotation.study import qualification
from annotation.study.qualification import (
    MAX_ATTEMPTS,
    QualificationScore,
    is_correct,
    score_answers,
    select_tasks,
)

V, X, U = "valid", "invalid", "unsure"


def known(key, first, second):
    return {"key": key, "first": {"expected": first}, "second": {"expected": second}}


KNOWN = [known(f"k{number}", V if number % 2 else X, V if number % 3 else X) for number in range(12)]


def test_training_and_each_attempt_have_different_tasks():
    parts = [set(select_tasks(KNOWN, 4, 4, "ann", tried)[1]) for tried in range(MAX_ATTEMPTS)]
    training = {*select_tasks(KNOWN, 4, 4, "ann")[0]}
    assert [len(part) for part in (training, *parts)] == [4, 4, 4]
    assert training | parts[0] | parts[1] == {row["key"] for row in KNOWN}


def test_test_tasks_are_equal_but_order_differs():
    orders = {name: select_tasks(KNOWN, 0, 8, name)[1] for name in ("ann", "ben", "cyd")}
    assert len({frozenset(order) for order in orders.values()}) == 1
    assert len({tuple(order) for order in orders.values()}) == 3
    assert orders["ann"] == select_tasks(KNOWN, 0, 8, "ann")[1]


def test_unsure_counts_as_valid():
    assert [is_correct({"expected": V}, choice) for choice in (V, X, U)] == [True, False, True]
    assert [is_correct({"expected": X}, choice) for choice in (V, X, U)] == [False, True, False]


def test_scores_count_valid_and_invalid_separately():
    rows = [known("a", V, X), known("b", X, X), known("c", V, V)]
    assert score_answers(rows, {"a": (V, X), "b": (X, V), "other": (V, V)}) == QualificationScore(1, 1, 3, 2)
    assert score_answers(rows, {}) == QualificationScore(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("word", "passes"), [(V, False), (X, False), (U, False)], ids=["all valid", "all invalid", "all unsure"]
)
def test_constant_answer_never_passes(word, passes):
    # 9 of 12 known valid: "valid" for everything is right for three of four
    rows = [known(str(n), V, V) for n in range(4)] + [known("x", V, X), known("y", X, X)]
    found = score_answers(rows, {row["key"]: (word, word) for row in rows})
    assert found.num_answered == 12
    assert found.has_passed(0.5) is passes


def test_minimum_accuracy_is_inclusive():
    assert QualificationScore(10, 8, 5, 4).has_passed(0.8)
    assert not QualificationScore(10, 8, 5, 3).has_passed(0.8)
    assert not QualificationScore(10, 7, 5, 5).has_passed(0.8)


def test_module_needs_only_the_standard_library():
    done = subprocess.run(
        [sys.executable, "-I", "-S", qualification.__file__], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
