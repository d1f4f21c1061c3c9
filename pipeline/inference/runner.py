"""Run a model on a release with inspect_ai (docs/guides/run_a_model.md)."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.errors import UserError, format_count, warn
from ..scoring.harness_logs import EMPTY
from ..scoring.joined_predictions import warn_of_empty_replies
from ..scoring.normalize import has_text
from ..scoring.version import VERSION
from .cost_forecast import Prices
from .probe import open_and_probe
from .prompts import hash_texts
from .run_folder import ANSWER_VOCABULARY_FILE, RunFolder
from .run_monitor import UNUSABLE_REPLY_KINDS
from .run_options import RunOptions, resolve_settings
from .sample_runner import ask_samples, recover_sessions, redirect_inspect_files

INSPECT_MISSING_MESSAGE = (
    'inspect_ai is not installed; it runs the models: pip install "rgqa-scorers[inspect]"'
)


class RunOutcome(NamedTuple):
    """The result of a run.

    Attributes:
        folder: Folder of the run.
        item_ids: Ids of the items whose questions the run asks.
        record: The content of run.json.
        stop_reason: Why the run stopped early; "" if it is complete.
    """

    folder: RunFolder
    item_ids: frozenset[str]
    record: dict[str, Any]
    stop_reason: str = ""


def run_model(options: RunOptions) -> RunOutcome:
    """Ask the model all questions that have no reply yet, and write run.json and predictions.jsonl.

    Raises:
        UserError: The run cannot start. All faults are listed.
    """
    options = options.with_defaults
    settings, order = resolve_settings(options)
    folder, stop_reason, failures = RunFolder(options.output_folder), "", {}
    with folder.hold_lock():
        before = folder.load_previous(settings)
        task = _make_task(options)
        if options.limit:
            print(_describe_limit(task, order), file=sys.stderr)
        samples = {str(sample.id): sample for sample in task.dataset}
        asked = frozenset(name for sample in samples.values() for name in sample.metadata["item_ids"])
        order = [name for name in order if name in asked]
        record = {
            **settings,
            "server": options.server,
            "release_path": str(options.release),
            "model_info": before.get("model_info", {}),
            "warnings": before.get("warnings", []),
        }
        record["sessions"] = recover_sessions(before.get("sessions", []), folder.rows)
        if samples.keys() - {row["id"] for row in folder.rows}:
            with redirect_inspect_files(folder.path):
                stop_reason, failures = _ask_remaining(options, task, folder, record)
        folder.write_predictions(order)
        _warn_of_empty_replies(folder.rows, record)
        folder.write_distribution(order)
        rows = [row for row in folder.rows if row["id"] in samples]
        record |= _summarize_replies(rows, len(samples), asked, failures, options.prices) | {
            "generate_config": task.config.model_dump(exclude_none=True) | {"max_tokens": options.max_tokens},
            "versions": {
                "rgqa_scorers": VERSION,
                "inspect_ai": importlib.metadata.version("inspect_ai"),
                "python": platform.python_version(),
            },
        }
        folder.write_json("run.json", record)
    return RunOutcome(folder, asked, record, stop_reason)


def _describe_limit(task: Any, all_item_ids: Sequence[str]) -> str:
    pairs = task.metadata["pairs"]
    whole = f" in {format_count(pairs, 'pair')}" if pairs else ""
    return (
        f"run: {format_count(len(task.dataset), 'question')}{whole}, sampled at random from "
        f"{format_count(len(all_item_ids), 'item')}"
    )


def _make_task(options: RunOptions, use_num_choices: bool = True) -> Any:
    try:
        from .release_tasks import release_task
    except ModuleNotFoundError as error:
        raise UserError(INSPECT_MISSING_MESSAGE if error.name == "inspect_ai" else str(error)) from None
    return release_task(
        options.release,
        subsets=options.subsets,
        split=options.split,
        prompt=options.prompt,
        confidence=options.confidence,
        max_image_size=options.max_image_size,
        images=options.images or "",
        shots=options.shots,
        seed=options.seed,
        num_replies=options.num_replies,
        use_num_choices=use_num_choices,
        no_image=options.no_image,
        limit=options.limit,
    )


def _ask_remaining(
    options: RunOptions, task: Any, folder: RunFolder, record: dict[str, Any]
) -> tuple[str, dict[str, str]]:
    """Probe the server and ask all questions that have no reply yet.

    Returns:
        Why the run stopped early ("" if it did not), and sample id -> failure.
    """
    from inspect_ai import task_with

    model, capabilities = open_and_probe(options)
    # Only the models of hf-vqa and hf-vlm have these attributes.
    model_info, vocabulary = getattr(model.api, "model_info", {}), getattr(model.api, "answer_vocabulary", ())
    if vocabulary:
        model_info = model_info | {"answer_vocabulary": hash_texts(*vocabulary)}
    for key in ("revision", "answer_vocabulary") if folder.rows else ():
        if (known := record["model_info"].get(key)) != (now := model_info.get(key)):
            raise UserError(
                f"{folder.path}: its replies are of {key.replace('_', ' ')} {known}, now {now}; choose another --out"
            )
    record["model_info"] = model_info
    if vocabulary:
        folder.write_json(ANSWER_VOCABULARY_FILE, [*vocabulary])
    record["warnings"] = [*dict.fromkeys([*record["warnings"], *capabilities.warnings])]
    for line in capabilities.warnings:
        warn(line)
    if not capabilities.supports_num_choices:
        task = _make_task(options, use_num_choices=False)
    asked = {row["id"] for row in folder.rows}
    task = task_with(task, dataset=task.dataset.filter(lambda sample: str(sample.id) not in asked))
    folder.write_json("run.json", record)
    outcome = ask_samples(options, task, model, folder, len(asked))
    record["sessions"].append(outcome.session)
    return outcome.stop_reason, outcome.failures


def _warn_of_empty_replies(rows: Sequence[Mapping[str, Any]], record: dict[str, Any]) -> None:
    """Warn if many replies are empty: the model left them empty, or a filter withheld them.

    Replies without text count as abstentions.
    """
    answered = [row for row in rows if not row["failure"]]
    empty = [EMPTY for row in answered if not has_text(row["prediction"] or "")]
    if (warning := warn_of_empty_replies(empty, len(answered))) and warning not in record["warnings"]:
        record["warnings"] = [*record["warnings"], warning]
        warn(warning)


def _summarize_replies(
    rows: Sequence[Mapping[str, Any]],
    num_questions: int,
    item_ids: Collection[str],
    failures: Mapping[str, str],
    prices: Prices,
) -> dict[str, Any]:
    """Count the replies, tokens, costs and failures of all sessions."""
    answered = [row for row in rows if not row["failure"]]
    tokens = [sum(row["tokens"][i] for row in rows) for i in (0, 1)]
    return {
        "counts": {
            "items": len(item_ids),
            "answered": sum(len(row["item_ids"]) for row in answered),
            "abstained": sum(len(row["item_ids"]) for row in answered if row["abstained"]),
            "questions": num_questions,
            "replies": len(rows),
            "failed": len(failures),
            **{
                name.replace(" ", "_"): sum(row["failure"].startswith(name) for row in rows)
                for name in UNUSABLE_REPLY_KINDS
            },
        },
        "tokens": {"input": tokens[0], "output": tokens[1]},
        "cost": prices.compute_cost(tokens[0], tokens[1]) if prices.is_known else None,
        "failures": {**failures, **{row["id"]: row["failure"] for row in rows if row["failure"]}},
    }
