"""Add people to the study or remove them, create their links, and create the administrator's account, for
`rgqa annotate invite`.

The link of a person is derived from the secret key of the server. The account is created when the link is
first opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from secrets import token_urlsafe

import msgspec

from annotation.client.credentials import LABEL_STUDIO_DIR, SECRETS_FILE, Secrets, read_secrets
from annotation.client.push import push_tasks
from annotation.client.volunteers import open_link_file
from annotation.server import environment, process
from annotation.server.label_studio_app.access_links import (
    OPEN_LINK_PREFIX,
    derive_annotator_secret,
    derive_secret,
)
from annotation.study.names import find_name_problem
from annotation.study.private_files import write_private
from annotation.study.roster import Annotator, enroll, read_roster, write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.folder_lock import lock_folder
from pipeline.core.paths import DatasetFolders

ADMIN_EMAIL = "admin@rgqa.local"


def update_roster(
    names: Sequence[str], remove: bool = False, open_link: bool = False, adjudicator: bool = False
) -> None:
    """Add people to the study, add them again after a removal, or remove them.

    Repeating a call changes nothing.

    Args:
        names: Names of the people.
        remove: Remove the people. They get no more tasks, and their links become invalid. Their verdicts are
            kept.
        open_link: Open one sign-up link for volunteers.
        adjudicator: Add the people as adjudicators, who judge only doubtful candidates, and whose verdicts
            decide.

    Raises:
        UserError: A name is invalid, or a person to be removed is not in the roster. All such names are
            listed.
    """
    folders = DatasetFolders()
    # A push or pull at the same time can add volunteers to the roster.
    with lock_folder(folders.study):
        roster = remove_members(folders, names) if remove else add_members(folders, names, adjudicator)
    selected = [person for person in roster if person.name in names]
    if url := os.environ.get("LABEL_STUDIO_URL"):
        print(f"invite: Next, create accounts on {url} by hand, with these e-mail addresses:")
        print("\n".join(f"  {person.name}: {person.email}" for person in selected))
        return
    if open_link:
        open_link_file(folders).touch()
    if SECRETS_FILE.exists():
        print("\n".join(format_links(folders, selected)))
    if process.find_running_server():
        push_tasks()
    else:
        print("invite: Next, run `rgqa annotate serve`. It prints all links.")


def format_links(folders: DatasetFolders, people: Iterable[Annotator]) -> list[str]:
    """Return one line with the link of each person, and a line with the link for volunteers if the sign-up is
    open.
    """
    lines = [
        f"  {person.name} ({person.pseudonym}): {make_link(person) if person.is_active else 'removed'}"
        for person in people
    ]
    if open_link_file(folders).exists():
        secret = derive_secret(environment.ensure_secret_key(), OPEN_LINK_PREFIX + folders.dataset)
        lines.append(f"  volunteers: {read_secrets().url}/annotate/join/{secret}")
    return lines


def make_link(person: Annotator) -> str:
    """Return the personal login link of a person. The link must be kept secret."""
    secret = derive_annotator_secret(environment.ensure_secret_key(), person.email.lower(), person.pseudonym)
    return f"{read_secrets().url}/annotate/open/{secret}"


def add_members(folders: DatasetFolders, names: Sequence[str], adjudicator: bool = False) -> list[Annotator]:
    """Add people to the roster, or mark them as active again. Return the roster.

    Raises:
        UserError: A name is invalid. All such names are listed.
    """
    problems = Problems("invite")
    for name in names:
        if problem := find_name_problem(name):
            problems.add(repr(name), problem)
    problems.raise_if_any()
    emails = {person.name: person.email for person in read_roster(folders)}
    people = {emails.get(name, f"{name.lower()}@rgqa.local"): name for name in names}
    return enroll(folders, people, adjudicator)


def remove_members(folders: DatasetFolders, names: Sequence[str]) -> list[Annotator]:
    """Mark people as removed and return the roster. Pseudonyms and verdicts are kept.

    Raises:
        UserError: A person is not in the roster.
    """
    roster = {person.name: person for person in read_roster(folders)}
    if unknown := [name for name in names if name not in roster]:
        raise UserError(
            f"not in the roster: {', '.join(unknown)}. The roster has: {', '.join(roster) or 'nobody'}"
        )
    roster |= {name: msgspec.structs.replace(roster[name], is_active=False) for name in names}
    write_roster(folders, list(roster.values()))
    return list(roster.values())


def ensure_database(python: Path, port: int) -> Secrets:
    """Migrate the database and create the administrator. An interrupted run can be repeated.

    Args:
        python: Python interpreter of Label Studio's environment.
        port: Port of the server.

    Returns:
        The URL and the administrator's login, which are stored in secrets.json.
    """
    LABEL_STUDIO_DIR.mkdir(parents=True, exist_ok=True)
    LABEL_STUDIO_DIR.chmod(0o700)
    environment.record_database()
    environment.ensure_secret_key()
    known = (
        read_secrets()
        if SECRETS_FILE.exists()
        else Secrets(url="", email=ADMIN_EMAIL, password=token_urlsafe(18))
    )
    token = environment.run_command(
        [str(python.absolute()), "-m", environment.MAIN_MODULE, "database"],
        "Label Studio could not create its database:",
        env=environment.build_environment_variables(),
        input=msgspec.json.encode(known),
        umask=0o077,
    )
    secrets = msgspec.structs.replace(known, url=f"http://127.0.0.1:{port}", token=token.decode())
    write_private(SECRETS_FILE, secrets)
    return secrets
