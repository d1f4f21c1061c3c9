"""How a confidence that a question is answerable is got from a model: what is asked, and what is made of the replies.
docs/running.md says what each recipe needs and how they compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..core.errors import UserError
from ..scoring.abstention import ANSWERED
from .confidence import (
    TokenLogprobs,
    abstention_confidence,
    answer_agreement,
    p_true,
    read_yes_no,
    token_probability,
    verbalized_confidence,
)
from .prompts import hash_texts

SAMPLING_TEMPERATURE = 0.7  # where several replies are asked for
TRUNCATED_STOP_REASONS = ("max_tokens", "model_length")  # stop reasons of inspect_ai


class Replies(NamedTuple):
    """What was said about one question.

    Attributes:
        replies: to the question; several under agreement, which counts them, else one.
        answers: the readings of the replies.
        tokens: of the reply. first: to the turn before the question, "" without one; first_tokens: its tokens.
        second: to the recipe's own turn, "" without one; second_tokens: its tokens.
        cut: how many more replies to the question were cut off.
    """

    texts: Sequence[str] = ()
    answered: Sequence[float] = ()
    token_logprobs: TokenLogprobs = ()
    first_turn: str = ""
    first_turn_logprobs: TokenLogprobs = ()
    followup: str = ""
    followup_logprobs: TokenLogprobs = ()
    num_truncated: int = 0

    @property
    def capped_answered(self) -> list[float]:
        """The readings, of which none is above what the turn before the question said."""
        most = read_yes_no(self.first_turn) if self.first_turn else ANSWERED
        return [min(most, answer) for answer in self.answered]


class ConfidenceMethod(NamedTuple):
    """Attributes:
    help: one line on it.
    logprobs: whether the server must give log probabilities; top_logprobs: also those of tokens not chosen.
    several: whether the question is asked several times, at a temperature above 0.
    turn: what is asked after the question, in a turn of its own; "" for none.
    yes_no: the turn asks what a prompt's turn before the question asks, which then stands for it.
    """

    name: str
    help: str
    compute: Callable[[Replies], float | None]
    needs_logprobs: bool = False
    needs_top_logprobs: bool = False
    needs_several_replies: bool = False
    followup_turn: str = ""
    can_reuse_first_turn: bool = False

    @property
    def hash(self) -> str:
        """Tells a change of its turn."""
        return hash_texts(self.followup_turn)


CONFIDENCE_METHODS = {
    recipe.name: recipe
    for recipe in (
        ConfidenceMethod(
            "token-probability",
            "the probability of the answer's tokens",
            lambda heard: token_probability(heard.replies[0], heard.tokens, heard.answerable[0]),
            needs_logprobs=True,
        ),
        ConfidenceMethod(
            "p-true",
            "the probability of yes, asked whether there is an answer",
            lambda heard: p_true(heard.first_tokens if heard.first else heard.second_tokens),
            needs_logprobs=True,
            needs_top_logprobs=True,
            followup_turn="Can the question be answered from what the picture shows? Reply with yes or no.",
            can_reuse_first_turn=True,
        ),
        ConfidenceMethod(
            "verbal",
            "a number from 0 to 100 that the model gives itself",
            lambda heard: verbalized_confidence(heard.second),
            followup_turn="How sure are you that the question can be answered from what the picture shows? Reply with a number "
            "from 0 (it cannot be answered) to 100 (it can), and nothing else.",
        ),
        ConfidenceMethod(
            "agreement",
            "the share of several replies that agree",
            lambda heard: answer_agreement(heard.replies, heard.answerable, heard.cut),
            needs_several_replies=True,
        ),
        ConfidenceMethod(
            "refusal",
            "whether the words of the reply refuse",
            lambda heard: abstention_confidence(heard.answerable[0]),
        ),
    )
}


def get_confidence_method(name: str) -> ConfidenceMethod:
    """A recipe; "p_true" is "p-true", too.

    Raises:
        UserError: there is none of this name.
    """
    if (hyphened := name.replace("_", "-")) not in CONFIDENCE_METHODS:
        raise UserError(f"no recipe {name!r}; there are {', '.join(CONFIDENCE_METHODS)}")
    return CONFIDENCE_METHODS[hyphened]
