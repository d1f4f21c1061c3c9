"""Who annotates: the roster of a data set's study, `data/<data set>/study/roster.json` (git-ignored: it holds names).

Everywhere else people appear under the pseudonym that they got when they joined.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from pipeline.core.errors import UserError
from pipeline.core.files import read_json, write_json
from pipeline.core.paths import Folders
from pipeline.core.records import Record


class Annotator(Record):
    """Someone who judges.

    Attributes:
        name: what the study leader calls them; letters, digits, dots and dashes.
        pseudonym: `annotator-01` in the order of joining; what verdicts and releases carry.
        email: they log in with it.
        share: how much they take of the work, beside others: 2 is twice as much as 1.
        active: false once they left; what they judged stays.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")]
    pseudonym: str
    email: str
    share: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    active: bool = True


def read_roster(folders: Folders) -> list[Annotator]:
    """The annotators in the order of joining; none if nobody was invited yet."""
    path = folders.study / "roster.json"
    return read_json(path, list[Annotator]) if path.exists() else []


def write_roster(folders: Folders, annotators: list[Annotator]) -> None:
    """Replace the roster.

    Raises:
        UserError: a name, pseudonym or e-mail address is there twice.
    """
    for field in ("name", "pseudonym", "email"):
        values = [getattr(annotator, field) for annotator in annotators]
        if twice := sorted({value for value in values if values.count(value) > 1}):
            raise UserError(f"the roster has {field} {', '.join(twice)} more than once")
    write_json(folders.study / "roster.json", annotators)
