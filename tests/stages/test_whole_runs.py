"""Runs of many stages: with a table of questions only, with people, and with files of another run."""

import csv
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from annotation.cli import app
from annotation.client import report
from pipeline.benchmark.release.check_release import check_release
from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.report.report_page import write_report
from pipeline.candidates.encoders.embedding_cache import export_embeddings
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import Candidate, Item, Question, ScreenedCandidate, SourceQuestionScore, Task
from pipeline.core.stage_graph import stage_module
from pipeline.scoring.cli import load_inputs
from pipeline.scoring.cli_options import build_parser
from pipeline.scoring.model_report import score_models
from tests.closure import ROOT
from tests.stages.conftest import export
from tests.tiny.project import PARAMS, TINY, bags_of_words, keep_bags_of_words

# Bare table
# Images and a table of questions, no programs and no scene graphs: what can be done with them is done, to
# the release, also without CLIP.


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
    section = {**PARAMS, "vocabulary": {}, "collect": {"simulate": False, "min_votes": 2}}
    (tmp_path / "params.yaml").write_text(
        yaml.safe_dump({"dataset": "bare", "version": "0.1.0", "bare": section})
    )
    (home / "annotations").mkdir()
    monkeypatch.chdir(tmp_path)
    return home


def run_stage_modules(*stages: str) -> None:
    for stage in stages:
        importlib.import_module(stage_module(stage, ROOT)).main()


def test_a_bare_table_goes_through_to_a_release_with_all_subsets(bare):
    run_stage_modules("ingest", "vocabulary")
    bags_of_words(TINY, bare / "interim")
    run_stage_modules("rank", "tag", "perturb", "screen")
    keep_bags_of_words(bare / "interim")
    run_stage_modules("similarity", "estimate", "batch")
    # Programs are derived from the texts, and names come from the default vocabulary.
    questions = read_jsonl(bare / "interim/ingest/questions.jsonl", Question)
    assert any(question.program for question in questions)
    candidates = read_jsonl(bare / "interim/perturb/candidates.jsonl", Candidate)
    assert {row.subset for row in candidates} == {"pt-easy", "pt-hard"}
    judge_tasks(bare)
    run_stage_modules("collect", "balance", "paper", "audit", "release")
    release = Path("data/release/bare/0.1.0")
    check_release(release)
    items = list(read_jsonl(bare / "interim/balance/items.jsonl", Item))
    assert {item.subset for item in items} == {"clip-easy", "clip-hard", "pt-easy", "pt-hard"}
    assert not any(item.simulated for item in items)


def test_without_the_default_vocabulary_a_bare_table_has_only_its_own_names(bare, capsys):
    set_section(bare, vocabulary={"use_default": "never"})
    run_stage_modules("ingest", "vocabulary")
    assert "warning: the vocabulary is small" in capsys.readouterr().err


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
    run_stage_modules("ingest", "vocabulary")
    before = time.perf_counter()
    run_stage_modules("embed", "rank")
    assert time.perf_counter() - before < 5
    interim = bare / "interim"
    questions = list(read_jsonl(interim / "ingest/questions.jsonl", Question))
    images = read_json(interim / "embed/image_ids.json")
    assert np.load(interim / "embed/images.npy").shape == (len(images), 0)
    assert (interim / "rank/candidates.jsonl").read_bytes() == b""
    scores = list(read_jsonl(interim / "rank/source_scores.jsonl", SourceQuestionScore))
    assert [row.question_id for row in scores] == [row.question_id for row in questions]
    assert {row.score for row in scores} == {None}
    assert read_json(interim / "rank/splits.json").keys() == set(images)
    run_stage_modules("tag", "perturb", "screen")
    assert {
        row.candidate.subset for row in read_jsonl(interim / "screen/screened.jsonl", ScreenedCandidate)
    } == {"pt-easy", "pt-hard"}
    run_stage_modules("similarity", "estimate", "batch")
    judge_tasks(bare)
    run_stage_modules("collect", "balance", "paper", "audit", "release")
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
    run_stage_modules("ingest", "vocabulary")
    bags_of_words(TINY, bare / "interim")
    run_stage_modules("rank", "tag", "perturb", "screen")
    interim = bare / "interim"
    assert (interim / "perturb/candidates.jsonl").read_bytes() == b""
    assert (interim / "perturb/unedited.jsonl").read_bytes() == b""
    candidates = read_jsonl(interim / "rank/candidates.jsonl", Candidate)
    assert {row.subset for row in candidates} == {"clip-hard"}
    run_stage_modules("similarity", "estimate", "batch")
    judge_tasks(bare)
    run_stage_modules("collect", "balance", "paper", "audit", "release")
    check_release(Path("data/release/bare/0.1.0"))
    assert {item.subset for item in read_jsonl(interim / "balance/items.jsonl", Item)} == {"clip-hard"}
    assert "pt-easy has no item" not in Path("data/release/bare/0.1.0/README.md").read_text()
    write_report(None, 2)


def test_without_clip_subsets_no_stage_that_needs_a_model_imports_torch(bare):
    set_section(bare, ingest={"subsets": ["pt-hard"]})
    run_stage_modules("ingest")
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


# Human study
# The human study from a release to the scorers' comparison of people and a model.


HOME = Path("data/tiny-human")


@pytest.fixture
def copied(tiny_run, tmp_path, monkeypatch):
    shutil.copytree(tiny_run, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    return Path("data/release/tiny/0.1.0")


def run_command(*words):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def test_people_and_a_model_are_compared_on_the_sampled_items(copied):
    output = run_command("human-baseline", "sample", "--items-per-label", "4", "--seed", "5")
    assert "AQs" in output and "dataset: tiny-human" in output
    items = {
        (r.item.subset, r.item.item_id): r.item for r in read_jsonl(copied / "provenance.jsonl", Provenance)
    }
    tasks = list(read_jsonl(HOME / "interim/batch/tasks.jsonl", Task))
    asked = Counter[str]()
    for task in tasks:
        for row in (task.first, task.second):
            item = items[task.subset, row.question_id]
            assert (item.split, item.text, item.image_id) == ("test", row.text, task.image_id)
            assert item.unanswerable == (row.expected_choice == "invalid")
            asked[task.subset] += 1
    # Two people: one is always right, one accepts everything. Imported, as from another Label Studio.
    export = [
        {
            "data": {"task": task.task_id},
            "annotations": [
                {
                    "id": 2 * n + who,
                    "completed_by": who + 1,
                    "created_at": f"2026-01-01T00:00:{n % 60:02}Z",
                    "result": [
                        {"from_name": name, "value": {"choices": [choice]}}
                        for name, choice in zip(("first", "second"), choices, strict=True)
                    ],
                }
                for who, choices in enumerate(
                    [(task.first.expected_choice, task.second.expected_choice), ("valid", "unsure")], 1
                )
            ],
        }
        for n, task in enumerate(tasks)
    ]
    Path("export.json").write_text(json.dumps(export))
    params = Path("params.yaml")
    params.write_text(params.read_text().replace("dataset: tiny\n", "dataset: tiny-human\n"))
    run_command("import", "export.json")
    output = run_command("human-baseline", "score")
    for subset, questions in asked.items():
        assert f"{subset} " in output
        model = copied / "reference_predictions" / subset / "clip_score.json"
        human = f"human-judgments={HOME / 'study/judgements' / subset}.json"
        words = [
            copied,
            model,
            "--subset",
            subset,
            "--scores",
            "human",
            "--bootstrap",
            "0",
            "--resource",
            human,
        ]
        found = score_models(*load_inputs(build_parser().parse_args([str(word) for word in words])))
        row = found.models[0].subsets[subset]["human"]
        assert (row["aqs"], row["uqs"], row["true_positive_rate"], row["rejection_accuracy"]) == (
            questions,  # half of them, twice
            questions,
            1.0,
            0.5,
        )


def test_the_report_is_printed_in_the_terminal(copied, capsys):
    report.print_report()
    output = capsys.readouterr().out
    assert output.startswith("SIMULATED VERDICTS")
    assert "data/tiny/interim/collect/quality.html" in output


# Mixed runs
# Files of `interim/` that do not belong together: one message that names the file, no traceback.


@pytest.fixture(scope="module")
def project(tiny_run, tmp_path_factory):
    """A copy of the project in which all stages have run."""
    home = tmp_path_factory.mktemp("mixed") / "project"
    shutil.copytree(tiny_run, home, ignore=shutil.ignore_patterns("release"))
    return home


@pytest.mark.parametrize("share", ["none", "every second row"])
@pytest.mark.parametrize(
    ("stage", "file"),
    [
        ("perturb", "tag/tags.jsonl"),
        ("screen", "ingest/questions.jsonl"),
        ("batch", "ingest/images.jsonl"),
        ("batch", "estimate/estimates.jsonl"),
        ("balance", "estimate/estimates.jsonl"),
        ("balance", "ingest/questions.jsonl"),
        ("paper", "tag/tags.jsonl"),
        ("paper", "ingest/questions.jsonl"),
        ("release", "collect/verified.jsonl"),
        ("release", "ingest/questions.jsonl"),
        ("release", "ingest/images.jsonl"),
        ("audit", "ingest/questions.jsonl"),
        ("audit", "estimate/estimates.jsonl"),
    ],
)
def test_a_file_that_lacks_rows_of_its_run_is_reported_or_tolerated(project, monkeypatch, stage, file, share):
    monkeypatch.chdir(project)
    path = project / "data/tiny/interim" / file
    whole = path.read_bytes()
    path.write_bytes(b"" if share == "none" else b"".join(whole.splitlines(keepends=True)[::2]))
    try:
        importlib.import_module(stage_module(stage, ROOT)).main()
    except UserError as error:
        assert error.problems
    finally:
        path.write_bytes(whole)
