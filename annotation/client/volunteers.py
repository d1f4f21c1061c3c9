"""Who came by the open link gets into the roster, with a pseudonym like everybody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotation.client.label_studio import LabelStudio
from annotation.study.roster import enrol, read_roster
from pipeline.core.paths import Folders


def door(folders: Folders) -> Path:
    """A file that lets volunteers in while it is there."""
    return folders.study / "volunteers.open"


def welcome(folders: Folders, server: LabelStudio) -> dict[str, Any]:
    """What our own server tells of the data set (empty before the first push), and new volunteers into the roster: to be called
    in `alone(folders.study)`, as it is written."""
    if not server.own:
        return {}
    report = server.report().get(folders.dataset, {})
    known = {person.email for person in read_roster(folders)}
    came = {row["email"]: row["name"] for row in report.get("people", ()) if row["name"]}
    new = {email: name for email, name in came.items() if email not in known}
    if new:
        enrol(folders, new)
        print(f"{len(new)} volunteers came by the open link: {', '.join(new.values())}")
    return report
