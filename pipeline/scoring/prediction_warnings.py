"""What looks as if something went wrong on the way from the model to its file of predictions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.errors import counted, some_of
from .abstention import is_unreadable
from .abstention_labels import unlabelled
from .joined_predictions import Answered, Match, Options, warning_of_declined
from .matching import FORMS, verdicts
from .threshold_sweep import area, sweep

LOOSER = 0.01  # share of verdicts from which on a looser comparison is pointed out
SHOWN = 3  # examples


def cautions(answered: Answered, options: Options) -> list[str]:
    """Warnings about one subset's predictions, each with what to check."""
    found = [*_of_replies(answered, options), *_of_matching(answered, options)]
    if options.free_text and (lacking := unlabelled(answered.model)):
        found.append(f"{lacking}: whether they abstain is read from their words")
    if answered.confident and not options.free_text:
        found += _of_confidences(answered)
    return found


def _of_replies(answered: Answered, options: Options) -> Iterator[str]:
    """Replies without text, and those in words that the reader of abstentions does not know."""
    at, declined = answered.at(~answered.missing), answered.model.reading.declined
    if warning := warning_of_declined(
        [declined[name] for name in at.items["id"] if name in declined], len(at.said)
    ):
        yield warning
    if options.free_text or "abstention" in options.scores:
        read = [i for i, name in enumerate(at.items["id"]) if name not in answered.model.labels]
        said = [at.said[i] for i in read]
        unknown = np.flatnonzero(
            is_unreadable(at.items["asked"][read].tolist(), said, at.items.answer_words)
        ).tolist()
        if unknown:
            verb = "is" if len(unknown) == 1 else "are"
            yield (
                f"{counted(len(unknown), 'reply', 'replies')} {verb} in words that the reader of abstentions does not know, which is for "
                f"English, and {verb} unclear (0.5): {some_of([repr(said[i][:60]) for i in unknown], SHOWN)}; ask the model for English, or say in "
                "a column `abstained` of the predictions, or in a file for --judge, which replies abstain"
            )


def _of_confidences(answered: Answered) -> Iterator[str]:
    given = answered.confidence[~answered.missing]
    lowest, highest = given.min(), given.max()
    if lowest == highest:
        yield f"all confidences are {lowest:g}: nothing can be told apart by them; is it the right column?"
        return
    if ((given == 0) | (given == 1)).all():
        yield "confidences are 0 and 1 alone: the curve has one point between its ends; are there scores before the decision?"
    if outside := np.count_nonzero((given < 0) | (given > 1)):
        yield f"{counted(outside, 'confidence lies', 'confidences lie')} outside [0, 1]: are they logits? Ranks are scored as they are, calibration is not"
    swept = sweep(*answered.columns)
    auroc = float(area(swept, of_all=True))
    if auroc < 0.5:
        yield f"AUROC is {100 * auroc:.1f}, below chance: is the confidence that of being *un*answerable?"


def _of_matching(answered: Answered, options: Options) -> Iterator[str]:
    """The first looser form that would change more than 1 % of the verdicts on AQs."""
    if answered.people:
        return
    at = answered.at((answered.correct < 1) & ~answered.missing & answered.answerable)
    answers = at.items["answers"].tolist()
    forms: list[Match] = list(FORMS)
    for form in forms[forms.index(options.match) + 1 :]:
        worth = verdicts(at.said, answers, form, options.synonyms)
        changed = np.flatnonzero(worth > at.correct)
        if len(changed) > LOOSER * answered.answerable.sum():
            examples = ", ".join(
                f"{at.said[i]!r} for {next(iter(answers[i]))!r}" for i in changed[:SHOWN].tolist()
            )
            yield f"--match {form} would call {counted(len(changed), 'more answer')} right: {examples}"
            return
    spaced = {text: f" {FORMS['vqa'](text)} " for text in {*at.said}.union(*answers)}
    wordy = [
        i
        for i in np.flatnonzero(at.correct == 0).tolist()
        if any(spaced[label] in spaced[at.said[i]] for label in answers[i])
    ]
    if len(wordy) > LOOSER * answered.answerable.sum():
        examples = ", ".join(f"{at.said[i]!r} for {next(iter(answers[i]))!r}" for i in wordy[:SHOWN])
        yield (
            f"{counted(len(wordy), 'answer that counts as wrong holds', 'answers that count as wrong hold')} the label "
            f"among other words: {examples}; "
            "ask the model for a word or a phrase"
        )
