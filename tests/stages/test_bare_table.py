"""Images and a table of questions, no programs and no scene graphs: what can be done with them is done, to the release, also without CLIP."""

import csv
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from pipeline.benchmark.release.check_release import check_release
from pipeline.benchmark.report.report_page import write_report
from pipeline.candidates.encoders.embedding_cache import export_embeddings
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import (
    Candidate,
    Item,
    Question,
    ScreenedCandidate,
    SourceQuestionScore,
    Task,
)
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


def set_section(project: Path, **sections: dict[str, object]) -> None:
    """Change parameters of some stages of the data set `bare`."""
    path = project.parents[1] / "params.yaml"
    document = yaml.safe_load(path.read_text())
    for stage, values in sections.items():
        document["bare"][stage] = document["bare"][stage] | values
    path.write_text(yaml.safe_dump(document))


def judge_tasks(project: Path) -> None:
    """Let three people give every gold question its verdict, and call every candidate invalid."""
    tasks = list(read_jsonl(project / "interim/batch/tasks.jsonl", Task))
    exported = export(tasks, lambda who, question: question.expected_choice or "invalid")
    (project / "annotations/pulled.json").write_text(json.dumps(exported))


def test_edited_questions_alone_go_through_to_a_release_without_any_clip_model(bare):
    # Neither is there a model of this name, nor a network.
    set_section(bare, ingest={"subsets": ["pt-easy", "pt-hard"]}, embed={"model": "local-dir:nowhere"})
    run("ingest", "vocabulary")
    before = time.perf_counter()
    run("embed", "rank")
    assert time.perf_counter() - before < 1
    interim = bare / "interim"
    questions = list(read_jsonl(interim / "ingest/questions.jsonl", Question))
    images = read_json(interim / "embed/image_ids.json")
    assert np.load(interim / "embed/images.npy").shape == (len(images), 0)
    assert (interim / "rank/candidates.jsonl").read_bytes() == b""
    scores = list(read_jsonl(interim / "rank/source_scores.jsonl", SourceQuestionScore))
    assert [row.question_id for row in scores] == [row.question_id for row in questions]
    assert {row.score for row in scores} == {None}
    assert read_json(interim / "rank/splits.json").keys() == set(images)
    run("tag", "perturb", "screen")
    assert {
        row.candidate.subset for row in read_jsonl(interim / "screen/screened.jsonl", ScreenedCandidate)
    } == {"pt-easy", "pt-hard"}
    run("similarity", "estimate", "batch")
    judge_tasks(bare)
    run("collect", "balance", "paper", "audit", "release")
    release = Path("data/release/bare/0.1.0")
    check_release(release)
    items = list(read_jsonl(interim / "balance/items.jsonl", Item))
    assert {item.subset for item in items} <= {"pt-easy", "pt-hard"}
    assert {item.score for item in items} == {None}
    card = (release / "README.md").read_text()
    assert "No CLIP model was used" in card and "clip-easy has no item" not in card
    assert "rai:machineAnnotationTools" not in (release / "croissant.json").read_text()
    write_report(None, 2)
    with pytest.raises(UserError, match="no embeddings"):
        export_embeddings()


def test_questions_of_other_images_alone_go_through_to_a_release(bare):
    set_section(bare, ingest={"subsets": ["clip-hard"]})
    run("ingest", "vocabulary")
    bags_of_words(TINY, bare / "interim")
    run("rank", "tag", "perturb", "screen")
    interim = bare / "interim"
    assert (interim / "perturb/candidates.jsonl").read_bytes() == b""
    assert (interim / "perturb/unedited.jsonl").read_bytes() == b""
    candidates = read_jsonl(interim / "rank/candidates.jsonl", Candidate)
    assert {row.subset for row in candidates} == {"clip-hard"}
    run("similarity", "estimate", "batch")
    judge_tasks(bare)
    run("collect", "balance", "paper", "audit", "release")
    check_release(Path("data/release/bare/0.1.0"))
    assert {item.subset for item in read_jsonl(interim / "balance/items.jsonl", Item)} == {"clip-hard"}
    assert "pt-easy has no item" not in Path("data/release/bare/0.1.0/README.md").read_text()
    write_report(None, 2)


def test_without_clip_subsets_no_stage_that_needs_a_model_imports_torch(bare):
    set_section(bare, ingest={"subsets": ["pt-hard"]})
    run("ingest")
    script = (
        "import sys\n"
        "from pipeline.stages import embed, rank\n"
        "embed.main(), rank.main()\n"
        "print({'torch', 'open_clip'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.splitlines()[-1] == "set()"
