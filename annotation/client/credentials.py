"""Addresses, passwords and tokens: from the environment, or from `data/label-studio/secrets.json` (mode 600, git-ignored).

LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN name any Label Studio; without them it is the one that
`rgqa annotate serve` runs, which keeps every annotator in an organisation of their own.
"""

from __future__ import annotations

import os

import msgspec

from annotation.client.label_studio import LabelStudio
from pipeline.core.errors import UserError
from pipeline.core.files import read_json, write_json
from pipeline.core.paths import DATA
from pipeline.core.records import Record

HOME = DATA / "label-studio"
SECRETS = HOME / "secrets.json"


class Login(Record):
    """An account of the server that `serve` runs. `token` opens the account's organisation for us: it belongs to a
    service account in there, never to the annotator."""

    email: str
    password: str
    token: str = ""


class Secrets(Record):
    """All of the server that `serve` runs; `annotators` by their name in the roster."""

    url: str
    admin: Login
    annotators: dict[str, Login] = msgspec.field(default_factory=dict)


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
    """Replace the file; it is never readable by others, not even for a moment."""
    before = os.umask(0o077)
    try:
        write_json(SECRETS, secrets)
    finally:
        os.umask(before)


def connection(annotator: str | None = None) -> LabelStudio:
    """The server on which an annotator's project lies (None: the administrator's).

    Raises:
        UserError: no server is known, half of the environment is set, or the server does not know the annotator.
    """
    url, token = os.environ.get("LABEL_STUDIO_URL"), os.environ.get("LABEL_STUDIO_TOKEN")
    if url and token:
        return LabelStudio(url.rstrip("/"), token)
    if url or token:
        raise UserError("set both LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN, or neither")
    secrets = read_secrets()
    if annotator is not None and annotator not in secrets.annotators:
        raise UserError(f"{annotator} has no account on {secrets.url}; run: rgqa annotate invite {annotator}")
    login = secrets.admin if annotator is None else secrets.annotators[annotator]
    return LabelStudio(secrets.url, login.token, own=True)
