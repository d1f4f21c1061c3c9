"""Files that others on the machine may not read: who annotates, and the salt of pseudonyms."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec

from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DatasetFolders


def write_private(path: Path, value: object) -> None:
    """Replace a JSON file unless it says this already; it is never readable by others, not even for a moment."""
    wanted = msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"
    if path.exists() and path.read_bytes() == wanted and not path.stat().st_mode & 0o077:
        return
    before = os.umask(0o077)
    try:
        write_json(path, value)
    finally:
        os.umask(before)


def read_or_create_salt(folders: DatasetFolders) -> str:
    """What pseudonyms of people who are in no roster are made with, drawn once for a data set: without it they cannot be tried out.

    Raises:
        UserError: the file is damaged.
    """
    path = folders.study / "salt.json"
    if not path.exists():
        write_private(path, secrets.token_hex(32))
    return read_json(path, str)
