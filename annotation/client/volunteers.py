"""Who came by the open link gets into the roster, with a pseudonym like everybody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotation.client.label_studio import LabelStudioClient
from annotation.study.roster import enroll, read_roster
from pipeline.core.paths import DatasetFolders


def open_link_file(folders: DatasetFolders) -> Path:
    """A file that lets volunteers in while it is there."""
    return folders.study / "volunteers.open"


def sync_volunteers(folders: DatasetFolders, server: LabelStudioClient) -> dict[str, Any]:
    """What our own server tells of the data set (empty before the first push), and new volunteers into the roster: to be called
    in `alone(folders.study)`, as it is written."""
    if not server.is_managed:
        return {}
    report = server.get_report().get(folders.dataset, {})
    known = {person.email for person in read_roster(folders)}
    came = {row["email"]: row["name"] for row in report.get("people", ()) if row["name"]}
    new = {email: name for email, name in came.items() if email not in known}
    if new:
        enroll(folders, new)
        print(f"{len(new)} volunteers came by the open link: {', '.join(new.values())}")
    return report
