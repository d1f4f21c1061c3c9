"""Add volunteers who signed up through the open link to the roster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotation.client.label_studio import LabelStudioClient
from annotation.study.roster import enroll, read_roster
from pipeline.core.errors import format_count
from pipeline.core.paths import DatasetFolders

# Numbers of finished tasks in the report of the server.
FINISHED_TASKS = ("num_training_answered", "num_test_answered", "num_judged")


def open_link_file(folders: DatasetFolders) -> Path:
    """Return the path of the file whose existence opens the sign-up for volunteers."""
    return folders.study / "volunteers.open"


def sync_volunteers(folders: DatasetFolders, server: LabelStudioClient, also: str = "") -> dict[str, Any]:
    """Add new volunteers to the roster, and return the progress report of our own server.

    A volunteer is added after the first finished task. Until then the server may give the seat to others.

    Call this while holding `lock_folder(folders.study)`, because the roster is written.

    Args:
        folders: The folders of the data set.
        server: The server.
        also: Name of a volunteer who is added without a finished task, too.

    Returns:
        The report; empty for other servers and before the first push.
    """
    if not server.is_managed:
        return {}
    report = server.get_report().get(folders.dataset, {})
    known = {person.email for person in read_roster(folders)}
    volunteers = {
        row["email"]: row["name"]
        for row in report.get("annotators", ())
        if row["name"] and (row["name"] == also or any(row[name] for name in FINISHED_TASKS))
    }
    new = {email: name for email, name in volunteers.items() if email not in known}
    if new:
        enroll(folders, new)
        print(
            f"{format_count(len(new), 'volunteer')} signed up through the open link: {', '.join(new.values())}"
        )
    return report
