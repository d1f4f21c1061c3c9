"""One way to tell a user what is wrong: everything at once, exit code 1, no traceback."""

from __future__ import annotations

import errno
import gc
import sys
from collections.abc import Callable, Iterable

SHOWN = 100


class UserError(Exception):
    """Something the user can mend. The message says what came, what was wanted and what to do.

    Attributes:
        problems: one line each, all that was found, in the order found.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class Problems:
    """Collects what is wrong with an input so that all of it is told in one message."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.lines: list[str] = []

    def add(self, where: str, what: str) -> None:
        self.lines.append(f"{where}: {what}")

    def raise_if_any(self) -> None:
        if self.lines:
            noun = "problem" if len(self.lines) == 1 else "problems"
            raise UserError([f"{self.subject}: {len(self.lines)} {noun}", *self.lines])


def run(main: Callable[[], object]) -> None:
    """Run a command: a user's mistake, a full disk or Ctrl-C ends it with one message and exit code 1.

    Of a long list of problems the first 100 lines are printed, and how many more there are.
    """
    # Records hardly ever refer to each other; to look for those that do took up to a fifth of a stage's time.
    gc.set_threshold(100_000, 20, 100)
    try:
        main()
        return
    except UserError as error:
        first, *rest = error.problems
    except KeyboardInterrupt:
        first, rest = "stopped by Ctrl-C; what was finished is kept, run the same command to go on", []
    except OSError as error:
        if error.errno == errno.ENOSPC:
            first = f"the disk is full ({error.filename or 'no file named'}); free some space and run the same command again"
        elif error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            first = f"no permission: {error}; check who owns the file and run the same command again"
        else:
            raise
        rest = []
    more = [f"... and {len(rest) - SHOWN} more"] if len(rest) > SHOWN else []
    print("\n  ".join([f"error: {first}", *rest[:SHOWN], *more]), file=sys.stderr)
    sys.exit(1)
