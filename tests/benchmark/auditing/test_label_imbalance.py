from pipeline.benchmark.auditing.label_imbalance import measure_imbalance
from pipeline.core.records import Item


def item(text, unanswerable, image="p"):
    return Item(
        item_id="",
        subset="clip-easy",
        image_id=image,
        question_id="",
        text=text,
        unanswerable=unanswerable,
        answer="",
        pair_id="",
        split="validation",
    )


def test_imbalance_is_counted_for_each_text():
    # "a": 3 UQ, 1 AQ; "b": 1 and 1; "c": 0 and 1. Two of three texts are unbalanced, and the largest difference is 2.
    rows = [item("a", True)] * 3 + [item("a", False), item("b", True), item("b", False), item("c", False)]
    found = measure_imbalance(rows, lambda row: row.text)
    assert (found.max_difference, found.unbalanced_keys, found.keys, found.distinct_per_uq) == (2, 2, 3, 0.5)
