"""What is written takes no place of what is read."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from pipeline.core.errors import Problems
from pipeline.core.paths import Folders


def apart(outputs: Sequence[tuple[str, Path]], inputs: Collection[Path]) -> None:
    """Look, before anything is done, where links lead.

    Args:
        outputs: the option that names a file, and the file.

    Raises:
        UserError: an output is an input or in an input's folder, or two are one file.
    """
    problems, named = Problems("what is to be written"), dict[Path, str]()
    read = {_place(path) for path in inputs}
    for option, path in outputs:
        place, told = _place(path), f"{option} {path}"
        if read & {place, *place.parents}:
            problems.add(told, "that is read, or in a folder that is; name another place")
        if place in named:
            problems.add(told, f"that is the place of {named[place]}, too; name another one")
        named[place] = option
    problems.raise_if_any()


def page_of(folders: Folders, out: Path | None, name: str) -> Path:
    """Where a page on a data set goes, in its folder if nothing else is said.

    Raises:
        UserError: it would lie among what it tells of.
    """
    out = out or folders.home / name
    apart([("--out", out)], [*folders.watched(), folders.stage(""), folders.release("")])
    return out


def _place(path: Path) -> Path:
    return Path(os.path.realpath(path))  # resolve() stumbles over links that lead to each other
