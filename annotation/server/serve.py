"""`rgqa annotate serve`: a Label Studio of our own, from nothing to tasks on the annotators' desks."""

from __future__ import annotations

import os
from collections.abc import Sequence

from annotation.client.credentials import SECRETS, Secrets, read_secrets
from annotation.client.push import push
from annotation.server import accounts, environment, process
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders


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
    roster = read_roster(folders)
    if not roster and not (SECRETS.exists() and folders.dataset in read_secrets().doors):
        raise UserError(
            'nobody annotates yet; run: rgqa annotate invite NAME ... --contact "who can be asked, with an address"'
        )
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
    links = {name for name, login in secrets.annotators.items() if login.link} if secrets else set()
    whole = {person.name for person in roster if not person.volunteer} <= links
    return secrets if secrets and secrets.url == url and whole else None


def summary(secrets: Secrets, roster: Sequence[Annotator]) -> list[str]:
    """What to open, and as whom."""
    lines = ["", "Each opens their own link (one browser profile per person):"]
    lines += [
        f"  {person.name}: {secrets.entry(person.name) if person.active else 'left'}" for person in roster
    ]
    lines.append(f"Label Studio: {secrets.url}   (for you: {secrets.admin.email}, password in {SECRETS})")
    return [*lines, "Next: rgqa annotate status, rgqa annotate pull; rgqa annotate serve --stop ends it."]
