"""Confidences and answer distributions."""

import hashlib
from math import log

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.inference.answer_distributions import (
    decode_distribution,
    encode_distribution,
    read_distributions,
    write_distributions,
)
from pipeline.inference.confidence import (
    answer_agreement,
    find_most_common,
    p_true,
    read_yes_no,
    token_probability,
    verbalized_confidence,
)
from pipeline.inference.confidence_methods import CONFIDENCE_METHODS, Replies, get_confidence_method
from pipeline.scoring.abstention import classify_abstention

from .conftest import first_word, tokens

# Confidence


def test_the_probability_of_an_answer_is_the_product_over_its_tokens():
    # 0.5 x 0.8 x 0.5 = 0.2; neither the thought (0.1) nor the end (0.3) is part of it
    said = tokens(("dark", 0.5), (" re", 0.8), ("d", 0.5))
    assert token_probability("dark red", said, 1.0) == pytest.approx(0.2)
    thought = tokens(("<think>", 0.1), ("dark red?", 0.1), ("</think>", 0.1), ("\n", 0.9))
    assert token_probability(
        "dark red", [*thought, *said, *tokens(("<|im_end|>", 0.3))], 1.0
    ) == pytest.approx(0.2)
    assert token_probability("s", tokens(("s", 0.7), ("</s>", 0.3)), 1.0) == pytest.approx(0.7)


def test_a_character_may_be_split_between_tokens():
    first, second = "é".encode()
    said = [{"token": "\\xc3", "logprob": log(0.5), "bytes": [first]}]
    said += [{"token": "\\xa9", "logprob": log(0.4), "bytes": [second]}]
    assert token_probability("é", said, 1.0) == pytest.approx(0.2)
    plain = [{"token": "▁dark", "logprob": log(0.5)}, {"token": "▁red", "logprob": log(0.5)}]
    assert token_probability("dark red", plain, 1.0) == pytest.approx(0.25)


def test_an_abstention_has_probability_0_whatever_its_tokens():
    assert token_probability("unanswerable", tokens(("unanswerable", 0.99)), 0.0) == 0.0


def test_without_log_probabilities_of_the_answer_there_is_no_confidence():
    assert token_probability("red", [], 1.0) is None
    assert token_probability("red", tokens(("blue", 0.9)), 1.0) is None
    assert token_probability("", tokens(("red", 0.9)), 1.0) is None


def test_a_nan_log_probability_gives_none():
    assert token_probability("red", [{"token": "red", "logprob": float("nan")}], 1.0) is None


def test_long_answers_keep_their_order():
    long = [tokens(*[("a", p)] * 100) for p in (0.5, 0.4)]
    low, lower = (token_probability("a" * 100, said, 1.0) for said in long)
    assert low == pytest.approx(0.5**100) and lower == pytest.approx(0.4**100) and lower > 0


def test_p_true_sums_over_spellings_of_yes_and_no():
    # (0.3 + 0.1) / (0.3 + 0.1 + 0.1) = 0.8; "maybe" counts for neither
    said = first_word("yes", **{"Yes": 0.3, " yes": 0.1, "▁No": 0.1, "maybe": 0.4})
    assert p_true(said) == pytest.approx(0.8)
    before = tokens(("<think>", 1), ("no", 1), ("</think>", 1), ("\n", 1), ("**", 1), ("<s>", 1))
    assert p_true([*before, *said]) == pytest.approx(0.8)
    assert p_true(first_word("no", no=0.9)) == 0.0
    # With marks in one token with the word: 0.6 / (0.6 + 0.2).
    assert p_true(first_word("**Yes.", **{"**Yes.": 0.6, "'no'": 0.2})) == pytest.approx(0.75)


def test_p_true_without_yes_or_no_at_the_first_word_is_none():
    assert p_true([]) is None
    assert p_true(tokens(("yes", 0.9))) is None  # no likeliest tokens
    assert p_true(first_word("maybe", maybe=0.9)) is None
    assert p_true([*first_word("There", There=0.9), *first_word("no", no=0.9)]) is None


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("100", 1.0),
        ("0", 0.0),
        ("1", 0.01),
        ("72.5%", 0.725),
        ("10/10", None),  # of another scale: 1, not 0.1
        ("I would say 7 out of 7.", None),
        (".5", None),
        ("\u22125", None),
        ("**85**", 0.85),
        ("85.", 0.85),
        ("Confidence: 40 out of 100.", 0.4),
        ("<think>90 or 80</think>70", 0.7),
        ("70. I am 70% sure", 0.7),
        ("0.9", None),
        ("1.0", None),
        ("between 60 and 80", None),
        ("101", None),
        ("-5", None),
        ("1,000", None),
        ("certain", None),
        ("", None),
    ],
)
def test_a_verbalized_confidence_is_one_number_from_0_to_100(reply, number):
    assert verbalized_confidence(reply) == number


def test_agreement_is_the_proportion_of_the_most_common_answer():
    # "Two" and "2." are alike to VQA: 3 of 6; the two abstentions are equal, too, but no answers
    replies = ["red", "2.", "Two", "two", "unanswerable", "I cannot tell."]
    answers = classify_abstention(["How many dogs are there?"] * 6, replies).tolist()
    assert answers == [1, 1, 1, 1, 0, 0]
    assert answer_agreement(replies, answers) == 0.5 and find_most_common(replies, answers) == 1
    assert (
        answer_agreement(["unanswerable"] * 3, [0.0] * 3) == 0.0
        and find_most_common(["unanswerable"], [0.0]) == 0
    )
    assert answer_agreement([], []) is None


def test_an_answer_that_normalizes_to_nothing_is_no_abstention():
    # VQA leaves out articles and full stops.
    assert find_most_common(["unanswerable", "The."], [0.0, 1.0]) == 1


def test_the_first_yes_or_no_counts():
    assert [read_yes_no(text) for text in ("Yes", "no.", "No, yes it is not", "eyes", "")] == [
        1,
        0,
        0,
        0.5,
        0.5,
    ]
    assert read_yes_no("<think>no</think>yes") == 1


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


# Answer distributions
# Distributions as text and as a file.


ROWS = {"q1": np.array([0.5, 1 / 3, 0.0]), "q2": np.array([1.0, 1e-7, 0.25])}


def test_an_encoded_distribution_has_eleven_bits():
    for row in ROWS.values():
        # float16 has 11 bits of precision down to 2^-14, then steps of 2^-24.
        assert np.abs(decode_distribution(encode_distribution(row)) - row).max() <= 2**-12
        assert decode_distribution(encode_distribution(row)) == pytest.approx(row, rel=2**-11, abs=2**-25)


def test_a_file_of_distributions_is_read_and_its_bytes_are_reproducible(tmp_path):
    texts = {item: encode_distribution(row) for item, row in ROWS.items()}
    hashes = set()
    for _ in range(2):
        write_distributions(tmp_path / "distribution.npz", ("yes", "no", "a cup"), texts)
        hashes.add(hashlib.sha256((tmp_path / "distribution.npz").read_bytes()).hexdigest())
    answers, rows = read_distributions(tmp_path / "distribution.npz")
    assert answers == ["yes", "no", "a cup"] and list(rows) == ["q1", "q2"] and len(hashes) == 1
    assert rows["q2"].tolist() == np.float16(ROWS["q2"]).tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["distribution.npz"]


def test_no_distributions_are_an_empty_file(tmp_path):
    write_distributions(tmp_path / "d.npz", ("yes",), {})
    assert read_distributions(tmp_path / "d.npz") == (["yes"], {})


def test_invalid_distributions_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="item q1: 3 probabilities for 2 answers"):
        write_distributions(tmp_path / "d.npz", ("yes", "no"), {"q1": encode_distribution(ROWS["q1"])})
    (tmp_path / "e.npz").write_bytes(b"no")
    np.savez(tmp_path / "f.npz", answers=["a"], items=["q"], probabilities=np.zeros((2, 1)))
    for name in ("nosuch.npz", "e.npz", "f.npz"):
        with pytest.raises(UserError, match=f"{name}: "):
            read_distributions(tmp_path / name)
