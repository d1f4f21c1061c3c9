"""Which names images show, and show together, counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from scipy.sparse import csr_array, triu

from pipeline.core.records import ObjectCooccurrence
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemmatize

MAX_PAIRS = 100_000  # of GQA's 85,000 graphs, some megabytes


def count_cooccurrences(
    names_by_image: Sequence[Sequence[str]],
    vocabulary: Collection[str],
    lexicon: Lexicon,
    is_partial: bool,
    max_pairs: int = MAX_PAIRS,
) -> ObjectCooccurrence:
    """Count what images show.

    Args:
        images: of each, the names of its things; without repetition.
        vocabulary: the names that count, of things and categories.
        partial: whether only what questions say of the images is known.
        most: pairs that are kept; more of them, and those shown together most seldom are left out.
    """
    known = sorted(set(map(lemmatize, vocabulary)))
    number = {name: index for index, name in enumerate(known)}
    own: dict[str, str] = {name: lemmatize(name) for names in names_by_image for name in names}
    rows = {
        name: sorted(number[n] for n in lexicon.get_hypernym_closure(own[name]) if n in number)
        for name in sorted(own)
    }
    shown = [sorted({row for name in names for row in rows[name]}) for names in names_by_image]
    starts = np.cumsum([0, *map(len, shown)])
    columns = np.array([row for image in shown for row in image], dtype=np.int32)
    size = (len(names_by_image), len(known))
    shows = csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=size)
    together = triu(shows.T @ shows, k=1).tocoo()
    counts = np.sort(together.data)[::-1]
    least = int(counts[max_pairs]) + 1 if len(counts) > max_pairs else 1
    pairs: defaultdict[str, dict[str, int]] = defaultdict(dict)
    order = np.lexsort((together.col, together.row))
    for i in order[together.data[order] >= least].tolist():
        pairs[known[together.row[i]]][known[together.col[i]]] = int(together.data[i])
    showing = np.bincount(columns, minlength=len(known)).tolist()
    different = sum(len({own[name] for name in names}) for names in names_by_image)
    return ObjectCooccurrence(
        num_images=len(names_by_image),
        from_questions=is_partial,
        mean_names_per_image=round(different / max(len(names_by_image), 1), 3),
        image_counts={name: count for name, count in zip(known, showing, strict=True) if count},
        pair_counts=dict(pairs),
        min_pair_count=least,
    )
