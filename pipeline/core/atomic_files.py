"""Replace files atomically and open files that are files.

This module needs the standard library alone: the wheel of the scorers carries it, too.
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

# Where even a link may be what all processes write to.
DEVICE_FOLDER = Path("/dev")


@contextmanager
def atomic_write(path: Path | str) -> Iterator[BinaryIO]:
    """Open a file for writing that takes `path`'s place only when the block ends well; durable (fsync) by
    then. What killed processes left in the folder goes away. A link is replaced, too, not what it leads to.

    Raises:
        UserError: there is something else than a file, or nothing can be made there.
    """
    path = Path(path)
    if path.parent.absolute() == DEVICE_FOLDER or (path.exists() and not path.is_file()):
        raise UserError(f"{path}: {describe_file_type(path)} where a file was expected; name another place")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale_temporaries(path.parent.absolute())
        new = temporary.open("wb")
    except FileNotFoundError as error:
        raise UserError(f"{path}: no file can be made there; name another place") from error
    try:
        with new as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # the kernel does not say which file
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path | str, text: str) -> None:
    """Write a text as UTF-8, atomically."""
    with atomic_write(path) as file:
        file.write(text.encode())


def open_for_reading(path: Path | str) -> BufferedReader:
    """Open a file for reading.

    Raises:
        UserError: it is missing, a folder, or a pipe or device, whose end might never come.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: {describe_file_type(path)} where a file was expected")
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: no such file; run the stage that writes it (dvc repro, or make leaderboard for one that evaluates), or check the path"
        ) from error


def describe_file_type(path: Path) -> str:
    """What there is that is no file."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(path.stat().st_mode) if path.exists() else 0, "a device")


def sha256_file(path: Path | str) -> str:
    """Hex SHA-256 of a file's bytes."""
    with open_for_reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _remove_stale_temporaries(folder: Path) -> None:
    """Delete the temporary files whose process is gone; once a process, as a folder may hold many files."""
    for scrap in folder.glob(".*.tmp"):
        # The number of a process has at most seven digits.
        process = re.fullmatch(r".*\.(\d{1,9})\.tmp", scrap.name)
        if process and not _is_running(int(process[1])):
            scrap.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if os.name != "posix":  # Elsewhere signal 0 is no question but an interrupt.
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # It runs for somebody else.
    return True
