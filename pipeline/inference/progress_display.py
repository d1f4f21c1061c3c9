"""Show the progress of a run: a progress bar in a terminal, else a line for each tenth."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

# Number of lines that a complete run prints if there is no terminal.
NUM_PROGRESS_LINES = 10


class ProgressDisplay:
    """A context manager that shows the progress on stderr."""

    def __init__(self, num_done_before: int, total: int, command: str = "run") -> None:
        """
        Args:
            num_done_before: Number of samples that had a reply when the run started.
            total: Number of all samples.
            command: Name of the command, at the beginning of each line.
        """
        self.command = command
        self.num_done_before, self.total, self.num_lines_shown = num_done_before, total, 0
        self.bar: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self.bar = Progress(
                TextColumn(self.command),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[failed]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self.bar.add_task("", total=self.total, completed=self.num_done_before, failed="")
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def update(self, num_replies: int, num_failed: int) -> None:
        """Show the number of replies and of failed requests since the run started."""
        failed = f"{num_failed:,} failed" if num_failed else ""
        if self.bar:
            self.bar.update(self.bar.task_ids[0], completed=self.num_done_before + num_replies, failed=failed)
            return
        num_lines = NUM_PROGRESS_LINES * (self.num_done_before + num_replies) // max(1, self.total)
        if num_lines > self.num_lines_shown and num_replies:
            self.num_lines_shown = num_lines
            self.print_line(
                f"{self.command}: {self.num_done_before + num_replies:,} of {self.total:,} replies{', ' * bool(failed)}{failed}"
            )

    def print_line(self, line: str) -> None:
        if self.bar:
            self.bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def confirm(self, forecast: str) -> bool:
        """Show the forecast and ask whether to continue. Ctrl-D means no."""
        if self.bar:
            self.bar.stop()
        try:
            answer = input(f"{self.command}: {forecast}. Go on? [Y/n] ").strip().lower()
        except EOFError:
            answer = "n"
        if self.bar:
            self.bar.start()
        return answer in ("", "y", "yes")
