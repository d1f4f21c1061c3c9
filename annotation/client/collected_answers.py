"""What people have answered so far: the one source of `rgqa annotate status` and `rgqa annotate forecast`."""

from __future__ import annotations

from typing import NamedTuple

from annotation.client.credentials import connection
from annotation.client.label_studio import LabelStudio
from annotation.client.pull import answers
from annotation.study.assignment_params import AnnotateParams
from annotation.study.exports import EARLIEST, PULLED, Kept, keep, read_pulled
from annotation.study.forecast import NOBODY_YET, asked_so_far, forecast, pace, told
from annotation.study.import_annotations import remembered
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError, counted
from pipeline.core.params import load
from pipeline.core.paths import Folders


class SoFar(NamedTuple):
    """All answers so far, and a phrase that says where they come from and how recent they are."""

    given: Kept
    source: str


def given_so_far(folders: Folders, server: LabelStudio | None = None) -> SoFar:
    """Read all answers: those that were pulled or imported, and those that the server holds now.

    Args:
        server: the server to read from; it must be reachable. If None, the configured server is tried, and where none
            is reachable the answers in pulled.json are returned alone.

    Raises:
        UserError: the given server is not reachable, or pulled.json is damaged.
    """
    pulled = remembered(folders, read_pulled(folders.annotations / PULLED))[0]
    try:
        asked = server or connection()
        held = remembered(folders, keep(answers(folders, asked)))[0]
    except UserError as error:
        if server:
            raise
        newest = max((row.when[0] for row in pulled.values()), default=EARLIEST)
        when = f", the newest of {newest:%Y-%m-%d %H:%M} UTC" if newest != EARLIEST else ""
        return SoFar(
            pulled,
            f"based on {counted(len(pulled), 'answer')} pulled so far{when}; no server was reached: {error.problems[0]}",
        )
    new = len(held.keys() - pulled.keys())
    return SoFar(
        pulled | held,
        f"based on {counted(len(pulled | held), 'answer')}, read from {asked.url} now; {new:,} of them not pulled yet",
    )


def print_forecast(rate: float | None, people: int | None) -> None:
    """Print what the study still takes: `rgqa annotate forecast`.

    Args:
        rate: pay per hour; None to leave the costs out.
        people: number of annotators; None for those on the roster.
    """
    folders, params = Folders(), load("annotate", AnnotateParams)
    so_far = given_so_far(folders)
    asking, verdicts = asked_so_far(folders, params, so_far.given)
    active = [row.pseudonym for row in read_roster(folders) if row.active and not row.expert]
    names = active if people is None and active else [f"person {n}" for n in range(people or NOBODY_YET)]
    print(told(forecast(asking, names, pace(verdicts), rate, params.seed), len(verdicts)))
    print(f"forecast: {so_far.source}")
