"""Sets made for tests: what of a label stands in the text is known exactly."""

import numpy as np

from pipeline.benchmark.auditing.labelled_set import LabelledSet


def labelled(texts, labels, images=None, source_ids=None):
    """Rows as `read_set` gives them, with no file behind them."""
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


def planted(count, shares, seed=0):
    """As many rows of either label; the word "unicorn" stands in these shares of those of label 0 and 1, all other words say
    nothing. Five rows to an image."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], count // 2)
    has = np.concatenate([np.arange(count // 2) < round(share * (count // 2)) for share in shares])
    words = rng.integers(40, size=(count, 2))
    texts = [
        f"Is the {'unicorn' if h else 'horse'} by thing{a} or thing{b}?"
        for h, (a, b) in zip(has, words, strict=True)
    ]
    return labelled(texts, labels, rng.integers(count // 5, size=count))
