import pytest

from annotation.study.collect_rules import CollectRules
from pipeline.core.errors import UserError
from pipeline.core.params import convert


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_votes": 0},
        {"rule": "most"},
        {"min_posterior": 0.5},  # would call the same candidate answerable and unanswerable
        {"min_filter_accuracy": 80},
        {"min_filter_answers": 0},
        {"excluding": ["pace"]},
        {"fast_seconds": -1},
        {"flag_level": 0},
        {"min_vote": 2},
    ],
)
def test_a_rule_out_of_range_or_unknown_is_refused(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        convert(wrong, CollectRules, "collect")


def test_accuracy_alone_excludes_unless_more_is_asked_for():
    assert convert({}, CollectRules, "collect").excluding == ("accuracy",)
