"""The first three words of questions as rings, one word a ring (RGQA, Fig. D2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import cos, pi, sin

from pipeline.core.records import Record

DEPTH = 3
FEWEST = 0.004  # share of all questions below which a start of questions is left white, as in the paper
INNER, RING = 46.0, 66.0  # radius of the hole and width of a ring
RADIUS = INNER + DEPTH * RING
FONT = 11.5  # px, in the picture's own units
LETTER = 0.56  # width of a letter as a share of the font's size, on average
COLOURS = (
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
)


class Arc(Record):
    """One start of questions ("what color is"). `path` is SVG; `x`, `y`, `turn` place the label, which is "" where it
    does not fit; `share` is of all questions."""

    words: str
    share: float
    count: int
    path: str
    colour: str
    opacity: float
    label: str
    x: float
    y: float
    turn: float


class Start(Record):
    """Shares of AQs and UQs that start with these words."""

    words: str
    aq: float
    uq: float


def starts(texts: Iterable[str]) -> Counter[tuple[str, ...]]:
    """How many texts start with each one, two and three words; shorter texts have no later rings."""
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = tuple(word.strip("?.,!;:\"'").lower() for word in text.split()[:DEPTH])
        counts.update(words[:n] for n in range(1, len(words) + 1))
    return counts


def arcs(counts: Counter[tuple[str, ...]], order: Sequence[str]) -> list[Arc]:
    """The rings of one sunburst, clockwise from the top.

    Args:
        counts: from `starts`. order: first words by their place in the circle, which also gives the colour.
    """
    total = sum(n for words, n in counts.items() if len(words) == 1)
    place = {word: i for i, word in enumerate(order)}
    children: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for words in counts:
        children.setdefault(words[:-1], []).append(words)
    drawn: list[Arc] = []

    def walk(parent: tuple[str, ...], start: float) -> None:
        ring = sorted(
            children.get(parent, ()),
            key=lambda w: (place.get(w[0], len(place)) if not parent else 0, -counts[w], w),
        )
        for words in ring:
            share = counts[words] / total
            if share >= FEWEST:
                colour = COLOURS[place.get(words[0], len(COLOURS) - 1) % len(COLOURS)]
                drawn.append(_arc(words, share, counts[words], start, colour))
                walk(words, start)
            start += share

    walk((), 0.0)
    return drawn


def common_starts(
    aq: Counter[tuple[str, ...]], uq: Counter[tuple[str, ...]], depth: int, most: int
) -> list[Start]:
    """The commonest starts of `depth` words over both kinds, each kind weighing the same."""
    totals = [sum(n for words, n in counts.items() if len(words) == 1) or 1 for counts in (aq, uq)]
    shares = {
        words: (aq[words] / totals[0], uq[words] / totals[1]) for words in {*aq, *uq} if len(words) == depth
    }
    ranked = sorted(shares, key=lambda words: (-sum(shares[words]), words))[:most]
    return [Start(words=" ".join(words), aq=shares[words][0], uq=shares[words][1]) for words in ranked]


def _arc(words: tuple[str, ...], share: float, count: int, start: float, colour: str) -> Arc:
    depth = len(words)
    inner, outer = INNER + (depth - 1) * RING, INNER + depth * RING
    middle, radius = start + share / 2, (inner + outer) / 2
    x, y = _point(radius, middle)
    turn = middle * 360 - 90  # along the radius
    fits = share * 2 * pi * inner >= FONT and len(words[-1]) * FONT * LETTER <= RING - 4
    return Arc(
        words=" ".join(words),
        share=share,
        count=count,
        path=_path(inner, outer, start, start + share),
        colour=colour,
        opacity=(1.0, 0.75, 0.5)[depth - 1],
        label=words[-1] if fits else "",
        x=x,
        y=y,
        turn=round(turn - 180 if turn > 90 else turn, 2),  # never upside down
    )


def _point(radius: float, turn: float) -> tuple[float, float]:
    """A point at a share `turn` of the circle, clockwise from the top; the centre is (0, 0), y downwards."""
    return round(radius * sin(2 * pi * turn), 2), round(-radius * cos(2 * pi * turn), 2)


def _path(inner: float, outer: float, start: float, end: float) -> str:
    """A sector of a ring; a whole ring is drawn in two halves, as SVG cannot draw an arc onto its own start."""
    if end - start > 0.999:
        return f"{_path(inner, outer, start, start + 0.5)} {_path(inner, outer, start + 0.5, start + 0.9999)}"
    (a, b), (c, d), (e, f), (g, h) = (
        _point(outer, start),
        _point(outer, end),
        _point(inner, end),
        _point(inner, start),
    )
    large = int(end - start > 0.5)
    return f"M{a} {b}A{outer} {outer} 0 {large} 1 {c} {d}L{e} {f}A{inner} {inner} 0 {large} 0 {g} {h}Z"
