"""Lock folders, so that only one process at a time works in them.

The module uses the standard library only, because the wheel of the scorers contains it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

# Name of the file that is locked.
LOCK_FILE_NAME = ".lock"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder, creating it if needed. Other processes wait.

    The operating system releases the lock if the process dies.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK_FILE_NAME).open("w") as file:
        if not acquire_lock(file):
            print(f"waiting for another rgqa command to finish in {folder}", file=sys.stderr, flush=True)
            acquire_lock(file, wait=True)
        yield


def acquire_lock(file: IO[Any], *, wait: bool = False) -> bool:
    """Lock an open file until it is closed or the process dies.

    Args:
        file: Any file that is open for writing.
        wait: Whether to wait for a process that holds the lock.

    Returns:
        False if another process holds the lock. On Windows, which has no such locks, always True.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
