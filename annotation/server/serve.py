"""`rgqa annotate serve`: a Label Studio of our own, from nothing to tasks on the annotators' desks."""

from __future__ import annotations

import os

from annotation.client.credentials import LABEL_STUDIO_DIR, SECRETS_FILE, read_secrets
from annotation.client.push import push_tasks, read_active_roster
from annotation.server import accounts, environment, process
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.folder_lock import lock_folder
from pipeline.core.paths import DatasetFolders


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
    folders = DatasetFolders()
    read_active_roster(folders)
    with lock_folder(LABEL_STUDIO_DIR):
        python, server = environment.ensure_environment(), process.find_running_server()
        if server is None:
            process.ensure_free_port(port)
            print("serve: the database", flush=True)
            accounts.ensure_database(python, port)
            process.start_server(python, port)
        else:
            move = f" (not on {port}: to move it, rgqa annotate serve --stop first)" * (server.port != port)
            print(f"serve: Label Studio is running on {server.url}{move}", flush=True)
            if not SECRETS_FILE.exists():
                accounts.ensure_database(python, server.port)
    try:
        push_tasks()
    finally:
        print("\n".join(format_summary(folders)))


def stop_server() -> None:
    """Stop the server; accounts, tasks and answers stay."""
    print("serve: stopped" if process.stop_server() else "serve: no Label Studio of ours is running")


def format_summary(folders: DatasetFolders) -> list[str]:
    """What to open, and as whom."""
    secrets = read_secrets()
    return [
        "",
        "Each opens their own link (one browser profile per person):",
        *accounts.format_links(folders, read_roster(folders)),
        f"Label Studio: {secrets.url}/user/login/   (for you: {secrets.email}, password in {SECRETS_FILE})",
        "Next: rgqa annotate status, rgqa annotate pull; rgqa annotate serve --stop ends it.",
    ]
