"""The first three words of questions as rings, one word a ring (RGQA, Fig. D2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import pi

from pipeline.core.records import Record

StartCounts = Counter[tuple[str, ...]]
DEPTH = 3
MIN_PROPORTION = (
    0.004  # share of all questions below which a start of questions is left white, as in the paper
)
INNER_RADIUS, RING_WIDTH = 46.0, 66.0  # radius of the hole and width of a ring
FONT_SIZE = 11.5  # px, in the image's own units
LETTER_WIDTH = 0.56  # width of a letter as a share of the font's size, on average
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
    """One start of questions ("what color is"): a dash of a circle of `radius`, as broad as the ring. It begins at the
    share `start` of the circle, clockwise from the top, and is as long as its `share` of all questions. `label` is ""
    where it does not fit."""

    words: tuple[str, ...]
    count: int
    proportion: float
    start_fraction: float
    radius: float
    colour: str
    label: str


class StartProportions(Record):
    """Shares of AQs and UQs that start with these words."""

    words: str
    aq: float
    uq: float


def count_starts(texts: Iterable[str]) -> StartCounts:
    """How many texts start with each one, two and three words; shorter texts have no later rings."""
    counts: StartCounts = Counter()
    for text in texts:
        words = tuple(word.strip("?.,!;:\"'").lower() for word in text.split()[:DEPTH])
        counts.update(words[:n] for n in range(1, len(words) + 1))
    return counts


def make_arcs(counts: StartCounts, order: Sequence[str]) -> list[Arc]:
    """The rings of one sunburst, from the inside, each clockwise from the top.

    Args:
        counts: from `starts`. order: all first words by their place in the circle, which also gives the colour.
    """
    total = _count_texts(counts)
    drawn = []
    # Where in the circle the next start within this one begins.
    free: dict[tuple[str, ...], float] = {(): 0.0}
    for words in sorted(counts, key=lambda w: (len(w), order.index(w[0]), -counts[w], w)):
        share, start, radius = (
            counts[words] / total,
            free[words[:-1]],
            INNER_RADIUS + (len(words) - 0.5) * RING_WIDTH,
        )
        free[words], free[words[:-1]] = start, start + share
        fits = (
            share * 2 * pi * (radius - RING_WIDTH / 2) >= FONT_SIZE
            and len(words[-1]) * FONT_SIZE * LETTER_WIDTH <= RING_WIDTH - 4
        )
        if share >= MIN_PROPORTION:
            drawn.append(
                Arc(
                    words=words,
                    count=counts[words],
                    proportion=share,
                    start_fraction=start,
                    radius=radius,
                    colour=COLOURS[order.index(words[0]) % len(COLOURS)],
                    label=words[-1] if fits else "",
                )
            )
    return drawn


def find_common_starts(aq: StartCounts, uq: StartCounts, depth: int) -> list[StartProportions]:
    """The starts of `depth` words over both kinds, the commonest first, each kind weighing the same."""
    aqs, uqs = _count_texts(aq) or 1, _count_texts(uq) or 1
    found = [
        StartProportions(words=" ".join(words), aq=aq[words] / aqs, uq=uq[words] / uqs)
        for words in {*aq, *uq}
        if len(words) == depth
    ]
    return sorted(found, key=lambda start: (-(start.aq + start.uq), start.words))


def _count_texts(counts: StartCounts) -> int:
    return sum(n for words, n in counts.items() if len(words) == 1)
