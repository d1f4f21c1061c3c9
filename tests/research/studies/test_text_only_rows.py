"""Rows whose confidence is read off a set's wording."""

import numpy as np
import pytest

from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from research.studies.item_sets import ItemSet
from research.studies.row_scores import RowPredictions
from research.studies.text_only_rows import (
    compute_text_only_auroc,
    compute_text_only_scores,
    replace_confidence,
)

COUNT = 60


def set_with(text):
    """Every other item is unanswerable; `text` words item i, which is unanswerable or not."""
    rows = [
        BenchmarkItem(str(i), f"p{i // 2}", {} if i % 2 else {"red": 1.0}, question_text=text(i, i % 2))
        for i in range(COUNT)
    ]
    return ItemSet(Items.from_rows(rows), [str(i) for i in range(COUNT)])


def test_a_set_whose_wording_tells_is_read_by_it_and_one_of_equal_texts_is_not():
    told = set_with(lambda i, uq: f"What is the {'purple' if uq else 'plain'} thing number {i}?")
    assert compute_text_only_auroc(told, compute_text_only_scores(told, 0)) > 0.99
    alike = set_with(lambda i, uq: f"What is the thing number {i // 2}?")  # each text once with either label
    assert compute_text_only_auroc(alike, compute_text_only_scores(alike, 0)) == pytest.approx(0.5)


def test_too_few_texts_tell_nothing():
    one = set_with(lambda i, uq: "What?")
    assert (
        not compute_text_only_scores(one, 0).any()
        and compute_text_only_auroc(one, compute_text_only_scores(one, 0)) == 0.5
    )


def test_the_row_keeps_its_answers_and_takes_the_wordings_confidence():
    one = set_with(lambda i, uq: f"What is {i}?")
    places = {str(i): COUNT - 1 - i for i in range(COUNT)}
    said = Predictions("blind", "", places, [str(i) for i in range(COUNT)], np.zeros(COUNT))
    row = replace_confidence(one, RowPredictions("blind", False, (said,)), np.arange(COUNT) / COUNT)
    (made,) = row.predictions
    assert row.is_reference and row.name == "blind with the wording's confidence"
    assert made.answer[made.index_by_id["3"]] == said.answer[said.index_by_id["3"]]
    assert made.confidence is not None and made.confidence[made.index_by_id["3"]] == -3 / COUNT
