"""The accounts on our server: what the roster wants is made, and secrets.json learns the passwords and tokens.

A kill between the two is mended by the next run, which sets a new password and makes a new token.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from secrets import token_urlsafe

import msgspec

from annotation.client.credentials import SECRETS, Login, Secrets, read_secrets, write_secrets
from annotation.client.task_screen import HOTKEYS
from annotation.server import process
from annotation.study.roster import Annotator

ADMIN = "admin@rgqa.local"


def ensure(python: Path, annotators: Sequence[Annotator], port: int) -> Secrets:
    """Make the accounts that are missing and return all logins. Accounts of other data sets' annotators stay.

    Args:
        python: Label Studio's.
        port: of the server; kept in secrets.json.
    """
    url = f"http://127.0.0.1:{port}"
    with process.alone():
        process.keep_database()
        before = read_secrets() if SECRETS.exists() else None
        secrets = before or Secrets(url=url, admin=Login(email=ADMIN, password=token_urlsafe(18)))
        wanted = {}
        for person in annotators:
            login = secrets.annotators.get(person.name) or Login(
                email=person.email, password=token_urlsafe(9)
            )
            wanted[person.name] = {**msgspec.to_builtins(login), "active": person.active, "hotkeys": HOTKEYS}
        question = msgspec.json.encode({"admin": secrets.admin, "annotators": wanted})
        answer = msgspec.json.decode(process.ask(python, "accounts", question))
        made = msgspec.convert({"url": url, **answer}, Secrets)
        secrets = msgspec.structs.replace(made, annotators=secrets.annotators | made.annotators)
        if secrets != before:
            write_secrets(secrets)
        return secrets
