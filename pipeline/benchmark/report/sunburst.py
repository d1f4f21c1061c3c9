"""The first three words of questions as rings, one word a ring (RGQA, Fig. D2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import pi

from pipeline.core.records import Record

Starts = Counter[tuple[str, ...]]
DEPTH = 3
FEWEST = 0.004  # share of all questions below which a start of questions is left white, as in the paper
INNER, RING = 46.0, 66.0  # radius of the hole and width of a ring
FONT = 11.5  # px, in the picture's own units
LETTER = 0.56  # width of a letter as a share of the font's size, on average
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
    share: float
    start: float
    radius: float
    colour: str
    label: str


class Start(Record):
    """Shares of AQs and UQs that start with these words."""

    words: str
    aq: float
    uq: float


def starts(texts: Iterable[str]) -> Starts:
    """How many texts start with each one, two and three words; shorter texts have no later rings."""
    counts: Starts = Counter()
    for text in texts:
        words = tuple(word.strip("?.,!;:\"'").lower() for word in text.split()[:DEPTH])
        counts.update(words[:n] for n in range(1, len(words) + 1))
    return counts


def arcs(counts: Starts, order: Sequence[str]) -> list[Arc]:
    """The rings of one sunburst, from the inside, each clockwise from the top.

    Args:
        counts: from `starts`. order: all first words by their place in the circle, which also gives the colour.
    """
    total = _texts(counts)
    drawn = []
    # Where in the circle the next start within this one begins.
    free: dict[tuple[str, ...], float] = {(): 0.0}
    for words in sorted(counts, key=lambda w: (len(w), order.index(w[0]), -counts[w], w)):
        share, start, radius = counts[words] / total, free[words[:-1]], INNER + (len(words) - 0.5) * RING
        free[words], free[words[:-1]] = start, start + share
        fits = share * 2 * pi * (radius - RING / 2) >= FONT and len(words[-1]) * FONT * LETTER <= RING - 4
        if share >= FEWEST:
            drawn.append(
                Arc(
                    words=words,
                    count=counts[words],
                    share=share,
                    start=start,
                    radius=radius,
                    colour=COLOURS[order.index(words[0]) % len(COLOURS)],
                    label=words[-1] if fits else "",
                )
            )
    return drawn


def common_starts(aq: Starts, uq: Starts, depth: int) -> list[Start]:
    """The starts of `depth` words over both kinds, the commonest first, each kind weighing the same."""
    aqs, uqs = _texts(aq) or 1, _texts(uq) or 1
    found = [
        Start(words=" ".join(words), aq=aq[words] / aqs, uq=uq[words] / uqs)
        for words in {*aq, *uq}
        if len(words) == depth
    ]
    return sorted(found, key=lambda start: (-(start.aq + start.uq), start.words))


def _texts(counts: Starts) -> int:
    return sum(n for words, n in counts.items() if len(words) == 1)
