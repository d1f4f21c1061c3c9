"""`rgqa annotate invite`: annotators join and leave. On our own server each gets an account, and a link that opens it.

What the roster wants is made in Label Studio, then secrets.json learns passwords and links. A kill between the two is
mended by the next run, which sets new ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from secrets import token_urlsafe

import msgspec

from annotation.client.credentials import SECRETS, Login, Secrets, read_secrets, write_secrets
from annotation.server import environment, process
from annotation.study.roster import Annotator, enrol, read_roster, write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.paths import Folders

ADMIN = "admin@rgqa.local"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


def invite(names: Sequence[str], leave: bool = False, link: bool = False) -> None:
    """Let annotators join (or come back), or leave. The same twice changes nothing.

    Args:
        leave: they are asked no more and cannot log in; what they judged stays.
        link: print an address by which volunteers come without being named.

    Raises:
        UserError: lists every name that cannot be, or that is not in the roster when it should leave.
    """
    folders = Folders()
    roster = part(folders, names) if leave else join(folders, names)
    chosen = [person for person in roster if person.name in names]
    if url := os.environ.get("LABEL_STUDIO_URL"):
        print(f"invite: accounts on {url} are made there by hand, with these addresses:")
        print("\n".join(f"  {person.name}: {person.email}" for person in chosen))
        return
    server = process.running()
    secrets = ensure(environment.ensure(), chosen, server.port if server else 8080)
    for person in chosen:
        said = secrets.entry(person.name) if person.active else "left; the account is closed"
        print(f"invite: {person.name} ({person.pseudonym}): {said}")
    if link:
        print(f"invite: for volunteers: {door(folders, secrets)}")
    print(f"invite: next: rgqa annotate {'push' if server else 'serve'}")


def door(folders: Folders, secrets: Secrets) -> str:
    """The address by which volunteers come to the data set, made if there is none; `push` tells the server."""
    if folders.dataset not in secrets.doors:
        doors = secrets.doors | {folders.dataset: token_urlsafe(32)}
        secrets = msgspec.structs.replace(secrets, doors=doors)
        write_secrets(secrets)
    return f"{secrets.url}/desk/join/{secrets.doors[folders.dataset]}"


def join(folders: Folders, names: Sequence[str]) -> list[Annotator]:
    """Put annotators into the roster, each with the next pseudonym; those who are there come back."""
    problems = Problems("invite")
    for name in names:
        if not NAME.fullmatch(name):
            problems.add(
                repr(name), "a name has letters, digits, dots and dashes, and begins with a letter or digit"
            )
    problems.raise_if_any()
    there = {person.name: person.email for person in read_roster(folders)}
    return enrol(folders, {there.get(name, f"{name.lower()}@rgqa.local"): name for name in names})


def part(folders: Folders, names: Sequence[str]) -> list[Annotator]:
    """Mark annotators as left; return the roster. Nothing is deleted: pseudonyms and verdicts stay."""
    roster = {person.name: person for person in read_roster(folders)}
    if unknown := [name for name in names if name not in roster]:
        raise UserError(f"not in the roster: {', '.join(unknown)}; there are {', '.join(roster) or 'none'}")
    roster |= {name: msgspec.structs.replace(roster[name], active=False) for name in names}
    write_roster(folders, list(roster.values()))
    return list(roster.values())


def ensure(python: Path, annotators: Sequence[Annotator], port: int) -> Secrets:
    """Make the accounts that are missing and return all logins. Accounts of other data sets' annotators stay.

    Args:
        python: Label Studio's.
        port: of the server; kept in secrets.json.
    """
    url = f"http://127.0.0.1:{port}"
    with process.alone():
        environment.keep_database()
        admin = Login(email=ADMIN, password=token_urlsafe(18))
        known = read_secrets() if SECRETS.exists() else Secrets(url=url, admin=admin)
        logins = {person.name: _login(person, known.annotators.get(person.name)) for person in annotators}
        active = {person.name: person.active for person in annotators}
        wanted = {
            "admin": known.admin,
            "annotators": [
                {**msgspec.to_builtins(login), "active": active[name]} for name, login in logins.items()
            ],
            "data_set": Folders().dataset,
        }
        token = environment.call(
            [str(python.absolute()), "-m", environment.INSIDE, "accounts"],
            "Label Studio could not make the accounts:",
            env=environment.variables(),
            input=msgspec.json.encode(wanted),
            umask=0o077,
        ).decode()
        secrets = msgspec.structs.replace(
            known,
            url=url,
            admin=msgspec.structs.replace(known.admin, token=token),
            annotators=known.annotators | logins,
        )
        if secrets != known or not SECRETS.exists():
            write_secrets(secrets)
        return secrets


def _login(person: Annotator, known: Login | None) -> Login:
    """What somebody logs in with: as it is known, or new. Volunteers have a link that they alone know."""
    if person.volunteer:
        return Login(email=person.email, password="")
    known = known or Login(email=person.email, password=token_urlsafe(9))
    return msgspec.structs.replace(known, token="", link=known.link or token_urlsafe(32))
