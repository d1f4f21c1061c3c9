"""answer: tiny nets of random weights on the tiny project's release, with the sample's CLIP."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.prediction_reader import read_predictions
from research.reference_models import row_predictions
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.stages import answer
from tests.closure import ROOT
from tests.tiny.nets import VQA, add_nets

OUT = Path("data/tiny/interim/answer")


@pytest.fixture(scope="module")
def made(tiny_run, tmp_path_factory):
    """The tiny project with nets in vqa/, after a first run of the stage."""
    home = tmp_path_factory.mktemp("answer") / "run"
    shutil.copytree(tiny_run, home)
    before, threads = Path.cwd(), os.environ.get("OMP_NUM_THREADS")
    os.chdir(home)
    os.environ["OMP_NUM_THREADS"] = "1"  # all in this process
    add_nets(Path())
    chosen = {"at_risk": {"0.05": 0.5}, "at_cost": {"10": None}}
    thresholds = {row: {"0": chosen, "1": chosen} for row in ("msp", "ens", "selector", "rp_hard")}
    (VQA / "thresholds.json").write_text(json.dumps(thresholds))
    answer.main()
    yield home
    os.chdir(before)
    if threads is None:
        del os.environ["OMP_NUM_THREADS"]
    else:
        os.environ["OMP_NUM_THREADS"] = threads


@pytest.fixture
def project(made, tmp_path, monkeypatch):
    """A copy of it to change."""
    shutil.copytree(made, tmp_path / "run", symlinks=True)
    monkeypatch.chdir(tmp_path / "run")
    return tmp_path / "run"


def files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in OUT.iterdir()}


def test_each_row_of_a_seed_whose_nets_are_there_is_a_file_for_every_item(made):
    written = {path.name for path in OUT.glob("*-seed*.json")}
    assert {"msp-seed0.json", "msp-seed1.json", "text_only_net-seed0.json", "frcnn-seed1.json"} <= written
    assert "ens-seed1.json" in written and "ens-seed0.json" not in written  # mix is of seed 1 alone
    assert "mahalanobis-seed1.json" in written and "mahalanobis-seed0.json" not in written
    assert "separated-seed1.json" in written and "true_regions-seed0.json" in written
    assert not [name for name in written if name.startswith(("resample", "k_plus_1", "caption_match"))]
    benchmark = read_benchmark(made / "data/release/tiny/0.1.0")
    for name in written:
        assert set(read_predictions(OUT / name).index_by_id) == benchmark.ids


def test_a_question_of_several_items_is_asked_once(made, monkeypatch):
    """Copies of items under other ids ask nothing new, and get the same."""
    read, run_inference = answer.read_benchmark, row_predictions.run_inference
    asked = []

    def doubled(folder):
        benchmark = read(folder)
        subsets = {
            f"{name}{more}": items.with_columns(id=[f"{more}{one}" for one in items["id"]])
            for name, items in benchmark.subsets.items()
            for more in ("", "again")
        }
        return benchmark._replace(subsets=subsets)

    def counting(held, one):
        asked.append((one.path.name, len(held.queries), len(set(held.queries))))
        return run_inference(held, one)

    before = files()
    monkeypatch.setattr(answer, "read_benchmark", doubled)
    monkeypatch.setattr(row_predictions, "run_inference", counting)
    answer.main()
    rows = {row["questionId"]: row for row in json.loads((OUT / "rp-seed0.json").read_text())}
    told = read_json(OUT / "answer.json")
    once = [row["questionId"] for row in json.loads(before["rp-seed0.json"])]
    assert len(rows) == 2 * len(once) == told["items"] and told["queries"] <= len(once)
    assert all(n == distinct == told["queries"] for _, n, distinct in asked)
    assert len(asked) == len({name for name, _, _ in asked}) == 8  # each net once, whatever rows it has
    assert all(rows[one]["confidence"] == rows[f"again{one}"]["confidence"] for one in once)
    monkeypatch.undo()
    os.chdir(made)
    answer.main()
    assert files() == before  # the same bytes again


def test_skipped_rows_and_reasons_are_reported(made, capsys):
    told = read_json(OUT / "answer.json")
    assert told["skipped"]["ens"] == {"0": "no net mix"}
    assert told["skipped"]["selector"] == {"0": "no selector fitted"}
    assert told["skipped"]["true_regions"] == {"1": "no net true_regions"}
    assert told["seeds"] == [0, 1] and "msp" in told["rows"] and "resample" not in told["rows"]
    answer.main()
    line = capsys.readouterr().out
    assert f"skipped: {len(told['skipped'])} rows of some seeds, see answer.json" in line


def test_rows_are_described_and_thresholds_are_those_of_written_rows(made):
    rows = yaml.safe_load((OUT / "rows.yaml").read_text())
    told = read_json(OUT / "answer.json")
    assert [*rows] == told["rows"] and rows["text_only_net"]["reference"] is True
    assert rows["separated"]["confidence"] == "Separated of separated; answers of vanilla"
    thresholds = read_json(OUT / "thresholds.json")
    assert {row: [*seeds] for row, seeds in thresholds.items()} == {
        "msp": ["0", "1"],
        "selector": ["1"],
        "ens": ["1"],
    }


def test_rows_that_need_a_net_go_with_it_and_their_old_files_too(project):
    (VQA / "mix-1.safetensors").unlink()
    answer.main()
    assert not (OUT / "ens-seed1.json").exists() and (OUT / "rp-seed1.json").exists()
    assert read_json(OUT / "answer.json")["skipped"]["ens"] == {"0": "no net mix", "1": "no net mix"}


def test_damaged_files_are_all_named_before_any_query(project):
    (VQA / "rp-0.safetensors").write_bytes(b"nothing of the kind")
    (VQA / "regions.safetensors").write_bytes(b"")
    (VQA / "fitted-1.safetensors").write_bytes(b"{}")
    with pytest.raises(UserError) as caught:
        answer.main()
    first, *lines = caught.value.problems
    assert first.startswith("data/tiny/vqa: ") and "3 problems" in first
    assert [line.split(": ")[0] for line in lines] == [
        str(VQA / "regions.safetensors"),
        str(VQA / "rp-0.safetensors"),
        str(VQA / "fitted-1.safetensors"),
    ]
    assert all("again" in line for line in lines)


def test_a_missing_image_is_named(project):
    asked = {
        row["image"]
        for items in read_benchmark(project / "data/release/tiny/0.1.0").subsets.values()
        for row in [{"image": name} for name in items["image"]]
    }
    gone = sorted(asked)[0]
    (path,) = Path("data/tiny/source/images").glob(f"{gone}.*")
    path.unlink()
    with pytest.raises(UserError, match=f"{gone}.* is missing"):
        answer.main()


def test_without_a_truth_the_row_that_needs_it_is_skipped(project):
    shutil.rmtree("data/tiny/truth")
    answer.main()
    assert not (OUT / "true_regions-seed0.json").exists()
    assert "complete scene graphs" in read_json(OUT / "answer.json")["skipped"]["true_regions"]["0"]


def test_without_nets_there_is_nothing_to_ask(project, capsys):
    shutil.rmtree(VQA)
    answer.main()
    assert "no nets in data/tiny/vqa, so no rows" in capsys.readouterr().out
    assert {path.name for path in OUT.iterdir()} == {"answer.json", "rows.yaml", "thresholds.json"}
    told = read_json(OUT / "answer.json")
    assert (told["queries"], told["images"], told["rows"], told["skipped"]) == (0, 0, [], {})
    assert yaml.safe_load((OUT / "rows.yaml").read_text()) == {}


# What a processor without wide vectors calculates with: torch, oneDNN, MKL and numpy each have a switch.
PLAIN = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "COMPATIBLE",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F",
}


@pytest.mark.slow
def test_a_processor_without_wide_vectors_writes_the_same_bytes(project):
    before = files()
    for path in OUT.iterdir():
        path.unlink()
    changed = {**os.environ, **PLAIN, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "research.stages.answer"], check=True, env=changed)
    assert files() == before


def test_every_row_is_known_to_the_summary(made):
    told = read_json(OUT / "answer.json")
    assert set(LEADERBOARD_ROWS) == set(told["rows"]) | set(told["skipped"])
