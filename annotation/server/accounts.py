"""`rgqa annotate invite`: annotators join and leave. On our own server each gets an account and an organisation of their own.

What the roster wants is made in Label Studio, then secrets.json learns the passwords and tokens. A kill between the two is
mended by the next run, which sets a new password and makes a new token.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from secrets import token_urlsafe

import msgspec

from annotation.client.credentials import SECRETS, Login, Secrets, read_secrets, write_secrets
from annotation.client.task_screen import HOTKEYS
from annotation.server import environment, process
from annotation.study.roster import Annotator, read_roster, write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.paths import Folders

ADMIN = "admin@rgqa.local"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


def invite(names: Sequence[str], share: float = 1.0, leave: bool = False) -> None:
    """Let annotators join (or come back), change their share, or leave. The same twice changes nothing.

    Args:
        share: how much they take of the work, beside others' 1; greater than 0.
        leave: they are asked no more and cannot log in; what they judged stays.

    Raises:
        UserError: lists every name that cannot be, or that is not in the roster when it should leave.
    """
    folders = Folders()
    roster = part(folders, names) if leave else join(folders, names, share)
    chosen = [person for person in roster if person.name in names]
    if url := os.environ.get("LABEL_STUDIO_URL"):
        print(
            f"invite: the roster has {sum(person.active for person in roster)} active annotators; accounts on "
            f"{url} are made there by hand, with these addresses:"
        )
        print("\n".join(f"  {person.name}: {person.email}" for person in chosen))
        return
    server = process.running()
    secrets = ensure(environment.ensure(), chosen, server.port if server else 8080)
    for person in chosen:
        login = secrets.annotators[person.name]
        account = f"{secrets.url}   {login.email}   password {login.password}"
        print(
            f"invite: {person.name} ({person.pseudonym}): {'left; the account is closed' if leave else account}"
        )
    print(f"invite: next: rgqa annotate {'push' if server else 'serve'}")


def join(folders: Folders, names: Sequence[str], share: float = 1.0) -> list[Annotator]:
    """Put annotators into the roster, each with the next pseudonym; those who are there come back or change share."""
    problems = Problems("invite")
    if not share > 0:
        problems.add("--share", f"must be greater than 0, got {share}")
    for name in names:
        if not NAME.fullmatch(name):
            problems.add(
                repr(name), "a name has letters, digits, dots and dashes, and begins with a letter or digit"
            )
    problems.raise_if_any()
    roster = {person.name: person for person in read_roster(folders)}
    for name in names:
        known = roster.get(name) or Annotator(
            name=name, pseudonym=f"annotator-{len(roster) + 1:02d}", email=f"{name.lower()}@rgqa.local"
        )
        roster[name] = msgspec.structs.replace(known, share=share, active=True)
    write_roster(folders, list(roster.values()))
    return list(roster.values())


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
        wanted = {}
        for person in annotators:
            new = Login(email=person.email, password=token_urlsafe(9))
            login = msgspec.to_builtins(known.annotators.get(person.name, new))
            wanted[person.name] = login | {"active": person.active, "hotkeys": HOTKEYS}
        answer = environment.call(
            [str(python.absolute()), "-m", environment.INSIDE, "accounts"],
            "Label Studio could not make the accounts:",
            env=environment.variables(),
            input=msgspec.json.encode({"admin": known.admin, "annotators": wanted}),
            umask=0o077,
        )
        made = msgspec.convert({"url": url, **msgspec.json.decode(answer)}, Secrets)
        secrets = msgspec.structs.replace(made, annotators=known.annotators | made.annotators)
        if secrets != known:
            write_secrets(secrets)
        return secrets
