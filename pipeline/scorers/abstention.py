"""What a model's words say of whether it answers: read by a small network of known error, overruled by what the file
of predictions says itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .answered import Answered, Options, Scores
from .realistic import auaf
from .reply_reader import reader
from .reply_words import spoken
from .sweep import mean_defined

ANSWERS, UNCLEAR, ABSTAINS = 1.0, 0.5, 0.0  # as confidences that the question is answerable
# The probability of abstaining from which on, and up to which, the reader says what it reads; chosen on part dev.
ABSTAINS_FROM, ANSWERS_TO = 0.86, 0.84
# Replies that are no answer by definition: nothing, and RGQA's own label.
NO_ANSWER = frozenset(["", "uq", "unanswerable"])
TAG = re.compile(r"</?[a-z|_]+>")  # "</s>", "<|end|>"


class ReaderError(NamedTuple):
    """Shares of replies that the reader reads as abstaining: of those that do, and of those that answer. Measured on
    replies of other writers than it was learned from (`rgqa study reader --part held_out`)."""

    recall: float
    false_share: float

    def corrected(self, share: float) -> float:
        """The share that truly abstains, in [0, 1], of replies of which `share` are read as abstaining
        (Rogan and Gladen, 1978, American Journal of Epidemiology 107(1)).

        >>> round(ReaderError(0.9, 0.1).corrected(0.26), 6)  # 0.9 x 0.2 + 0.1 x 0.8 = 0.26
        0.2
        """
        return float(np.clip((share - self.false_share) / (self.recall - self.false_share), 0, 1))


ERROR = ReaderError(recall=261 / 266, false_share=6 / 274)


def read(questions: Sequence[str], replies: Sequence[str]) -> np.ndarray:
    """Whether each reply answers its question, [n]: `ANSWERS`, `ABSTAINS` or, where the reader is not sure, `UNCLEAR`.

    A reply abstains that says that it cannot be known, that the question does not fit, that what it is about is not
    there, or that declines for another reason; a bare "no", "none" or "nothing" is an answer. The final word counts.
    """
    untagged = (
        TAG.sub("", text) or text for text in map(spoken, replies)
    )  # what is a tag alone may be an answer
    said = [text.strip(" \n\t.!\"'`*_()[]").lower() for text in untagged]
    open_ones = [place for place, text in enumerate(said) if text not in NO_ANSWER]
    found = np.full(len(said), ABSTAINS)
    abstains = reader().p_abstains(
        [questions[place] for place in open_ones], [replies[place] for place in open_ones]
    )
    sure = [abstains >= ABSTAINS_FROM, abstains <= ANSWERS_TO]
    found[open_ones] = np.select(sure, [ABSTAINS, ANSWERS], UNCLEAR)
    return found


def is_abstention(reply: str, question: str = "") -> bool:
    """Does the reply abstain? Without the question less can be told; unclear is no.

    >>> is_abstention("I cannot tell from the image.", "What color is the can?"), is_abstention("no", "Is it red?")
    (True, False)
    """
    if not isinstance(reply, str):
        raise ValueError(f"reply is {reply!r}, wanted a string")
    return bool(read([question], [reply])[0] == ABSTAINS)


def abstention_group(answered: Answered, options: Options) -> Scores:
    """What the answers' own words say: abstentions on AQs are wrong, UQs answered are missed. Rows without a
    prediction are left out. Where confidences are read from the words, also what the reader's doubts and errors
    leave of AUAF."""
    if not (options.free_text or "abstention" in options.scores):
        return {"absent": "the words of the answers were not read (--free-text, or --scores abstention)"}
    at = answered.at(~answered.missing)
    said = at.confidence if options.free_text else read(at.items["asked"].tolist(), at.said)
    abstains = said == ABSTAINS
    on_aqs, answered_uqs = abstains[at.answerable], said[~at.answerable] > UNCLEAR
    counts: Scores = {
        "abstentions": int(abstains.sum()),
        "unclear": int((said == UNCLEAR).sum()),
        "wrong": int(on_aqs.sum()),
        "missed": int(answered_uqs.sum()),
        "wrong_share": mean_defined(on_aqs),
        "missed_share": mean_defined(answered_uqs),
    }
    return counts | (_auaf_range(answered) if options.free_text else {})


def _auaf_range(answered: Answered) -> Scores:
    """AUAF if whatever is unclear went against the model, or for it, and as the reader's known error corrects it."""
    confidence, correct, answerable = answered.columns
    unclear = confidence == UNCLEAR
    against = np.where(unclear, np.where(answerable, ABSTAINS, ANSWERS), confidence)
    favour = np.where(unclear, np.where(answerable, ANSWERS, ABSTAINS), confidence)
    scores: Scores = {
        "auaf_lowest": auaf(against, correct, answerable),
        "auaf_highest": auaf(favour, correct, answerable),
    }
    if not answered.model.labels:  # else some of it was not read by the reader
        scores["auaf_corrected"] = corrected_auaf(confidence, correct, answerable)
    return scores


def corrected_auaf(
    confidence: np.ndarray, correct: np.ndarray, answerable: np.ndarray, error: ReaderError = ERROR
) -> float:
    """AUAF of a model whose abstentions are read from its words, corrected for the reader's error: the shares of UQs,
    and of AQs answered right (weighted by their worth), that are read as abstaining are brought to those that truly
    do. The curve then has one point between its ends.

    Args:
        confidence: [n] of `ANSWERS`, `UNCLEAR`, `ABSTAINS`. correct: [n] in [0, 1]. answerable: [n] booleans.
    """
    abstains = confidence == ABSTAINS
    worth = np.where(answerable, correct, 0.0)
    if answerable.all() or not answerable.any():
        return float("nan")
    fpr = 1 - error.corrected(abstains[~answerable].mean())
    full = worth.sum() / answerable.sum()
    acc = full * (1 - error.corrected(worth[abstains].sum() / worth.sum())) if worth.any() else 0.0
    return float(fpr * acc / 2 + (1 - fpr) * (acc + full) / 2)
