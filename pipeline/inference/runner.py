"""Run a model on a release with inspect_ai (docs/guides/run_a_model.md)."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..core.errors import UserError, format_count, warn
from ..core.server_errors import get_failure_reason
from ..scoring.harness_logs import EMPTY
from ..scoring.joined_predictions import warn_of_empty_replies
from ..scoring.normalize import has_text
from ..scoring.version import VERSION
from .cost_forecast import Prices
from .probe import open_and_probe
from .progress_display import ProgressDisplay
from .prompts import hash_texts
from .run_folder import ANSWER_VOCABULARY_FILE, RunFolder
from .run_monitor import DISK_FULL_MESSAGE, UNUSABLE_REPLY_KINDS, RunMonitor, attach_monitor
from .run_options import RunOptions, resolve_settings

# Number of retries of a request, in addition to the retries of the client library.
MAX_RETRIES = 5
# Maximum waiting time for a reply over a network.
REQUEST_TIMEOUT_SECONDS = 300
# Number of samples after which inspect_ai writes its log to disk.
LOG_BUFFER_SAMPLES = 25
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
        record["sessions"] = _recover_sessions(before.get("sessions", []), folder.rows)
        if samples.keys() - {row["id"] for row in folder.rows}:
            with _redirect_inspect_files(folder.path):
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


@contextmanager
def _redirect_inspect_files(folder: Path) -> Iterator[None]:
    """Redirect the files that inspect_ai writes under HOME to a temporary folder in the folder of the run.

    HOME may be full or read-only. The trace files of inspect_ai stay empty, because the log of each session
    contains the requests.
    """
    with tempfile.TemporaryDirectory(
        prefix=".inspect-", dir=folder.resolve(), ignore_cleanup_errors=True
    ) as data_home:
        variables = {
            "XDG_DATA_HOME": data_home,
            "INSPECT_TRACE_FILE": str(Path(data_home, "trace.log")),
            "INSPECT_TRACE_LEVEL": "CRITICAL",
        }
        before = {name: os.environ.get(name) for name in variables}
        os.environ |= variables
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


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
    total, asked = len(task.dataset), {row["id"] for row in folder.rows}
    task = task_with(task, dataset=task.dataset.filter(lambda sample: str(sample.id) not in asked))
    folder.write_json("run.json", record)
    with ProgressDisplay(len(asked), total) as display:
        confirm = (
            display.confirm if options.prices.is_known and not options.yes and sys.stdin.isatty() else None
        )
        num_concurrent = min(options.max_connections or model.api.max_connections(), len(task.dataset))
        monitor = RunMonitor(
            folder,
            len(task.dataset),
            options.prices,
            display.print_line,
            confirm,
            display.update,
            num_concurrent,
            lambda: getattr(model.api, "last_error", ""),
        )
        with attach_monitor(monitor):
            error = _run_eval(options, task, model, folder)
    usage = monitor.usage
    record["sessions"].append(
        _make_session(monitor.started_at, usage.seconds, usage.num_replies, len(monitor.failures))
    )
    return monitor.stop_reason or error, monitor.failures


def _run_eval(options: RunOptions, task: Any, model: Any, folder: RunFolder) -> str:
    """Evaluate the task. Return why the evaluation stopped early, "" if it did not."""
    from inspect_ai import eval as evaluate

    settings: dict[str, Any] = {
        "display": "none",
        "log_level": "error",
        "log_dir": str(folder.path / "logs"),
        "log_format": "eval",
        "log_buffer": LOG_BUFFER_SAMPLES,
        "log_realtime": False,
        "log_images": False,
        "log_model_api": False,
        "score_display": False,
        "ctl_server": False,
        "fail_on_error": False,
        "max_samples": options.max_connections or None,
        "max_connections": options.max_connections or None,
        "max_tokens": options.max_tokens,
        "max_retries": MAX_RETRIES,
        "attempt_timeout": REQUEST_TIMEOUT_SECONDS if options.is_remote else None,
    }
    try:
        logs = evaluate(task, model=model, **settings)
    except KeyboardInterrupt:
        logs = []
    if not logs:
        return "Ctrl-C"
    error = logs[0].error
    if error and "No space left" in error.message:
        return DISK_FULL_MESSAGE
    return get_failure_reason(error) if error else "" if logs[0].status == "success" else "Ctrl-C"


def _warn_of_empty_replies(rows: Sequence[Mapping[str, Any]], record: dict[str, Any]) -> None:
    """Warn if many replies are empty: the model left them empty, or a filter withheld them.

    Replies without text count as abstentions.
    """
    answered = [row for row in rows if not row["failure"]]
    empty = [EMPTY for row in answered if not has_text(row["prediction"] or "")]
    if (warning := warn_of_empty_replies(empty, len(answered))) and warning not in record["warnings"]:
        record["warnings"] = [*record["warnings"], warning]
        warn(warning)


def _make_session(started_at: float, seconds: float, replies: int, failed: int) -> dict[str, Any]:
    started = datetime.fromtimestamp(started_at, UTC).isoformat(timespec="seconds")
    return {"started_at": started, "seconds": round(seconds, 1), "replies": replies, "failed": failed}


def _recover_sessions(
    known: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Add a session for the rows that are in no session.

    A killed run writes its rows, but not its session.
    """
    lost = rows[sum(session["replies"] for session in known) :]
    if not lost:
        return [*known]
    started_at = min(row["started_at"] for row in lost)
    ended_at = max(row["started_at"] + row["seconds"] for row in lost)
    return [*known, _make_session(started_at, ended_at - started_at, len(lost), 0)]


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
