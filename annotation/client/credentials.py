"""The server's address and token: from the environment, or from `data/label-studio/secrets.json` (mode 600, git-ignored).

LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN name any Label Studio; without them it is the one that `rgqa annotate serve` runs.
"""

from __future__ import annotations

import os

from annotation.client.label_studio import LabelStudioClient
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DATA_DIR
from pipeline.core.records import Record

LABEL_STUDIO_DIR = DATA_DIR / "label-studio"
SECRETS_FILE = LABEL_STUDIO_DIR / "secrets.json"


class Secrets(Record):
    """Of the server that `serve` runs: its address, and how the administrator logs in. Annotators have links
    (`annotation.server.accounts`)."""

    url: str
    email: str
    password: str
    token: str = ""


def read_secrets() -> Secrets:
    """Raises UserError if `serve` has not made them yet, or others may read them."""
    if not SECRETS_FILE.exists():
        raise UserError(
            "no Label Studio is known: start one with `rgqa annotate serve`, or set LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN"
        )
    if SECRETS_FILE.stat().st_mode & 0o077:
        raise UserError(f"{SECRETS_FILE}: others on this machine may read it; run: chmod 600 {SECRETS_FILE}")
    return read_json(SECRETS_FILE, Secrets)


def connect() -> LabelStudioClient:
    """The server on which the tasks lie.

    Raises:
        UserError: no server is known, or half of the environment is set.
    """
    url, token = os.environ.get("LABEL_STUDIO_URL"), os.environ.get("LABEL_STUDIO_TOKEN")
    if url and token:
        return LabelStudioClient(url.rstrip("/"), token)
    if url or token:
        raise UserError("set both LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN, or neither")
    secrets = read_secrets()
    return LabelStudioClient(secrets.url, secrets.token, is_managed=True)
