"""Show the first three words of questions as rings, one ring per word (RGQA, Fig. D2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import pi

from pipeline.core.records import Record

StartCounts = Counter[tuple[str, ...]]
DEPTH = 3
# Starts of a smaller proportion of the questions are left white, as in RGQA's figure.
MIN_PROPORTION = 0.004
# Radius of the hole and width of a ring, in the units of the figure.
INNER_RADIUS, RING_WIDTH = 46.0, 66.0
FONT_SIZE = 11.5
# Mean width of a letter relative to the font size.
LETTER_WIDTH = 0.56
COLOURS = [
    "#8fbfe8",
    "#f7b27a",
    "#93cf96",
    "#ee9a96",
    "#c3abdf",
    "#d2b09a",
    "#f0b4d8",
    "#c8c8c8",
    "#d8d67c",
    "#86d3de",
]


class Arc(Record):
    """One start of questions, such as "what color is", as an arc of a ring.

    Attributes:
        words: The words of the start.
        count, proportion: Number and proportion of the questions that start with these words.
        start_fraction: Where the arc starts, as a fraction of the circle, clockwise from the top. The length
            of the arc is `proportion`.
        radius: Radius of the middle of the ring.
        colour: Colour of the first word.
        label: The last word, or "" if it does not fit into the arc.
    """

    words: tuple[str, ...]
    count: int
    proportion: float
    start_fraction: float
    radius: float
    colour: str
    label: str


class StartProportions(Record):
    """The proportions of questions that start with some words.

    Attributes:
        words: The words, separated by spaces.
        aq, uq: Proportion of the answerable questions (AQs) and of the unanswerable questions (UQs), 0 to 1.
    """

    words: str
    aq: float
    uq: float


def count_starts(texts: Iterable[str]) -> StartCounts:
    """Count the texts that start with each word, each two words and each three words.

    Texts with fewer words are not in the outer rings.
    """
    counts: StartCounts = Counter()
    for text in texts:
        words = tuple(word.strip("?.,!;:\"'").lower() for word in text.split()[:DEPTH])
        counts.update(words[:n] for n in range(1, len(words) + 1))
    return counts


def make_arcs(counts: StartCounts, order: Sequence[str]) -> list[Arc]:
    """Return the arcs of one sunburst, from the innermost ring, clockwise from the top.

    Args:
        counts: The result of `count_starts`.
        order: All first words in their order in the circle. The order also determines the colours.
    """
    total = _count_texts(counts)
    arcs = []
    # Words of an arc -> where the next arc within this arc starts.
    next_start: dict[tuple[str, ...], float] = {(): 0.0}
    for words in sorted(counts, key=lambda w: (len(w), order.index(w[0]), -counts[w], w)):
        proportion, start = counts[words] / total, next_start[words[:-1]]
        radius = INNER_RADIUS + (len(words) - 0.5) * RING_WIDTH
        next_start[words], next_start[words[:-1]] = start, start + proportion
        fits = (
            proportion * 2 * pi * (radius - RING_WIDTH / 2) >= FONT_SIZE
            and len(words[-1]) * FONT_SIZE * LETTER_WIDTH <= RING_WIDTH - 4
        )
        if proportion >= MIN_PROPORTION:
            arcs.append(
                Arc(
                    words=words,
                    count=counts[words],
                    proportion=proportion,
                    start_fraction=start,
                    radius=radius,
                    colour=COLOURS[order.index(words[0]) % len(COLOURS)],
                    label=words[-1] if fits else "",
                )
            )
    return arcs


def find_common_starts(aq: StartCounts, uq: StartCounts, depth: int) -> list[StartProportions]:
    """Return the starts of `depth` words, the most frequent start first. AQs and UQs have the same weight."""
    aqs, uqs = _count_texts(aq) or 1, _count_texts(uq) or 1
    found = [
        StartProportions(words=" ".join(words), aq=aq[words] / aqs, uq=uq[words] / uqs)
        for words in {*aq, *uq}
        if len(words) == depth
    ]
    return sorted(found, key=lambda start: (-(start.aq + start.uq), start.words))


def _count_texts(counts: StartCounts) -> int:
    return sum(n for words, n in counts.items() if len(words) == 1)
