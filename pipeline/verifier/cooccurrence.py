"""Count in how many images each object name occurs, and in how many images two names occur together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from scipy.sparse import csr_array, triu

from pipeline.core.records import ObjectCooccurrence
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemmatize

# Maximum number of pairs of names. GQA's 85,000 scene graphs yield about this many pairs, which take a few
# megabytes.
MAX_PAIRS = 100_000


def count_cooccurrences(
    names_by_image: Sequence[Sequence[str]],
    vocabulary: Collection[str],
    lexicon: Lexicon,
    is_partial: bool,
    max_pairs: int = MAX_PAIRS,
) -> ObjectCooccurrence:
    """Count how many images show each name, and how many show each pair of names.

    Names are lemmatized before they are counted. An object counts under its name and under its categories: an
    image that shows a couch also shows furniture.

    Args:
        names_by_image: For each image the distinct names of its objects.
        vocabulary: The names of objects and categories to count.
        lexicon: The categories of the data set.
        is_partial: Whether the names come from questions, so that most objects of an image are missing.
        max_pairs: The maximum number of pairs to keep. The rarest pairs are left out first, and
            `min_pair_count` of the result says how often a pair must occur to be listed.
    """
    lemmas = sorted(set(map(lemmatize, vocabulary)))
    index_by_lemma = {name: index for index, name in enumerate(lemmas)}
    lemma_by_name: dict[str, str] = {name: lemmatize(name) for names in names_by_image for name in names}
    columns_by_name = {
        name: sorted(
            index_by_lemma[kind]
            for kind in lexicon.get_hypernym_closure(lemma_by_name[name])
            if kind in index_by_lemma
        )
        for name in sorted(lemma_by_name)
    }
    shown = [
        sorted({column for name in names for column in columns_by_name[name]}) for names in names_by_image
    ]
    starts = np.cumsum([0, *map(len, shown)])
    columns = np.array([column for image in shown for column in image], dtype=np.int32)
    shape = (len(names_by_image), len(lemmas))
    incidence = csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=shape)
    together = triu(incidence.T @ incidence, k=1).tocoo()
    counts = np.sort(together.data)[::-1]
    min_count = int(counts[max_pairs]) + 1 if len(counts) > max_pairs else 1
    pairs: defaultdict[str, dict[str, int]] = defaultdict(dict)
    order = np.lexsort((together.col, together.row))
    for i in order[together.data[order] >= min_count].tolist():
        pairs[lemmas[together.row[i]]][lemmas[together.col[i]]] = int(together.data[i])
    image_counts = np.bincount(columns, minlength=len(lemmas)).tolist()
    num_distinct = sum(len({lemma_by_name[name] for name in names}) for names in names_by_image)
    return ObjectCooccurrence(
        num_images=len(names_by_image),
        from_questions=is_partial,
        mean_names_per_image=round(num_distinct / max(len(names_by_image), 1), 3),
        image_counts={name: count for name, count in zip(lemmas, image_counts, strict=True) if count},
        pair_counts=dict(pairs),
        min_pair_count=min_count,
    )
