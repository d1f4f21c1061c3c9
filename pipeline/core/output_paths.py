"""Check the outputs of a command before it starts, so that they replace no input and no release.

The module uses the standard library only, because the wheel of the scorers contains it.
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
# Files and folders of the project that cannot be computed again: the parameters, the graphs of stages, and in
# each data set the source, the annotations and the other inputs. No command may write there.
PROTECTED_FILES = (
    *("params.yaml", "dvc.yaml", "dvc.lock", "rgqa-version.yaml"),
    *("research/dvc.yaml", "research/dvc.lock"),
)
PROTECTED_DATASET_FOLDERS = ("source", "truth", "study", "annotations", "rounds", "errata")


class Output(NamedTuple):
    """Something that a command writes.

    Attributes:
        option: The option that names the output, as the user types it (`--json`).
        path: The path that is written.
        kind: "file", or "folder" for a folder in which files are written.
        file_names: Names of the files that are written into a folder; empty for a file, or if the names are
            not fixed.
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
    """Refuse outputs that would replace an input, another output, a file of a release or a protected file of
    the project.

    Links are followed. An output inside a folder that is read counts as replacing an input. An output must
    not be a device or a pipe. A file must not be written where a folder is, and no folder where a file is.

    Args:
        outputs: The outputs that will be written. None (an option that was not given) is ignored.
        inputs: Files and folders that are read. None is ignored.
        own_folder: A folder that belongs to the command. The command may write there even if the folder is
            marked as a release.

    Raises:
        UserError: Lists every problem, one line per output.
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
                f"{second.option} {second.path}: {first.option} writes there, too; choose another path"
            )
    if problems:
        raise UserError(problems if len(problems) == 1 else ["outputs cannot be written", *problems])


def _protected_paths() -> Iterator[Path]:
    """Yield files and folders in the working directory that no output may replace or lie in."""
    yield from map(Path, PROTECTED_FILES)
    for name in PROTECTED_DATASET_FOLDERS:
        yield from Path("data").glob(f"*/{name}")


def _find_problems(output: Output, read: set[Hashable], own_folder: Path | None) -> Iterator[str]:
    path = output.path
    try:
        mode = _resolve(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    # This happens, for example, with circular links, without permission, or if a name is too long.
    except OSError as error:
        yield f"{error.strerror}; choose another path"
        return
    if output.kind == "file" and mode and not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        yield f"{kind} where a file was expected; choose another path"
        return
    if output.kind == "folder" and mode and not stat.S_ISDIR(mode):
        yield "a file where a folder was expected; choose another path"
        return
    if any(place.exists() and not place.is_dir() for place in path.parents):
        yield "one of its folders is a file; choose another path"
        return
    if _is_device_path(path):
        yield "a folder of devices; choose another path"
        return
    targets = _target_paths(output)
    if any(not read.isdisjoint(_path_identities(target)) for target in targets):
        yield "would replace an input or lies in a folder that is read; choose another path"
    elif any(
        (release := _find_enclosing_release(target)) and not _is_owned(release, own_folder)
        for target in targets
    ):
        yield "lies inside a release, which must not change; choose another path"


def _outputs_conflict(first: Output, second: Output) -> bool:
    """Report whether two outputs have the same path, or one is a file where the other needs a folder."""
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
    """Return the release in which a path lies, or None."""
    real = _resolve(path)
    return next((place for place in (real, *real.parents) if (place / RELEASE_MARKER_FILE).is_file()), None)


def _is_owned(release: Path, own_folder: Path | None) -> bool:
    return own_folder is not None and _resolve(own_folder) in (release, *release.parents)


def _is_device_path(path: Path) -> bool:
    real = _resolve(path)
    return any(place in (Path("/dev"), Path("/proc"), Path("/sys")) for place in real.parents) and not (
        real.is_relative_to("/dev/shm")
    )


def _path_identities(path: Path) -> set[Hashable]:
    """Return the identities of a file and of all folders above it."""
    real = _resolve(path)
    return {_file_identity(place) for place in (path, *path.absolute().parents, *real.parents)}


def _file_identity(path: Path) -> Hashable:
    """Return a value that is the same for all paths of the same file (links, relative and absolute paths)."""
    real = _resolve(path)
    try:
        found = real.stat()
    # The file does not exist yet.
    except OSError:
        return real
    return found.st_dev, found.st_ino


def _resolve(path: Path) -> Path:
    """Return the path with all links and ".." resolved. Folders of the path need not exist yet."""
    return Path(os.path.realpath(path))
