"""Sets for tests, in which it is known how well the text predicts the label."""

import numpy as np

from pipeline.benchmark.auditing.labelled_set import LabelledSet


def labelled(texts, labels, images=None, source_ids=None):
    """Return a set as `load_labelled_set` does, without a file."""
    return LabelledSet(
        texts=list(texts),
        labels=np.array(labels),
        images=None if images is None else [str(image) for image in images],
        source_ids=source_ids,
        format="made",
        source=None,
        row_indices=np.arange(len(texts)),
        label_names=("no", "yes"),
    )


def planted(count, proportions, seed=0):
    """Return equally many rows of both labels, five per image.

    The word "unicorn" occurs in these proportions of the rows of label 0 and 1. All other words are independent of the label.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], count // 2)
    has = np.concatenate(
        [np.arange(count // 2) < round(proportion * (count // 2)) for proportion in proportions]
    )
    words = rng.integers(40, size=(count, 2))
    texts = [
        f"Is the {'unicorn' if h else 'horse'} by thing{a} or thing{b}?"
        for h, (a, b) in zip(has, words, strict=True)
    ]
    return labelled(texts, labels, rng.integers(count // 5, size=count))
