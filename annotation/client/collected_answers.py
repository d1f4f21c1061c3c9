"""What people have answered so far: the one source of `rgqa annotate status` and `rgqa annotate forecast`."""

from __future__ import annotations

from typing import NamedTuple

from annotation.client.credentials import connect
from annotation.client.label_studio import LabelStudioClient
from annotation.client.pull import iter_annotations
from annotation.study.assignment_params import AnnotateParams
from annotation.study.exports import PULLED_FILENAME, UNKNOWN_TIME, AnnotationStore, deduplicate, read_pulled
from annotation.study.forecast import (
    DEFAULT_NUM_ANNOTATORS,
    estimate_seconds,
    format_forecast,
    make_forecast,
    replay_answers,
)
from annotation.study.import_annotations import drop_erased
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError, format_count
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders


class CollectedAnswers(NamedTuple):
    """All answers so far, and a phrase that says where they come from and how recent they are."""

    annotations: AnnotationStore
    source_description: str


def collect_answers(folders: DatasetFolders, server: LabelStudioClient | None = None) -> CollectedAnswers:
    """Read all answers: those that were pulled or imported, and those that the server holds now.

    Args:
        server: the server to read from; it must be reachable. If None, the configured server is tried, and where none
            is reachable the answers in pulled.json are returned alone.

    Raises:
        UserError: the given server is not reachable, or pulled.json is damaged.
    """
    pulled = drop_erased(folders, read_pulled(folders.annotations / PULLED_FILENAME))[0]
    try:
        asked = server or connect()
        held = drop_erased(folders, deduplicate(iter_annotations(folders, asked)))[0]
    except UserError as error:
        if server:
            raise
        newest = max((row.sort_key[0] for row in pulled.values()), default=UNKNOWN_TIME)
        when = f", the newest of {newest:%Y-%m-%d %H:%M} UTC" if newest != UNKNOWN_TIME else ""
        return CollectedAnswers(
            pulled,
            f"based on {format_count(len(pulled), 'answer')} pulled so far{when}; no server was reached: {error.problems[0]}",
        )
    new = len(held.keys() - pulled.keys())
    return CollectedAnswers(
        pulled | held,
        f"based on {format_count(len(pulled | held), 'answer')}, read from {asked.url} now; {new:,} of them not pulled yet",
    )


def print_forecast(hourly_pay: float | None, num_annotators: int | None) -> None:
    """Print what the study still takes: `rgqa annotate forecast`.

    Args:
        rate: pay per hour; None to leave the costs out.
        people: number of annotators; None for those on the roster.
    """
    folders, params = DatasetFolders(), load_params("annotate", AnnotateParams)
    so_far = collect_answers(folders)
    asking, verdicts = replay_answers(folders, params, so_far.annotations)
    active = [row.pseudonym for row in read_roster(folders) if row.is_active and not row.is_adjudicator]
    names = (
        active
        if num_annotators is None and active
        else [f"person {n}" for n in range(num_annotators or DEFAULT_NUM_ANNOTATORS)]
    )
    print(
        format_forecast(
            make_forecast(asking, names, estimate_seconds(verdicts), hourly_pay, params.seed), len(verdicts)
        )
    )
    print(f"forecast: {so_far.source_description}")
