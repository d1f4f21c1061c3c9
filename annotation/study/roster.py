"""Manage the roster of a study, which lists its members and their pseudonyms.

The roster is `data/<data set>/study/roster.json`. The file contains names, so Git ignores it and only its
owner can read it (mode 600). Everywhere else, people appear under the pseudonym that they got when they
joined the study.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain, count
from typing import Annotated

import msgspec

from annotation.study.exports import ADJUDICATOR_PREFIX, PULLED_FILENAME, read_pulled
from annotation.study.names import rename_reserved
from annotation.study.private_files import write_private
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Record

VOLUNTEER_EMAIL_SUFFIX = "@volunteer.rgqa.local"


class Annotator(Record):
    """A member of a study.

    Attributes:
        name: The name that the study leader uses: letters, digits, dots and dashes.
        pseudonym: `annotator-01`, or `adjudicator-01` for adjudicators, numbered in the order of joining.
            Verdicts and releases contain only the pseudonym.
        email: The e-mail address of the account.
        is_active: False after the person was removed. The verdicts of the person are kept.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")]
    pseudonym: str
    email: str
    is_active: bool = True

    @property
    def is_volunteer(self) -> bool:
        """Return whether the person signed up through the open link."""
        return self.email.endswith(VOLUNTEER_EMAIL_SUFFIX)

    @property
    def is_adjudicator(self) -> bool:
        """Return whether the person is an adjudicator, who judges doubtful candidates and whose verdicts
        override the votes.
        """
        return self.pseudonym.startswith(ADJUDICATOR_PREFIX)


def read_roster(folders: DatasetFolders) -> list[Annotator]:
    """Return the members in the order of joining; an empty list before the first invitation.

    Names that look like pseudonyms, which earlier versions allowed, are replaced (`rename_reserved`).

    Raises:
        UserError: The file is damaged, or a name, pseudonym or e-mail address occurs twice.
    """
    path = folders.study / "roster.json"
    people = read_json(path, list[Annotator]) if path.exists() else []
    return _check_distinct(
        [msgspec.structs.replace(person, name=rename_reserved(person.name)) for person in people]
    )


def read_erased(folders: DatasetFolders) -> dict[str, str]:
    """Return pseudonym -> time of deletion (ISO 8601) for every person whose data was erased by `rgqa
    annotate erase`.
    """
    path = folders.study / "erased.json"
    return read_json(path, dict[str, str]) if path.exists() else {}


def collect_used_pseudonyms(folders: DatasetFolders) -> set[str]:
    """Return every pseudonym that must not be given to a new person.

    These are the pseudonyms in the roster, in erased.json, and in pulled.json, which can contain answers of
    people who are not in the roster.

    Raises:
        UserError: One of these files is damaged.
    """
    pulled = {str(row.completed_by) for row in read_pulled(folders.annotations / PULLED_FILENAME).values()}
    return pulled | read_erased(folders).keys() | {person.pseudonym for person in read_roster(folders)}


def make_next_pseudonym(used: Collection[str], prefix: str = "annotator-") -> str:
    """Return the next free pseudonym with a prefix.

    >>> make_next_pseudonym({"annotator-02", "annotator-1a2b3c4d", "adjudicator-07"})
    'annotator-03'
    """
    numbers = (name.removeprefix(prefix) for name in used if name.startswith(prefix))
    # Pseudonyms with eight digits are hashes of account numbers (`annotation.study.exports.make_pseudonym`),
    # not running numbers.
    return f"{prefix}{1 + max((int(number) for number in numbers if number.isdigit() and len(number) < 8), default=0):02d}"


def write_roster(folders: DatasetFolders, annotators: list[Annotator]) -> None:
    """Replace the roster.

    Raises:
        UserError: A name, pseudonym or e-mail address occurs twice.
    """
    write_private(folders.study / "roster.json", _check_distinct(annotators))


def enroll(folders: DatasetFolders, people: Mapping[str, str], adjudicator: bool = False) -> list[Annotator]:
    """Add people to the roster, each with the next free pseudonym, or mark them as active again.

    Args:
        folders: The folders of the data set.
        people: E-mail address -> name. A name that is already taken gets a number appended.
        adjudicator: Whether the people are adjudicators.

    Returns:
        The new roster.

    Raises:
        UserError: People are already in the roster in the other role. A person must not decide as an
            adjudicator about candidates that the same person voted on.
    """
    roster = {person.email: person for person in read_roster(folders)}
    if other := [
        roster[email].name
        for email in people
        if email in roster and roster[email].is_adjudicator != adjudicator
    ]:
        current, wanted = ("annotators", "adjudicator") if adjudicator else ("adjudicators", "annotator")
        raise UserError(
            f"already in the roster as {current}: {', '.join(other)}. Use another name for each {wanted}"
        )
    prefix, used = ADJUDICATOR_PREFIX if adjudicator else "annotator-", collect_used_pseudonyms(folders)
    for email, name in people.items():
        if email not in roster:
            taken = {person.name for person in roster.values()}
            name = rename_reserved(name)
            free = next(one for one in chain([name], (f"{name}-{i}" for i in count(2))) if one not in taken)
            roster[email] = Annotator(name=free, pseudonym=make_next_pseudonym(used, prefix), email=email)
            used.add(roster[email].pseudonym)
        roster[email] = msgspec.structs.replace(roster[email], is_active=True)
    write_roster(folders, list(roster.values()))
    return list(roster.values())


def _check_distinct(annotators: list[Annotator]) -> list[Annotator]:
    for field in ("name", "pseudonym", "email"):
        values = [getattr(annotator, field) for annotator in annotators]
        if twice := sorted({value for value in values if values.count(value) > 1}):
            raise UserError(f"{field} occurs more than once in the roster: {', '.join(twice)}")
    return annotators
