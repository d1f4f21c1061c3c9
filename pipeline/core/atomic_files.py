"""Replace files atomically, and open regular files only.

The module uses the standard library only, because the wheel of the scorers contains it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from .errors import UserError

# A path in this folder, such as /dev/stdout, may be shared by all processes even if it is a link.
DEVICE_FOLDER = Path("/dev")


@contextmanager
def atomic_write(path: Path | str) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends without an error.

    The content is flushed to disk (fsync) before the replacement. Temporary files that were left in the
    folder by killed processes are deleted. If `path` is a link, the link is replaced, not the target of the
    link.

    Args:
        path: The file to write. Its folder is created if needed.

    Yields:
        The temporary file, open for writing bytes.

    Raises:
        UserError: `path` is not a regular file, or no file can be created there.
    """
    path = Path(path)
    if path.parent.absolute() == DEVICE_FOLDER or (path.exists() and not path.is_file()):
        raise UserError(f"{path}: {describe_file_type(path)} where a file was expected; choose another path")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale_temporaries(path.parent.absolute())
        new = temporary.open("wb")
    except FileNotFoundError as error:
        raise UserError(f"{path}: no file can be created there; choose another path") from error
    try:
        with new as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        # The operating system does not name the file in errors of `write`.
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path | str, text: str) -> None:
    """Write a text atomically as UTF-8."""
    with atomic_write(path) as file:
        file.write(text.encode())


def open_for_reading(path: Path | str) -> BufferedReader:
    """Open a regular file for reading bytes.

    Raises:
        UserError: The file is missing, or the path is a folder, a pipe or a device.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: {describe_file_type(path)} where a file was expected")
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: no such file; run the stage that writes it (dvc repro, or make leaderboard for the evaluation), or check the path"
        ) from error


def describe_file_type(path: Path) -> str:
    """Return what kind of file a path is if it is not a regular file, for messages: "a folder", "a pipe" ..."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(path.stat().st_mode) if path.exists() else 0, "a device")


def sha256_file(path: Path | str) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with open_for_reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _remove_stale_temporaries(folder: Path) -> None:
    """Delete temporary files of processes that have ended.

    The cache limits this to once per folder and process, because a folder may have many files.
    """
    for leftover in folder.glob(".*.tmp"):
        # Longer numbers are no process ids.
        process = re.fullmatch(r".*\.(\d{1,9})\.tmp", leftover.name)
        if process and not _is_running(int(process[1])):
            leftover.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    # On POSIX systems, signal 0 only tests whether a process exists. On Windows it would interrupt the
    # process.
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        # The process belongs to another user.
        pass
    return True
