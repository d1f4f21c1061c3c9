"""Read and write files that other users of the machine must not read: the roster and the salt of pseudonyms."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec

from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DatasetFolders


def write_private(path: Path, value: object) -> None:
    """Write a JSON file that only its owner can read.

    If the content has not changed, the file is not written.

    The umask is set before the file is created, so that other users can never read the file.
    """
    wanted = msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"
    if path.exists() and path.read_bytes() == wanted and not path.stat().st_mode & 0o077:
        return
    before = os.umask(0o077)
    try:
        write_json(path, value)
    finally:
        os.umask(before)


def read_or_create_salt(folders: DatasetFolders) -> str:
    """Return the secret salt of the pseudonyms of a data set. The salt is created on first use.

    The pseudonyms of people who are not in the roster are hashes of account numbers and the salt. Without the
    salt, nobody can find the account number of a pseudonym by trying all numbers.

    Raises:
        UserError: The file is damaged.
    """
    path = folders.study / "salt.json"
    if not path.exists():
        write_private(path, secrets.token_hex(32))
    return read_json(path, str)
