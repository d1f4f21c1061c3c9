"""What a run shows while it goes: a progress bar where there is a terminal, else a line now and then."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

PARTS = 10  # lines of a whole run where there is no terminal


class Screen:
    """Told of every reply between `with` and its end; writes to stderr."""

    def __init__(self, before: int, total: int) -> None:
        """`before` of `total` samples had a reply when the run began."""
        self.before, self.total, self.shown = before, total, 0
        self.bar: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self.bar = Progress(
                TextColumn("run"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[failed]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self.bar.add_task("", total=self.total, completed=self.before, failed="")
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def step(self, replied: int, failed: int) -> None:
        """So many replies came since the run began, and so many requests failed."""
        words = f"{failed:,} failed" if failed else ""
        if self.bar:
            self.bar.update(self.bar.task_ids[0], completed=self.before + replied, failed=words)
            return
        part = PARTS * (self.before + replied) // max(1, self.total)
        if part > self.shown and replied:
            self.shown = part
            self.say(f"run: {self.before + replied:,} of {self.total:,} replies{', ' * bool(words)}{words}")

    def say(self, line: str) -> None:
        if self.bar:
            self.bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def agreed(self, told: str) -> bool:
        """Is the run worth it?"""
        if self.bar:
            self.bar.stop()
        try:
            answer = input(f"run: {told}. Go on? [Y/n] ").strip().lower()
        except EOFError:  # Ctrl-D
            answer = "n"
        if self.bar:
            self.bar.start()
        return answer in ("", "y", "yes")
