import pytest

from pipeline.core.records import Candidate
from pipeline.screening.contradicts_itself import looks_that_exclude_each_other
from pipeline.screening.screen_case import ScreenCase
from tests.notation import steps
from tests.pipeline.screening.in_memory import VOCABULARY

LOOKS = [  # two looks of one cup, and what is wrong with them
    ("age: old", "age: young", "young and old"),
    ("color: red", "color: not(red)", "red and not red"),
    ("color: red", "color: not(blue)", None),
    ("color: red", "color: blue", None),  # a cup may be of two colours
    ("size: large", "size: big", None),  # two words for one look
    ("size: large", "age: old", None),
]


@pytest.mark.parametrize("first, second, fault", LOOKS)
def test_two_looks_that_exclude_each_other_cannot_be_of_one_thing(first, second, fault):
    semantic = f"select: cup (1)->filter {first} [0]->filter {second} [1]->query: material [2]"
    candidate = Candidate(
        candidate_id="c",
        subset="clip-easy",
        picture_id="n1",
        question_id="q1",
        text="?",
        program=steps(semantic),
    )
    assert looks_that_exclude_each_other(ScreenCase(candidate, VOCABULARY)) == fault
