"""What looks as if something went wrong on the way from the model to its file of predictions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.errors import format_count, join_examples
from .abstention import is_unknown_language
from .abstention_labels import describe_unlabelled
from .joined_predictions import JoinedPredictions, MatchMode, ScoringOptions, warn_of_empty_replies
from .matching import NORMALIZERS, match_answers
from .threshold_sweep import area_under_curve, sweep_thresholds

MIN_CHANGED_PROPORTION = 0.01  # share of verdicts from which on a looser comparison is pointed out
MAX_EXAMPLES = 3  # examples


def find_prediction_warnings(answered: JoinedPredictions, options: ScoringOptions) -> list[str]:
    """Warnings about one subset's predictions, each with what to check."""
    found = [*_reply_warnings(answered, options), *_matching_warnings(answered, options)]
    if options.detect_abstention and (lacking := describe_unlabelled(answered.predictions)):
        found.append(f"{lacking}: whether they abstain is read from their words")
    if answered.has_confidence and not options.detect_abstention:
        found += _confidence_warnings(answered)
    return found


def _reply_warnings(answered: JoinedPredictions, options: ScoringOptions) -> Iterator[str]:
    """Replies without text, and those in words that the reader of abstentions does not know."""
    at, declined = answered.select(~answered.missing), answered.predictions.file_info.empty_replies
    if warning := warn_of_empty_replies(
        [declined[name] for name in at.items["id"] if name in declined], len(at.answer)
    ):
        yield warning
    if options.detect_abstention or "abstention" in options.scores:
        read = [
            i for i, name in enumerate(at.items["id"]) if name not in answered.predictions.abstention_labels
        ]
        said = [at.answer[i] for i in read]
        unknown = np.flatnonzero(
            is_unknown_language(at.items["question_text"][read].tolist(), said, at.items.answer_words)
        ).tolist()
        if unknown:
            verb = "is" if len(unknown) == 1 else "are"
            yield (
                f"{format_count(len(unknown), 'reply', 'replies')} {verb} in words that the reader of abstentions does not know, which is for "
                f"English, and {verb} unclear (0.5): {join_examples([repr(said[i][:60]) for i in unknown], MAX_EXAMPLES)}; ask the model for English, or say in "
                "a column `abstained` of the predictions, or in a file for --abstention-labels, which replies abstain"
            )


def _confidence_warnings(answered: JoinedPredictions) -> Iterator[str]:
    given = answered.confidence[~answered.missing]
    lowest, highest = given.min(), given.max()
    if lowest == highest:
        yield f"all confidences are {lowest:g}: nothing can be told apart by them; is it the right column?"
        return
    if ((given == 0) | (given == 1)).all():
        yield "confidences are 0 and 1 alone: the curve has one point between its ends; are there scores before the decision?"
    if outside := np.count_nonzero((given < 0) | (given > 1)):
        yield f"{format_count(outside, 'confidence lies', 'confidences lie')} outside [0, 1]: are they logits? Ranks are scored as they are, calibration is not"
    swept = sweep_thresholds(*answered.metric_inputs)
    auroc = float(area_under_curve(swept, count_all_accepted=True))
    if auroc < 0.5:
        yield f"AUROC is {100 * auroc:.1f}, below chance: is the confidence that of being *un*answerable?"


def _matching_warnings(answered: JoinedPredictions, options: ScoringOptions) -> Iterator[str]:
    """The first looser form that would change more than 1 % of the verdicts on AQs."""
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
            yield f"--match {form} would call {format_count(len(changed), 'more answer')} right: {examples}"
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
            f"{format_count(len(wordy), 'answer that counts as wrong holds', 'answers that count as wrong hold')} the label "
            f"among other words: {examples}; "
            "ask the model for a word or a phrase"
        )
