"""Rows with text-only confidence."""

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
    """Every other item is unanswerable; `text` returns the text of item i, given whether it is unanswerable."""
    rows = [
        BenchmarkItem(str(i), f"p{i // 2}", {} if i % 2 else {"red": 1.0}, question_text=text(i, i % 2))
        for i in range(COUNT)
    ]
    return ItemSet(Items.from_rows(rows), [str(i) for i in range(COUNT)])


def test_text_only_auroc_is_high_for_telltale_texts_and_half_for_equal_texts():
    telltale = set_with(lambda i, uq: f"What is the {'purple' if uq else 'plain'} thing number {i}?")
    assert compute_text_only_auroc(telltale, compute_text_only_scores(telltale, 0)) > 0.99
    alike = set_with(lambda i, uq: f"What is the thing number {i // 2}?")  # each text once with each label
    assert compute_text_only_auroc(alike, compute_text_only_scores(alike, 0)) == pytest.approx(0.5)


def test_too_few_texts_have_constant_scores():
    one = set_with(lambda i, uq: "What?")
    assert (
        not compute_text_only_scores(one, 0).any()
        and compute_text_only_auroc(one, compute_text_only_scores(one, 0)) == 0.5
    )


def test_the_row_keeps_its_answers_and_gets_the_text_only_confidence():
    one = set_with(lambda i, uq: f"What is {i}?")
    places = {str(i): COUNT - 1 - i for i in range(COUNT)}
    said = Predictions("blind", "", places, [str(i) for i in range(COUNT)], np.zeros(COUNT))
    row = replace_confidence(one, RowPredictions("blind", False, (said,)), np.arange(COUNT) / COUNT)
    (made,) = row.predictions
    assert row.is_reference and row.name == "blind with text-only confidence"
    assert made.answer[made.index_by_id["3"]] == said.answer[said.index_by_id["3"]]
    assert made.confidence is not None and made.confidence[made.index_by_id["3"]] == -3 / COUNT
