"""Images and a table of questions, no programs and no scene graphs: what can be done with them is done, to the release."""

import csv
import importlib
import json
import shutil
from pathlib import Path

import pytest
import yaml

from pipeline.benchmark.release.check_release import check_release
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import Item, Task
from pipeline.core.stage_graph import stage_module
from tests.closure import ROOT
from tests.stages.conftest import export
from tests.tiny.project import PARAMS, TINY, bags_of_words, keep_bags_of_words


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny world's images and questions as a table, in a data set `bare`; its folder."""
    home = tmp_path / "data/bare"
    shutil.copytree(TINY / "source/images", home / "source/images")
    asked = json.loads((TINY / "source/questions1.2/testdev_balanced_questions.json").read_text())
    with (home / "source/questions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["question_id", "image", "question", "answer"])
        writer.writerows([key, row["imageId"], row["question"], row["answer"]] for key, row in asked.items())
    section = {**PARAMS, "collect": {"simulate": False, "min_votes": 2}}
    (tmp_path / "params.yaml").write_text(
        yaml.safe_dump({"dataset": "bare", "version": "0.1.0", "bare": section})
    )
    (home / "annotations").mkdir()
    monkeypatch.chdir(tmp_path)
    return home


def run(*stages: str) -> None:
    for stage in stages:
        importlib.import_module(stage_module(stage, ROOT)).main()


def test_a_bare_table_goes_through_to_a_release_that_says_what_is_missing(bare, capsys):
    run("ingest", "vocabulary")
    assert "warning: neither scene graphs nor programs" in capsys.readouterr().err
    bags_of_words(TINY, bare / "interim")
    run("rank", "tag", "perturb", "screen")
    keep_bags_of_words(bare / "interim")
    run("similarity", "estimate", "batch")
    assert "warning: no gold question is known to be unanswerable" in capsys.readouterr().err
    screen = read_json(bare / "interim/screen/screen.json")
    assert screen["clip-hard"]["evidence"] == {
        "none": screen["clip-hard"]["candidates"]
    }  # and no evidence is not "no conflict"
    tasks = list(read_jsonl(bare / "interim/batch/tasks.jsonl", Task))
    (bare / "annotations/pulled.json").write_text(
        json.dumps(export(tasks, lambda who, question: question.expected_choice or "invalid"))
    )
    run("collect", "balance", "paper", "audit", "release")
    release = Path("data/release/bare/0.1.0")
    check_release(release)
    items = list(read_jsonl(bare / "interim/balance/items.jsonl", Item))
    subsets = {item.subset for item in items}
    assert {"clip-easy", "clip-hard"} <= subsets and "pt-easy" not in subsets
    assert not any(item.simulated for item in items)
    assert "pt-easy has no item" in (release / "README.md").read_text()
