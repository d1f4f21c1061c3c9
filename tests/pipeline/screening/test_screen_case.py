import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import Candidate
from pipeline.programs.operations import parse
from pipeline.screening.screen_case import ScreenCase, looks
from tests.notation import steps
from tests.pipeline.screening.in_memory import VOCABULARY


def test_the_looks_of_a_thing_are_the_filters_right_on_it():
    read = parse(
        steps(
            "select: dog (1)->filter age: old [0]->relate: cup,near,s (2) [1]->filter color: red [2]->filter size: small [3]->query: material [4]"
        )
    )
    assert [look.values[0] for look in looks(read, 4)] == ["small", "red"]
    assert looks(read, 2) == []


def test_a_malformed_program_is_refused_with_the_candidates_id():
    candidate = Candidate(
        candidate_id="pthard_n1+q1",
        subset="pt-hard",
        picture_id="n1",
        question_id="q1",
        text="?",
        program=steps("find: cup"),
    )
    with pytest.raises(UserError, match="pthard_n1\\+q1"):
        _ = ScreenCase(candidate, VOCABULARY).program
