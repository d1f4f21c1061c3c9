import numpy as np
import pytest

from pipeline.scorers import vqa_accuracy
from pipeline.scorers.validation import InputError, arrays, fractions, strings


def test_arrays_come_back_in_the_order_named():
    first, second, third = arrays(a=[1, 2], b=[True, False], c=(0.5, 1.0))
    assert [first.dtype.kind, second.dtype.kind, third.dtype.kind] == ["i", "b", "f"]
    assert [array.dtype.kind for array in arrays(empty=[])] == ["f"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": [[1]], "b": [1]}, "a has 2 dimensions, wanted 1"),
        ({"a": [1, 2], "b": [1]}, "lengths differ: a 2, b 1"),
        ({"a": ["x"]}, "a holds <U1, wanted numbers or booleans"),
        ({"a": [1.0, float("nan"), float("inf")]}, "a has 2 NaN or infinite values"),
        ({"a": ["x"], "b": [float("nan")]}, "a holds <U1, wanted numbers or booleans; b has 1 NaN"),
    ],
)
def test_wrong_arrays_are_refused_with_everything_that_is_wrong(arguments, expected):
    with pytest.raises(ValueError) as caught:
        arrays(**arguments)
    assert expected in str(caught.value)


def test_fractions_lie_between_0_and_1():
    assert fractions("accuracy", np.array([True, False])).tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="accuracy has 2 values outside"):
        fractions("accuracy", np.array([-0.1, 0.5, 1.1]))


@pytest.mark.parametrize(
    ("predictions", "answers", "expected"),
    [
        (["a"], ["a"], "answers holds a string"),
        (["a"], [[]], "1 empty lists"),
        ([1], [["a"]], "no strings"),
        (["a"], [["a", 2]], "answers has 1 values that are no strings"),
        (["a", "b"], [["a"]], "lengths differ"),
    ],
)
def test_wrong_answers_are_refused(predictions, answers, expected):
    for function in (strings, vqa_accuracy):
        with pytest.raises(ValueError, match=expected):
            function(predictions, answers)


def test_an_error_of_the_input_keeps_its_lines_apart():
    assert InputError("one").problems == ["one"]
    assert InputError(line for line in "ab").problems == ["a", "b"] and str(InputError(["a", "b"])) == "a\nb"
