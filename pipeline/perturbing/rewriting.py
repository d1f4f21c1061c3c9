"""The sentence after its edits: spliced in, articles and capitals set right."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.language.agreement import Change
from pipeline.language.nouns import article
from pipeline.perturbing.alignment import Aligned

Splice = tuple[int, int, str]  # characters [start, end) of the source text become this


def changed(aligned: Aligned, changes: Iterable[Change]) -> list[Splice]:
    """Agreement changes of tokens as splices; a word that goes takes the blank after it along."""
    splices = []
    for index, new in changes:
        start, end = aligned.places[index]
        if not new:
            end = aligned.places[index + 1][0]
        splices.append((start, end, new))
    return splices


def rewrite(aligned: Aligned, splices: Iterable[Splice]) -> str:
    """The new text. Splices must not overlap; of two for one place the first counts."""
    by_start: dict[int, Splice] = {}
    for splice in splices:
        by_start.setdefault(splice[0], splice)
    for index, token in enumerate(aligned.tokens[:-1]):
        start, end = aligned.places[index]
        following = by_start.get(aligned.places[index + 1][0])
        if token in ("a", "an") and start not in by_start and following and following[2]:
            by_start[start] = (start, end, article(following[2]))
    parts, position = [], 0
    for start, end, new in sorted(by_start.values()):
        if start < position:
            continue
        old = aligned.text[start:end]
        parts += [aligned.text[position:start], new[:1].upper() + new[1:] if old[:1].isupper() and start == 0 else new]
        position = end
    text = "".join((*parts, aligned.text[position:]))
    return text[:1].upper() + text[1:]
