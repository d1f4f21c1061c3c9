"""`rgqa annotate invite`: people join and leave, and the links that let them in. The administrator's account of our own server.

A link is worked out of the server's key; the account behind it is made when it is first opened.
"""

from __future__ import annotations

import os
import re
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
from annotation.study.private_files import write_private
from annotation.study.roster import Annotator, enroll, read_roster, write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.folder_lock import lock_folder
from pipeline.core.paths import DatasetFolders

ADMIN_EMAIL = "admin@rgqa.local"
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,59}")


def update_roster(
    names: Sequence[str], remove: bool = False, open_link: bool = False, adjudicator: bool = False
) -> None:
    """Let people join (or come back), or leave. The same twice changes nothing.

    Args:
        leave: they are asked no more, and their links open nothing; what they judged stays.
        link: let volunteers come without being named, by one address.
        expert: they get what stays doubtful alone, and their word decides.

    Raises:
        UserError: lists every name that cannot be, or that is not in the roster when it should leave.
    """
    folders = DatasetFolders()
    with lock_folder(folders.study):  # a push or pull may put volunteers into the roster
        roster = remove_members(folders, names) if remove else add_members(folders, names, adjudicator)
    chosen = [person for person in roster if person.name in names]
    if url := os.environ.get("LABEL_STUDIO_URL"):
        print(f"invite: accounts on {url} are made there by hand, with these addresses:")
        print("\n".join(f"  {person.name}: {person.email}" for person in chosen))
        return
    if open_link:
        open_link_file(folders).touch()
    if SECRETS_FILE.exists():
        print("\n".join(format_links(folders, chosen)))
    if process.find_running_server():
        push_tasks()
    else:
        print("invite: next: rgqa annotate serve   (prints everybody's link)")


def format_links(folders: DatasetFolders, people: Iterable[Annotator]) -> list[str]:
    """How people come to their tasks, one a line; then volunteers, if they may come."""
    lines = [
        f"  {person.name} ({person.pseudonym}): {make_link(person) if person.is_active else 'left'}"
        for person in people
    ]
    if open_link_file(folders).exists():
        secret = derive_secret(environment.ensure_secret_key(), OPEN_LINK_PREFIX + folders.dataset)
        lines.append(f"  volunteers: {read_secrets().url}/desk/join/{secret}")
    return lines


def make_link(person: Annotator) -> str:
    """The address that lets somebody in, and nobody else should know."""
    secret = derive_annotator_secret(environment.ensure_secret_key(), person.email.lower(), person.pseudonym)
    return f"{read_secrets().url}/desk/in/{secret}"


def add_members(folders: DatasetFolders, names: Sequence[str], adjudicator: bool = False) -> list[Annotator]:
    """Put people into the roster, each with the next pseudonym; those who are there come back."""
    problems = Problems("invite")
    rule = "a name has letters, digits, dots and dashes, 60 at most, and begins with a letter or digit"
    for name in names:
        if not NAME_PATTERN.fullmatch(name):
            problems.add(repr(name), rule)
    problems.raise_if_any()
    there = {person.name: person.email for person in read_roster(folders)}
    people = {there.get(name, f"{name.lower()}@rgqa.local"): name for name in names}
    return enroll(folders, people, adjudicator)


def remove_members(folders: DatasetFolders, names: Sequence[str]) -> list[Annotator]:
    """Mark people as left; return the roster. Nothing is deleted: pseudonyms and verdicts stay."""
    roster = {person.name: person for person in read_roster(folders)}
    if unknown := [name for name in names if name not in roster]:
        raise UserError(f"not in the roster: {', '.join(unknown)}; there are {', '.join(roster) or 'none'}")
    roster |= {name: msgspec.structs.replace(roster[name], is_active=False) for name in names}
    write_roster(folders, list(roster.values()))
    return list(roster.values())


def ensure_database(python: Path, port: int) -> Secrets:
    """Bring the database up to date, with an administrator in it; return how they log in. A kill before it is written down is
    mended by the next run.

    Args:
        python: Label Studio's.
        port: of the server; kept in secrets.json.
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
        "Label Studio could not make its database:",
        env=environment.build_environment_variables(),
        input=msgspec.json.encode(known),
        umask=0o077,
    )
    secrets = msgspec.structs.replace(known, url=f"http://127.0.0.1:{port}", token=token.decode())
    write_private(SECRETS_FILE, secrets)
    return secrets
