"""Rank a synthetic data set and print hashes of the questions and scores, and of unrounded dot products.

`test_topk` runs this module as a separate process with other processor instructions.
"""

import hashlib

import numpy as np

from pipeline.candidates.ranking.exact_scores import compute_dot_products
from pipeline.candidates.ranking.topk import top_and_bottom_k
from tests.candidates.ranking.random_worlds import near_ties, random_world, table_of


def main() -> None:
    near, owners, texts_of = near_ties()[:2], *near_ties()[2:]
    worlds = [(*near, table_of(owners, texts_of, len(near[0]), len(near[1])))]
    a, b, _, _, table = random_world(40, 6000, 61)  # 61 = 7 * 8 + 5: whole vectors and a rest
    worlds.append((a, b, table))
    digest = hashlib.sha256()
    for images, texts, questions in worlds:
        for end in top_and_bottom_k(images, texts, questions, 300, 50)[:2]:
            digest.update(np.concatenate(end).tobytes())
    print(digest.hexdigest())
    pairs = np.arange(240) % 40, np.arange(240)
    print(hashlib.sha256(compute_dot_products(a, b, *pairs).tobytes()).hexdigest())


if __name__ == "__main__":
    main()
