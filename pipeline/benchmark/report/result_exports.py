"""Write the results of `rgqa run` in the forms in which results are shared: the hub's and that of Every Eval Ever.

Sources:
    huggingface/hub-docs, "Evaluation Results" (docs/hub/eval-results.md): `.eval_results/*.yaml` of a model.
    evaleval/every_eval_ever a5616db, every_eval_ever/schemas/eval.schema.json, version 0.2.2; README.md 00a781a: names of folders and
    files.
"""

from __future__ import annotations

import json
import math
import re
import string
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pipeline.benchmark.release.hub_evaluation import HUB_TASK
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, collect_errors, format_count
from pipeline.inference.prompts import UNANSWERABLE
from pipeline.scoring.benchmark_reader import read_benchmark, read_release_name
from pipeline.scoring.input_validation import parse_json, parse_json_lines, read_bytes
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.model_comparison import SCORE_TITLES, lower_is_better
from pipeline.scoring.version import VERSION

SCHEMA_VERSION = "0.2.2"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
# Groups of scores.json whose scores are exported, all of them in [0, 1].
EXPORTED_GROUPS = ("realistic", "pairs")


class Publisher(NamedTuple):
    """Who publishes results, and of which data set.

    Attributes:
        organization: Who ran the evaluation.
        relationship: How the organization is related to the model's developer.
        hub_name: Name of the release on the hub, OWNER/NAME; "" if it is not there.
        hub_revision: Its revision; "" if not stated.
    """

    organization: str
    relationship: Relationship = "third_party"
    hub_name: str = ""
    hub_revision: str = ""


class FinishedRun(NamedTuple):
    """A finished run.

    Attributes:
        folder: Its folder.
        record: The content of run.json.
        scores: The content of scores.json.
        replies: Item id -> the model's reply.
    """

    folder: Path
    record: Mapping[str, Any]
    scores: Mapping[str, Any]
    replies: Mapping[str, str]

    @property
    def model(self) -> str:
        return str(self.record["model"])

    @property
    def finished_at(self) -> datetime:
        """When the last reply came."""
        rows = _read_rows(self.folder / "answers.jsonl")
        return datetime.fromtimestamp(max(row["started_at"] + row["seconds"] for row in rows), UTC)


def export_results(
    folders: Sequence[Path], out: Path, publisher: Publisher, release: Path | None = None
) -> list[Path]:
    """Write the results of runs.

    For each run this writes `OUT/data/BENCHMARK/DEVELOPER/MODEL/UUID.json` for Every Eval Ever and, if the release is on the hub,
    `OUT/eval_results/MODEL.yaml` for the folder `.eval_results/` of the model. The same run gives the same files.

    Args:
        folders: Folders of `rgqa run`.
        out: Folder for the files.
        publisher: Who publishes the results.
        release: The release; None for the one that each run states.

    Returns:
        The files that were written.

    Raises:
        UserError: A folder is not that of a finished run, or the release cannot be read. All problems are listed.
    """
    problems: list[str] = []
    if not publisher.organization.strip():
        problems.append("--organization: empty; name who ran the evaluation")
    if publisher.hub_name and not re.fullmatch(r"[\w.-]+/[\w.-]+", publisher.hub_name):
        problems.append(f"--hub-name {publisher.hub_name}: expected OWNER/NAME")
    if publisher.hub_revision and not publisher.hub_name:
        problems.append("--hub-revision: only with --hub-name")
    files: dict[Path, str] = {}
    for folder in folders:
        with collect_errors(problems):
            run = read_finished_run(folder)
            if run.record.get("public_set"):
                raise UserError(
                    f"{folder}: a run on the public set {run.record['public_set']}; only runs on releases can be exported"
                )
            source = release or Path(str(run.record["release_path"]))
            about = read_release_name(source)
            benchmark = re.sub(r"[^\w.-]+", "-", about.title.lower()).strip("-")
            result = make_every_eval_ever(run, str(about), benchmark, publisher)
            developer, name = _split_model_name(run.model)
            name_by_content = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(result, sort_keys=True))
            place = out / "data" / benchmark / _file_name(developer) / _file_name(name)
            files[place / f"{name_by_content}.json"] = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
            if publisher.hub_name:
                subsets = read_benchmark(source).subsets.values()
                _check_that_all_were_asked(run, subsets)
                accuracy, count = measure_hub_accuracy(subsets, run.replies)
                path = out / "eval_results" / f"{_file_name(run.model)}.yaml"
                if path in files:
                    problems.append(f"{folder}: another run of {run.model} was given; export one of them")
                files[path] = make_hub_result(run, accuracy, count, publisher)
    if problems:
        raise UserError(problems)
    for path, text in files.items():
        write_text(path, text)
    return list(files)


def read_finished_run(folder: Path) -> FinishedRun:
    """Read the folder of a finished run.

    Raises:
        UserError: It is not the folder of a run, or the run has not been scored.
    """
    found = {name: folder / name for name in ("run.json", "scores.json", "predictions.jsonl")}
    if missing := [name for name, path in found.items() if not path.is_file()]:
        raise UserError(
            f"{folder}: no {', '.join(missing)}; expected the folder of a finished `rgqa run` (call it again to finish it)"
        )
    record, scores = (
        parse_json(read_bytes(found[name]), found[name]) for name in ("run.json", "scores.json")
    )
    if not isinstance(record, dict) or not {"model", "release_path", "sessions"} <= record.keys():
        raise UserError(f"{found['run.json']}: not written by `rgqa run`")
    if not isinstance(scores, dict) or len(scores.get("models", ())) != 1:
        raise UserError(f"{found['scores.json']}: not the scores of one model; call `rgqa run` again")
    rows = _read_rows(found["predictions.jsonl"])
    replies = {str(row["questionId"]): str(row.get("prediction") or "") for row in rows}
    return FinishedRun(folder, record, scores, replies)


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a JSON Lines file that `rgqa run` wrote."""
    return [row for _, row in parse_json_lines(read_bytes(path), path)]


def measure_hub_accuracy(subsets: Iterable[Items], replies: Mapping[str, str]) -> tuple[float, int]:
    """Measure the score of the task in eval.yaml: the proportion of distinct test questions with the right reply.

    A reply is right if it is the answer or, for a question without an answer, "unanswerable", after both are normalized as
    inspect_ai's scorer `exact` does. A question without a reply counts as wrong.

    Args:
        subsets: The items of each subset.
        replies: Item id -> reply.

    Returns:
        The proportion in [0, 1], NaN without questions, and the number of questions.
    """
    asked = _list_test_questions(subsets)
    right = sum(is_exact_match(replies.get(item.id, ""), [*item.answers] or [UNANSWERABLE]) for item in asked)
    return (right / len(asked) if asked else float("nan")), len(asked)


def _list_test_questions(subsets: Iterable[Items]) -> list[BenchmarkItem]:
    """Return the first item of each distinct question of split `test`."""
    found: dict[tuple[str, str], BenchmarkItem] = {}
    for items in subsets:
        for item in items:
            if item.split in ("test", ""):
                found.setdefault((item.image, item.question_text), item)
    return list(found.values())


def _check_that_all_were_asked(run: FinishedRun, subsets: Iterable[Items]) -> None:
    """Check that a run has asked all test questions. Those that it has not asked would count as wrong.

    Raises:
        UserError: More questions have no reply than the run states failures.
    """
    questions = _list_test_questions(subsets)
    unanswered = sum(item.id not in run.replies for item in questions)
    if unanswered > len(run.record.get("failures") or ()):
        raise UserError(
            f"{run.folder}: {unanswered:,} of {format_count(len(questions), 'test question')} were not asked, so that the score of"
            " eval.yaml is not known. Run all of them (without --limit, --subset and --split validation), or leave out --hub-name"
        )


def is_exact_match(reply: str, targets: Sequence[str]) -> bool:
    """Return whether a reply is one of the targets, by the rules of inspect_ai's scorer `exact` (0.3.285).

    >>> is_exact_match("The White-ish one.", ["white ish one"]), is_exact_match("2.0", ["2"])
    (True, True)
    """
    said = _normalize(reply)
    return any(wanted and wanted == said for wanted in map(_normalize, targets))


def _normalize(text: str) -> str:
    """Return the words of a text in lower case, without punctuation and articles, and numbers as floats."""
    words = []
    for word in re.split(" |-", text):
        plain = word.casefold()
        # The point of "3.14." is no punctuation mark.
        number = next(
            (one for one in (plain, plain.strip(string.whitespace + string.punctuation)) if _is_number(one)),
            "",
        )
        plain = number or "".join(c for c in plain if c not in string.punctuation)
        plain = str(float(plain)) if _is_number(plain) else plain
        words += re.sub(r"\b(a|an|the)\b", " ", plain).split()
    return " ".join(words)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def make_hub_result(run: FinishedRun, accuracy: float, count: int, publisher: Publisher) -> str:
    """Return the YAML text of a result for the folder `.eval_results/` of the model on the hub."""
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    prompt = run.record.get("prompt")
    notes = [
        f"{count:,} questions",
        f"prompt {prompt.get('name')}" if isinstance(prompt, dict) else "",
        "no images" if run.record.get("no_image") else "",
        f"rgqa_scorers {VERSION}",
    ]
    entry = EvalResultEntry(
        dataset_id=publisher.hub_name,
        task_id=HUB_TASK,
        value=round(accuracy, 6),
        dataset_revision=publisher.hub_revision or None,
        date=run.finished_at.isoformat(timespec="seconds"),
        notes=", ".join(filter(None, notes)),
    )
    return yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True)


def make_every_eval_ever(
    run: FinishedRun, title: str, benchmark: str, publisher: Publisher
) -> dict[str, Any]:
    """Return the results of a run by the schema of Every Eval Ever, version 0.2.2.

    Args:
        run: The run.
        title: Title and version of the release.
        benchmark: Short name of the release, for ids.
        publisher: Who publishes the results.
    """
    finished = run.finished_at
    developer, name = _split_model_name(run.model)
    (model,) = run.scores["models"]
    counts = {subset: groups["counts"] for subset, groups in model["subsets"].items()}
    info = {
        "name": name,
        "id": run.model,
        "developer": developer,
        "additional_details": {
            key: str(value)
            for key, value in run.record.get("model_info", {}).items()
            if isinstance(value, str)
        },
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{benchmark}/{run.model}/{finished.timestamp():.0f}",
        "evaluation_timestamp": finished.isoformat(timespec="seconds"),
        "retrieved_timestamp": f"{finished.timestamp():.0f}",
        "source_metadata": {
            "source_name": title,
            "source_type": "evaluation_run",
            "source_organization_name": publisher.organization,
            "evaluator_relationship": publisher.relationship,
        },
        "eval_library": {"name": "rgqa_scorers", "version": VERSION},
        "model_info": info,
        "evaluation_results": [
            _make_result(
                run, title, benchmark, publisher, subset, group, score, value, groups, counts[subset]
            )
            for subset, groups in model["subsets"].items()
            for group in EXPORTED_GROUPS
            for score, value in groups.get(group, {}).items()
            if score in SCORE_TITLES and isinstance(value, int | float)
        ],
    }


def _make_result(
    run: FinishedRun,
    title: str,
    benchmark: str,
    publisher: Publisher,
    subset: str,
    group: str,
    score: str,
    value: float,
    groups: Mapping[str, Any],
    counts: Mapping[str, int],
) -> dict[str, Any]:
    """Return one score of one subset."""
    source: dict[str, Any] = {"dataset_name": title, "source_type": "other"}
    if publisher.hub_name:
        source |= {"source_type": "hf_dataset", "hf_repo": publisher.hub_name}
        # The split "all" is no split of the data set.
        if (split := run.record.get("split", "test")) != "all":
            source["hf_split"] = split
        source["samples_number"] = counts["aqs"] + counts["uqs"]
    if publisher.hub_revision:
        source["additional_details"] = {"revision": publisher.hub_revision}
    details: dict[str, Any] = {"score": value}
    bounds = groups.get("intervals", {}).get(score)
    if bounds and None not in bounds:
        details["uncertainty"] = {
            "confidence_interval": {
                "lower": bounds[0],
                "upper": bounds[1],
                "confidence_level": 0.95,
                "method": "bootstrap over images",
            },
            "num_samples": counts["aqs"] + counts["uqs"],
        }
    settings, prompt = run.record.get("generate_config", {}), run.record.get("prompt")
    return {
        "evaluation_result_id": f"{subset}/{score}",
        "evaluation_name": f"{title}, {subset}",
        "source_data": source,
        "metric_config": {
            "evaluation_description": f"{SCORE_TITLES[score]} on subset {subset} (group {group} of rgqa-score)",
            "metric_id": f"rgqa.{score}",
            "metric_name": SCORE_TITLES[score],
            "metric_unit": "proportion",
            "lower_is_better": lower_is_better(score),
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": details,
        "generation_config": {
            "generation_args": {
                name: settings[name] for name in ("temperature", "max_tokens") if name in settings
            },
            "additional_details": {
                key: text
                for key, text in {
                    "prompt": str(prompt.get("name", "")) if isinstance(prompt, dict) else "",
                    "confidence": str((run.record.get("confidence") or {}).get("name", "")),
                    "seed": str(settings.get("seed", "")),
                    "images": "not shown" if run.record.get("no_image") else "shown",
                }.items()
                if text
            },
        },
    }


def _split_model_name(model: str) -> tuple[str, str]:
    """Return developer and name of a model such as "openai/gpt-4o" or "hf/Qwen/Qwen3-VL".

    >>> _split_model_name("hf/Qwen/Qwen3-VL"), _split_model_name("llava")
    (('Qwen', 'Qwen3-VL'), ('unknown', 'llava'))
    """
    *owner, name = model.strip("/").split("/")
    return (owner[-1] if owner else "unknown"), name


def _file_name(text: str) -> str:
    """Return a text as the name of a file or folder, which cannot lead out of its folder.

    >>> _file_name("openai/gpt:4"), _file_name("..")
    ('openai_gpt_4', '__')
    """
    name = re.sub(r"[^\w.-]", "_", text)
    return name.replace(".", "_") if not name.strip(".") else name
