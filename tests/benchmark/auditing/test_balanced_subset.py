"""The balanced subset is balanced and as large as possible, and every excluded row has a reason."""

from collections import Counter

import numpy as np

from pipeline.benchmark.auditing.balanced_subset import (
    CONTRADICTORY,
    DUPLICATE,
    ONE_LABEL,
    UNPAIRED,
    choose_balanced_subset,
)
from pipeline.benchmark.balancing.pairing import BALANCED_MARGINS, OUTSIDE_BALANCED_SET, TELLTALE_WORDING
from tests.benchmark.auditing.made_sets import labelled


def test_the_largest_balanced_subset_is_found_and_excluded_rows_have_reasons():
    # a and b form a cycle through images 1 and 2: a yes 1, a no 2, b yes 2, b no 1. The third "yes" of a has no counterpart, c is
    # never "no", the duplicate row counts once, and d is contradictory.
    rows = [
        ("a", 1, 1), ("a", 0, 2), ("b", 1, 2), ("b", 0, 1),
        ("a", 1, 3), ("c", 1, 1), ("a", 1, 1), ("d", 1, 4), ("d", 0, 4),
    ]  # fmt: skip
    texts, labels, images = zip(*rows, strict=True)
    keep, report = choose_balanced_subset(labelled(texts, labels, images), 0)
    assert keep.tolist() == [0, 1, 2, 3]
    assert report.rule == BALANCED_MARGINS and report.excluded_rows == {
        ONE_LABEL: 1,
        DUPLICATE: 1,
        OUTSIDE_BALANCED_SET: 1,
        CONTRADICTORY: 2,
    }
    assert (report.positives, report.negatives, report.texts, report.images) == (
        (2, 6),
        (2, 3),
        (2, 4),
        (2, 4),
    )


def test_each_text_and_each_image_is_balanced():
    rng = np.random.default_rng(0)
    texts, images = rng.integers(20, size=600), rng.integers(50, size=600)
    rows = labelled([f"t{i}" for i in texts], (rng.random(600) < 0.3 + 0.02 * texts).astype(int), images)
    kept = rows.select(choose_balanced_subset(rows, 0)[0])
    assert 150 < len(kept) < 600
    for keys in (kept.texts, kept.images):
        more = Counter()
        for key, label in zip(keys, kept.labels.tolist(), strict=True):
            more[key] += 2 * label - 1
        assert set(more.values()) == {0}


def test_without_images_each_text_keeps_as_many_rows_as_its_rarer_label_has():
    texts = ["a"] * 5 + ["b"] * 4
    keep, report = choose_balanced_subset(labelled(texts, [1, 1, 1, 0, 0, 1, 0, 0, 0]), 0)
    # a: min(3, 2) of each label, b: min(1, 3)
    assert (
        len(keep) == 2 * (2 + 1)
        and report.images is None
        and report.excluded_rows == {OUTSIDE_BALANCED_SET: 3}
    )


def test_edited_questions_stay_in_pairs_and_telltale_pairs_are_excluded():
    # As in `find_telltale_pairs`: of 12 pairs 8 insert "sad" and 4 remove it, 4 * 4 > 12; without one pair 3 * 3 < 11.
    pairs = [(f"Is cup {i} happy?", f"Is cup {i} sad?") for i in range(8)]
    pairs += [(f"Is cup {i} sad?", f"Is cup {i} happy?") for i in range(8, 12)]
    texts = [text for pair in pairs for text in pair] + ["Where is it?"]
    linked = [str(i // 2) for i in range(25)]
    # A tenth of 12 pairs is one.
    keep, report = choose_balanced_subset(labelled(texts, [*[0, 1] * 12, 1], range(25), linked), 0)
    assert report.excluded_rows == {TELLTALE_WORDING: 2, UNPAIRED: 1} and len(keep) == 22
    assert not set(keep.tolist()) & {24} and all(i + 1 in keep for i in keep.tolist() if i % 2 == 0)


def test_a_set_without_counterparts_has_an_empty_balanced_subset():
    keep, report = choose_balanced_subset(labelled(["a", "b"], [0, 1], [1, 2]), 0)
    assert len(keep) == 0 and report.excluded_rows == {ONE_LABEL: 2}
