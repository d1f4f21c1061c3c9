"""Where a source in another form is written to."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from pipeline.core.records import Split


def target(data_set: str, split: str, name: str) -> Path:
    """A file to be made in the source folder of a data set.

    Raises:
        UserError: there is no such folder, or no such split, or the file is there already.
    """
    if split not in get_args(Split):
        raise UserError(f"--split {split}: expected one of {', '.join(get_args(Split))}")
    source = Folders(data_set).source
    if not source.is_dir():
        raise UserError(f"{source}: no such folder; run: rgqa init {data_set}")
    if (source / name).exists():
        raise UserError(f"{source / name}: is there already; move it away and run the same command again")
    return source / name
