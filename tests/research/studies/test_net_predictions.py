"""Answers to any items, against those of stage `answer`."""

import shutil
from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import Folders
from pipeline.core.records import Picture
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.sources import gqa_files
from research.stages import answer
from research.studies import net_predictions
from research.studies.net_predictions import PosedItem, answer_items
from research.synthetic_world.graded_models import GradedNet
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


def posed_items() -> list[PosedItem]:
    files = {row.picture_id: Path(row.path) for row in Folders().rows(Picture)}
    benchmark = read_benchmark(Path("data/release/tiny/0.1.0"))
    return [
        PosedItem(key, files[picture], text)
        for items in benchmark.subsets.values()
        for key, picture, text in zip(items["id"], items["picture"], items["asked"], strict=True)
    ]


def truth(_):
    return gqa_files.truth(Folders().truth, ["testdev"])


def test_on_its_release_they_are_the_rows_of_stage_answer(there, tmp_path):
    answer.main()
    stage = Folders().stage("answer")
    paths = answer_items(posed_items(), tmp_path, Folders(), truth)
    assert {path.name for path in paths} == {path.name for path in stage.glob("*-seed*.json")}
    for path in paths:
        assert path.read_bytes() == (stage / path.name).read_bytes(), path.name
    assert (tmp_path / "rows.yaml").read_bytes() == (stage / "rows.yaml").read_bytes()


def test_what_was_answered_is_not_asked_again_but_what_is_missing_is(there, tmp_path, monkeypatch):
    items = posed_items()[:4]
    paths = answer_items(items, tmp_path, Folders())
    first = {path: path.read_bytes() for path in paths}
    assert not [path for path in paths if path.name.startswith("true_regions")]
    asked = net_predictions.said_by_nets
    seeds = []

    def counting(plan, *rest):
        seeds.extend(plan.looks)
        return asked(plan, *rest)

    monkeypatch.setattr(net_predictions, "said_by_nets", counting)
    assert answer_items(items, tmp_path, Folders()) == paths and seeds == []
    (tmp_path / "rp-seed1.json").unlink()
    answer_items(items, tmp_path, Folders())
    assert seeds == [1] and {path: path.read_bytes() for path in paths} == first
    answer_items(items[:3], tmp_path, Folders())  # something else is asked
    assert seeds == [1, 0, 1] and len(read_json(paths[0])) == 3


def test_further_nets_are_rows_and_another_net_of_the_name_answers_anew(there, tmp_path, monkeypatch):
    items, more = posed_items()[:4], {"weak": GradedNet(VQA / "rp-0.safetensors", 0)}
    paths = answer_items(items, tmp_path, Folders(), more=more)
    rp, weak = (read_json(tmp_path / f"{name}-seed0.json") for name in ("rp", "weak"))
    assert paths[-1].name == "weak-seed0.json" and weak == rp
    monkeypatch.setattr(net_predictions, "said_by_nets", None)  # the others are not asked again
    answer_items(items, tmp_path, Folders(), more={"weak": GradedNet(VQA / "rp-1.safetensors", 0)})
    assert read_json(tmp_path / "weak-seed0.json") == read_json(tmp_path / "rp-seed1.json") != rp
    answer_items(items, tmp_path, Folders(), more={"weak": GradedNet(VQA / "rp-1.safetensors", 2)})
    assert read_json(tmp_path / "weak-seed0.json") != read_json(tmp_path / "rp-seed1.json")  # it sees less


def test_everything_that_cannot_be_asked_is_told_at_once(there, tmp_path):
    (one, *_) = posed_items()
    wrong = [
        one,
        one._replace(text="What?"),
        one._replace(item_id="other", picture=Path("x") / one.picture.name),
    ]
    with pytest.raises(UserError) as error:
        answer_items(wrong, tmp_path, Folders())
    text = "\n".join(error.value.problems)
    assert "stands there twice" in text and "two pictures of one name" in text
    folders = Folders()
    folders.vqa = SAMPLE / "nowhere"
    with pytest.raises(UserError, match="no nets in"):
        answer_items([one], tmp_path, folders)
