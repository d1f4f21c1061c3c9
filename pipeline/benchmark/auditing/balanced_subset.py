"""Choose a large subset in which neither the text nor the image predicts the label.

The subset is chosen by the rules of stage `balance`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.benchmark.auditing.labelled_set import LabelledSet
from pipeline.benchmark.balancing.pairing import (
    BALANCED_MARGINS,
    OUTSIDE_BALANCED_SET,
    TELLTALE_WORDING,
    BalanceParams,
    ImageText,
    find_largest_balanced_set,
)
from pipeline.benchmark.balancing.telltale_pairs import find_telltale_pairs
from pipeline.core.randomness import make_generator
from pipeline.core.records import Record

DUPLICATE = "an earlier row has the same text, image and label"
ONE_LABEL = "its text has only one label"
CONTRADICTORY = "the same text has both labels for this image"
UNPAIRED = "no remaining row with the other label has the same source question"
DEFAULT_BALANCE_PARAMS = BalanceParams()


class BalanceReport(Record):
    """What a balanced subset keeps and excludes.

    Attributes:
        rule: The rule by which the subset was chosen.
        positives, negatives: Number of rows with label 1 (with label 0) in the subset and in the whole set.
        texts, images: Number of distinct texts (images) in the subset and in the whole set. `images` is None
            if images are not known.
        excluded_rows: Reason -> number of excluded rows.
    """

    rule: str
    positives: tuple[int, int]
    negatives: tuple[int, int]
    texts: tuple[int, int]
    images: tuple[int, int] | None
    excluded_rows: Mapping[str, int]


def choose_balanced_subset(rows: LabelledSet, seed: int) -> tuple[np.ndarray, BalanceReport]:
    """Choose a balanced subset.

    There are two rules. If at least half of the rows form pairs (a question and its edited version, with
    different labels), pairs stay together. Pairs are excluded until the edits insert each n-gram about as
    often as they remove it (`find_telltale_pairs`). Otherwise the result is the largest subset in which each
    text and each image has equally many rows with each label (`find_largest_balanced_set`).

    Args:
        rows: The set.
        seed: Seed for choosing between equally good pairs.

    Returns:
        The indices of the kept rows, and a report.
    """
    pairs = _make_pairs(rows)
    if 4 * len(pairs) >= len(rows):
        rule = "pairs of a question and its edited version, without pairs whose wording reveals the edit"
        reasons = _exclude_unbalanced_pairs(rows, pairs, seed)
    else:
        rule = (
            BALANCED_MARGINS if rows.images is not None else "each text has equally many rows with each label"
        )
        reasons = _exclude_unbalanced_rows(rows)
    keep = np.array([i for i in range(len(rows)) if i not in reasons], int)
    counts: defaultdict[str, int] = defaultdict(int)
    for reason in reasons.values():
        counts[reason] += 1
    kept = rows.select(keep)

    def count_label(label: int) -> tuple[int, int]:
        return int((kept.labels == label).sum()), int((rows.labels == label).sum())

    images = None
    if rows.images is not None and kept.images is not None:
        images = len(set(kept.images)), len(set(rows.images))
    texts = len(set(kept.texts)), len(set(rows.texts))
    return keep, BalanceReport(
        rule=rule,
        positives=count_label(1),
        negatives=count_label(0),
        texts=texts,
        images=images,
        excluded_rows=dict(sorted(counts.items())),
    )


def _exclude_unbalanced_rows(rows: LabelledSet) -> dict[int, str]:
    """Return the index and reason of each excluded row.

    Of duplicate rows the first is kept. Rows with the same text and image but different labels are all
    excluded.
    """
    texts_with_both_labels = set.intersection(
        *({rows.texts[i] for i in np.flatnonzero(rows.labels == label)} for label in (0, 1))
    )
    images: Sequence[object] = [0] * len(rows) if rows.images is None else rows.images
    reasons: dict[int, str] = {}
    # Label -> (image and text -> index of the row).
    row_by_key: list[dict[ImageText, int]] = [{}, {}]
    # Without images, rows with the same text are not duplicates.
    allow_duplicates = rows.images is None
    repeats: list[list[tuple[ImageText, int]]] = [[], []]
    for i, (text, image, label) in enumerate(zip(rows.texts, images, rows.labels.tolist(), strict=True)):
        key = str(image), ("", text)
        if text not in texts_with_both_labels:
            reasons[i] = ONE_LABEL
        elif allow_duplicates:
            repeats[label].append((key, i))
        elif key in row_by_key[label]:
            reasons[i] = DUPLICATE
        else:
            row_by_key[label][key] = i
    for key in row_by_key[0].keys() & row_by_key[1].keys():
        reasons |= {row_by_key[0].pop(key): CONTRADICTORY, row_by_key[1].pop(key): CONTRADICTORY}
    negatives, positives = (
        repeats[label] or sorted(row_by_key[label].items(), key=lambda item: item[1]) for label in (0, 1)
    )
    chosen = find_largest_balanced_set(
        [key for key, _ in positives],
        [0.0] * len(positives),
        [key for key, _ in negatives],
        sorted(set(map(str, images))),
        sorted(("", text) for text in texts_with_both_labels),
    )
    for members, kept in zip((positives, negatives), chosen, strict=True):
        reasons |= {
            i: OUTSIDE_BALANCED_SET for (_, i), is_kept in zip(members, kept, strict=True) if not is_kept
        }
    return reasons


def _make_pairs(rows: LabelledSet) -> list[tuple[int, int]]:
    """Return pairs of a row with label 0 and a row with label 1.

    The rows of a pair have the same source question but different texts. Each row is in at most one pair.
    """
    by_source: defaultdict[str, list[list[int]]] = defaultdict(lambda: [[], []])
    for i, key in enumerate(rows.source_ids or ()):
        by_source[key][rows.labels[i]].append(i)
    both = [(zeros[0], ones[0]) for zeros, ones in by_source.values() if zeros and ones]
    return [(zero, one) for zero, one in both if rows.texts[zero] != rows.texts[one]]


def _exclude_unbalanced_pairs(rows: LabelledSet, pairs: list[tuple[int, int]], seed: int) -> dict[int, str]:
    paired = {i for pair in pairs for i in pair}
    reasons = {i: UNPAIRED for i in range(len(rows)) if i not in paired}
    texts = [(rows.texts[zero], rows.texts[one]) for zero, one in pairs]
    for index in find_telltale_pairs(
        texts,
        DEFAULT_BALANCE_PARAMS.max_word_imbalance,
        DEFAULT_BALANCE_PARAMS.max_dropped_proportion,
        make_generator(seed, "balanced subset", "words"),
    ):
        reasons |= dict.fromkeys(pairs[index], TELLTALE_WORDING)
    return reasons
