"""Warn of signs that something went wrong between the model and its predictions file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.errors import format_count, join_examples
from .abstention import is_unknown_language
from .abstention_labels import describe_unlabelled
from .joined_predictions import JoinedPredictions, MatchMode, ScoringOptions, warn_of_empty_replies
from .matching import NORMALIZERS, match_answers
from .threshold_sweep import area_under_curve, sweep_thresholds

# A looser match mode is suggested if it changes the correctness of more than this proportion of the answers
# to AQs.
MIN_CHANGED_PROPORTION = 0.01
MAX_EXAMPLES = 3


def find_prediction_warnings(answered: JoinedPredictions, options: ScoringOptions) -> list[str]:
    """Return warnings about one subset's predictions, each with what to check."""
    found = [*_reply_warnings(answered, options), *_matching_warnings(answered, options)]
    if options.detect_abstention and (lacking := describe_unlabelled(answered.predictions)):
        found.append(f"{lacking}: their abstentions are detected from the text")
    if answered.has_confidence and not options.detect_abstention:
        found += _confidence_warnings(answered)
    return found


def _reply_warnings(answered: JoinedPredictions, options: ScoringOptions) -> Iterator[str]:
    """Warn of replies without text, and of replies whose words the abstention classifier does not know."""
    at, declined = answered.select(~answered.missing), answered.predictions.file_info.empty_replies
    if warning := warn_of_empty_replies(
        [declined[name] for name in at.items["id"] if name in declined], len(at.answer)
    ):
        yield warning
    if options.detect_abstention or "abstention" in options.scores:
        read = [
            i for i, name in enumerate(at.items["id"]) if name not in answered.predictions.abstention_labels
        ]
        replies = [at.answer[i] for i in read]
        unknown = np.flatnonzero(
            is_unknown_language(at.items["question_text"][read].tolist(), replies, at.items.answer_words)
        ).tolist()
        if unknown:
            verb = "is" if len(unknown) == 1 else "are"
            yield (
                f"{format_count(len(unknown), 'reply', 'replies')} {verb} probably not English, which the abstention classifier needs, and {verb} "
                f"unclear (0.5): {join_examples([repr(replies[i][:60]) for i in unknown], MAX_EXAMPLES)}. Ask the model for English, or mark "
                "abstentions in a column `abstained` of the predictions or in a file for --abstention-labels"
            )


def _confidence_warnings(answered: JoinedPredictions) -> Iterator[str]:
    given = answered.confidence[~answered.missing]
    lowest, highest = given.min(), given.max()
    if lowest == highest:
        yield f"all confidences are {lowest:g}, so they separate nothing. Is it the right column?"
        return
    if ((given == 0) | (given == 1)).all():
        yield "all confidences are 0 or 1, so the curve has one point between its ends. Use the scores before the decision if there are any"
    if outside := np.count_nonzero((given < 0) | (given > 1)):
        yield f"{format_count(outside, 'confidence lies', 'confidences lie')} outside [0, 1]. If they are logits, ranking scores are valid but calibration is not scored"
    swept = sweep_thresholds(*answered.metric_inputs)
    auroc = float(area_under_curve(swept, count_all_accepted=True))
    if auroc < 0.5:
        yield f"AUROC is {100 * auroc:.1f}, below chance. Is it the confidence that the question is *un*answerable?"


def _matching_warnings(answered: JoinedPredictions, options: ScoringOptions) -> Iterator[str]:
    """Suggest the first looser match mode that would change the correctness of more than 1 % of the answers
    to AQs.
    """
    if answered.has_human_answers:
        return
    at = answered.select((answered.correct < 1) & ~answered.missing & answered.answerable)
    answers = at.items["answers"].tolist()
    forms: list[MatchMode] = list(NORMALIZERS)
    for form in forms[forms.index(options.match) + 1 :]:
        worth = match_answers(at.answer, answers, form, options.synonyms)
        changed = np.flatnonzero(worth > at.correct)
        if len(changed) > MIN_CHANGED_PROPORTION * answered.answerable.sum():
            examples = ", ".join(
                f"{at.answer[i]!r} for {next(iter(answers[i]))!r}" for i in changed[:MAX_EXAMPLES].tolist()
            )
            yield f"--match {form} would accept {format_count(len(changed), 'more answer')} as correct: {examples}"
            return
    spaced = {text: f" {NORMALIZERS['vqa'](text)} " for text in {*at.answer}.union(*answers)}
    wordy = [
        i
        for i in np.flatnonzero(at.correct == 0).tolist()
        if any(spaced[label] in spaced[at.answer[i]] for label in answers[i])
    ]
    if len(wordy) > MIN_CHANGED_PROPORTION * answered.answerable.sum():
        examples = ", ".join(f"{at.answer[i]!r} for {next(iter(answers[i]))!r}" for i in wordy[:MAX_EXAMPLES])
        yield (
            f"{format_count(len(wordy), 'answer that counts as wrong contains', 'answers that count as wrong contain')} the label "
            f"among other words: {examples}. Ask the model for a word or a phrase"
        )
