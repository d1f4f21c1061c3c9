"""The human study from a release to the scorers' comparison of people and a model."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from annotation.annotate_cli import app
from annotation.client import show_quality
from annotation.study import human_study
from pipeline.core.files import read_jsonl
from pipeline.releasing.provenance import Provenance
from pipeline.scorers.command import read
from pipeline.scorers.model_report import score
from pipeline.scorers.options import parser

HOME = Path("data/tiny/study/human")


@pytest.fixture
def copied(tiny_run, tmp_path, monkeypatch):
    shutil.copytree(tiny_run, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    return Path("data/release/tiny/0.1.0")


def run(*words):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def test_people_and_a_model_are_compared_on_what_was_drawn(copied):
    told = run("study", "draw", "--each", "4", "--seed", "5")
    assert "wanted" in told or " 4 AQs, 4 UQs" in told
    items = {
        (r.item.subset, r.item.item_id): r.item for r in read_jsonl(copied / "provenance.jsonl", Provenance)
    }
    drawn = list(read_jsonl(HOME / "drawn.jsonl", human_study.StudyTask))
    assert drawn
    for row in drawn:
        item = items[row.subset, row.question_id]
        assert (item.part, item.text, item.picture_id, item.unanswerable) == (
            "test",
            row.text,
            row.picture_id,
            not row.answerable,
        )
    # Two people: one is always right, one accepts everything.
    export = [
        {
            "id": n,
            "data": task["data"],
            "annotations": [
                {
                    "id": 2 * n + who,
                    "completed_by": who + 1,
                    "was_cancelled": False,
                    "created_at": f"2026-01-01T00:00:{n % 60:02}Z",
                    "result": [{"from_name": "judgement", "value": {"choices": [choice]}}],
                }
                for who, choice in enumerate(("answer" if row.answerable else "reject", "answer"))
            ],
        }
        for n, (task, row) in enumerate(
            zip(json.loads((HOME / "tasks.json").read_text()), drawn, strict=True)
        )
    ]
    Path("export.json").write_text(json.dumps(export))
    told = run("study", "score", "export.json")
    for subset in {row.subset for row in drawn}:
        assert f"{subset} " in told
        half = sum(row.subset == subset for row in drawn) // 2
        model = copied / "sanity" / subset / "clip_score.json"
        judgements = HOME / "judgements" / f"{subset}.json"
        words = [
            copied,
            model,
            "--subset",
            subset,
            "--scores",
            "human",
            "--bootstrap",
            "0",
            "--extra",
            f"human={judgements}",
        ]
        found = score(*read(parser().parse_args([str(word) for word in words])))
        row = found.models[0].subsets[subset]["human"]
        assert (row["aqs"], row["uqs"], row["true_positive_rate"], row["rejection_accuracy"]) == (
            2 * half,
            2 * half,
            1.0,
            0.5,
        )


def test_the_report_is_told_in_the_terminal(copied, capsys):
    show_quality.report()
    told = capsys.readouterr().out
    assert told.startswith("SIMULATED VERDICTS")
    assert "report: for the browser -> data/tiny/interim/collect/quality.html" in told
