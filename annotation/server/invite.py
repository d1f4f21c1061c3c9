"""`rgqa annotate invite`: annotators join and leave. On our own server each gets an account and an organisation of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import msgspec

from annotation.server import accounts, environment, process
from annotation.study.roster import Annotator, read_roster, write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.paths import Folders

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
    part(folders, names) if leave else join(folders, names, share)
    roster = read_roster(folders)
    chosen = [person for person in roster if person.name in names]
    if url := os.environ.get("LABEL_STUDIO_URL"):
        print(
            f"invite: the roster has {sum(person.active for person in roster)} active annotators; accounts on "
            f"{url} are made there by hand, with these addresses:"
        )
        print("\n".join(f"  {person.name}: {person.email}" for person in chosen))
        return
    server = process.running()
    secrets = accounts.ensure(environment.ensure(), chosen, server.port if server else 8080)
    for person in chosen:
        login = secrets.annotators[person.name]
        said = f"{secrets.url}   {login.email}   password {login.password}"
        if leave:
            said = "left; the account is closed"
        print(f"invite: {person.name} ({person.pseudonym}): {said}")
    print(f"invite: next: rgqa annotate {'push' if server else 'serve'}")


def join(folders: Folders, names: Sequence[str], share: float = 1.0) -> None:
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


def part(folders: Folders, names: Sequence[str]) -> None:
    """Mark annotators as left. Nothing is deleted: pseudonyms and verdicts stay."""
    roster = read_roster(folders)
    there = [person.name for person in roster]
    if unknown := [name for name in names if name not in there]:
        raise UserError(f"not in the roster: {', '.join(unknown)}; there are {', '.join(there) or 'none'}")
    left = [
        msgspec.structs.replace(person, active=person.active and person.name not in names)
        for person in roster
    ]
    write_roster(folders, left)
