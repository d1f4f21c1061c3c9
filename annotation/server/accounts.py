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

from annotation.client.credentials import HOME, SECRETS, Secrets, read_secrets
from annotation.client.push import push
from annotation.client.volunteers import door
from annotation.server import environment, process
from annotation.server.label_studio_app.access_links import VOLUNTEERS, link_of, secret_of
from annotation.study.private_files import write_private
from annotation.study.roster import Annotator, enrol, read_roster, write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.folder_lock import alone
from pipeline.core.paths import Folders

ADMIN = "admin@rgqa.local"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,59}")


def invite(names: Sequence[str], leave: bool = False, link: bool = False, expert: bool = False) -> None:
    """Let people join (or come back), or leave. The same twice changes nothing.

    Args:
        leave: they are asked no more, and their links open nothing; what they judged stays.
        link: let volunteers come without being named, by one address.
        expert: they get what stays doubtful alone, and their word decides.

    Raises:
        UserError: lists every name that cannot be, or that is not in the roster when it should leave.
    """
    folders = Folders()
    with alone(folders.study):  # a push or pull may put volunteers into the roster
        roster = part(folders, names) if leave else join(folders, names, expert)
    chosen = [person for person in roster if person.name in names]
    if url := os.environ.get("LABEL_STUDIO_URL"):
        print(f"invite: accounts on {url} are made there by hand, with these addresses:")
        print("\n".join(f"  {person.name}: {person.email}" for person in chosen))
        return
    if link:
        door(folders).touch()
    if SECRETS.exists():
        print("\n".join(entries(folders, chosen)))
    if process.running():
        push()
    else:
        print("invite: next: rgqa annotate serve   (prints everybody's link)")


def entries(folders: Folders, people: Iterable[Annotator]) -> list[str]:
    """How people come to their tasks, one a line; then volunteers, if they may come."""
    lines = [
        f"  {person.name} ({person.pseudonym}): {link(person) if person.active else 'left'}"
        for person in people
    ]
    if door(folders).exists():
        secret = secret_of(environment.key(), VOLUNTEERS + folders.dataset)
        lines.append(f"  volunteers: {read_secrets().url}/desk/join/{secret}")
    return lines


def link(person: Annotator) -> str:
    """The address that lets somebody in, and nobody else should know."""
    secret = link_of(environment.key(), person.email.lower(), person.pseudonym)
    return f"{read_secrets().url}/desk/in/{secret}"


def join(folders: Folders, names: Sequence[str], expert: bool = False) -> list[Annotator]:
    """Put people into the roster, each with the next pseudonym; those who are there come back."""
    problems = Problems("invite")
    rule = "a name has letters, digits, dots and dashes, 60 at most, and begins with a letter or digit"
    for name in names:
        if not NAME.fullmatch(name):
            problems.add(repr(name), rule)
    problems.raise_if_any()
    there = {person.name: person.email for person in read_roster(folders)}
    people = {there.get(name, f"{name.lower()}@rgqa.local"): name for name in names}
    return enrol(folders, people, expert)


def part(folders: Folders, names: Sequence[str]) -> list[Annotator]:
    """Mark people as left; return the roster. Nothing is deleted: pseudonyms and verdicts stay."""
    roster = {person.name: person for person in read_roster(folders)}
    if unknown := [name for name in names if name not in roster]:
        raise UserError(f"not in the roster: {', '.join(unknown)}; there are {', '.join(roster) or 'none'}")
    roster |= {name: msgspec.structs.replace(roster[name], active=False) for name in names}
    write_roster(folders, list(roster.values()))
    return list(roster.values())


def ensure(python: Path, port: int) -> Secrets:
    """Bring the database up to date, with an administrator in it; return how they log in. A kill before it is written down is
    mended by the next run.

    Args:
        python: Label Studio's.
        port: of the server; kept in secrets.json.
    """
    HOME.mkdir(parents=True, exist_ok=True)
    HOME.chmod(0o700)
    environment.keep_database()
    environment.key()
    known = read_secrets() if SECRETS.exists() else Secrets(url="", email=ADMIN, password=token_urlsafe(18))
    token = environment.call(
        [str(python.absolute()), "-m", environment.INSIDE, "database"],
        "Label Studio could not make its database:",
        env=environment.variables(),
        input=msgspec.json.encode(known),
        umask=0o077,
    )
    secrets = msgspec.structs.replace(known, url=f"http://127.0.0.1:{port}", token=token.decode())
    write_private(SECRETS, secrets)
    return secrets
