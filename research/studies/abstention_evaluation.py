"""Measure how well the abstention classifier classifies replies whose writers wrote none of its training
replies.

Command: `rgqa study abstention-classifier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import format_count
from pipeline.scoring.abstention import ABSTAINED, ANSWERED, UNCLEAR, classify_abstention
from research.studies.reply_dataset import Reply, ReplySplit, read_replies

# The names that replies are labelled with.
_PREDICTION_NAMES = {ABSTAINED: "refuses", UNCLEAR: "unclear", ANSWERED: "answers"}


class AbstentionMetrics(NamedTuple):
    """Confusion counts of the abstention classifier.

    Attributes:
        num_abstentions, num_answers: Numbers of replies by their label.
        true_positives: Abstentions that are predicted as abstentions.
        false_positives: Answers that are predicted as abstentions.
        num_unclear: Replies of both labels for which the classifier predicts neither.
        correct_by_style: (correct replies, all replies) for each style.
    """

    num_abstentions: int
    num_answers: int
    true_positives: int
    false_positives: int
    num_unclear: int
    correct_by_style: dict[str, tuple[int, int]]

    @property
    def recall(self) -> float:
        """Proportion of abstentions that are found. An unclear prediction counts as missed."""
        return self.true_positives / self.num_abstentions

    @property
    def precision(self) -> float:
        """Proportion of predicted abstentions that abstain.

        An unclear prediction counts as a wrong abstention.
        """
        return self.true_positives / (self.true_positives + self.false_positives + self.num_unclear)

    @property
    def false_positive_rate(self) -> float:
        """Proportion of answers that are predicted as abstentions."""
        return self.false_positives / self.num_answers


def compute_abstention_metrics(rows: Sequence[Reply], predicted: np.ndarray) -> AbstentionMetrics:
    """Compare the labels of replies with predictions.

    Args:
        rows: The labelled replies.
        predicted: One of `ANSWERED`, `ABSTAINED` or the value between them for each reply, [n].
    """
    refuses = np.array([row.label == "refuses" for row in rows])
    right = predicted == np.where(refuses, ABSTAINED, ANSWERED)
    styles = np.array([row.style for row in rows])
    return AbstentionMetrics(
        num_abstentions=int(refuses.sum()),
        num_answers=int((~refuses).sum()),
        true_positives=int((predicted[refuses] == ABSTAINED).sum()),
        false_positives=int((predicted[~refuses] == ABSTAINED).sum()),
        num_unclear=int(((predicted != ABSTAINED) & (predicted != ANSWERED)).sum()),
        correct_by_style={
            style: (int(right[styles == style].sum()), int((styles == style).sum()))
            for style in dict.fromkeys(styles.tolist())
        },
    )


def evaluate_abstention_classifier(split: ReplySplit, num_examples: int = 0) -> str:
    """Return the metrics of one split of the replies as text, with the first `num_examples` wrong
    predictions.
    """
    rows = read_replies(split)
    said = classify_abstention([row.question for row in rows], [row.reply for row in rows])
    found = compute_abstention_metrics(rows, said)
    lines = [
        f"{format_count(len(rows), 'reply', 'replies')} of split {split}: {format_count(found.num_abstentions, 'abstention')}, {format_count(found.num_answers, 'answer')}",
        f"recall               {100 * found.recall:5.1f} %  {found.true_positives} of {format_count(found.num_abstentions, 'abstention')}",
        f"precision            {100 * found.precision:5.1f} %  of {found.true_positives + found.false_positives + found.num_unclear}, {found.num_unclear} unclear ones counted as wrong",
        f"false positive rate  {100 * found.false_positive_rate:5.1f} %  {found.false_positives} of {format_count(found.num_answers, 'answer')} read as abstentions",
        *(
            f"  {style:<20} {100 * right / count:5.1f} %  {right} of {count} right"
            for style, (right, count) in found.correct_by_style.items()
        ),
    ]
    wrong = [
        (row, value)
        for row, value in zip(rows, said.tolist(), strict=True)
        if (value == ABSTAINED) != (row.label == "refuses")
    ]
    lines += [
        f"label {row.label}, predicted {_PREDICTION_NAMES[value]}: {row.question} | {row.reply!r}"
        for row, value in wrong[:num_examples]
    ]
    return "\n".join(lines) + "\n"
