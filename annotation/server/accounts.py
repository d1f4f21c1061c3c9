"""The accounts on our server: what the roster wants is made, and secrets.json learns the passwords and tokens.

A kill between the two is mended by the next run, which sets a new password and makes a new token.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from secrets import token_urlsafe

import msgspec

from annotation.client.secrets import HOME, Login, Secrets, read_secrets, write_secrets
from annotation.client.task_screen import HOTKEYS
from annotation.server import process
from annotation.study.roster import Annotator

ADMIN = "admin@rgqa.local"


class Known(msgspec.Struct):
    """What Label Studio's Python answers."""

    admin: Login
    annotators: dict[str, Login]


def ensure(python: Path, annotators: Sequence[Annotator], port: int, home: Path = HOME) -> Secrets:
    """Make the accounts that are missing and return all logins. Accounts of other data sets' annotators stay.

    Args:
        python: Label Studio's.
        port: of the server; kept in secrets.json.
    """
    with process.alone(home):
        process.keep_database(home=home)
        path = home / "secrets.json"
        before = read_secrets(path) if path.exists() else None
        admin = before.admin if before else Login(email=ADMIN, password=token_urlsafe(18), token="")
        logins = dict(before.annotators) if before else {}
        wanted = {}
        for person in annotators:
            login = logins.get(person.name) or Login(email=person.email, password=token_urlsafe(9), token="")
            wanted[person.name] = {**msgspec.to_builtins(login), "active": person.active, "hotkeys": HOTKEYS}
        question = {"admin": msgspec.to_builtins(admin), "annotators": wanted}
        known = msgspec.json.decode(
            process.ask(python, "accounts", msgspec.json.encode(question), home), type=Known
        )
        secrets = Secrets(
            url=f"http://127.0.0.1:{port}", admin=known.admin, annotators=logins | known.annotators
        )
        if secrets != before:
            write_secrets(secrets, path)
        return secrets
