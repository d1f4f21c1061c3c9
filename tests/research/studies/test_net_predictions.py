"""Predictions for any items, compared with those of stage `answer`."""

import shutil
from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.sources import gqa_files
from research.stages import answer
from research.studies import net_predictions
from research.studies.net_predictions import QueryItem, predict_items
from research.synthetic_world.graded_models import GradedModel
from tests.tiny.nets import SAMPLE, VQA, add_nets


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
    assert "occurs twice" in text and "two images have one name" in text
    folders = DatasetFolders()
    folders.vqa_models = SAMPLE / "nowhere"
    with pytest.raises(UserError, match="there are no nets"):
        predict_items([one], tmp_path, folders)
