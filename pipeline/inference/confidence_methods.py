"""How a confidence that a question is answerable is got from a model: what is asked, and what is made of the replies.
docs/running.md says what each recipe needs and how they compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..core.errors import UserError
from ..scoring.abstention import ANSWERS
from .confidence import Tokens, agreement, p_true, refusal, says_yes, token_probability, verbal
from .prompts import hash_of

TEMPERATURE = 0.7  # where several replies are asked for
TRUNCATED = ("max_tokens", "model_length")  # stop reasons of inspect_ai


class Heard(NamedTuple):
    """What was said about one question.

    Attributes:
        replies: to the question; several under agreement, which counts them, else one.
        answers: the readings of the replies.
        tokens: of the reply. first: to the turn before the question, "" without one; first_tokens: its tokens.
        second: to the recipe's own turn, "" without one; second_tokens: its tokens.
        cut: how many more replies to the question were cut off.
    """

    replies: Sequence[str] = ()
    answers: Sequence[float] = ()
    tokens: Tokens = ()
    first: str = ""
    first_tokens: Tokens = ()
    second: str = ""
    second_tokens: Tokens = ()
    cut: int = 0

    @property
    def answerable(self) -> list[float]:
        """The readings, of which none is above what the turn before the question said."""
        most = says_yes(self.first) if self.first else ANSWERS
        return [min(most, answer) for answer in self.answers]


class ConfidenceRecipe(NamedTuple):
    """Attributes:
    help: one line on it.
    logprobs: whether the server must give log probabilities; top_logprobs: also those of tokens not chosen.
    several: whether the question is asked several times, at a temperature above 0.
    turn: what is asked after the question, in a turn of its own; "" for none.
    yes_no: the turn asks what a prompt's turn before the question asks, which then stands for it.
    """

    name: str
    help: str
    confidence: Callable[[Heard], float | None]
    logprobs: bool = False
    top_logprobs: bool = False
    several: bool = False
    turn: str = ""
    yes_no: bool = False

    @property
    def hash(self) -> str:
        """Tells a change of its turn."""
        return hash_of(self.turn)


RECIPES = {
    recipe.name: recipe
    for recipe in (
        ConfidenceRecipe(
            "token-probability",
            "the probability of the answer's tokens",
            lambda heard: token_probability(heard.replies[0], heard.tokens, heard.answerable[0]),
            logprobs=True,
        ),
        ConfidenceRecipe(
            "p-true",
            "the probability of yes, asked whether there is an answer",
            lambda heard: p_true(heard.first_tokens if heard.first else heard.second_tokens),
            logprobs=True,
            top_logprobs=True,
            turn="Can the question be answered from what the picture shows? Reply with yes or no.",
            yes_no=True,
        ),
        ConfidenceRecipe(
            "verbal",
            "a number from 0 to 100 that the model gives itself",
            lambda heard: verbal(heard.second),
            turn="How sure are you that the question can be answered from what the picture shows? Reply with a number "
            "from 0 (it cannot be answered) to 100 (it can), and nothing else.",
        ),
        ConfidenceRecipe(
            "agreement",
            "the share of several replies that agree",
            lambda heard: agreement(heard.replies, heard.answerable, heard.cut),
            several=True,
        ),
        ConfidenceRecipe(
            "refusal",
            "whether the words of the reply refuse",
            lambda heard: refusal(heard.answerable[0]),
        ),
    )
}


def recipe_named(name: str) -> ConfidenceRecipe:
    """A recipe; "p_true" is "p-true", too.

    Raises:
        UserError: there is none of this name.
    """
    if (hyphened := name.replace("_", "-")) not in RECIPES:
        raise UserError(f"no recipe {name!r}; there are {', '.join(RECIPES)}")
    return RECIPES[hyphened]
