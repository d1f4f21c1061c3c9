"""Scores of rows on resampled images, compared with the scorers on items that are repeated as often as they are drawn."""

import json

import numpy as np
import pytest

from pipeline.scoring import auaf
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from research.studies.row_scores import (
    ALL_CATEGORIES,
    RowPredictions,
    category_proportions,
    draw_image_counts,
    make_cluster_names,
    merge_predictions,
    read_rows,
    score_rows,
)


def items_of(*rows):
    """Items of (id, image, answer or "" for a UQ, category, pair)."""
    return Items.from_rows(
        BenchmarkItem(i, p, {a: 1.0} if a else {}, category=c, pair_id=pair) for i, p, a, c, pair in rows
    )


ITEMS = items_of(
    ("a", "p1", "red", "", ""),
    ("b", "p1", "", "missing object", ""),
    ("c", "p2", "no", "", ""),
    ("d", "p2", "", "wrong attribute", ""),
    ("e", "p3", "yes", "", ""),
    ("f", "p3", "", "missing object", ""),
)


LOOKS = ([0.9, 0.2, 0.4, 0.5, 0.8, 0.4], [0.1, 0.7, 0.3, 0.2, 0.6, 0.5])


def said(confidence, answers=("red", "x", "no", "x", "no", "x")):
    places = {key: place for place, key in enumerate("abcdef")}
    return Predictions("row", "", places, list(answers), np.array(confidence, float))


ROW = RowPredictions("row", False, tuple(map(said, LOOKS)))
IMAGE = np.array([0, 0, 1, 1, 2, 2])
CORRECT, ANSWERABLE = np.array([1, 0, 1, 0, 0, 0]), np.array([1, 0, 1, 0, 1, 0])


def test_the_first_column_is_the_data_and_each_seed_is_scored_by_itself():
    (found,) = score_rows(ITEMS, [ROW], IMAGE, draw_image_counts(3, 2, 0))[ALL_CATEGORIES]
    assert found.scores.shape == (2, 3)
    for seed, confidence in enumerate(LOOKS):
        assert found.scores[seed, 0] == pytest.approx(auaf(confidence, CORRECT, ANSWERABLE))


def test_a_resample_has_all_items_of_an_image_as_often_as_the_image():
    drawn = np.array([[1, 1, 1], [2, 0, 1], [0, 3, 0]])
    (found,) = score_rows(ITEMS, [ROW], IMAGE, drawn)[ALL_CATEGORIES]
    for place, counts in enumerate(drawn):
        times = counts[IMAGE]
        columns = (np.repeat(column, times) for column in (np.array(LOOKS[0]), CORRECT, ANSWERABLE))
        assert found.scores[0, place] == pytest.approx(auaf(*columns))


def test_copies_of_an_item_do_not_narrow_the_interval():
    rows = [
        (f"{key}{n}", image, answer, "", "")
        for n in range(20)
        for key, image, answer in (("a", "p1", "red"), ("b", "p1", ""), ("c", "p2", "no"), ("d", "p2", ""))
    ]
    many = items_of(*rows)
    places = {row[0]: place for place, row in enumerate(rows)}
    answers, confidence = ["red", "x", "no", "x"] * 20, np.array([0.9, 0.2, 0.4, 0.5] * 20)
    row = RowPredictions("row", False, (Predictions("row", "", places, answers, confidence),))
    drawn = draw_image_counts(2, 400, 0)
    (found,) = score_rows(many, [row], np.array([0, 0, 1, 1] * 20), drawn)[ALL_CATEGORIES]
    # Two images: a quarter of the draws has the first alone (AUAF 1), a quarter the second alone (0).
    assert set(np.round(found.scores[0], 6)) == {0.0, 0.75, 1.0}
    assert np.mean(found.scores[0] == 0) == pytest.approx(0.25, abs=0.06)


def test_a_category_is_scored_against_all_answerable_questions():
    found = score_rows(ITEMS, [ROW], IMAGE, draw_image_counts(3, 1, 0))
    assert list(found) == [ALL_CATEGORIES, "missing object", "wrong attribute"]
    which = np.array([True, True, True, False, True, True])
    columns = (column[which] for column in (np.array(LOOKS[0]), CORRECT, ANSWERABLE))
    assert found["missing object"][0].scores[0, 0] == pytest.approx(auaf(*columns))
    shares = category_proportions(ITEMS)
    assert shares == {"missing object": pytest.approx(2 / 3), "wrong attribute": pytest.approx(1 / 3)}
    mixed = sum(share * found[name][0].scores[:, 0] for name, share in shares.items())
    assert found[ALL_CATEGORIES][0].scores[:, 0] == pytest.approx(mixed)  # a mean over unanswerable questions


def test_paired_images_are_resampled_together():
    items = items_of(
        ("a", "p1", "red", "", "s1"),
        ("b", "p2", "", "", "s1"),
        ("c", "p2", "no", "", "s2"),
        ("d", "p1", "", "", "s2"),
        ("e", "p3", "yes", "", "s3"),
        ("f", "p4", "", "", "s3"),
        ("g", "p5", "yes", "", ""),
        ("h", "p6", "", "", ""),
    )
    scenes = make_cluster_names(items)
    assert len(set(scenes)) == 4 and len(set(scenes[:4])) == 1 and scenes[4] == scenes[5]
    assert scenes[6] != scenes[7]


def test_rows_have_their_seeds_and_say_whether_they_are_references(tmp_path):
    (tmp_path / "rows.yaml").write_text(
        "msp: {confidence: MSP, reference: false}\ntext_only_net: {reference: true}\n"
    )
    files = [tmp_path / f"{name}.json" for name in ("text_only_net-seed0", "msp-seed0", "msp-seed1")]
    for path in files:
        path.write_text(json.dumps([{"questionId": "a", "prediction": "red", "confidence": 0.5}]))
    blind, msp = read_rows(files)
    assert (blind.name, blind.is_reference, len(blind.predictions)) == ("text_only_net", True, 1)
    assert (msp.name, msp.is_reference, len(msp.predictions)) == ("msp", False, 2)


def test_predictions_for_further_items_are_merged():
    row = RowPredictions(
        "row", False, (Predictions("row", "", {"x": 0, "y": 1}, ["no", "yes"], np.array([0.1, 0.2])),)
    )
    more = RowPredictions("row", False, (Predictions("row", "", {"z": 0}, ["red"], np.array([0.3])),))
    ((said,),) = ([*one.predictions] for one in merge_predictions([row], [more]))
    assert said.answer_by_id == {"x": "no", "y": "yes", "z": "red"}
    assert said.confidence is not None and said.confidence[said.index_by_id["z"]] == 0.3
    with pytest.raises(ValueError):
        merge_predictions([row], [])
