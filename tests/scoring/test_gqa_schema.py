"""GQA's own files, damaged: one message that names the questions."""

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.resources import read_resources
from tests.scoring.conftest import write

GOOD = {
    "answer": "red",
    "types": {"structural": "query", "semantic": None},
    "groups": {"global": None},
    "entailed": ["2"],
    "semantic": [{"operation": "select", "argument": "dog (1)", "dependencies": []}],
    "isBalanced": True,
}


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("answer", ["red"], "a string"),
        ("answer", None, "a string"),
        ("types", "query", "an object of strings"),
        ("types", {"structural": 3}, "an object of strings"),
        ("groups", [1], "an object of strings"),
        ("groups", {"global": ["a"]}, "an object of strings"),
        ("entailed", 2, "a list of ids"),
        ("entailed", [["2"]], "a list of ids"),
        ("semantic", "select", "a list of objects with operation and argument"),
        ("semantic", [{"operation": "select"}], "a list of objects with operation and argument"),
        ("isBalanced", "false", "true or false"),
    ],
)
def test_all_invalid_questions_are_listed(tmp_path, field, value, wanted):
    path = write(tmp_path / "q.json", {"1": GOOD, "2": GOOD | {field: value}, "3": GOOD | {field: value}})
    with pytest.raises(UserError) as caught:
        read_benchmark(path)
    assert caught.value.problems == [
        f"{path}: 2 faults",
        *(f"question {name}: {field} is {value!r}, expected {wanted}" for name in "23"),
    ]


def test_fields_may_be_missing_or_null(tmp_path):
    nulls = dict.fromkeys(("types", "groups", "entailed", "semantic"))
    questions = {"1": GOOD, "2": {"answer": "red"}, "3": {"answer": "red", **nulls}}
    assert len(read_benchmark(write(tmp_path / "q.json", questions)).ids) == 3


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("all-questions", 3, "an object with `answer`, a string, for each question"),
        ("all-questions", {"answer": 3}, "an object with `answer`, a string, for each question"),
        ("choices", 3, "an object of lists of strings for each question"),
        ("choices", {"valid": "red"}, "an object of lists of strings for each question"),
        ("choices", {"plausible": [3]}, "an object of lists of strings for each question"),
    ],
)
def test_invalid_gqa_resources_are_refused(tmp_path, name, value, wanted):
    path = write(
        tmp_path / "x.json", {"1": {"answer": "red"} if name != "choices" else {"valid": []}, "7": value}
    )
    with pytest.raises(UserError, match=f"x.json: expected {wanted}. Invalid: 7$"):
        read_resources([f"{name}={path}"], None)
