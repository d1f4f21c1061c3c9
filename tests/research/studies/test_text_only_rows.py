"""Rows whose confidence is read off a set's wording."""

import numpy as np
import pytest

from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from research.studies.item_sets import RankedSet
from research.studies.row_scores import RowSaid
from research.studies.text_only_rows import by_wording, wording_auroc, wording_scores

COUNT = 60


def set_with(text):
    """Every other item is unanswerable; `text` words item i, which is unanswerable or not."""
    rows = [
        BenchmarkItem(str(i), f"p{i // 2}", {} if i % 2 else {"red": 1.0}, asked=text(i, i % 2))
        for i in range(COUNT)
    ]
    return RankedSet(Items.of(rows), [str(i) for i in range(COUNT)])


def test_a_set_whose_wording_tells_is_read_by_it_and_one_of_equal_texts_is_not():
    told = set_with(lambda i, uq: f"What is the {'purple' if uq else 'plain'} thing number {i}?")
    assert wording_auroc(told, wording_scores(told, 0)) > 0.99
    alike = set_with(lambda i, uq: f"What is the thing number {i // 2}?")  # each text once with either label
    assert wording_auroc(alike, wording_scores(alike, 0)) == pytest.approx(0.5)


def test_too_few_texts_tell_nothing():
    one = set_with(lambda i, uq: "What?")
    assert not wording_scores(one, 0).any() and wording_auroc(one, wording_scores(one, 0)) == 0.5


def test_the_row_keeps_its_answers_and_takes_the_wordings_confidence():
    one = set_with(lambda i, uq: f"What is {i}?")
    places = {str(i): COUNT - 1 - i for i in range(COUNT)}
    said = Predictions("blind", "", places, [str(i) for i in range(COUNT)], np.zeros(COUNT))
    row = by_wording(one, RowSaid("blind", False, (said,)), np.arange(COUNT) / COUNT)
    (made,) = row.seeds
    assert row.reference and row.name == "blind with the wording's confidence"
    assert made.said[made.places["3"]] == said.said[said.places["3"]]
    assert made.confidence is not None and made.confidence[made.places["3"]] == -3 / COUNT
