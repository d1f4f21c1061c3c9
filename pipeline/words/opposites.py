"""Looks and doings that exclude each other, for words of which no list of values tells it: "comfortable" has no type in
GQA, and of doings a person may have several at a time, but nobody plays asleep."""

from __future__ import annotations

from collections import defaultdict

from pipeline.words.word_tables import heads, pairs

_PAIRS = """
comfortable, uncomfortable; ripe, unripe; covered, uncovered; full, empty; smooth, rough; modern, old
curly, straight; patterned, plain; folded, unfolded; smiling, frowning; sliced, whole; cut, whole; on, off
open, closed; long sleeved, short sleeved; hard, soft; thick, thin; heavy, light; wide, narrow; tall, short
long, short; clean, dirty; fat, thin; light, dark; deep, shallow; wet, dry; sunny, cloudy; clear, cloudy
happy, sad; young, old; large, small; adult, young; baby, adult; bare, lush; grassy, bare; bright, dark
colorful, plain; rounded, square; parked, moving; crooked, straight; striped, plain; cooked, raw
peeled, unpeeled; filled, empty; lit, unlit; painted, unpainted; shiny, dull; sharp, blunt; calm, wavy
crowded, empty; leafy, leafless; bald, hairy; sturdy, broken; folding, fixed; hanging, lying
stacked, scattered; framed, unframed; wrinkled, smooth; wired, wireless; messy, tidy
"""
_DOINGS = """
playing: sleeping, resting; waiting: running, jumping; posing: sleeping, running; eating: sleeping, running
talking: sleeping, eating; driving: walking, sleeping; resting: running, jumping; reading: running, swimming
riding: walking, swimming; running: sleeping, sitting; jumping: sleeping, sitting; skateboarding: surfing, skiing
surfing: skiing, skateboarding; skiing: surfing, skateboarding; snowboarding: surfing, skateboarding
swimming: skiing, skateboarding; sleeping: running, playing; grazing: sleeping, running; working: sleeping, swimming
kneeling: standing, running; walking: sleeping, swimming; bending: lying, jumping; cooking: sleeping, swimming; flying: swimming, sleeping
"""


def _table() -> dict[str, tuple[str, ...]]:
    table: defaultdict[str, list[str]] = defaultdict(list)
    for first, second in pairs(_PAIRS):
        table[first].append(second)
        table[second].append(first)
    table["light"] = ["dark"]  # "heavy" is not said of light that is pale
    return {word: tuple(dict.fromkeys(others)) for word, others in table.items()} | heads(_DOINGS)


_EXCLUDED = _table()


def excluded(look: str) -> tuple[str, ...]:
    """The looks or doings that a thing of this look cannot have as well; () where none is known.

    >>> excluded("ripe"), excluded("playing"), excluded("wearing")
    (('unripe',), ('sleeping', 'resting'), ())
    """
    return _EXCLUDED.get(look, ())
