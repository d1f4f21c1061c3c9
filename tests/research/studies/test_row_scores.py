"""Predictions of nets and scores of rows on sets of items."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord
from pipeline.scoring import auaf
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from pipeline.sources import gqa_files
from research.stages import answer
from research.studies import net_predictions
from research.studies.net_predictions import QueryItem, predict_items
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
from research.synthetic_world.graded_models import GradedModel
from tests.tiny.nets import SAMPLE, VQA, add_nets

# Scores of rows on resampled images, compared with the scorers on items that are repeated as often as they are drawn.


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


# Predictions for any items, compared with those of stage `answer`.


@pytest.fixture(scope="module")
def home(tiny_run, tmp_path_factory):
    made = tmp_path_factory.mktemp("net answers") / "run"
    shutil.copytree(tiny_run, made)
    add_nets(made)
    return made


@pytest.fixture
def there(home, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def posed_items() -> list[QueryItem]:
    files = {row.image_id: Path(row.path) for row in DatasetFolders().read_records(ImageRecord)}
    benchmark = read_benchmark(Path("data/release/tiny/0.1.0"))
    return [
        QueryItem(key, files[image], text)
        for items in benchmark.subsets.values()
        for key, image, text in zip(items["id"], items["image"], items["question_text"], strict=True)
    ]


def truth(_):
    return gqa_files.read_true_scene_graphs(DatasetFolders().truth, ["testdev"])


def test_on_the_release_predictions_are_those_of_stage_answer(there, tmp_path):
    answer.main()
    stage = DatasetFolders().stage_dir("answer")
    paths = predict_items(posed_items(), tmp_path, DatasetFolders(), truth)
    assert {path.name for path in paths} == {path.name for path in stage.glob("*-seed*.json")}
    for path in paths:
        assert path.read_bytes() == (stage / path.name).read_bytes(), path.name
    assert (tmp_path / "rows.yaml").read_bytes() == (stage / "rows.yaml").read_bytes()


def test_only_missing_predictions_are_made(there, tmp_path, monkeypatch):
    items = posed_items()[:4]
    paths = predict_items(items, tmp_path, DatasetFolders())
    first = {path: path.read_bytes() for path in paths}
    assert not [path for path in paths if path.name.startswith("true_regions")]
    asked = net_predictions.predict_rows
    seeds = []

    def counting(plan, *rest):
        seeds.extend(plan.planned_inference)
        return asked(plan, *rest)

    monkeypatch.setattr(net_predictions, "predict_rows", counting)
    assert predict_items(items, tmp_path, DatasetFolders()) == paths and seeds == []
    (tmp_path / "rp-seed1.json").unlink()
    predict_items(items, tmp_path, DatasetFolders())
    assert seeds == [1] and {path: path.read_bytes() for path in paths} == first
    predict_items(items[:3], tmp_path, DatasetFolders())  # These are other queries.
    assert seeds == [1, 0, 1] and len(read_json(paths[0])) == 3


def test_extra_nets_are_rows_and_a_changed_net_answers_again(there, tmp_path, monkeypatch):
    items, more = posed_items()[:4], {"weak": GradedModel(VQA / "rp-0.safetensors", 0)}
    paths = predict_items(items, tmp_path, DatasetFolders(), extra_nets=more)
    rp, weak = (read_json(tmp_path / f"{name}-seed0.json") for name in ("rp", "weak"))
    assert paths[-1].name == "weak-seed0.json" and weak == rp
    monkeypatch.setattr(net_predictions, "predict_rows", None)  # the others are not asked again
    predict_items(
        items, tmp_path, DatasetFolders(), extra_nets={"weak": GradedModel(VQA / "rp-1.safetensors", 0)}
    )
    assert read_json(tmp_path / "weak-seed0.json") == read_json(tmp_path / "rp-seed1.json") != rp
    predict_items(
        items, tmp_path, DatasetFolders(), extra_nets={"weak": GradedModel(VQA / "rp-1.safetensors", 2)}
    )
    assert read_json(tmp_path / "weak-seed0.json") != read_json(
        tmp_path / "rp-seed1.json"
    )  # It sees fewer regions.


def test_all_faulty_items_are_reported_at_once(there, tmp_path):
    (one, *_) = posed_items()
    wrong = [
        one,
        one._replace(text="What?"),
        one._replace(item_id="other", image=Path("x") / one.image.name),
    ]
    with pytest.raises(UserError) as error:
        predict_items(wrong, tmp_path, DatasetFolders())
    text = "\n".join(error.value.problems)
    assert "occurs twice" in text and "two images have the same name" in text
    folders = DatasetFolders()
    folders.vqa_models = SAMPLE / "nowhere"
    with pytest.raises(UserError, match="there are no nets"):
        predict_items([one], tmp_path, folders)
