"""What a model's words say of whether it answers: read by a small network of known error, overruled by what the file
of predictions says itself."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from ..core.no_answer_texts import is_no_answer
from .abstention_classifier import load_abstention_classifier
from .abstention_features import tokenize_pair
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions
from .normalize import to_plain_text
from .realistic_vqa import auaf
from .reasoning_parser import extract_final_answer
from .threshold_sweep import nan_mean

ANSWERED, UNCLEAR, ABSTAINED = 1.0, 0.5, 0.0  # as confidences that the question is answerable
# The probability of abstaining from which on, and up to which, the reader says what it reads; chosen on part dev.
ABSTAIN_THRESHOLD, ANSWER_THRESHOLD = 0.86, 0.84
# Common words of other languages that English replies hardly ever have, though the reader's word vectors know some of them.
FOREIGN_WORDS = frozenset(
    """
    aber auf aus auch bei bild das dem der des dies diese ein eine einem einen einer es fur ist ja kann kein keine keinen mit
    nein nicht sehen sich sind und von wie zu
    au aucun aucune avec ce cela cette chien dans des du elle est et il ils je la le les lui mais ne nous oui pas peut peux
    qui sais sont sur un une vous
    como con del el en esta esto imagen las lo los mas muy ningun ninguna para pero por puede puedo que se si
    una uno verde
    che chi ci cosa dei della gli immagine io nel nella non nulla per piu sono sulla
    dos ela ele em imagem isso mas mais nao nas nos os ou pode sei tem uma
    de det een en er et het ik ikke inte jag kan kunnen nej niet och op voor weet
    czy jest nie tego
    """.split()  # noqa: SIM905
)


class ClassifierErrorRates(NamedTuple):
    """Shares of replies that the reader reads as abstaining: of those that do, and of those that answer. Measured on
    replies of other writers than it was learned from (`rgqa study abstention-classifier --split held_out`)."""

    recall: float
    false_positive_rate: float

    def correct_proportion(self, proportion: float) -> float:
        """The share that truly abstains, in [0, 1], of replies of which `share` are read as abstaining
        (Rogan and Gladen, 1978, American Journal of Epidemiology 107(1)).

        >>> round(ReaderError(0.9, 0.1).corrected(0.26), 6)  # 0.9 x 0.2 + 0.1 x 0.8 = 0.26
        0.2
        """
        return float(
            np.clip((proportion - self.false_positive_rate) / (self.recall - self.false_positive_rate), 0, 1)
        )


MEASURED_ERROR_RATES = ClassifierErrorRates(recall=261 / 266, false_positive_rate=6 / 274)


def classify_abstention(
    questions: Sequence[str], replies: Sequence[str], known_words: Collection[str] = ()
) -> np.ndarray:
    """Whether each reply answers its question, [n]: `ANSWERS`, `ABSTAINS` or, where the reader is not sure, `UNCLEAR`.

    A reply abstains that says that it cannot be known, that the question does not fit, that what it is about is not
    there, or that declines for another reason; a bare "no", "none" or "nothing" is an answer. The final answer counts
    (`reasoning_marks.final_answer`). No words at all, and what `no_answer` lists, abstain by definition. A reply in
    words that the reader does not know is unclear (`is_unreadable`), and so is reasoning without an end.

    Args:
        known: more words that count as known, in lower case: those of the benchmark's answers.
    """
    answers = [extract_final_answer(reply) for reply in replies]
    said = [answer.text for answer in answers]
    found = np.where([answer.is_truncated for answer in answers], UNCLEAR, ABSTAINED)
    open_ones = [
        place
        for place, answer in enumerate(answers)
        if not answer.is_truncated and not _abstains_by_definition(answer.text)
    ]
    if not open_ones:
        return found
    asked, left = [questions[place] for place in open_ones], [said[place] for place in open_ones]
    abstains = load_abstention_classifier().predict_abstention(asked, left)
    unreadable = is_unknown_language(asked, left, known_words)
    verdicts = np.select(
        [abstains >= ABSTAIN_THRESHOLD, abstains <= ANSWER_THRESHOLD], [ABSTAINED, ANSWERED], UNCLEAR
    )
    found[open_ones] = np.where(unreadable, UNCLEAR, verdicts)
    return found


def is_unknown_language(
    questions: Sequence[str], replies: Sequence[str], known_words: Collection[str] = ()
) -> np.ndarray:
    """Whether the reader does not know the words of each reply, [n], as those of another language: none of them, or fewer than
    half. Of three words or more, common words of another language are not known, and half is too few beside any.
    Words of the question are known.

    >>> is_unreadable(["What is it?"] * 4, ["nicht erkennbar", "Я не знаю", "a red car", "42"]).tolist()
    [True, True, False, False]
    """
    places = load_abstention_classifier().vocabulary
    found = dict[tuple[str, str], bool]()
    for question, reply in zip(questions, replies, strict=True):
        if (question, reply) in found:
            continue
        asked, said = tokenize_pair(question, reply)
        words = [word for word in said if word[0].isalpha()]
        other = FOREIGN_WORDS.intersection(words).difference(known_words) if len(words) > 2 else set()
        sure = sum(
            (word in places and word not in other) or word in known_words or word in asked for word in words
        )
        found[question, reply] = bool(words) and (not sure or 2 * sure < len(words) + bool(other))
    return np.array([found[pair] for pair in zip(questions, replies, strict=True)], bool)


def _abstains_by_definition(text: str) -> bool:
    return is_no_answer(text) or not any(map(_is_content_character, to_plain_text(text)))


def _is_content_character(character: str) -> bool:
    """Not of a space, a full stop or a dash: a letter, a digit, or a sign as "+" and "$" are, which can be seen in images."""
    kind = unicodedata.category(character)
    return character in "%&#@/" or not (kind[0] in "PZC" or kind == "Sk")


def is_abstention(reply: str, question: str = "") -> bool:
    """Does the reply abstain? Without the question less can be told; unclear is no.

    >>> is_abstention("I cannot tell from the image.", "What color is the can?"), is_abstention("no", "Is it red?")
    (True, False)
    """
    if not isinstance(reply, str):
        raise ValueError(f"reply is {reply!r}, wanted a string")
    return bool(classify_abstention([question], [reply])[0] == ABSTAINED)


def score_abstention(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """What the answers' own words say: abstentions on AQs are wrong, UQs answered are missed. Rows without a
    prediction are left out. Where confidences are read from the words, also what the reader's doubts and errors
    leave of AUAF."""
    if not (options.detect_abstention or "abstention" in options.scores):
        return {
            "unavailable": "the words of the answers were not read (--detect-abstention, or --scores abstention)"
        }
    at = answered.select(~answered.missing)
    said = (
        at.confidence
        if options.detect_abstention
        else classify_abstention(at.items["question_text"].tolist(), at.answer, at.items.answer_words)
    )
    abstains = said == ABSTAINED
    on_aqs, answered_uqs = abstains[at.answerable], said[~at.answerable] > UNCLEAR
    counts: Scores = {
        "abstentions": int(abstains.sum()),
        "unclear": int((said == UNCLEAR).sum()),
        "aq_abstentions": int(on_aqs.sum()),
        "answered_uqs": int(answered_uqs.sum()),
        "aq_abstention_rate": nan_mean(on_aqs),
        "answered_uq_rate": nan_mean(answered_uqs),
    }
    return counts | (_auaf_range(answered) if options.detect_abstention else {})


def _auaf_range(answered: JoinedPredictions) -> Scores:
    """AUAF if whatever is unclear went against the model, or for it, and as the reader's known error corrects it."""
    confidence, correct, answerable = answered.metric_inputs
    unclear = confidence == UNCLEAR
    against = np.where(unclear, np.where(answerable, ABSTAINED, ANSWERED), confidence)
    favour = np.where(unclear, np.where(answerable, ANSWERED, ABSTAINED), confidence)
    scores: Scores = {
        "auaf_lowest": auaf(against, correct, answerable),
        "auaf_highest": auaf(favour, correct, answerable),
    }
    if not answered.predictions.abstention_labels:  # else some of it was not read by the reader
        scores["auaf_corrected"] = corrected_auaf(confidence, correct, answerable)
    return scores


def corrected_auaf(
    confidence: np.ndarray,
    correct: np.ndarray,
    answerable: np.ndarray,
    error_rates: ClassifierErrorRates = MEASURED_ERROR_RATES,
) -> float:
    """AUAF of a model whose abstentions are read from its words, corrected for the reader's error: the shares of UQs,
    and of AQs answered right (weighted by their worth), that are read as abstaining are brought to those that truly
    do. The curve then has one point between its ends.

    Args:
        confidence: [n] of `ANSWERS`, `UNCLEAR`, `ABSTAINS`. correct: [n] in [0, 1]. answerable: [n] booleans.
    """
    abstains = confidence == ABSTAINED
    worth = np.where(answerable, correct, 0.0)
    if answerable.all() or not answerable.any():
        return float("nan")
    fpr = 1 - error_rates.correct_proportion(abstains[~answerable].mean())
    full = worth.sum() / answerable.sum()
    acc = (
        full * (1 - error_rates.correct_proportion(worth[abstains].sum() / worth.sum()))
        if worth.any()
        else 0.0
    )
    return float(fpr * acc / 2 + (1 - fpr) * (acc + full) / 2)
