"""Check, before any work, that what a command writes replaces nothing that it reads, and no release.

This module needs the standard library alone: the wheel of the scorers carries it, too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

from .errors import UserError

# The file that makes a folder a release.
RELEASE_MARKER_FILE = "CHECKSUMS.sha256"
# What belongs to the project in the working directory and cannot be computed again, whatever command writes there: its parameters,
# its graphs of stages, and of every data set what it was given and what people answered.
PROTECTED_FILES = ("params.yaml", "dvc.yaml", "dvc.lock", "research/dvc.yaml", "research/dvc.lock")
PROTECTED_DATASET_FOLDERS = ("source", "truth", "study", "annotations", "rounds", "errata")


class Output(NamedTuple):
    """Something that a command writes.

    Attributes:
        option: what names it, as the user types it (`--json`).
        path: where it goes.
        kind: a file, or a folder in which files are written.
        names: of a folder, the names of the files written in it; empty: any name.
    """

    option: str
    path: Path
    kind: Literal["file", "folder"] = "file"
    file_names: tuple[str, ...] = ()


def check_output_paths(
    outputs: Iterable[Output | None],
    inputs: Iterable[Path | str | None] = (),
    *,
    own_folder: Path | None = None,
) -> None:
    """Refuse outputs that would replace an input, another output, a part of a release, or what belongs to the project.

    Links are followed, so that no name of a file hides what it is. An output that lies in an input's folder counts as replacing
    it. An output is never a device, a pipe, or a folder where a file is wanted.

    Args:
        outputs: what will be written; None entries (options that were not given) are ignored.
        inputs: files and folders that are read; None entries and paths that do not exist protect nothing but their own place.
        owned: a folder of the command's own, which may be written although it is marked as a release.

    Raises:
        UserError: everything that is wrong, one line for each output.
    """
    written = [output for output in outputs if output]
    read = {_file_identity(Path(path)) for path in [*inputs, *_protected_paths()] if path}
    problems = [
        f"{output.option} {output.path}: {fault}"
        for output in written
        for fault in _find_problems(output, read, own_folder)
    ]
    for first, second in combinations(written, 2):
        if _outputs_conflict(first, second):
            problems.append(
                f"{second.option} {second.path}: {first.option} writes there, too; name another place"
            )
    if problems:
        raise UserError(problems if len(problems) == 1 else ["outputs cannot be written as named", *problems])


def _protected_paths() -> Iterator[Path]:
    """Files and folders of the project in the working directory that no output may replace or lie in."""
    yield from map(Path, PROTECTED_FILES)
    for name in PROTECTED_DATASET_FOLDERS:
        yield from Path("data").glob(f"*/{name}")


def _find_problems(output: Output, read: set[Hashable], owned: Path | None) -> Iterator[str]:
    path = output.path
    try:
        mode = _resolve(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    except OSError as error:  # links that lead to each other, no permission, a name too long
        yield f"{error.strerror}; name another place"
        return
    if output.kind == "file" and mode and not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        yield f"{kind}, where a file is to be written; name another place"
        return
    if output.kind == "folder" and mode and not stat.S_ISDIR(mode):
        yield "a file, where a folder is to be written; name another place"
        return
    if any(place.exists() and not place.is_dir() for place in path.parents):
        yield "a file is where one of its folders should be; name another place"
        return
    if _is_device_path(path):
        yield "a place for devices, not for files; name another place"
        return
    targets = _target_paths(output)
    if any(not read.isdisjoint(_path_identities(target)) for target in targets):
        yield "would replace a file that is read, or lies in a folder that is; name another place"
    elif any(
        (release := _find_enclosing_release(target)) and not _is_owned(release, owned) for target in targets
    ):
        yield "lies inside a release, which only `rgqa publish` copies; name another place"


def _outputs_conflict(first: Output, second: Output) -> bool:
    """Whether two outputs have the same path, or one is a file where the other needs a folder."""
    for one in _target_paths(first):
        for other in _target_paths(second):
            if _file_identity(one) == _file_identity(other):
                return True
            if first.kind == "file" and _file_identity(one) in _path_identities(other):
                return True
            if second.kind == "file" and _file_identity(other) in _path_identities(one):
                return True
    return False


def _target_paths(output: Output) -> list[Path]:
    return [output.path / name for name in output.file_names] or [output.path]


def _find_enclosing_release(path: Path) -> Path | None:
    """The release in which a path lies, if it does."""
    real = _resolve(path)
    return next((place for place in (real, *real.parents) if (place / RELEASE_MARKER_FILE).is_file()), None)


def _is_owned(release: Path, owned: Path | None) -> bool:
    return owned is not None and _resolve(owned) in (release, *release.parents)


def _is_device_path(path: Path) -> bool:
    real = _resolve(path)
    return any(place in (Path("/dev"), Path("/proc"), Path("/sys")) for place in real.parents) and not (
        real.is_relative_to("/dev/shm")
    )


def _path_identities(path: Path) -> set[Hashable]:
    """A file and the folders in which it lies."""
    real = _resolve(path)
    return {_file_identity(place) for place in (path, *path.absolute().parents, *real.parents)}


def _file_identity(path: Path) -> Hashable:
    """A value that is the same for all names of a file."""
    real = _resolve(path)
    try:
        found = real.stat()
    except OSError:  # It is not there yet.
        return real
    return found.st_dev, found.st_ino


def _resolve(path: Path) -> Path:
    """The path without links and without "..", even after a folder that is not there yet: writers make it."""
    return Path(os.path.realpath(path))
