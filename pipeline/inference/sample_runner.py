"""Ask a model the samples of a task of inspect_ai: at the same time, with retries, and with every reply saved when it arrives.

`rgqa run` and `rgqa draft` use this module.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..core.server_errors import get_failure_reason
from .progress_display import ProgressDisplay
from .run_folder import JournalRow, RunFolder
from .run_monitor import DISK_FULL_MESSAGE, RunMonitor, attach_monitor
from .run_options import RunOptions

# Number of retries of a request, in addition to the retries of the client library.
MAX_RETRIES = 5
# Maximum waiting time for a reply over a network.
REQUEST_TIMEOUT_SECONDS = 300
# Number of samples after which inspect_ai writes its log to disk.
LOG_BUFFER_SAMPLES = 25


class SamplesOutcome(NamedTuple):
    """What became of the samples of a task.

    Attributes:
        stop_reason: Why asking stopped early; "" if it did not.
        failures: Sample id -> why there was no reply.
        session: Start, duration and counts, for the record of the run.
    """

    stop_reason: str
    failures: dict[str, str]
    session: dict[str, Any]


def ask_samples(
    options: RunOptions,
    task: Any,
    model: Any,
    folder: RunFolder,
    num_done_before: int,
    command: str = "run",
    make_row: Callable[[Any, str], JournalRow] | None = None,
) -> SamplesOutcome:
    """Ask a model all samples of a task.

    Args:
        options: How to ask: number of requests at the same time, tokens, prices. The release is not used.
        task: The task of inspect_ai with the samples that have no reply yet.
        model: The model of inspect_ai.
        folder: The folder to whose journal each reply is appended.
        num_done_before: Number of samples that have a reply, for the progress bar.
        command: Name of the command, for messages.
        make_row: Makes the row of the journal from a sample and its failure; None for the row of `rgqa run`.
    """
    with ProgressDisplay(num_done_before, num_done_before + len(task.dataset), command) as display:
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
            command,
            make_row,
        )
        with attach_monitor(monitor):
            error = _run_eval(options, task, model, folder)
    usage = monitor.usage
    session = make_session(monitor.started_at, usage.seconds, usage.num_replies, len(monitor.failures))
    return SamplesOutcome(monitor.stop_reason or error, monitor.failures, session)


@contextmanager
def redirect_inspect_files(folder: Path) -> Iterator[None]:
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


def make_session(started_at: float, seconds: float, replies: int, failed: int) -> dict[str, Any]:
    started = datetime.fromtimestamp(started_at, UTC).isoformat(timespec="seconds")
    return {"started_at": started, "seconds": round(seconds, 1), "replies": replies, "failed": failed}


def recover_sessions(known: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add a session for the rows that are in no session.

    A killed run writes its rows, but not its session.
    """
    lost = rows[sum(session["replies"] for session in known) :]
    if not lost:
        return [*known]
    started_at = min(row["started_at"] for row in lost)
    ended_at = max(row["started_at"] + row["seconds"] for row in lost)
    return [*known, make_session(started_at, ended_at - started_at, len(lost), 0)]
