"""Report all problems of an input in one message, with exit code 1 and without a traceback.

The module uses the standard library only, because the wheel of the scorers contains it.
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

# Number of examples that are printed for each kind of problem.
EXAMPLES_PER_KIND = 5
# Maximum number of lines of a message.
MAX_MESSAGE_LINES = 100


class UserError(Exception):
    """A problem that the user can solve. The message says what is wrong, where, and what to do.

    Attributes:
        problems: One line per problem, in the order in which the problems were found. The first line may be a
            headline.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class Problems:
    """Collect the problems of an input and raise them as one error.

    Args:
        subject: The input that has the problems, for the headline.

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
        """Catch a UserError that the block raises, and add its problems to the collected problems."""
        with collect_errors(self.lines):
            yield

    def raise_if_any(self) -> None:
        """Raise a UserError with all collected problems, if there are any."""
        if self.lines:
            raise UserError([f"{self.subject}: {format_count(len(self.lines), 'problem')}", *self.lines])


@contextmanager
def collect_errors(problems: list[str]) -> Iterator[None]:
    """Catch a UserError that the block raises, and append its problems to a list."""
    try:
        yield
    except UserError as error:
        problems += error.problems


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number and its noun, in the singular or plural.

    Args:
        number: The count. In the result, thousands are separated by commas.
        noun: The noun in the singular.
        plural: The noun in the plural; None if the plural is made by adding "s".

    Example:
        >>> format_count(1, "fault"), format_count(2_500, "fault"), format_count(0, "entry", "entries")
        ('1 fault', '2,500 faults', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def join_examples(names: Collection[object], max_examples: int = EXAMPLES_PER_KIND) -> str:
    """Return the first few names as text, and how many more names there are.

    Args:
        names: All names.
        max_examples: Maximum number of names in the text.

    Example:
        >>> join_examples("abc", 2), join_examples(["a"])
        ('a, b and 1 more', 'a')
    """
    more = f" and {len(names) - max_examples:,} more" if len(names) > max_examples else ""
    return ", ".join(map(str, [*names][:max_examples])) + more


def no_effect_message(option: str, reason: str) -> str:
    """Return the message for an option that has no effect together with the other options.

    Args:
        option: The option as the user types it.
        reason: Why the option has no effect.

    Example:
        >>> no_effect_message("--num-replies", "--confidence verbalized asks once")
        '--num-replies has no effect: --confidence verbalized asks once; leave it out'
    """
    return f"{option} has no effect: {reason}; leave it out"


# Error number of the operating system -> message: what is wrong, and what to do.
OS_ERROR_HINTS = {
    errno.ENOSPC: "the disk is full ({file}); free some space and run the same command again",
    errno.EDQUOT: "your disk quota is used up ({file}); free some space and run the same command again",
    errno.EFBIG: "a file is larger than this disk or your limits (ulimit -f) allow ({file}); raise the limits and run the same command again",
    errno.ENAMETOOLONG: "a file name is too long ({file}); choose a shorter one",
    errno.EISDIR: "a folder where a file was expected ({file}); move it away",
    errno.ENOTDIR: "a file where a folder was expected ({file}); move it away",
    errno.ELOOP: "links refer to each other in a circle ({file}); delete them",
    errno.EMFILE: "more files are open than your limits (ulimit -n) allow ({file}); raise the limits and run the same command again",
    errno.EEXIST: "a file or a broken link where a folder was expected ({file}); move it away",
    errno.ENOENT: "no such file or folder, or it was deleted while in use ({file}); check the path and run the same command again",
    errno.EIO: "the disk failed ({file}); check the disk, then run the same command again",
}
# Message for all other errors of the operating system.
DEFAULT_OS_ERROR_HINT = (
    "the system reports: {error}; check that the path exists and can be used, and run the same command again"
)
DELETED_FOLDER_HINT = (
    "the working folder was deleted; change to one that exists and run the same command again"
)
PERMISSION_HINT = "no permission: {error}; check who owns the file and run the same command again"
OS_ERROR_HINTS |= dict.fromkeys((errno.EACCES, errno.EROFS, errno.EPERM), PERMISSION_HINT)
# Control characters in a file could change how a terminal shows the message.
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Parts of a message in which problems of the same kind may differ: texts in parentheses or quotation marks,
# ids, and words with a digit.
_VARIABLE_PARTS = re.compile(r"""\([^()]*\)|'[^']*'|"[^"]*"|(?<=\bid )\S+|\S*\d\S*""")


def make_printable(text: str) -> str:
    """Replace control characters and lone surrogates, so that every terminal can show the text."""
    return CONTROL_CHARACTERS.sub("?", text).encode("utf-8", "replace").decode("utf-8")


def format_error(error: UserError) -> str:
    """Return the message of an error as it is printed.

    The message has up to five examples of each kind of problem, and says how many more problems there are.
    """
    first, *rest = error.problems
    kinds = [_VARIABLE_PARTS.sub("#", line.partition(": ")[2] or line) for line in rest]
    totals, shown, lines = Counter(kinds), Counter[str](), []
    for line, kind in zip(rest, kinds, strict=True):
        shown[kind] += 1
        # Six examples take no more lines than five and the line "and 1 more".
        if shown[kind] <= EXAMPLES_PER_KIND or totals[kind] == EXAMPLES_PER_KIND + 1:
            lines.append(line)
        elif shown[kind] == EXAMPLES_PER_KIND + 1:
            lines.append(f"... and {totals[kind] - EXAMPLES_PER_KIND:,} more like these")
    if len(lines) > MAX_MESSAGE_LINES:
        lines[MAX_MESSAGE_LINES:] = [f"... and {len(rest) - MAX_MESSAGE_LINES:,} more"]
    return make_printable("\n  ".join([f"error: {first}", *lines]))


def warn(text: str) -> None:
    """Print a warning on stderr."""
    print(make_printable(f"warning: {text}"), file=sys.stderr)


def exit_with_error(error: UserError) -> NoReturn:
    """Print an error on stderr and end the process with exit code 1."""
    print(format_error(error), file=sys.stderr)
    sys.exit(1)


def require_docstrings() -> None:
    """End the process with a message if Python strips docstrings, because the help and the plots need
    docstrings.
    """
    if sys.flags.optimize >= 2:
        exit_with_error(
            UserError(
                "Python strips docstrings (-OO or PYTHONOPTIMIZE=2), but the help and the plots need them. "
                "Unset PYTHONOPTIMIZE, or set it to 1."
            )
        )


def explain_os_error(error: OSError) -> str:
    """Return a message about an error of the operating system that says what to do."""
    if error.errno == errno.ENOENT:
        try:
            Path.cwd()
        except OSError:
            return DELETED_FOLDER_HINT
    # For operations on two files, such as a rename, the second file name is the target.
    file = error.filename2 or error.filename or "no file named"
    return OS_ERROR_HINTS.get(error.errno or 0, DEFAULT_OS_ERROR_HINT).format(file=file, error=error)


def run_command(main: Callable[[], object]) -> None:
    """Run a command. After a UserError, a system error or Ctrl-C, print one message and exit with code 1.

    Args:
        main: The command.
    """
    # The garbage collector searches for cycles less often than by default. Records rarely form cycles, and
    # the searches took up to a fifth of the time of a stage.
    gc.set_threshold(100_000, 20, 100)
    try:
        main()
        return
    except UserError as error:
        reason = error
    except KeyboardInterrupt:
        reason = UserError("stopped by Ctrl-C; finished work is kept, so run the same command to resume")
    except MemoryError:
        reason = UserError(
            "out of memory; finished work is kept. Close other programs or use a larger machine"
        )
    except OSError as error:
        # These two errors are bugs of the program, so they keep their traceback.
        if error.errno in (errno.EBADF, errno.EFAULT):
            raise
        reason = UserError(explain_os_error(error))
    except UnicodeEncodeError as error:
        mark = f"U+{ord(error.object[error.start]):04X}"
        reason = UserError(
            f"{error.object[:80]!a}: contains {mark}, half of a character (a lone surrogate), which no file can store; write it as one character"
        )
    exit_with_error(reason)
