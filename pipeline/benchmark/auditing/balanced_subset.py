"""The largest subset in which neither a text nor an image has more rows of one label, by the rules of stage `balance`."""

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
UNPAIRED = "no row of the other label was made from the same question, or it is in another pair"
DEFAULT_BALANCE_PARAMS = BalanceParams()  # of stage `balance`


class BalanceReport(Record):
    """What a balanced subset keeps and leaves out.

    Attributes:
        rule: How it was chosen.
        ones, zeros, texts, images: How many are kept, of how many.
        reasons: Rows that are left out, by reason.
    """

    rule: str
    positives: tuple[int, int]
    negatives: tuple[int, int]
    texts: tuple[int, int]
    images: tuple[int, int] | None
    excluded_rows: Mapping[str, int]


def choose_balanced_subset(rows: LabelledSet, seed: int) -> tuple[np.ndarray, BalanceReport]:
    """Choose a balanced subset.

    Where most rows have a counterpart of the other label, made from the same question in other words, such pairs stay together.
    Pairs are left out until wordings are put in about as often as they are taken out (`even_words.even`). Otherwise the result is
    the largest subset in which each text and each image has equally many rows of both labels (`balance_subset.largest_balanced`).

    Args:
        rows: The set.
        seed: Decides which of equally good pairs are left out.

    Returns:
        The places of the rows that stay, and what is left out.
    """
    pairs = _make_pairs(rows)
    if 4 * len(pairs) >= len(rows):
        rule = "pairs of a question and one made from it; some are left out so that their words predict less"
        reasons = _exclude_unbalanced_pairs(rows, pairs, seed)
    else:
        rule = BALANCED_MARGINS if rows.images is not None else "each text has equally many of both labels"
        reasons = _exclude_unbalanced_rows(rows)
    keep = np.array([i for i in range(len(rows)) if i not in reasons], int)
    counts: defaultdict[str, int] = defaultdict(int)
    for reason in reasons.values():
        counts[reason] += 1
    kept = rows.select(keep)

    def of(label: int) -> tuple[int, int]:
        return int((kept.labels == label).sum()), int((rows.labels == label).sum())

    images = None
    if rows.images is not None and kept.images is not None:
        images = len(set(kept.images)), len(set(rows.images))
    texts = len(set(kept.texts)), len(set(rows.texts))
    return keep, BalanceReport(
        rule=rule,
        positives=of(1),
        negatives=of(0),
        texts=texts,
        images=images,
        excluded_rows=dict(sorted(counts.items())),
    )


def _exclude_unbalanced_rows(rows: LabelledSet) -> dict[int, str]:
    """Rows that are left out, with the reason. Of rows that say the same one counts; rows that contradict each other none."""
    twofold = set.intersection(
        *({rows.texts[i] for i in np.flatnonzero(rows.labels == label)} for label in (0, 1))
    )
    images: Sequence[object] = [0] * len(rows) if rows.images is None else rows.images
    reasons: dict[int, str] = {}
    places: list[dict[ImageText, int]] = [{}, {}]  # of either label
    # Without images each row is one of its own.
    several = rows.images is None
    repeats: list[list[tuple[ImageText, int]]] = [[], []]
    for i, (text, image, label) in enumerate(zip(rows.texts, images, rows.labels.tolist(), strict=True)):
        place = str(image), ("", text)
        if text not in twofold:
            reasons[i] = ONE_LABEL
        elif several:
            repeats[label].append((place, i))
        elif place in places[label]:
            reasons[i] = DUPLICATE
        else:
            places[label][place] = i
    for place in places[0].keys() & places[1].keys():
        reasons |= {places[0].pop(place): CONTRADICTORY, places[1].pop(place): CONTRADICTORY}
    zeros, ones = (
        repeats[label] or sorted(places[label].items(), key=lambda item: item[1]) for label in (0, 1)
    )
    chosen = find_largest_balanced_set(
        [place for place, _ in ones],
        [0.0] * len(ones),
        [place for place, _ in zeros],
        sorted(set(map(str, images))),
        sorted(("", text) for text in twofold),
    )
    for side, stays in zip((ones, zeros), chosen, strict=True):
        reasons |= {i: OUTSIDE_BALANCED_SET for (_, i), stay in zip(side, stays, strict=True) if not stay}
    return reasons


def _make_pairs(rows: LabelledSet) -> list[tuple[int, int]]:
    """Rows 0 and 1 that were made from the same question and differ in their text, each row once at most."""
    by_source: defaultdict[str, list[list[int]]] = defaultdict(lambda: [[], []])
    for i, key in enumerate(rows.source_ids or ()):
        by_source[key][rows.labels[i]].append(i)
    both = [(zeros[0], ones[0]) for zeros, ones in by_source.values() if zeros and ones]
    return [(zero, one) for zero, one in both if rows.texts[zero] != rows.texts[one]]


def _exclude_unbalanced_pairs(rows: LabelledSet, pairs: list[tuple[int, int]], seed: int) -> dict[int, str]:
    paired = {i for pair in pairs for i in pair}
    reasons = {i: UNPAIRED for i in range(len(rows)) if i not in paired}
    texts = [(rows.texts[zero], rows.texts[one]) for zero, one in pairs]
    for place in find_telltale_pairs(
        texts,
        DEFAULT_BALANCE_PARAMS.max_word_imbalance,
        DEFAULT_BALANCE_PARAMS.max_dropped_proportion,
        make_generator(seed, "balanced subset", "words"),
    ):
        reasons |= dict.fromkeys(pairs[place], TELLTALE_WORDING)
    return reasons
