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

from ..core.errors import UserError, counted, warn
from ..core.server_errors import reason_of
from ..scoring.harness_logs import EMPTY
from ..scoring.joined_predictions import warning_of_declined
from ..scoring.normalize import has_text
from ..scoring.version import VERSION
from .cost_forecast import Prices
from .probe import probed
from .progress_display import Screen
from .prompts import hash_of
from .run_folder import CLASSES, RunFolder
from .run_monitor import FULL, NO_ANSWERS, Watch, watching
from .run_options import RunOptions, settings_of

TRIES = 5  # of a request, beside those that the client makes itself
SECONDS = 300  # for an answer over the network
BUFFER = 25  # samples between two writes of inspect_ai's log
MISSING = 'inspect_ai is not installed; it runs the models: pip install "rgqa-scorers[inspect]"'


class ModelRun(NamedTuple):
    """What came of it.

    Attributes:
        asked: ids of the items that were to be asked.
        about: run.json. stopped: why it ended before its end, "" if it did not.
    """

    folder: RunFolder
    asked: frozenset[str]
    about: dict[str, Any]
    stopped: str = ""


def run(options: RunOptions) -> ModelRun:
    """Ask what has no reply yet; write run.json and predictions.jsonl.

    Raises:
        UserError: everything that keeps it from beginning.
    """
    options = options.chosen
    settings, order = settings_of(options)
    folder, stopped, failed = RunFolder(options.folder), "", {}
    with folder.alone():
        before = folder.open(settings)
        task = _task(options)
        if options.limit:
            print(_drawn(task, order), file=sys.stderr)
        samples = {str(sample.id): sample for sample in task.dataset}
        asked = frozenset(name for sample in samples.values() for name in sample.metadata["items"])
        order = [name for name in order if name in asked]
        about = {**settings, "server": options.server, "path": str(options.release)}
        about |= {"weights": before.get("weights", {})}
        about["warnings"] = before.get("warnings", [])
        about["sessions"] = _sessions(before.get("sessions", []), folder.rows)
        if samples.keys() - {row["id"] for row in folder.rows}:
            with _private_files(folder.path):
                stopped, failed = _ask(options, task, folder, about)
        folder.write_predictions(order)
        _warn_of_declined(folder.rows, about)
        folder.write_distribution(order)
        rows = [row for row in folder.rows if row["id"] in samples]
        about |= _counts(rows, len(samples), asked, failed, options.prices) | {
            "generate": task.config.model_dump(exclude_none=True) | {"max_tokens": options.max_tokens},
            "versions": {
                "rgqa_scorers": VERSION,
                "inspect_ai": importlib.metadata.version("inspect_ai"),
                "python": platform.python_version(),
            },
        }
        folder.write("run.json", about)
    return ModelRun(folder, asked, about, stopped)


def _drawn(task: Any, every: Sequence[str]) -> str:
    """Say what --limit takes of the questions."""
    pairs = task.metadata["pairs"]
    whole = f" in {counted(pairs, 'pair')}" if pairs else ""
    return (
        f"run: {counted(len(task.dataset), 'question')}{whole}, drawn at random from a benchmark of "
        f"{counted(len(every), 'item')}"
    )


@contextmanager
def _private_files(folder: Path) -> Iterator[None]:
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


def _task(options: RunOptions, at_once: bool = True) -> Any:
    try:
        from .release_tasks import release_task
    except ModuleNotFoundError as error:
        raise UserError(MISSING if error.name == "inspect_ai" else str(error)) from None
    return release_task(
        options.release,
        subsets=options.subsets,
        part=options.part,
        prompt=options.prompt,
        recipe=options.recipe,
        pixels=options.pixels,
        pictures=options.pictures or "",
        shots=options.shots,
        seed=options.seed,
        samples=options.samples,
        at_once=at_once,
        blind=options.no_picture,
        limit=options.limit,
    )


def _ask(
    options: RunOptions, task: Any, folder: RunFolder, about: dict[str, Any]
) -> tuple[str, dict[str, str]]:
    """Probe the server and ask all that has no reply; return why the run ended before its end, and failures by id."""
    from inspect_ai import task_with

    model, found = probed(options)
    weights, classes = getattr(model.api, "about", {}), [*getattr(model.api, "answers", ())]
    if classes:
        weights = weights | {"answers": hash_of(*classes)}
    for what in ("revision", "answers") if folder.rows else ():
        if (known := about["weights"].get(what)) != (now := weights.get(what)):
            raise UserError(
                f"{folder.path}: its replies are of {what} {known}, now {now}; name another --out"
            )
    about["weights"] = weights
    if classes:
        folder.write(CLASSES, classes)
    about["warnings"] = [*dict.fromkeys([*about["warnings"], *found.warnings])]
    for line in found.warnings:
        warn(line)
    if not found.at_once:
        task = _task(options, at_once=False)
    total, done = len(task.dataset), {row["id"] for row in folder.rows}
    task = task_with(task, dataset=task.dataset.filter(lambda sample: str(sample.id) not in done))
    folder.write("run.json", about)
    with Screen(len(done), total) as screen:
        agreed = screen.agreed if options.prices.known and not options.yes and sys.stdin.isatty() else None
        at_once = min(options.connections or model.api.max_connections(), len(task.dataset))
        watch = Watch(
            folder,
            len(task.dataset),
            options.prices,
            screen.say,
            agreed,
            screen.step,
            at_once,
            lambda: getattr(model.api, "last_error", ""),
        )
        with watching(watch):
            error = _evaluate(options, task, model, folder)
    used = watch.usage
    about["sessions"].append(_session(watch.began, used.seconds, used.replies, len(watch.failed)))
    return watch.stopped or error, watch.failed


def _evaluate(options: RunOptions, task: Any, model: Any, folder: RunFolder) -> str:
    """Why it ended before its end, "" if it did not."""
    from inspect_ai import eval as evaluate

    settings: dict[str, Any] = {
        "display": "none",
        "log_level": "error",
        "log_dir": str(folder.path / "logs"),
        "log_format": "eval",
        "log_buffer": BUFFER,
        "log_realtime": False,
        "log_images": False,
        "log_model_api": False,
        "score_display": False,
        "ctl_server": False,
        "fail_on_error": False,
        "max_samples": options.connections or None,
        "max_connections": options.connections or None,
        "max_tokens": options.max_tokens,
        "max_retries": TRIES,
        "attempt_timeout": SECONDS if options.remote else None,
    }
    try:
        logs = evaluate(task, model=model, **settings)
    except KeyboardInterrupt:
        logs = []
    if not logs:
        return "Ctrl-C"
    error = logs[0].error
    if error and "No space left" in error.message:
        return FULL
    return reason_of(error) if error else "" if logs[0].status == "success" else "Ctrl-C"


def _warn_of_declined(rows: Sequence[Mapping[str, Any]], about: dict[str, Any]) -> None:
    """Warn where many replies have no text, which the model left empty or a filter withheld: they count as abstaining."""
    answered = [row for row in rows if not row["failure"]]
    declined = [EMPTY for row in answered if not has_text(row["prediction"] or "")]
    if (warning := warning_of_declined(declined, len(answered))) and warning not in about["warnings"]:
        about["warnings"] = [*about["warnings"], warning]
        warn(warning)


def _session(began: float, seconds: float, replies: int, failed: int) -> dict[str, Any]:
    begun = datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds")
    return {"begun": begun, "seconds": round(seconds, 1), "replies": replies, "failed": failed}


def _sessions(known: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are known, and one that was killed before it could say what it did: the journal has its replies."""
    lost = rows[sum(session["replies"] for session in known) :]
    if not lost:
        return [*known]
    began = min(row["start"] for row in lost)
    ended = max(row["start"] + row["seconds"] for row in lost)
    return [*known, _session(began, ended - began, len(lost), 0)]


def _counts(
    rows: Sequence[Mapping[str, Any]],
    samples: int,
    asked: Collection[str],
    failed: Mapping[str, str],
    prices: Prices,
) -> dict[str, Any]:
    """What came, of all sessions."""
    answered = [row for row in rows if not row["failure"]]
    tokens = [sum(row["tokens"][place] for row in rows) for place in (0, 1)]
    return {
        "counts": {
            "items": len(asked),
            "answered": sum(len(row["item_ids"]) for row in answered),
            "refused": sum(len(row["item_ids"]) for row in answered if row["refused"]),
            "samples": samples,
            "replies": len(rows),
            "failed": len(failed),
            **{
                name.replace(" ", "_"): sum(row["failure"].startswith(name) for row in rows)
                for name in NO_ANSWERS
            },
        },
        "tokens": {"input": tokens[0], "output": tokens[1]},
        "cost": prices.cost(tokens[0], tokens[1]) if prices.known else None,
        "failures": {**failed, **{row["id"]: row["failure"] for row in rows if row["failure"]}},
    }
