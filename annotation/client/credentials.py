"""Read the URL and the token of the server from the environment or from `data/label-studio/secrets.json`.

The environment variables LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN select any Label Studio server. Without
these variables, the server that `rgqa annotate serve` runs is used. secrets.json has mode 600 and is ignored
by Git.
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
    """URL and administrator login of the server that `rgqa annotate serve` runs.

    Annotators need no password, but a personal link.
    """

    url: str
    email: str
    password: str
    token: str = ""


def read_secrets() -> Secrets:
    """Read the login of our own server.

    Raises:
        UserError: The file does not exist yet, or other users may read it.
    """
    if not SECRETS_FILE.exists():
        raise UserError(
            "no Label Studio is configured. Start one with `rgqa annotate serve`, or set LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN"
        )
    if SECRETS_FILE.stat().st_mode & 0o077:
        raise UserError(f"other users of this machine may read {SECRETS_FILE}. Run: chmod 600 {SECRETS_FILE}")
    return read_json(SECRETS_FILE, Secrets)


def connect() -> LabelStudioClient:
    """Return a client for the configured server. The client connects on first use.

    Raises:
        UserError: No server is configured, or only one of the two environment variables is set.
    """
    url, token = os.environ.get("LABEL_STUDIO_URL"), os.environ.get("LABEL_STUDIO_TOKEN")
    if url and token:
        return LabelStudioClient(url.rstrip("/"), token)
    if url or token:
        raise UserError(
            "only one of LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN is set. Set both of them, or neither"
        )
    secrets = read_secrets()
    return LabelStudioClient(secrets.url, secrets.token, is_managed=True)
