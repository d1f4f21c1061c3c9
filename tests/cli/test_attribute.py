"""`rgqa attribute` on the tiny project with models of random weights."""

import json
import subprocess
import sys

import numpy as np
import pytest

from pipeline.cli.attribute import AttributionOptions, write_attributions
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.inference.attribution.item_pairs import sample_pairs
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from pipeline.scoring.input_validation import read_attention
from tests.closure import ROOT
from tests.inference.attribution.tiny_nets import with_nets


@pytest.fixture(scope="module")
def made(tiny_run, tmp_path_factory):
    return with_nets(tiny_run, tmp_path_factory.mktemp("attribute") / "run", ROOT / "data/sample/clip")


@pytest.fixture
def pair(made, monkeypatch):
    monkeypatch.chdir(made)
    return sample_pairs(read_benchmark(DatasetFolders().release_dir(params.read_release_version())), 1)[0]


def refused(**options):
    with pytest.raises(UserError) as found:
        write_attributions(AttributionOptions(**{"items": (), "model": "rp"} | options))
    return str(found.value)


def test_an_item_gives_a_page_with_its_pair_and_maps_of_both(pair, tmp_path, capsys):
    page, maps = tmp_path / "attribution.html", tmp_path / "maps.json"
    write_attributions(AttributionOptions((pair.aq.id, pair.aq.id), "rp", out=page, maps=maps))
    html = page.read_text()
    assert html.index(f'id">{pair.uq.id},') < html.index(f'id">{pair.aq.id},')
    assert read_attention(maps).keys() == {pair.uq.id, pair.aq.id}
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"attribute: 2 maps -> {maps}" and second.endswith(f"MB, rp, 2 items -> {page}")


def test_maps_without_a_page_use_the_given_method(pair, tmp_path):
    tables = {}
    for method in ("", "attention", "grad-cam"):
        path = tmp_path / f"maps-{method}.json"
        write_attributions(AttributionOptions((pair.uq.id,), "rp", maps=path, method=method))
        tables[method] = np.array(json.loads(path.read_text())[pair.uq.id])
    assert tables[""].tolist() == tables["attention"].tolist() and tables[""].shape == (24, 24)
    assert tables["grad-cam"].shape[1] == 5 and tables["grad-cam"][:, 4].sum() == pytest.approx(1, abs=1e-4)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json"}
    message = refused(items=(pair.uq.id,), maps=tmp_path / "no.json", method="rollout")
    assert "'rollout': this model has detections, attention, glance-1" in message


def test_without_items_the_maps_of_all_are_written_and_scored_as_in_gqa(pair, tmp_path):
    questions = "data/tiny/source/questions1.2/testdev_balanced_questions.json"
    maps = tmp_path / "maps.json"
    write_attributions(AttributionOptions((), "rp", maps=maps, release=questions))
    asked = json.loads((ROOT / "tests/tiny" / questions.removeprefix("data/tiny/")).read_text())
    attention = read_attention(maps)
    assert attention.keys() == asked.keys()
    scenes = json.loads((ROOT / "tests/tiny/truth/testdev_sceneGraphs.json").read_text())
    answers = dict.fromkeys(asked, "yes")
    found = compute_gqa_diagnostics(asked, answers, scenes=scenes, attention=attention)["grounding"]
    assert found["items"] == len(asked) and found["value"] >= 0


def test_words_of_the_user_are_shown(pair, tmp_path):
    words, page = tmp_path / "words.json", tmp_path / "attribution.html"
    words.write_text(
        json.dumps({pair.uq.image: [{"text": "soup & co", "box": [1, 2, 30, 12], "score": 0.8}]})
    )
    write_attributions(AttributionOptions((pair.uq.id,), "rp", out=page, ocr_words=words))
    assert "1 soup &amp; co 0.80" in page.read_text()
    words.write_text('[{"text": "soup", "box": [9, 9, 3, 3]}]')
    assert "right or lower edge" in refused(items=(pair.uq.id,), ocr_words=words)
    words.write_text('[{"text": "soup", "box": [9, 9, 9000, 9000]}]')
    assert "boxes outside of the image" in refused(items=(pair.uq.id,), ocr_words=words)


def test_invalid_requests_are_refused(pair):
    assert "no item n0 in" in refused(items=("n0",))
    assert "--model: missing. Choose from the rows of seed 0" in refused(items=(pair.uq.id,), model="")
    assert "--model clip_score: this row is a file of predictions" in refused(
        items=(pair.uq.id,), model="clip_score"
    )
    assert "no item is given" in refused()
    assert "give one of them" in refused(items=(pair.uq.id,), ocr_words="w.json", ocr=True)
    assert "--model-arg device: expected NAME=VALUE" in refused(items=(pair.uq.id,), model_args=("device",))


def test_the_command_ends_with_one_message_and_exit_code_1(pair):
    command = [sys.executable, "-m", "pipeline.cli", "attribute", "nobody", "--model", "rp"]
    ended = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": ""})
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.startswith("error: no item nobody in") and "Traceback" not in ended.stderr
