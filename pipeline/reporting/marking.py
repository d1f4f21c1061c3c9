"""Mark what an edit changed: the words taken out of the source question and those put in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal

from pipeline.core.records import Edit, Record

Mark = Literal["", "edit", "agreement"]
WORD = re.compile(r"\w+(?:['-]\w+)*|[^\w\s]")


class Piece(Record):
    """Some characters of a text. `mark` is empty where nothing changed, "edit" for an edit, "agreement" for what had
    to follow it (a/an, is/are, capitals)."""

    text: str
    mark: Mark = ""


def marked(source: str, edited: str, edits: Sequence[Edit]) -> tuple[list[Piece], list[Piece]]:
    """The source text and the edited one in pieces; each list, joined, is the whole text again.

    The words of both texts are aligned. Of those that differ, the source's are an edit's if it names their
    characters, the edited text's if it put them in; the others follow from an edit.
    """
    old, new = list(WORD.finditer(source)), list(WORD.finditer(edited))
    old_marks: list[Mark] = [""] * len(old)
    new_marks: list[Mark] = [""] * len(new)
    aligned = SequenceMatcher(None, [word[0] for word in old], [word[0] for word in new], autojunk=False)
    for kind, i, j, k, m in aligned.get_opcodes():
        if kind != "equal":
            named = [any(edit.start < w.end() and w.start() < edit.end for edit in edits) for w in old[i:j]]
            put_in = _put_in([word[0].lower() for word in new[k:m]], edits)
            if any(named) and not any(put_in):
                put_in = [True] * (m - k)  # put in another form than the edit notes
            old_marks[i:j] = ["edit" if by_edit else "agreement" for by_edit in named]
            new_marks[k:m] = ["edit" if by_edit else "agreement" for by_edit in put_in]
    return list(_pieces(source, old, old_marks)), list(_pieces(edited, new, new_marks))


def _put_in(words: Sequence[str], edits: Sequence[Edit]) -> list[bool]:
    """Which of the words an edit put in: any run of them that its new text has in a row."""
    put_in = [False] * len(words)
    for edit in edits:
        wanted = [word[0].lower() for word in WORD.finditer(edit.new)]
        same = SequenceMatcher(None, words, wanted, autojunk=False).find_longest_match()
        put_in[same.a : same.a + same.size] = [True] * same.size
    return put_in


def _pieces(text: str, words: Sequence[re.Match[str]], marks: Sequence[Mark]) -> Iterator[Piece]:
    """Neighbours of one mark as one piece, and what lies between."""
    position = 0
    for _, places in groupby(range(len(words)), key=marks.__getitem__):
        run = list(places)
        if mark := marks[run[0]]:
            start, end = words[run[0]].start(), words[run[-1]].end()
            if start > position:
                yield Piece(text=text[position:start])
            yield Piece(text=text[start:end], mark=mark)
            position = end
    if position < len(text):
        yield Piece(text=text[position:])
