import pytest

from annotation.study.assignment import AssignmentRules
from annotation.study.assignment_params import AnnotateParams
from pipeline.core.errors import UserError
from pipeline.core.params import convert_params


def test_assignment_rules_are_parameters_of_the_same_names():
    given = {
        "max_votes": 4,
        "min_posterior": 0.9,
        "overlap_rate": 0.2,
        "wave_size": 50,
        "max_judgements": 7,
        "max_tasks_per_annotator": 8,
        "seed": 9,
    }
    assert AnnotateParams(**given).to_assignment_rules() == AssignmentRules(**given)


def test_defaults_are_equal():
    assert AnnotateParams().to_assignment_rules() == AssignmentRules()


@pytest.mark.parametrize(
    "name, value",
    [("min_posterior", 1), ("min_posterior", 0.5), ("max_votes", 0), ("wave_size", 0), ("overlap_rate", 1.1)],
)
def test_invalid_parameter_is_refused(name, value):
    with pytest.raises(UserError, match=name):
        convert_params({name: value}, AnnotateParams, "params.yaml, tiny.annotate")
