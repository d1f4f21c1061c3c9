"""A run: one model over a release, by inspect_ai, under one prompt and one recipe. docs/running.md has the command."""

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

MAX_RETRIES = 5  # of a request, beside those that the client makes itself
REQUEST_TIMEOUT_SECONDS = 300  # for an answer over the network
LOG_BUFFER_SAMPLES = 25  # samples between two writes of inspect_ai's log
INSPECT_MISSING_MESSAGE = (
    'inspect_ai is not installed; it runs the models: pip install "rgqa-scorers[inspect]"'
)


class RunOutcome(NamedTuple):
    """What came of it.

    Attributes:
        asked: ids of the items that were to be asked.
        about: run.json. stopped: why it ended before its end, "" if it did not.
    """

    folder: RunFolder
    item_ids: frozenset[str]
    record: dict[str, Any]
    stop_reason: str = ""


def run_model(options: RunOptions) -> RunOutcome:
    """Ask what has no reply yet; write run.json and predictions.jsonl.

    Raises:
        UserError: everything that keeps it from beginning.
    """
    options = options.with_defaults
    settings, order = resolve_settings(options)
    folder, stopped, failed = RunFolder(options.output_folder), "", {}
    with folder.hold_lock():
        before = folder.load_previous(settings)
        task = _make_task(options)
        if options.limit:
            print(_describe_limit(task, order), file=sys.stderr)
        samples = {str(sample.id): sample for sample in task.dataset}
        asked = frozenset(name for sample in samples.values() for name in sample.metadata["items"])
        order = [name for name in order if name in asked]
        about = {**settings, "server": options.server, "path": str(options.release)}
        about |= {"weights": before.get("weights", {})}
        about["warnings"] = before.get("warnings", [])
        about["sessions"] = _recover_sessions(before.get("sessions", []), folder.rows)
        if samples.keys() - {row["id"] for row in folder.rows}:
            with _redirect_inspect_files(folder.path):
                stopped, failed = _ask_remaining(options, task, folder, about)
        folder.write_predictions(order)
        _warn_of_empty_replies(folder.rows, about)
        folder.write_distribution(order)
        rows = [row for row in folder.rows if row["id"] in samples]
        about |= _summarize_replies(rows, len(samples), asked, failed, options.prices) | {
            "generate": task.config.model_dump(exclude_none=True) | {"max_tokens": options.max_tokens},
            "versions": {
                "rgqa_scorers": VERSION,
                "inspect_ai": importlib.metadata.version("inspect_ai"),
                "python": platform.python_version(),
            },
        }
        folder.write_json("run.json", about)
    return RunOutcome(folder, asked, about, stopped)


def _describe_limit(task: Any, all_item_ids: Sequence[str]) -> str:
    """Say what --limit takes of the questions."""
    pairs = task.metadata["pairs"]
    whole = f" in {format_count(pairs, 'pair')}" if pairs else ""
    return (
        f"run: {format_count(len(task.dataset), 'question')}{whole}, drawn at random from a benchmark of "
        f"{format_count(len(all_item_ids), 'item')}"
    )


@contextmanager
def _redirect_inspect_files(folder: Path) -> Iterator[None]:
    """Keep what inspect_ai writes under HOME, which may be full or read-only, in a folder of the run; remove it at the end.

    Its trace of every request stays empty: the log of each session has them.
    """
    with tempfile.TemporaryDirectory(
        prefix=".inspect-", dir=folder.resolve(), ignore_cleanup_errors=True
    ) as place:
        mine = {
            "XDG_DATA_HOME": place,
            "INSPECT_TRACE_FILE": str(Path(place, "trace.log")),
            "INSPECT_TRACE_LEVEL": "CRITICAL",
        }
        before = {name: os.environ.get(name) for name in mine}
        os.environ |= mine
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
    """Probe the server and ask all that has no reply; return why the run ended before its end, and failures by id."""
    from inspect_ai import task_with

    model, found = open_and_probe(options)
    weights, classes = getattr(model.api, "about", {}), [*getattr(model.api, "answers", ())]
    if classes:
        weights = weights | {"answers": hash_texts(*classes)}
    for what in ("revision", "answers") if folder.rows else ():
        if (known := record["weights"].get(what)) != (now := weights.get(what)):
            raise UserError(
                f"{folder.path}: its replies are of {what} {known}, now {now}; name another --out"
            )
    record["weights"] = weights
    if classes:
        folder.write_json(ANSWER_VOCABULARY_FILE, classes)
    record["warnings"] = [*dict.fromkeys([*record["warnings"], *found.warnings])]
    for line in found.warnings:
        warn(line)
    if not found.supports_num_choices:
        task = _make_task(options, use_num_choices=False)
    total, done = len(task.dataset), {row["id"] for row in folder.rows}
    task = task_with(task, dataset=task.dataset.filter(lambda sample: str(sample.id) not in done))
    folder.write_json("run.json", record)
    with ProgressDisplay(len(done), total) as screen:
        agreed = (
            screen.confirm if options.prices.is_known and not options.yes and sys.stdin.isatty() else None
        )
        at_once = min(options.max_connections or model.api.max_connections(), len(task.dataset))
        watch = RunMonitor(
            folder,
            len(task.dataset),
            options.prices,
            screen.print_line,
            agreed,
            screen.update,
            at_once,
            lambda: getattr(model.api, "last_error", ""),
        )
        with attach_monitor(watch):
            error = _run_eval(options, task, model, folder)
    used = watch.usage
    record["sessions"].append(
        _make_session(watch.started_at, used.seconds, used.num_replies, len(watch.failures))
    )
    return watch.stop_reason or error, watch.failures


def _run_eval(options: RunOptions, task: Any, model: Any, folder: RunFolder) -> str:
    """Why it ended before its end, "" if it did not."""
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
    """Warn where many replies have no text, which the model left empty or a filter withheld: they count as abstaining."""
    answered = [row for row in rows if not row["failure"]]
    declined = [EMPTY for row in answered if not has_text(row["prediction"] or "")]
    if (warning := warn_of_empty_replies(declined, len(answered))) and warning not in record["warnings"]:
        record["warnings"] = [*record["warnings"], warning]
        warn(warning)


def _make_session(started_at: float, seconds: float, replies: int, failed: int) -> dict[str, Any]:
    begun = datetime.fromtimestamp(started_at, UTC).isoformat(timespec="seconds")
    return {"begun": begun, "seconds": round(seconds, 1), "replies": replies, "failed": failed}


def _recover_sessions(
    known: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Those that are known, and one that was killed before it could say what it did: the journal has its replies."""
    lost = rows[sum(session["replies"] for session in known) :]
    if not lost:
        return [*known]
    began = min(row["start"] for row in lost)
    ended = max(row["start"] + row["seconds"] for row in lost)
    return [*known, _make_session(began, ended - began, len(lost), 0)]


def _summarize_replies(
    rows: Sequence[Mapping[str, Any]],
    samples: int,
    item_ids: Collection[str],
    failures: Mapping[str, str],
    prices: Prices,
) -> dict[str, Any]:
    """What came, of all sessions."""
    answered = [row for row in rows if not row["failure"]]
    tokens = [sum(row["tokens"][place] for row in rows) for place in (0, 1)]
    return {
        "counts": {
            "items": len(item_ids),
            "answered": sum(len(row["item_ids"]) for row in answered),
            "refused": sum(len(row["item_ids"]) for row in answered if row["refused"]),
            "samples": samples,
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
