"""Detect from the text of a reply whether a model answers or abstains, with a classifier of known error
rates.

If the predictions file or an external file has abstention labels, the labels take precedence over the
classifier.
"""

from __future__ import annotations

import re
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

# Confidence that the question is answerable, for a reply that answers, is unclear or abstains.
ANSWERED, UNCLEAR, ABSTAINED = 1.0, 0.5, 0.0
# The classifier gives the probability that a reply abstains. The reply counts as abstaining from the first
# threshold on and as answering up to the second. Between the thresholds the reply is unclear. Both thresholds
# were chosen on the validation replies.
ABSTAIN_THRESHOLD, ANSWER_THRESHOLD = 0.86, 0.84
# Common words of other languages. English replies hardly ever contain these words, although some of the words
# are in the vocabulary of the classifier.
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
    """Error rates of the abstention classifier.

    The rates were measured on replies whose writers wrote none of the training replies
    (`rgqa study abstention-classifier --split held_out`).

    Attributes:
        recall: Proportion of abstaining replies that are classified as abstaining.
        false_positive_rate: Proportion of answering replies that are classified as abstaining.
    """

    recall: float
    false_positive_rate: float

    def correct_proportion(self, proportion: float) -> float:
        """Estimate the true proportion of abstaining replies (Rogan and Gladen, 1978, American Journal of
        Epidemiology 107(1)).

        Args:
            proportion: Proportion of replies that are classified as abstaining.

        Returns:
            The corrected proportion, in [0, 1].

        >>> round(ClassifierErrorRates(0.9, 0.1).correct_proportion(0.26), 6)  # 0.9 x 0.2 + 0.1 x 0.8 = 0.26
        0.2
        """
        return float(
            np.clip((proportion - self.false_positive_rate) / (self.recall - self.false_positive_rate), 0, 1)
        )


MEASURED_ERROR_RATES = ClassifierErrorRates(recall=261 / 266, false_positive_rate=6 / 274)


def classify_abstention(
    questions: Sequence[str], replies: Sequence[str], known_words: Collection[str] = ()
) -> np.ndarray:
    """Classify each reply as answering or abstaining.

    A reply abstains if it says that the answer cannot be known, that the question does not fit the image, or
    that the object of the question is not in the image, or if the reply declines for another reason. A bare
    "no", "none" or "nothing" is an answer. Only the final answer counts
    (`reasoning_parser.extract_final_answer`). Empty replies and the replies listed in `no_answer_texts`
    abstain by definition. Truncated reasoning is unclear. A reply in words that the classifier does not know
    is unclear, too (`is_unknown_language`).

    Args:
        questions: [n] questions.
        replies: [n] replies.
        known_words: Additional words that count as known, in lower case, such as the words of the benchmark's
            answers.

    Returns:
        [n] of `ANSWERED`, `ABSTAINED` or, where the classifier is not sure, `UNCLEAR`.

    >>> classify_abstention(["What color is the can?"] * 2, ["red", "I cannot tell."]).tolist()
    [1.0, 0.0]
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
    """Return for each reply whether it is probably not English, [n] booleans.

    A reply is probably not English if the classifier knows none of its words, or fewer than half of its
    words. Words of the question count as known. In a reply of three words or more, common words of other
    languages (`FOREIGN_WORDS`) count as unknown, and if the reply has such a word, more than half of its
    words must be known.

    >>> is_unknown_language(["What is it?"] * 4, ["nicht erkennbar", "Я не знаю", "a red car", "42"]).tolist()
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


# The reply that the prompts of `rgqa run` offer, at the beginning or as the value of a field "answer", also with a reason
# after it: "Unanswerable. The cup is blue." But "unanswerable by most people" is no such reply.
_STATES_UNANSWERABLE = re.compile(
    r"""\W*(?:(?:final |the )?(?:answer|response|verdict|result|label|status)\W+(?:is\W+)?|\w{1,12}["']?\s*[:=]\s*["']?)?unanswerable"""
    r"""(?=["'*_`)\]}]*\s*(?:$|[.:;!(-]|,\s*(?:because|since|as|there|the|no|it|i)\b|because\b|since\b|as\b|due to\b))"""
    r"""|\W*\w{1,12}["']\s*:\s*["']unanswerable["']""",
    re.IGNORECASE,
)
_ENDS_UNANSWERABLE = re.compile(
    r"\b(?:answer|response|verdict|result|conclusion|status)\W{1,4}(?:is\W+)?unanswerable\W*$", re.IGNORECASE
)


def _abstains_by_definition(text: str) -> bool:
    plain, first_line = to_plain_text(text), to_plain_text(text.strip().partition("\n")[0])
    return (
        is_no_answer(text)
        or not any(map(_is_content_character, plain))
        or _STATES_UNANSWERABLE.match(first_line) is not None
        or _ENDS_UNANSWERABLE.search(plain) is not None
    )


def _is_content_character(character: str) -> bool:
    """Return whether a character is a letter, a digit, or a sign such as "+" or "$" that can be seen in an
    image.
    """
    kind = unicodedata.category(character)
    return character in "%&#@/" or not (kind[0] in "PZC" or kind == "Sk")


def is_abstention(reply: str, question: str = "") -> bool:
    """Return whether a reply abstains. An unclear reply does not count as abstaining.

    Args:
        reply: The reply of a model.
        question: The question. Without a question ("") the classification is less accurate.

    Raises:
        ValueError: The reply is not a string.

    >>> is_abstention("I cannot tell from the image.", "What color is the can?"), is_abstention("no", "Is it red?")
    (True, False)
    """
    if not isinstance(reply, str):
        raise ValueError(f"reply is {reply!r}, expected a string")
    return bool(classify_abstention([question], [reply])[0] == ABSTAINED)


def score_abstention(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Count the wrong decisions: abstentions on AQs and answers to UQs.

    Missing predictions are excluded. If the confidences are read from the replies, two more results are
    included: the range of AUAF that the unclear replies leave open, and AUAF corrected for the error rates of
    the classifier.
    """
    if not (options.detect_abstention or "abstention" in options.scores):
        return {
            "unavailable": "abstentions were not detected (add --detect-abstention or --scores abstention)"
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
    """Compute AUAF with all unclear replies counted against the model, counted for the model, and corrected
    for error rates.
    """
    confidence, correct, answerable = answered.metric_inputs
    unclear = confidence == UNCLEAR
    against = np.where(unclear, np.where(answerable, ABSTAINED, ANSWERED), confidence)
    favour = np.where(unclear, np.where(answerable, ANSWERED, ABSTAINED), confidence)
    scores: Scores = {
        "auaf_lowest": auaf(against, correct, answerable),
        "auaf_highest": auaf(favour, correct, answerable),
    }
    # The error rates only apply if the classifier classified all replies.
    if not answered.predictions.abstention_labels:
        scores["auaf_corrected"] = corrected_auaf(confidence, correct, answerable)
    return scores


def corrected_auaf(
    confidence: np.ndarray,
    correct: np.ndarray,
    answerable: np.ndarray,
    error_rates: ClassifierErrorRates = MEASURED_ERROR_RATES,
) -> float:
    """Return AUAF corrected for the error rates of the abstention classifier.

    Two proportions are corrected separately: the proportion of UQs that are classified as abstaining, and
    that proportion of the correctly answered AQs (each weighted by its score). The corrected ACC-FPR curve
    then has one point between its two ends.

    Args:
        confidence: [n] of `ANSWERED`, `UNCLEAR`, `ABSTAINED`.
        correct: [n] in [0, 1], the score of each answer.
        answerable: [n] booleans.
        error_rates: Error rates of the classifier.
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
