import dataclasses

import pytest

from tests.pipeline.perturbing.in_memory import case_of


def test_a_kind_of_edit_can_change_nothing_of_what_the_next_one_sees():
    case = case_of("What color is the cup?", "select: cup (1)->query: color [0]")
    with pytest.raises(dataclasses.FrozenInstanceError):
        case.program = ()
