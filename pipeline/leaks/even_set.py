"""The largest part of a set in which neither a text nor a picture leans to a label, by the rules of stage `balance`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from pipeline.balancing.balance_subset import (
    MARGINS,
    UNBALANCED,
    UNEVEN,
    Place,
    largest_balanced,
)
from pipeline.balancing.even_words import even
from pipeline.core.randomness import generator
from pipeline.core.records import Record
from pipeline.leaks.read_set import LabelledSet

REPEATED = "the same text, picture and label stood before"
ONE_LABEL = "its text has one label alone"
BOTH = "the same text has both labels for this picture"
NO_TWIN = "no question of the other label that is not paired yet was made from the same"
SLACK, MOST_UNEVEN = 1.0, 0.1  # of `even_words`, as stage `balance` has them


class Lost(Record):
    """What a balanced part keeps and loses. `rule`: how it was chosen. `ones`, `zeros`, `texts`, `pictures`: kept of how many;
    `reasons`: rows that are left out, by reason."""

    rule: str
    ones: tuple[int, int]
    zeros: tuple[int, int]
    texts: tuple[int, int]
    pictures: tuple[int, int] | None
    reasons: Mapping[str, int]


def balanced(rows: LabelledSet, seed: int) -> tuple[np.ndarray, Lost]:
    """Which rows stay, by their places, and what is lost.

    Where most rows have a twin (made from the same question) of the other label and with other words, twins stay as pairs;
    pairs go until wordings are put in about as often as they are taken out (`even_words.even`). Else it is the largest set in
    which each text and each picture has as many rows of either label (`balance_subset.largest_balanced`).
    """
    pairs = _pairs(rows)
    if 4 * len(pairs) >= len(rows):
        rule = "pairs of a question and what was made of it; some go so that their words tell less"
        reasons = _by_pairs(rows, pairs, seed)
    else:
        rule = MARGINS if rows.pictures is not None else "each text has as many of either kind"
        reasons = _by_margins(rows)
    keep = np.array([i for i in range(len(rows)) if i not in reasons], int)
    counts: defaultdict[str, int] = defaultdict(int)
    for reason in reasons.values():
        counts[reason] += 1
    kept = rows.at(keep)

    def of(label: int) -> tuple[int, int]:
        return int((kept.labels == label).sum()), int((rows.labels == label).sum())

    pictures = None
    if rows.pictures is not None and kept.pictures is not None:
        pictures = len(np.unique(kept.pictures)), len(np.unique(rows.pictures))
    texts = len(set(kept.texts)), len(set(rows.texts))
    return keep, Lost(
        rule=rule,
        ones=of(1),
        zeros=of(0),
        texts=texts,
        pictures=pictures,
        reasons=dict(sorted(counts.items())),
    )


def _by_margins(rows: LabelledSet) -> dict[int, str]:
    """Rows that are left out, with the reason. Of rows that say the same one counts; rows that contradict each other none."""
    twofold = set.intersection(
        *({rows.texts[i] for i in np.flatnonzero(rows.labels == label)} for label in (0, 1))
    )
    pictures = [0] * len(rows) if rows.pictures is None else rows.pictures.tolist()
    reasons: dict[int, str] = {}
    places: list[dict[Place, int]] = [{}, {}]  # of either label
    # Without pictures each row is one of its own.
    several = rows.pictures is None
    repeats: list[list[tuple[Place, int]]] = [[], []]
    for i, (text, picture, label) in enumerate(zip(rows.texts, pictures, rows.labels.tolist(), strict=True)):
        place = str(picture), ("", text)
        if text not in twofold:
            reasons[i] = ONE_LABEL
        elif several:
            repeats[label].append((place, i))
        elif place in places[label]:
            reasons[i] = REPEATED
        else:
            places[label][place] = i
    for place in places[0].keys() & places[1].keys():
        reasons |= {places[0].pop(place): BOTH, places[1].pop(place): BOTH}
    zeros, ones = (
        repeats[label] or sorted(places[label].items(), key=lambda item: item[1]) for label in (0, 1)
    )
    chosen = largest_balanced(
        [place for place, _ in ones],
        [0.0] * len(ones),
        [place for place, _ in zeros],
        sorted(set(map(str, pictures))),
        sorted(("", text) for text in twofold),
    )
    for side, stays in zip((ones, zeros), chosen, strict=True):
        reasons |= {i: UNBALANCED for (_, i), stay in zip(side, stays, strict=True) if not stay}
    return reasons


def _pairs(rows: LabelledSet) -> list[tuple[int, int]]:
    """Rows 0 and 1 that were made from the same question and differ in their text, each row once at most."""
    twins: defaultdict[str, list[list[int]]] = defaultdict(lambda: [[], []])
    for i, key in enumerate(rows.linked or ()):
        twins[key][rows.labels[i]].append(i)
    both = [(zeros[0], ones[0]) for zeros, ones in twins.values() if zeros and ones]
    return [(zero, one) for zero, one in both if rows.texts[zero] != rows.texts[one]]


def _by_pairs(rows: LabelledSet, pairs: list[tuple[int, int]], seed: int) -> dict[int, str]:
    paired = {i for pair in pairs for i in pair}
    reasons = {i: NO_TWIN for i in range(len(rows)) if i not in paired}
    texts = [(rows.texts[zero], rows.texts[one]) for zero, one in pairs]
    for place in even(texts, SLACK, MOST_UNEVEN, generator(seed, "leaks", "words")):
        reasons |= dict.fromkeys(pairs[place], UNEVEN)
    return reasons
