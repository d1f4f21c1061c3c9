"""`rgqa annotate serve`: a Label Studio of our own, from nothing to tasks in the annotators' queues."""

from __future__ import annotations

import os
from collections.abc import Sequence

from annotation.client.invite import join
from annotation.client.secrets import HOME, Secrets, read_secrets
from annotation.server import accounts, environment, process
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders

FIRST = "annotator1"


def serve(port: int) -> None:
    """Set up what is missing, start the server if none runs, push the tasks, and say what to open.

    Raises:
        UserError: another Label Studio is set in the environment, or a step cannot be done; nothing is lost by it.
    """
    refuse_foreign()
    folders = Folders()
    python = environment.ensure()
    if not read_roster(folders):
        join(folders, [FIRST])
    roster = read_roster(folders)
    server = process.running()
    if server is None:
        process.free(port)
        print("serve: the database and the accounts", flush=True)
        secrets = accounts.ensure(python, roster, port)
        with process.alone():
            server = process.running() or process.start(python, port)
    else:
        elsewhere = (
            "" if server.port == port else f" (not on {port}: to move it, rgqa annotate serve --stop first)"
        )
        print(f"serve: Label Studio is running on {server.url}{elsewhere}", flush=True)
        secrets = missing_accounts(roster, server.port) or accounts.ensure(python, roster, server.port)
    try:
        from annotation.client.push import push

        push()
    finally:
        print("\n".join(summary(secrets, roster)))


def stop() -> None:
    """Stop the server; accounts, tasks and answers stay."""
    print("serve: stopped" if process.stop() else "serve: no Label Studio of ours is running")


def refuse_foreign() -> None:
    """Raises UserError if the environment names a Label Studio that is not ours."""
    if os.environ.get("LABEL_STUDIO_URL") or os.environ.get("LABEL_STUDIO_TOKEN"):
        raise UserError(
            "LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN name another Label Studio: unset them to run one here, "
            "or use that one with: rgqa annotate push"
        )


def missing_accounts(roster: Sequence[Annotator], port: int) -> Secrets | None:
    """The secrets if they hold everybody of the roster and this port, else None."""
    if not (HOME / "secrets.json").exists():
        return None
    secrets = read_secrets()
    whole = secrets.url.endswith(f":{port}") and all(person.name in secrets.annotators for person in roster)
    return secrets if whole else None


def summary(secrets: Secrets, roster: Sequence[Annotator]) -> list[str]:
    """What to open, and as whom."""
    lines = ["", f"Label Studio: {secrets.url}   (log in there, one browser profile per person)"]
    for person in roster:
        login = secrets.annotators[person.name]
        left = "" if person.active else "   (left)"
        lines.append(f"  {person.name}: {login.email}   password {login.password}{left}")
    lines.append(f"  administrator: {secrets.admin.email}   password in {HOME / 'secrets.json'}")
    return [*lines, "Next: rgqa annotate status, rgqa annotate pull; rgqa annotate serve --stop ends it."]
