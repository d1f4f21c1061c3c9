"""Who annotates: the roster of a data set's study, `data/<data set>/study/roster.json` (git-ignored, mode 600: it holds names).

Everywhere else people appear under the pseudonym that they got when they joined.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain, count
from typing import Annotated

import msgspec

from annotation.study.exports import ADJUDICATOR_PREFIX, PULLED_FILENAME, read_pulled
from annotation.study.private_files import write_private
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Record

VOLUNTEER_EMAIL_SUFFIX = "@volunteer.rgqa.local"


class Annotator(Record):
    """Someone who judges.

    Attributes:
        name: what the study leader calls them; letters, digits, dots and dashes.
        pseudonym: `annotator-01`, or `expert-01` of those whose word decides, in the order of joining; what verdicts and
            releases carry.
        email: they log in with it.
        active: false once they left; what they judged stays.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")]
    pseudonym: str
    email: str
    is_active: bool = True

    @property
    def is_volunteer(self) -> bool:
        """Whether they came by the open link, and know their own link alone."""
        return self.email.endswith(VOLUNTEER_EMAIL_SUFFIX)

    @property
    def is_adjudicator(self) -> bool:
        """Whether they judge what stays doubtful, and their word decides."""
        return self.pseudonym.startswith(ADJUDICATOR_PREFIX)


def read_roster(folders: DatasetFolders) -> list[Annotator]:
    """The annotators in the order of joining; none if nobody was invited yet.

    Raises:
        UserError: the file is damaged, or somebody is there twice.
    """
    path = folders.study / "roster.json"
    return _check_distinct(read_json(path, list[Annotator]) if path.exists() else [])


def read_erased(folders: DatasetFolders) -> dict[str, str]:
    """Pseudonym -> time of deletion of those whose answers were deleted (`rgqa annotate erase`): no name, no address."""
    path = folders.study / "forgotten.json"
    return read_json(path, dict[str, str]) if path.exists() else {}


def collect_used_pseudonyms(folders: DatasetFolders) -> set[str]:
    """Those of the roster, of whoever was forgotten, and in pulled.json: imported from another study, or the roster was lost.

    Raises:
        UserError: one of these files is damaged.
    """
    pulled = {str(row.completed_by) for row in read_pulled(folders.annotations / PULLED_FILENAME).values()}
    return pulled | read_erased(folders).keys() | {person.pseudonym for person in read_roster(folders)}


def make_next_pseudonym(used: Collection[str], prefix: str = "annotator-") -> str:
    """One that nobody has or had.

    >>> next_pseudonym({"annotator-02", "annotator-1a2b3c4d", "expert-07"})
    'annotator-03'
    """
    numbers = (name.removeprefix(prefix) for name in used if name.startswith(prefix))
    # Those with eight digits are made from what another server calls somebody (`annotation.study.exports.pseudonym`).
    return f"{prefix}{1 + max((int(number) for number in numbers if number.isdigit() and len(number) < 8), default=0):02d}"


def write_roster(folders: DatasetFolders, annotators: list[Annotator]) -> None:
    """Replace the roster.

    Raises:
        UserError: a name, pseudonym or e-mail address is there twice.
    """
    write_private(folders.study / "roster.json", _check_distinct(annotators))


def enroll(folders: DatasetFolders, people: Mapping[str, str], adjudicator: bool = False) -> list[Annotator]:
    """Put people into the roster, each with the next pseudonym, and return it; who is there comes back.

    Args:
        people: e-mail address -> name; one that somebody else has gets a number.

    Raises:
        UserError: lists those who are there in the other role: nobody decides on what they voted on.
    """
    roster = {person.email: person for person in read_roster(folders)}
    if other := [
        roster[email].name
        for email in people
        if email in roster and roster[email].is_adjudicator != adjudicator
    ]:
        there, wanted = ("annotators", "expert") if adjudicator else ("experts", "annotator")
        raise UserError(
            f"{', '.join(other)}: there as {there} already; who is to be {wanted} needs another name"
        )
    role, used = ADJUDICATOR_PREFIX if adjudicator else "annotator-", collect_used_pseudonyms(folders)
    for email, name in people.items():
        if email not in roster:
            had = {person.name for person in roster.values()}
            free = next(one for one in chain([name], (f"{name}-{i}" for i in count(2))) if one not in had)
            roster[email] = Annotator(name=free, pseudonym=make_next_pseudonym(used, role), email=email)
            used.add(roster[email].pseudonym)
        roster[email] = msgspec.structs.replace(roster[email], is_active=True)
    write_roster(folders, list(roster.values()))
    return list(roster.values())


def _check_distinct(annotators: list[Annotator]) -> list[Annotator]:
    for field in ("name", "pseudonym", "email"):
        values = [getattr(annotator, field) for annotator in annotators]
        if twice := sorted({value for value in values if values.count(value) > 1}):
            raise UserError(f"the roster has {field} {', '.join(twice)} more than once")
    return annotators
