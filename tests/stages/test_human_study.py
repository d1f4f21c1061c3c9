"""The human study from a release to the scorers' comparison of people and a model."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from annotation.cli import app
from annotation.client import report
from pipeline.benchmark.release.provenance import Provenance
from pipeline.core.json_files import read_jsonl
from pipeline.core.records import Task
from pipeline.scoring.cli import load_inputs
from pipeline.scoring.cli_options import build_parser
from pipeline.scoring.model_report import score_models

HOME = Path("data/tiny-human")


@pytest.fixture
def copied(tiny_run, tmp_path, monkeypatch):
    shutil.copytree(tiny_run, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    return Path("data/release/tiny/0.1.0")


def run(*words):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def test_people_and_a_model_are_compared_on_the_sampled_items(copied):
    output = run("human-baseline", "sample", "--items-per-label", "4", "--seed", "5")
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
    run("import", "export.json")
    output = run("human-baseline", "score")
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
