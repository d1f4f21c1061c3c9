import pytest

from annotation.study.assignment import AssignmentRules
from annotation.study.assignment_params import AnnotateParams
from pipeline.core.errors import UserError
from pipeline.core.params import convert_params


def test_the_rules_of_asking_are_the_parameters_of_the_same_names():
    given = {"votes": 4, "sure": 0.9, "overlap": 0.2, "wave": 50, "budget": 7, "most_tasks": 8, "seed": 9}
    assert AnnotateParams(**given).to_assignment_rules() == AssignmentRules(**given)


def test_what_is_not_said_is_the_same_in_both():
    assert AnnotateParams().to_assignment_rules() == AssignmentRules()


@pytest.mark.parametrize(
    "name, value", [("sure", 1), ("sure", 0.5), ("votes", 0), ("wave", 0), ("overlap", 1.1)]
)
def test_what_makes_no_sense_is_refused(name, value):
    with pytest.raises(UserError, match=name):
        convert_params({name: value}, AnnotateParams, "params.yaml, tiny.annotate")
