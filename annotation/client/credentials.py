"""Addresses, passwords and tokens: from the environment, or from `data/label-studio/secrets.json` (mode 600, git-ignored).

LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN name any Label Studio; without them it is the one that `rgqa annotate serve` runs.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from annotation.client.label_studio import LabelStudio
from pipeline.core.errors import UserError
from pipeline.core.files import read_json, write_json
from pipeline.core.paths import DATA
from pipeline.core.records import Record

HOME = DATA / "label-studio"
SECRETS = HOME / "secrets.json"


class Login(Record):
    """An account of the server that `serve` runs. `token` is the administrator's alone; `link` is the secret part of the address
    that opens an annotator's session. A volunteer has no password, and keeps the link alone."""

    email: str
    password: str
    token: str = ""
    link: str = ""


class Secrets(Record):
    """All of the server that `serve` runs; `annotators` by their name in the roster, `doors` by data set: the secret part of
    the address that lets volunteers in."""

    url: str
    admin: Login
    annotators: dict[str, Login] = msgspec.field(default_factory=dict)
    doors: dict[str, str] = msgspec.field(default_factory=dict)

    def entry(self, name: str) -> str:
        """How somebody comes to their tasks."""
        login = self.annotators.get(name)
        if login is None or not login.link:
            return "came by the open link, and knows their own"
        return f"{self.url}/desk/in/{login.link}   (or log in: {login.email}, password {login.password})"


def read_secrets() -> Secrets:
    """Raises UserError if `serve` has not made them yet, or others may read them."""
    if not SECRETS.exists():
        raise UserError(
            "no Label Studio is known: start one with `rgqa annotate serve`, or set LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN"
        )
    if SECRETS.stat().st_mode & 0o077:
        raise UserError(f"{SECRETS}: others on this machine may read it; run: chmod 600 {SECRETS}")
    return read_json(SECRETS, Secrets)


def write_secrets(secrets: Secrets) -> None:
    write_private(SECRETS, secrets)


def write_private(path: Path, value: object) -> None:
    """Replace a JSON file unless it says this already; it is never readable by others, not even for a moment."""
    if (
        path.exists()
        and path.read_bytes()
        == msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"
    ):
        return
    before = os.umask(0o077)
    try:
        write_json(path, value)
    finally:
        os.umask(before)


def connection() -> LabelStudio:
    """The server on which the tasks lie.

    Raises:
        UserError: no server is known, or half of the environment is set.
    """
    url, token = os.environ.get("LABEL_STUDIO_URL"), os.environ.get("LABEL_STUDIO_TOKEN")
    if url and token:
        return LabelStudio(url.rstrip("/"), token)
    if url or token:
        raise UserError("set both LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN, or neither")
    secrets = read_secrets()
    return LabelStudio(secrets.url, secrets.admin.token, own=True)
