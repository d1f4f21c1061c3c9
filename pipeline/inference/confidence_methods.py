"""The confidence methods of `rgqa run`: what each method asks the model, and how it computes a confidence.

A confidence is the model's probability that the question is answerable. docs/guides/run_a_model.md describes
what each method needs, and compares the methods.
"""

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

# Temperature of the methods that need several replies.
SAMPLING_TEMPERATURE = 0.7


class Replies(NamedTuple):
    """All replies to one question.

    Attributes:
        texts: Replies to the question. There are several replies if the method needs several.
        answered: For each reply 1 if it answers, 0 if it abstains, 0.5 if unclear.
        token_logprobs: Log probabilities of the tokens of the chosen reply.
        first_turn: Reply to the turn before the question; "" if the prompt has no such turn.
        first_turn_logprobs: Log probabilities of the tokens of `first_turn`.
        followup: Reply to the follow-up turn of the method; "" if the method has none.
        followup_logprobs: Log probabilities of the tokens of `followup`.
        num_truncated: Number of additional replies to the question that were truncated.
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
        """Return `answered`, at most 1, 0.5 or 0 if the reply to the turn before the question says yes,
        neither, or no.
        """
        upper = read_yes_no(self.first_turn) if self.first_turn else ANSWERED
        return [min(upper, answer) for answer in self.answered]


class ConfidenceMethod(NamedTuple):
    """A way to get a confidence from a model.

    Attributes:
        name: Name in `--confidence` and in run.json.
        help: One-line description.
        compute: Computes the confidence, in [0, 1]; None if the replies give none.
        needs_logprobs: Whether the server must return log probabilities of the chosen tokens.
        needs_top_logprobs: Whether the server must also return log probabilities of tokens that were not
            chosen.
        needs_several_replies: Whether the question is asked several times, at a temperature above 0.
        followup_turn: Message to send after the reply to the question; "" for none.
        can_reuse_first_turn: Whether the reply to the prompt's turn before the question, if there is one,
            replaces `followup_turn`.
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
        """Hash of the follow-up turn. It is in run.json, so that changes of the text are noticed."""
        return hash_texts(self.followup_turn)


CONFIDENCE_METHODS = {
    method.name: method
    for method in (
        ConfidenceMethod(
            "token-probability",
            "the probability of the answer's tokens; 0 for an abstention",
            lambda replies: token_probability(
                replies.texts[0], replies.token_logprobs, replies.capped_answered[0]
            ),
            needs_logprobs=True,
        ),
        ConfidenceMethod(
            "p-true",
            "the probability that the model says yes when asked whether the question can be answered",
            lambda replies: p_true(
                replies.first_turn_logprobs if replies.first_turn else replies.followup_logprobs
            ),
            needs_logprobs=True,
            needs_top_logprobs=True,
            followup_turn="Can the question be answered from what the picture shows? Reply with yes or no.",
            can_reuse_first_turn=True,
        ),
        ConfidenceMethod(
            "verbalized",
            "the number from 0 to 100 that the model states when asked how sure it is, divided by 100",
            lambda replies: verbalized_confidence(replies.followup),
            followup_turn="How sure are you that the question can be answered from what the picture shows? Reply with a number "
            "from 0 (it cannot be answered) to 100 (it can), and nothing else.",
        ),
        ConfidenceMethod(
            "self-consistency",
            "the proportion of several replies that give the most common answer",
            lambda replies: answer_agreement(replies.texts, replies.capped_answered, replies.num_truncated),
            needs_several_replies=True,
        ),
        ConfidenceMethod(
            "abstention",
            "1 for an answer, 0 for an abstention, 0.5 if unclear",
            lambda replies: abstention_confidence(replies.capped_answered[0]),
        ),
    )
}


def get_confidence_method(name: str) -> ConfidenceMethod:
    """Return the confidence method of this name. The name may have "_" in place of "-".

    Raises:
        UserError: There is no such method.
    """
    if (hyphened := name.replace("_", "-")) not in CONFIDENCE_METHODS:
        raise UserError(
            f"--confidence {name}: no such confidence method; choose from {', '.join(CONFIDENCE_METHODS)}"
        )
    return CONFIDENCE_METHODS[hyphened]
