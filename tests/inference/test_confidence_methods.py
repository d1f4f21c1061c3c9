import pytest

from pipeline.core.errors import UserError
from pipeline.inference.confidence_methods import RECIPES, Heard, recipe_named
from pipeline.scoring.abstention import read

from .conftest import first_word, tokens


def test_who_said_no_before_the_question_refuses_whatever_the_answer():
    heard = Heard(["red"], [1.0], tokens(("red", 0.9)), first="No.")
    for name in ("token-probability", "refusal", "agreement"):
        assert RECIPES[name].confidence(heard) == 0.0
    sure = heard._replace(first="Yes.")
    assert RECIPES["token-probability"].confidence(sure) == pytest.approx(0.9)
    assert RECIPES["refusal"].confidence(sure) == RECIPES["agreement"].confidence(sure) == 1.0


def test_p_true_reads_the_turn_before_the_question_where_there_is_one():
    turns = {"first_tokens": first_word("yes", yes=0.5), "second_tokens": first_word("no", yes=0.1, no=0.3)}
    assert RECIPES["p-true"].confidence(Heard(["red"], [1.0], first="yes", **turns)) == 1.0
    assert RECIPES["p-true"].confidence(Heard(["red"], [1.0], second="no", **turns)) == pytest.approx(0.25)


def test_a_refusal_in_words_is_what_free_text_makes_of_it():
    replies = ["red", "unanswerable"]
    for reply, answer in zip(replies, read(["What color is it?"] * 2, replies), strict=True):
        assert RECIPES["refusal"].confidence(Heard([reply], [answer])) == answer


def test_a_recipe_has_a_hash_of_what_it_asks():
    assert len({recipe.hash for recipe in RECIPES.values()}) == 3  # p-true, verbal, and those without a turn
    assert recipe_named("p_true") is RECIPES["p-true"]
    with pytest.raises(UserError, match="no recipe 'logits'; there are token-probability, p-true, verbal"):
        recipe_named("logits")
