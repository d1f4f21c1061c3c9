import json
from datetime import date
from hashlib import sha256

import msgspec
import pytest
from sklearn.metrics import roc_auc_score

from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.release.subset_files import (
    Prediction,
    make_reference_predictions,
    make_release_order,
    make_rgqa_rows,
    score_predictions,
    write_subset,
)
from pipeline.core.json_files import read_jsonl
from pipeline.core.release_params import ReleaseParams

P = ReleaseParams(
    title="T",
    data_source="o",
    licence="l",
    licence_url="u",
    release_date=date(2026, 1, 1),
    include_images=False,
    num_folds=2,
)


def test_a_subset_has_rows_tables_and_predictions_with_their_scores(items, tmp_path):
    write_subset(tmp_path, "clip-hard", items, {}, "canary", P)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    names = ("text_only", "clip_score", "constant", "expected")
    assert files == {
        "rgqa/clip-hard.json",
        "data/clip-hard-validation.parquet",
        "data/clip-hard-test.parquet",
        *(f"reference_predictions/clip-hard/{name}.json" for name in names),
    }
    expected = json.loads((tmp_path / "reference_predictions/clip-hard/expected.json").read_text())
    assert expected["constant"]["facc"] == 0.25  # "yes" answers one AQ of four.


def test_a_split_without_items_has_no_table(items, tmp_path):
    write_subset(tmp_path, "clip-hard", [i for i in items if i.split == "validation"], {}, "canary", P)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["clip-hard-validation.parquet"]


def test_the_rows_are_in_rgqas_own_format(release):
    # RGQA's released files: a UQ is {"label": {"UQ": 1.0}} with an id like clipeasy_n460556+202082119, an AQ has its GQA id.
    for path in sorted((release / "rgqa").glob("*.json")):
        for row in json.loads(path.read_text()):
            assert set(row) == {"img_id", "question_id", "sent", "label", "canary"}
            if row["label"] == {"UQ": 1.0}:
                prefix, question = row["question_id"].split("+")
                assert prefix == f"{path.stem.replace('-', '')}_{row['img_id']}" and question.isalnum()
            else:
                assert "+" not in row["question_id"] and list(row["label"].values()) == [1.0]


def test_rows_have_the_order_of_the_items_and_the_canary(items):
    rows = list(make_rgqa_rows(items, "canary"))
    assert [row.question_id for row in rows] == [item.item_id for item in items]
    assert [row.label for row in rows[:2]] == [{"yes": 1.0}, {"UQ": 1.0}]
    assert {row.canary for row in rows} == {"canary"}


def test_the_constant_prediction_scores_half_the_proportion_of_yes(items):
    # "yes" answers one of four AQs: FACC = 1/4. All confidences are tied, so the curve is the straight line from
    # (0, 0) to (1, 1/4): AUAF = 1/8, and 95 % of FACC is reached at FPR 0.95.
    found = score_predictions(items, make_reference_predictions(items, folds=2, seed=0)["constant"])
    assert (found.auaf, found.facc, found.auroc, found.aqs, found.uqs) == (0.125, 0.25, 0.5, 4, 4)
    assert found.ff95 == pytest.approx(0.95)


def test_the_clip_score_is_the_confidence_of_its_prediction(items):
    rows = make_reference_predictions(items, folds=2, seed=0)["clip_score"]
    assert score_predictions(items, rows).auroc == 1.0  # every AQ has 0.5, every UQ 0.25
    assert [row.confidence for row in rows] == [0.5, 0.25] * 4


def test_without_scores_of_all_items_there_is_no_clip_prediction(items, tmp_path):
    some = [msgspec.structs.replace(item, score=None) if item.item_id == "02" else item for item in items]
    assert set(make_reference_predictions(some, folds=2, seed=0)) == {"constant", "text_only"}
    write_subset(tmp_path, "clip-hard", some, {}, "canary", P)
    assert {path.stem for path in (tmp_path / "reference_predictions").rglob("*.json")} == {
        "constant",
        "text_only",
        "expected",
    }
    assert set(json.loads((tmp_path / "reference_predictions/clip-hard/expected.json").read_text())) == {
        "constant",
        "text_only",
    }


def test_the_expected_auroc_of_the_clip_score_agrees_with_scikit_learn(release):
    items = [row.item for row in read_jsonl(release / "provenance.jsonl", Provenance)]
    for subset in ("clip-easy", "clip-hard", "pt-easy", "pt-hard"):
        rows = [item for item in items if item.subset == subset]
        found = roc_auc_score([not item.unanswerable for item in rows], [item.score for item in rows])
        expected = json.loads((release / f"reference_predictions/{subset}/expected.json").read_text())[
            "clip_score"
        ]["auroc"]
        assert expected == pytest.approx(found, abs=1e-6)
        # Edited questions have scores of their own, which are equal only by chance.
        assert len({item.score for item in rows if item.edits}) >= sum(bool(item.edits) for item in rows) / 2


def test_predictions_are_joined_by_id_not_by_order(items):
    rows = [
        Prediction(questionId=i.item_id, prediction=i.answer or "x", confidence=float(not i.unanswerable))
        for i in items
    ]
    assert score_predictions(items, rows[::-1]) == score_predictions(items, rows)
    assert score_predictions(items, rows).auaf == 1.0


def test_the_text_only_prediction_uses_answers_about_other_images_only(items):
    # "Is it ..." is asked about two images, and each gets the answer of the other.
    rows = {
        row.questionId: row.prediction
        for row in make_reference_predictions(items, folds=2, seed=0)["text_only"]
    }
    assert (rows["00"], rows["03"]) == ("no", "yes")


def test_the_first_hundred_items_are_a_random_sample(items):
    # There are 500 AQs and 500 UQs. A random sample of 100 has 50 +- 4.7 UQs (hypergeometric); 30 to 70 is over 4 deviations.
    aq, uq = items[0], next(item for item in items if item.unanswerable)
    many = [msgspec.structs.replace(aq, item_id=f"{i:08}") for i in range(500)]
    many += [msgspec.structs.replace(uq, item_id=f"pthard_n{i}+{i:08}") for i in range(500)]
    ordered = sorted(many, key=make_release_order("1.0.0"))
    assert sorted(ordered, key=lambda item: item.item_id) == sorted(many, key=lambda item: item.item_id)
    assert 30 <= sum(item.unanswerable for item in ordered[:100]) <= 70
    # Each version has its own order, so the first rows of different versions differ.
    assert sorted(many, key=make_release_order("1.0.1"))[:100] != ordered[:100]
    assert sorted([*many[500:], *many[:500]], key=make_release_order("1.0.0"))[:100] == ordered[:100]


def test_every_file_of_a_release_is_in_release_order(release):
    for path in sorted((release / "rgqa").glob("*.json")):
        ids = [row["question_id"] for row in json.loads(path.read_text())]
        params = json.loads((release / "params.json").read_text())
        assert ids == sorted(ids, key=lambda name: sha256(f"{params['version']}\x1f{name}".encode()).digest())
