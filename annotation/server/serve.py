"""`rgqa annotate serve`: a Label Studio of our own, from nothing to tasks in the annotators' queues."""

from __future__ import annotations

import os
from collections.abc import Sequence

from annotation.client.credentials import SECRETS, Secrets, read_secrets
from annotation.client.push import push
from annotation.server import accounts, environment, process
from annotation.server.accounts import join
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders

FIRST = "annotator1"


def serve(port: int) -> None:
    """Set up what is missing, start the server if none runs, push the tasks, and say what to open.

    Raises:
        UserError: another Label Studio is set in the environment, or a step cannot be done; nothing is lost by it.
    """
    if os.environ.get("LABEL_STUDIO_URL") or os.environ.get("LABEL_STUDIO_TOKEN"):
        raise UserError(
            "LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN name another Label Studio: unset them to run one here, "
            "or use that one with: rgqa annotate push"
        )
    folders = Folders()
    python = environment.ensure()
    roster = read_roster(folders) or join(folders, [FIRST])
    server = process.running()
    if server is None:
        process.ensure_free(port)
        print("serve: the database and the accounts", flush=True)
        secrets = accounts.ensure(python, roster, port)
        with process.alone():
            if process.running() is None:
                process.start(python, port)
    else:
        move = (
            f" (not on {port}: to move it, rgqa annotate serve --stop first)" if server.port != port else ""
        )
        print(f"serve: Label Studio is running on {server.url}{move}", flush=True)
        secrets = complete_secrets(roster, server.url) or accounts.ensure(python, roster, server.port)
    try:
        push()
    finally:
        print("\n".join(summary(secrets, roster)))


def stop() -> None:
    """Stop the server; accounts, tasks and answers stay."""
    print("serve: stopped" if process.stop() else "serve: no Label Studio of ours is running")


def complete_secrets(roster: Sequence[Annotator], url: str) -> Secrets | None:
    """The secrets if they hold everybody of the roster and this address, else None."""
    secrets = read_secrets() if SECRETS.exists() else None
    whole = secrets and secrets.url == url and {person.name for person in roster} <= secrets.annotators.keys()
    return secrets if whole else None


def summary(secrets: Secrets, roster: Sequence[Annotator]) -> list[str]:
    """What to open, and as whom."""
    lines = ["", f"Label Studio: {secrets.url}   (log in there, one browser profile per person)"]
    for person in roster:
        login = secrets.annotators[person.name]
        left = "" if person.active else "   (left)"
        lines.append(f"  {person.name}: {login.email}   password {login.password}{left}")
    lines.append(f"  administrator: {secrets.admin.email}   password in {SECRETS}")
    return [*lines, "Next: rgqa annotate status, rgqa annotate pull; rgqa annotate serve --stop ends it."]
