"""Results in the forms of the hub and of Every Eval Ever, and the table and eval.yaml with which inspect_ai asks a release."""

import json
import math
from pathlib import Path

import datasets
import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmark.release.hub_evaluation import make_data_uri
from pipeline.benchmark.report.result_exports import (
    Publisher,
    export_results,
    is_exact_match,
    measure_hub_accuracy,
    read_finished_run,
)
from pipeline.core.errors import UserError
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.cli import main as score_main

LAB = Publisher("Example Lab", hub_name="us/tiny", hub_revision="abc")
# The parts of version 0.2.2 of the schema (evaleval/every_eval_ever a5616db) that concern such results: required fields, types, and
# that no others are allowed at the top.
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info", "eval_library", "evaluation_results",
    ],
    "properties": {
        "schema_version": {"const": "0.2.2"},
        "evaluation_id": {"type": "string", "pattern": r"^[^/]+/.+/\d+$"},
        "evaluation_timestamp": {"type": "string"},
        "retrieved_timestamp": {"type": "string", "pattern": r"^\d+$"},
        "source_metadata": {
            "type": "object",
            "required": ["source_type", "source_organization_name", "evaluator_relationship"],
            "properties": {
                "source_type": {"enum": ["documentation", "evaluation_run"]},
                "evaluator_relationship": {"enum": ["first_party", "third_party", "collaborative", "other"]},
            },
        },
        "eval_library": {"type": "object", "required": ["name", "version"]},
        "model_info": {
            "type": "object",
            "required": ["name", "id"],
            "properties": {"name": {"type": "string"}, "id": {"type": "string"}, "additional_details": TEXTS},
        },
        "evaluation_results": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["evaluation_name", "source_data", "metric_config", "score_details"],
                "properties": {
                    "source_data": {
                        "oneOf": [
                            {
                                "required": ["dataset_name", "source_type"],
                                "properties": {
                                    "source_type": {"const": "hf_dataset"},
                                    "samples_number": {"type": "integer"},
                                    "additional_details": TEXTS,
                                },
                            },
                            {
                                "required": ["dataset_name", "source_type"],
                                "properties": {"source_type": {"const": "other"}, "additional_details": TEXTS},
                            },
                        ]
                    },
                    "metric_config": {
                        "required": ["lower_is_better", "score_type", "min_score", "max_score"],
                        "properties": {"lower_is_better": {"type": "boolean"}, "score_type": {"const": "continuous"}},
                    },
                    "score_details": {
                        "required": ["score"],
                        "properties": {
                            "score": {"type": "number", "minimum": 0, "maximum": 1},
                            "uncertainty": {
                                "properties": {
                                    "confidence_interval": {
                                        "required": ["lower", "upper"],
                                        "properties": {"lower": {"type": "number"}, "upper": {"type": "number"}},
                                    },
                                    "num_samples": {"type": "integer"},
                                }
                            },
                        },
                    },
                    "generation_config": {
                        "properties": {
                            "generation_args": {
                                "additionalProperties": False,
                                "properties": {
                                    "temperature": {"type": ["null", "number"]},
                                    "max_tokens": {"type": "integer", "minimum": 1},
                                },
                            },
                            "additional_details": TEXTS,
                        }
                    },
                },
            },
        },
    },
}  # fmt: skip


@pytest.fixture
def release(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    return tiny_run / "data/release/tiny/0.1.0"


@pytest.fixture
def run(release, tmp_path):
    """A finished run that answers "yes" to each question, with the first reply ten seconds before the last one ends."""
    folder = tmp_path / "runs/model"
    folder.mkdir(parents=True)
    ids = [str(name) for items in read_benchmark(release).subsets.values() for name in items["id"]]
    rows = [{"questionId": name, "prediction": "yes", "confidence": 0.5} for name in dict.fromkeys(ids)]
    (folder / "predictions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    record = {
        "model": "openai/gpt-4o-mini",
        "release_path": str(release),
        "sessions": [{}],
        "prompt": {"name": "abstain", "hash": "1"},
        "confidence": {"name": "abstention", "hash": "2"},
        "generate_config": {"temperature": 0.0, "max_tokens": 64, "seed": 0},
        "model_info": {},
    }
    (folder / "run.json").write_text(json.dumps(record))
    times = [{"started_at": 1_700_000_000.0, "seconds": 5.0}, {"started_at": 1_700_000_002.0, "seconds": 8.0}]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, times)))
    score_main(
        [
            str(release),
            str(folder / "predictions.jsonl"),
            "--json",
            str(folder / "scores.json"),
            "--split",
            "all",
        ]
    )
    return folder


def test_results_have_the_form_of_every_eval_ever(run, release, tmp_path):
    files = export_results([run], tmp_path / "out", LAB)
    (path,) = [file for file in files if file.suffix == ".json"]
    assert path.parent == tmp_path / "out/data/tiny/openai/gpt-4o-mini"
    found = json.loads(path.read_text())
    jsonschema.validate(found, SCHEMA)
    assert found["evaluation_id"] == "tiny/openai/gpt-4o-mini/1700000010"  # 1,700,000,002 and 8 seconds
    scores = json.loads((run / "scores.json").read_text())["models"][0]["subsets"]
    by_id = {row["evaluation_result_id"]: row for row in found["evaluation_results"]}
    for subset, groups in scores.items():
        row = by_id[f"{subset}/auaf"]
        assert row["score_details"]["score"] == groups["realistic"]["auaf"]
        counts = groups["counts"]
        assert row["source_data"]["samples_number"] == counts["aqs"] + counts["uqs"]
        # Undefined scores are left out.
        assert (f"{subset}/ff95" in by_id) == (groups["realistic"]["ff95"] is not None)
        assert by_id[f"{subset}/fpr95"]["metric_config"]["lower_is_better"]
        assert not row["metric_config"]["lower_is_better"]
    # The same run gives the same file.
    assert export_results([run], tmp_path / "out", LAB) == files
    assert len([*(tmp_path / "out").rglob("*.json")]) == 1


def test_the_result_for_the_hub_is_the_proportion_of_right_replies(run, release, tmp_path):
    files = export_results([run], tmp_path / "out", LAB)
    (path,) = [file for file in files if file.suffix == ".yaml"]
    assert path == tmp_path / "out/eval_results/openai_gpt-4o-mini.yaml"
    (entry,) = yaml.safe_load(path.read_text())
    assert entry["dataset"] == {"id": "us/tiny", "task_id": "all", "revision": "abc"}
    assert entry["date"] == "2023-11-14T22:13:30+00:00"  # 1,700,000,010 seconds after 1970
    rows = datasets.load_dataset(str(release), "inspect_ai", split="test", cache_dir=str(tmp_path / "cache"))
    right = sum(target == "yes" for target in rows["target"])
    assert entry["value"] == pytest.approx(right / len(rows), abs=1e-6)
    assert entry["notes"].startswith(f"{len(rows):,} questions, prompt abstain")


def test_a_run_of_some_questions_has_no_score_of_all(run, tmp_path):
    path = run / "predictions.jsonl"
    rows = path.read_text().splitlines()
    path.write_text("\n".join(rows[: len(rows) // 2]))
    with pytest.raises(UserError, match="test questions were not asked.*leave out --hub-name"):
        export_results([run], tmp_path / "out", LAB)
    assert not (tmp_path / "out").exists()
    assert len(export_results([run], tmp_path / "out", Publisher("Lab"))) == 1
    # Questions that were asked in vain count as wrong.
    record = json.loads((run / "run.json").read_text())
    failures = {str(number): "timeout" for number in range(len(rows))}
    (run / "run.json").write_text(json.dumps(record | {"failures": failures}))
    assert len(export_results([run], tmp_path / "out", LAB)) == 2


def test_a_run_on_a_public_set_is_not_exported(run, tmp_path):
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"public_set": "POPE"}))
    with pytest.raises(UserError, match="a run on the public set POPE; only runs on releases"):
        export_results([run], tmp_path / "out", LAB)


def test_the_content_of_an_image_states_its_media_type(tmp_path):
    (tmp_path / "1.jpg").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert make_data_uri(tmp_path / "1.jpg").startswith("data:image/png;base64,iVBORw0K")


def test_without_the_hub_no_result_for_it_is_written(run, tmp_path):
    files = export_results([run], tmp_path / "out", Publisher("Lab"))
    assert [path.suffix for path in files] == [".json"]
    row = json.loads(files[0].read_text())["evaluation_results"][0]
    assert row["source_data"]["source_type"] == "other"


def test_everything_wrong_is_said_at_once(run, tmp_path):
    with pytest.raises(UserError) as caught:
        export_results([run, tmp_path], tmp_path / "out", Publisher(" ", hub_name="tiny", hub_revision=""))
    text = str(caught.value)
    assert "--organization: empty" in text and "expected OWNER/NAME" in text
    assert f"{tmp_path}: no run.json, scores.json, predictions.jsonl" in text
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="another run of openai/gpt-4o-mini was given"):
        export_results([run, run], tmp_path / "out", LAB)
    (run / "run.json").write_text("[]")
    with pytest.raises(UserError, match="not written by `rgqa run`"):
        read_finished_run(run)


def test_a_model_name_cannot_lead_out_of_the_folder(run, tmp_path):
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"model": "../../x"}))
    for path in export_results([run], tmp_path / "out", LAB):
        assert path.resolve().is_relative_to((tmp_path / "out").resolve())


def test_a_missing_reply_counts_as_wrong(release):
    score, count = measure_hub_accuracy(read_benchmark(release).subsets.values(), {})
    assert (score, count > 0) == (0.0, True)
    assert math.isnan(measure_hub_accuracy([], {})[0])


WORDS = st.sampled_from(
    [
        "A",
        "the",
        "dog",
        "Dogs.",
        "black-and-white",
        "2",
        "2.0",
        "3.14.",
        "(5)",
        "-",
        "don't",
        "1e3",
        "nan",
        " ",
        "unanswerable",
        "Unanswerable!",
    ]
)


@given(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=4))
def test_replies_are_compared_as_by_the_scorer_of_inspect_ai(reply, target):
    scorer = pytest.importorskip("inspect_ai.scorer._classification")
    texts = " ".join(reply), " ".join(target)
    assert is_exact_match(texts[0], [texts[1]]) == (scorer.max_exact_score(texts[0], [texts[1]]) == 1.0)


def test_inspect_ai_asks_the_release_by_its_eval_yaml(release, tmp_path, monkeypatch):
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai._eval.task.hf import task_create_from_hf
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    # The library of the hub is asked for eval.yaml; `datasets` loads a folder of this name.
    (tmp_path / "us").mkdir()
    (tmp_path / "us/tiny").symlink_to(release)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "huggingface_hub.hf_hub_download", lambda repo_id, filename, **_: str(Path(repo_id) / filename)
    )
    (task,) = task_create_from_hf("hf/us/tiny")
    samples = {
        (sample.input[0].text, sample.input[0].content[1].image): sample.target for sample in task.dataset
    }
    assert len(samples) == len(task.dataset) and all(image.startswith("data:image/") for _, image in samples)

    def reply(messages, *_):
        # Knows the answer to each question with an answer, and answers the others with "red".
        text, (image,) = (
            messages[-1].text,
            [part.image for part in messages[-1].content if part.type == "image"],
        )
        (target,) = [
            found
            for (question, shown), found in samples.items()
            if text.startswith(question) and shown == image
        ]
        assert "unanswerable" in text
        output = ModelOutput.from_content("mock", "red" if target == "unanswerable" else f"The {target}.")
        output.usage = ModelUsage()  # or inspect_ai counts tokens by a table that it fetches
        return output

    (log,) = inspect_ai.eval(
        task,
        model=get_model("mockllm/model", custom_outputs=reply),
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    assert log.status == "success", log.error
    targets = [*samples.values()]
    right = sum(target != "unanswerable" for target in targets)
    (score,) = log.results.scores
    assert score.metrics["mean"].value == pytest.approx(right / len(targets))
