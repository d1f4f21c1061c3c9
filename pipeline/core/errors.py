"""Report everything that is wrong with an input in one message, with exit code 1 and no traceback.

This module needs the standard library alone: the wheel of the scorers carries it, too.
"""

from __future__ import annotations

import errno
import gc
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

# Examples that are printed of each kind of problem.
EXAMPLES_PER_KIND = 5
# Lines that are printed of one message, whatever the kinds.
MAX_MESSAGE_LINES = 100


class UserError(Exception):
    """Something that the user can mend. The message says what is wrong, where, and what to do.

    Attributes:
        problems: one line for each problem, in the order in which they were found; the first may be a headline.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class Problems:
    """Collect everything that is wrong with an input and raise it as one message.

    Example:
        >>> problems = Problems("questions.csv")
        >>> problems.add("row 3", "no answer; write one")
        >>> problems.raise_if_any()
        Traceback (most recent call last):
        ...
        pipeline.core.errors.UserError: questions.csv: 1 problem
        row 3: no answer; write one
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.lines: list[str] = []

    def add(self, where: str, what: str) -> None:
        self.lines.append(f"{where}: {what}")

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Add what the block raises as UserError instead of raising it."""
        with collect_errors(self.lines):
            yield

    def raise_if_any(self) -> None:
        """Raise a UserError with all problems, if there are any."""
        if self.lines:
            raise UserError([f"{self.subject}: {format_count(len(self.lines), 'problem')}", *self.lines])


@contextmanager
def collect_errors(problems: list[str]) -> Iterator[None]:
    """Append what the block raises as UserError to a list instead of raising it."""
    try:
        yield
    except UserError as error:
        problems += error.problems


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the right form.

    Example:
        >>> counted(1, "fault"), counted(2_500, "fault"), counted(0, "entry", "entries")
        ('1 fault', '2,500 faults', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def join_examples(names: Collection[object], max_examples: int = EXAMPLES_PER_KIND) -> str:
    """Return the first few of many names, and how many more there are.

    Example:
        >>> some_of("abc", 2), some_of(["a"])
        ('a, b and 1 more', 'a')
    """
    more = f" and {len(names) - max_examples:,} more" if len(names) > max_examples else ""
    return ", ".join(map(str, [*names][:max_examples])) + more


def no_effect_message(option: str, reason: str) -> str:
    """Return the message that refuses an option which changes nothing beside the others.

    Example:
        >>> no_effect("--num-replies", "recipe verbal asks once")
        '--num-replies has no effect: recipe verbal asks once; leave it out'
    """
    return f"{option} has no effect: {reason}; leave it out"


# What the machine, not the program, is to blame for, and what the user can do.
OS_ERROR_HINTS = {
    errno.ENOSPC: "the disk is full ({file}); free some space and run the same command again",
    errno.EDQUOT: "your share of the disk is used up ({file}); free some space and run the same command again",
    errno.EFBIG: "a file grew larger than this disk or your limits (ulimit -f) allow ({file}); raise them and run it again",
    errno.ENAMETOOLONG: "a name is longer than a file's can be ({file}); take a shorter one",
    errno.EISDIR: "a folder where a file was expected ({file}); move it away",
    errno.ENOTDIR: "a file where a folder was expected ({file}); move it away",
    errno.ELOOP: "links that lead to each other ({file}); take them away",
    errno.EMFILE: "more files are open than your limits (ulimit -n) allow ({file}); raise them and run it again",
    errno.EEXIST: "a file, or a link to nowhere, where a folder was expected ({file}); move it away",
    errno.ENOENT: "no such file or folder, or it was deleted while in use ({file}); check the path and run the same command again",
    errno.EIO: "the disk failed ({file}); look at it, then run the same command again",
}
# What any other failure of the system may come from.
DEFAULT_OS_ERROR_HINT = "the system reports: {error}; check that this place exists and can be used, and run the same command again"
DELETED_FOLDER_HINT = (
    "the working folder was deleted; change to one that exists and run the same command again"
)
PERMISSION_HINT = "no permission: {error}; check who owns the file and run the same command again"
OS_ERROR_HINTS |= dict.fromkeys((errno.EACCES, errno.EROFS, errno.EPERM), PERMISSION_HINT)
# Control characters, with which the content of a file could steer a terminal.
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# What differs among problems of one kind: what stands in brackets or quotes, an id, and whatever has a digit in it.
_VARIABLE_PARTS = re.compile(r"""\([^()]*\)|'[^']*'|"[^"]*"|(?<=\bid )\S+|\S*\d\S*""")


def make_printable(text: str) -> str:
    """Replace the control characters and lone surrogates of a text, so that any terminal can show it."""
    return CONTROL_CHARACTERS.sub("?", text).encode("utf-8", "replace").decode("utf-8")


def format_error(error: UserError) -> str:
    """The message as it is printed: of each kind of problem five examples, and how many more there are."""
    first, *rest = error.problems
    kinds = [_VARIABLE_PARTS.sub("#", line.partition(": ")[2] or line) for line in rest]
    totals, shown, lines = Counter(kinds), Counter[str](), []
    for line, kind in zip(rest, kinds, strict=True):
        shown[kind] += 1
        # A sixth example takes no more room than the line that says that there is one more.
        if shown[kind] <= EXAMPLES_PER_KIND or totals[kind] == EXAMPLES_PER_KIND + 1:
            lines.append(line)
        elif shown[kind] == EXAMPLES_PER_KIND + 1:
            lines.append(f"... and {totals[kind] - EXAMPLES_PER_KIND:,} more like these")
    if len(lines) > MAX_MESSAGE_LINES:
        lines[MAX_MESSAGE_LINES:] = [f"... and {len(rest) - MAX_MESSAGE_LINES:,} more"]
    return make_printable("\n  ".join([f"error: {first}", *lines]))


def warn(text: str) -> None:
    """Print something that the user should know but that does not end the command."""
    print(make_printable(f"warning: {text}"), file=sys.stderr)


def exit_with_error(error: UserError) -> NoReturn:
    """Print the message of an error and end the process with exit code 1."""
    print(format_error(error), file=sys.stderr)
    sys.exit(1)


def require_docstrings() -> None:
    """Exit with one message where Python strips docstrings, of which the plots' library and the help are made."""
    if sys.flags.optimize >= 2:
        exit_with_error(
            UserError(
                "Python strips docstrings (-OO or PYTHONOPTIMIZE=2), but plots and help are made of them. "
                "Unset PYTHONOPTIMIZE, or set it to 1."
            )
        )


def explain_os_error(error: OSError) -> str:
    """What the system reports, as one message that says what to do."""
    if error.errno == errno.ENOENT:
        try:
            Path.cwd()
        except OSError:
            return DELETED_FOLDER_HINT
    # Of two names the second is the place that was to be taken.
    file = error.filename2 or error.filename or "no file named"
    return OS_ERROR_HINTS.get(error.errno or 0, DEFAULT_OS_ERROR_HINT).format(file=file, error=error)


def run_command(main: Callable[[], object]) -> None:
    """Run a command; print one message and exit with code 1 after a user's mistake, a full disk or Ctrl-C."""
    # Records hardly ever refer to each other; to look for those that do took up to a fifth of a stage's time.
    gc.set_threshold(100_000, 20, 100)
    try:
        main()
        return
    except UserError as error:
        reason = error
    except KeyboardInterrupt:
        reason = UserError("stopped by Ctrl-C; what was finished is kept, run the same command to go on")
    except MemoryError:
        reason = UserError(
            "the memory is full; what was finished is kept; close something else, or take a larger machine"
        )
    except OSError as error:
        if error.errno in (errno.EBADF, errno.EFAULT):  # A fault of the program, which keeps its traceback.
            raise
        reason = UserError(explain_os_error(error))
    except UnicodeEncodeError as error:
        mark = f"U+{ord(error.object[error.start]):04X}"
        reason = UserError(
            f"{error.object[:80]!a}: holds {mark}, half of a character, which no file can hold; write it as one character"
        )
    exit_with_error(reason)
