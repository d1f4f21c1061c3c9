"""Random images and questions with vectors."""

import numpy as np

from pipeline.candidates.ranking.rank_inputs import build_question_table
from pipeline.core.records import Question


def table_of(owners, texts_of, images, texts):
    rows = [
        Question(
            question_id=f"{i:06d}",
            image_id=str(owner),
            split="testdev",
            text=str(text),
            answer="x",
            detailed="query",
        )
        for i, (owner, text) in enumerate(zip(owners, texts_of, strict=True))
    ]
    return build_question_table(rows, [str(i) for i in range(images)], [str(i) for i in range(texts)])


def near_ties(images=5, texts=3000, dimension=96, seed=0):
    """Texts so close to each other that float32 products of different tiles put them in different orders."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(images, dimension))
    b = rng.normal(size=dimension) + 2e-6 * rng.normal(size=(texts, dimension))
    a, b = ((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32) for x in (a, b))
    return a, b, rng.integers(images, size=texts), np.arange(texts)


def random_world(images, questions, dimension, seed=1):
    rng = np.random.default_rng(seed)
    texts = questions * 2 // 3
    a, b = (rng.normal(size=(n, dimension)) for n in (images, texts))
    a, b = ((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32) for x in (a, b))
    owners, texts_of = (
        rng.integers(images, size=questions),
        np.concatenate([np.arange(texts), rng.integers(texts, size=questions - texts)]),
    )
    return a, b, owners, texts_of, table_of(owners, texts_of, images, texts)
