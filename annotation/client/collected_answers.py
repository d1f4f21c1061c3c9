"""Collect all answers given so far, for `rgqa annotate status` and `rgqa annotate forecast`."""

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
    """All answers so far, and a description of their source and age."""

    annotations: AnnotationStore
    source_description: str


def collect_answers(folders: DatasetFolders, server: LabelStudioClient | None = None) -> CollectedAnswers:
    """Return all answers: pulled or imported answers, and answers on the server.

    Args:
        folders: The folders of the data set.
        server: The server to read from, which must be reachable. If None, the configured server is used if it
            is reachable; if it is not, only the answers in pulled.json are returned.

    Raises:
        UserError: The given server is not reachable, or pulled.json is damaged.
    """
    pulled = drop_erased(folders, read_pulled(folders.annotations / PULLED_FILENAME))[0]
    try:
        client = server or connect()
        on_server = drop_erased(folders, deduplicate(iter_annotations(folders, client)))[0]
    except UserError as error:
        if server:
            raise
        newest = max((row.sort_key[0] for row in pulled.values()), default=UNKNOWN_TIME)
        when = f", the newest of {newest:%Y-%m-%d %H:%M} UTC" if newest != UNKNOWN_TIME else ""
        return CollectedAnswers(
            pulled,
            f"based on {format_count(len(pulled), 'answer')} pulled so far{when}. No server was reached: {error.problems[0]}",
        )
    num_new = len(on_server.keys() - pulled.keys())
    return CollectedAnswers(
        pulled | on_server,
        f"based on {format_count(len(pulled | on_server), 'answer')}, just read from {client.url}. {num_new:,} of them are not pulled yet",
    )


def print_forecast(hourly_pay: float | None, num_annotators: int | None) -> None:
    """Print how many judgements, hours and how much money the study still needs, for `rgqa annotate
    forecast`.

    Args:
        hourly_pay: Pay per hour, in any currency; None to omit the cost.
        num_annotators: Number of annotators; None for the active annotators on the roster.
    """
    folders, params = DatasetFolders(), load_params("annotate", AnnotateParams)
    collected = collect_answers(folders)
    assigner, verdicts = replay_answers(folders, params, collected.annotations)
    active = [row.pseudonym for row in read_roster(folders) if row.is_active and not row.is_adjudicator]
    names = (
        active
        if num_annotators is None and active
        else [f"annotator {n}" for n in range(num_annotators or DEFAULT_NUM_ANNOTATORS)]
    )
    print(
        format_forecast(
            make_forecast(assigner, names, estimate_seconds(verdicts), hourly_pay, params.seed), len(verdicts)
        )
    )
    print(f"forecast: {collected.source_description}")
