"""`rgqa annotate serve`: a Label Studio of our own, from nothing to tasks on the annotators' desks."""

from __future__ import annotations

import os

from annotation.client.credentials import HOME, SECRETS, read_secrets
from annotation.client.push import people_of, push
from annotation.server import accounts, environment, process
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.folder_lock import alone
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
    people_of(folders)
    with alone(HOME):
        python, server = environment.ensure(), process.running()
        if server is None:
            process.ensure_free(port)
            print("serve: the database", flush=True)
            accounts.ensure(python, port)
            process.start(python, port)
        else:
            move = f" (not on {port}: to move it, rgqa annotate serve --stop first)" * (server.port != port)
            print(f"serve: Label Studio is running on {server.url}{move}", flush=True)
            if not SECRETS.exists():
                accounts.ensure(python, server.port)
    try:
        push()
    finally:
        print("\n".join(summary(folders)))


def stop() -> None:
    """Stop the server; accounts, tasks and answers stay."""
    print("serve: stopped" if process.stop() else "serve: no Label Studio of ours is running")


def summary(folders: Folders) -> list[str]:
    """What to open, and as whom."""
    secrets = read_secrets()
    return [
        "",
        "Each opens their own link (one browser profile per person):",
        *accounts.entries(folders, read_roster(folders)),
        f"Label Studio: {secrets.url}/user/login/   (for you: {secrets.email}, password in {SECRETS})",
        "Next: rgqa annotate status, rgqa annotate pull; rgqa annotate serve --stop ends it.",
    ]
