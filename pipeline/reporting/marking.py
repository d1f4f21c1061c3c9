"""Mark what an edit changed: the words taken out of the source question and those put in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal

from pipeline.core.records import Edit, Record

WORD = re.compile(r"\w+(?:['-]\w+)*|[^\w\s]")


class Piece(Record):
    """Some characters of a text. `mark` is empty where nothing changed, "edit" for an edit, "agreement" for what had
    to follow it (a/an, is/are, capitals)."""

    text: str
    mark: Literal["", "edit", "agreement"] = ""


Place = tuple[int, int]  # characters [start, end)


def marked(source: str, edited: str, edits: Sequence[Edit]) -> tuple[list[Piece], list[Piece]]:
    """The source text and the edited one in pieces; each list, joined, is the whole text again.

    The words of both texts are aligned. Of those that differ, the source's are an edit's if it names their
    characters, the edited text's if it put them in; the others follow from an edit.
    """
    old, new = list(WORD.finditer(source)), list(WORD.finditer(edited))
    out: list[tuple[Place, str]] = []
    put_in: list[tuple[Place, str]] = []
    for kind, i, j, k, m in SequenceMatcher(
        None, [w[0] for w in old], [w[0] for w in new], autojunk=False
    ).get_opcodes():
        if kind == "equal":
            continue
        named = [any(edit.start < w.end() and w.start() < edit.end for edit in edits) for w in old[i:j]]
        said = _said([w[0].lower() for w in new[k:m]], edits)
        if any(named) and not any(said):
            said = [True] * (m - k)  # said in another form than the edit notes
        out += _marks(old[i:j], named)
        put_in += _marks(new[k:m], said)
    return list(_pieces(source, out)), list(_pieces(edited, put_in))


def _said(words: Sequence[str], edits: Sequence[Edit]) -> list[bool]:
    """Which of the words an edit put in: any run of them that its new text has in a row."""
    found = [False] * len(words)
    for edit in edits:
        wanted = [w[0].lower() for w in WORD.finditer(edit.new)]
        same = SequenceMatcher(None, words, wanted, autojunk=False).find_longest_match()
        for place in range(same.a, same.a + same.size):
            found[place] = True
    return found


def _marks(words: Sequence[re.Match[str]], is_edit: Sequence[bool]) -> list[tuple[Place, str]]:
    """Neighbours of one kind as one place."""
    runs = [
        [word for word, _ in run]
        for _, run in groupby(zip(words, is_edit, strict=True), key=lambda pair: pair[1])
    ]
    kinds = [kind for kind, _ in groupby(is_edit)]
    return [
        ((run[0].start(), run[-1].end()), "edit" if kind else "agreement")
        for run, kind in zip(runs, kinds, strict=True)
    ]


def _pieces(text: str, marks: Sequence[tuple[Place, str]]) -> Iterator[Piece]:
    position = 0
    for (start, end), mark in marks:
        if start > position:
            yield Piece(text=text[position:start])
        yield Piece(text=text[start:end], mark=mark)
        position = end
    if position < len(text):
        yield Piece(text=text[position:])
