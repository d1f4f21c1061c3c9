import pytest

from pipeline.core.errors import UserError
from pipeline.inference.confidence_methods import CONFIDENCE_METHODS, Replies, get_confidence_method
from pipeline.scoring.abstention import classify_abstention

from .conftest import first_word, tokens


def test_a_no_before_the_question_counts_as_abstention():
    heard = Replies(["red"], [1.0], tokens(("red", 0.9)), first_turn="No.")
    for name in ("token-probability", "abstention", "self-consistency"):
        assert CONFIDENCE_METHODS[name].compute(heard) == 0.0
    sure = heard._replace(first_turn="Yes.")
    assert CONFIDENCE_METHODS["token-probability"].compute(sure) == pytest.approx(0.9)
    assert (
        CONFIDENCE_METHODS["abstention"].compute(sure)
        == CONFIDENCE_METHODS["self-consistency"].compute(sure)
        == 1.0
    )


def test_p_true_reads_the_turn_before_the_question_if_there_is_one():
    turns = {
        "first_turn_logprobs": first_word("yes", yes=0.5),
        "followup_logprobs": first_word("no", yes=0.1, no=0.3),
    }
    assert CONFIDENCE_METHODS["p-true"].compute(Replies(["red"], [1.0], first_turn="yes", **turns)) == 1.0
    assert CONFIDENCE_METHODS["p-true"].compute(
        Replies(["red"], [1.0], followup="no", **turns)
    ) == pytest.approx(0.25)


def test_abstention_is_the_result_of_the_abstention_classifier():
    replies = ["red", "unanswerable"]
    for reply, answer in zip(replies, classify_abstention(["What color is it?"] * 2, replies), strict=True):
        assert CONFIDENCE_METHODS["abstention"].compute(Replies([reply], [answer])) == answer


def test_a_confidence_method_has_a_hash_of_its_turn():
    assert (
        len({method.hash for method in CONFIDENCE_METHODS.values()}) == 3
    )  # p-true, verbalized, and those without a follow-up turn
    assert get_confidence_method("p_true") is CONFIDENCE_METHODS["p-true"]
    with pytest.raises(UserError, match="--confidence logits: .* token-probability, p-true, verbalized"):
        get_confidence_method("logits")
