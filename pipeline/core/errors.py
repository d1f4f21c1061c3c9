"""One way to tell a user what is wrong: everything at once, exit code 1, no traceback."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence

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


def some(names: Sequence[str], most: int = 5) -> str:
    """The first few of many, and how many more there are.

    >>> some(["a", "b", "c"], most=2), some(["a"])
    ('a, b, and 1 more', 'a')
    """
    more = [f"and {len(names) - most:,} more"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


# What the machine, not the program, is to blame for, and what the user can do.
OUTSIDE = {
    errno.ENOSPC: "the disk is full ({file}); free some space and run the same command again",
    errno.EDQUOT: "your share of the disk is used up ({file}); free some space and run the same command again",
    errno.EFBIG: "a file grew larger than this disk or your limits (ulimit -f) allow ({file}); raise them and run it again",
    errno.ENAMETOOLONG: "a name is longer than a file's can be ({file}); take a shorter one",
    errno.EISDIR: "a folder where a file was expected ({file}); move it away",
    errno.ENOTDIR: "a file where a folder was expected ({file}); move it away",
    errno.ELOOP: "links that lead to each other ({file}); take them away",
    errno.EMFILE: "more files are open than your limits (ulimit -n) allow ({file}); raise them and run it again",
    errno.EEXIST: "a file, or a link to nowhere, where a folder was expected ({file}); move it away",
    errno.EIO: "the disk failed ({file}); look at it, then run the same command again",
}
# What any other failure of the system may come from.
ELSE = "the system reports: {error}; check that this place exists and can be used, and run the same command again"
NO_FOLDER = "the working folder was deleted; change to one that exists and run the same command again"
NO_PERMISSION = "no permission: {error}; check who owns the file and run the same command again"
OUTSIDE |= dict.fromkeys((errno.EACCES, errno.EROFS, errno.EPERM), NO_PERMISSION)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # with which a file's content could steer a terminal


def system_fault(error: OSError) -> str:
    """What the system reports, as one message that says what to do."""
    if error.errno == errno.ENOENT:
        try:
            os.getcwd()
        except OSError:
            return NO_FOLDER
    # Of two names the second is the place that was to be taken.
    file = error.filename2 or error.filename or "no file named"
    return OUTSIDE.get(error.errno or 0, ELSE).format(file=file, error=error)


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
    except MemoryError:
        first, rest = (
            "the memory is full; what was finished is kept; close something else, or take a larger machine",
            [],
        )
    except OSError as error:
        first, rest = system_fault(error), []
    except UnicodeEncodeError as error:
        mark = f"U+{ord(error.object[error.start]):04X}"
        first, rest = (
            f"{error.object[:80]!a}: holds {mark}, half of a character, which no file can hold; write it as one character",
            [],
        )
    more = [f"... and {len(rest) - SHOWN} more"] if len(rest) > SHOWN else []
    print(_CONTROLS.sub("?", "\n  ".join([f"error: {first}", *rest[:SHOWN], *more])), file=sys.stderr)
    sys.exit(1)
