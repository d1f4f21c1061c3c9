"""Start our own Label Studio server and push the tasks, for `rgqa annotate serve`."""

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
    """Install what is missing, start the server if needed, push the tasks, and print the links.

    Args:
        port: Port on 127.0.0.1.

    Raises:
        UserError: Another Label Studio is set in the environment, or a step fails. Completed steps are kept.
    """
    if os.environ.get("LABEL_STUDIO_URL") or os.environ.get("LABEL_STUDIO_TOKEN"):
        raise UserError(
            "LABEL_STUDIO_URL or LABEL_STUDIO_TOKEN is set to another Label Studio. Unset both to run one here, or use the other one "
            "with: rgqa annotate push"
        )
    folders = DatasetFolders()
    read_active_roster(folders)
    with lock_folder(LABEL_STUDIO_DIR):
        python, server = environment.ensure_environment(), process.find_running_server()
        if server is None:
            process.ensure_free_port(port)
            print("serve: preparing the database", flush=True)
            accounts.ensure_database(python, port)
            process.start_server(python, port)
        else:
            move = f" (not on port {port}; to move it, first run rgqa annotate serve --stop)" * (
                server.port != port
            )
            print(f"serve: Label Studio is already running on {server.url}{move}", flush=True)
            if not SECRETS_FILE.exists():
                accounts.ensure_database(python, server.port)
    try:
        push_tasks()
    finally:
        print("\n".join(format_summary(folders)))


def stop_server() -> None:
    """Stop the server. Accounts, tasks and answers are kept."""
    print("serve: stopped" if process.stop_server() else "serve: our Label Studio is not running")


def format_summary(folders: DatasetFolders) -> list[str]:
    """Return lines with all links and the next commands."""
    secrets = read_secrets()
    return [
        "",
        "Each annotator opens their personal link (use one browser profile per person):",
        *accounts.format_links(folders, read_roster(folders)),
        f"Label Studio: {secrets.url}/user/login/   (log in as {secrets.email}, password in {SECRETS_FILE})",
        "Next: rgqa annotate status, rgqa annotate pull. To stop the server: rgqa annotate serve --stop",
    ]
