"""Which names pictures show, and show together, counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from scipy.sparse import csr_array, triu

from pipeline.core.records import Showing
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemma

MOST_PAIRS = 100_000  # of GQA's 85,000 graphs, some megabytes


def shown_in(
    pictures: Sequence[Sequence[str]],
    vocabulary: Collection[str],
    lexicon: Lexicon,
    partial: bool,
    most: int = MOST_PAIRS,
) -> Showing:
    """Count what pictures show.

    Args:
        pictures: of each, the names of its things; without repetition.
        vocabulary: the names that count, of things and categories.
        partial: whether only what questions say of the pictures is known.
        most: pairs that are kept; more of them, and those shown together most seldom are left out.
    """
    known = sorted(set(map(lemma, vocabulary)))
    number = {name: index for index, name in enumerate(known)}
    own: dict[str, str] = {name: lemma(name) for names in pictures for name in names}
    rows = {name: sorted(number[n] for n in lexicon.above(own[name]) if n in number) for name in sorted(own)}
    shown = [sorted({row for name in names for row in rows[name]}) for names in pictures]
    starts = np.cumsum([0, *map(len, shown)])
    columns = np.array([row for picture in shown for row in picture], dtype=np.int32)
    size = (len(pictures), len(known))
    shows = csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=size)
    together = triu(shows.T @ shows, k=1).tocoo()
    counts = np.sort(together.data)[::-1]
    least = int(counts[most]) + 1 if len(counts) > most else 1
    pairs: defaultdict[str, dict[str, int]] = defaultdict(dict)
    order = np.lexsort((together.col, together.row))
    for i in order[together.data[order] >= least].tolist():
        pairs[known[together.row[i]]][known[together.col[i]]] = int(together.data[i])
    showing = np.bincount(columns, minlength=len(known)).tolist()
    different = sum(len({own[name] for name in names}) for names in pictures)
    return Showing(
        pictures=len(pictures),
        partial=partial,
        each=round(different / max(len(pictures), 1), 3),
        names={name: count for name, count in zip(known, showing, strict=True) if count},
        together=dict(pairs),
        least=least,
    )
