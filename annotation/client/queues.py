"""Where each annotator's tasks lie: a project of their own, on our server in an organisation of their own.

With an empty roster on another server everybody who can log in there shares one project.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from annotation.client.label_studio import LabelStudio, other_version
from annotation.client.secrets import Connection, connection
from annotation.client.task_screen import instructions, interface
from annotation.study.plan import AnnotateParams
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from pipeline.core.records import Record

Opener = Callable[[Connection], LabelStudio]


class Queue(Record):
    """A project and whose it is; `annotator` None is the one that everybody shares."""

    title: str
    connection: Connection
    annotator: Annotator | None = None

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.annotator.pseudonym if self.annotator else "everybody"


def queues(folders: Folders, environment: Mapping[str, str] = os.environ) -> tuple[list[Queue], list[str]]:
    """The queues of all annotators, of those who left too, and what keeps some from being reached.

    Raises:
        UserError: nobody was invited yet and there is no server elsewhere, or no server is known.
    """
    title = f"RGQA {folders.dataset}"
    roster = read_roster(folders)
    if not roster:
        shared = connection(None, environment)
        if shared.own:
            raise UserError("nobody annotates yet; run: rgqa annotate invite NAME ...")
        return [Queue(title=title, connection=shared)], []
    found, problems = [], []
    for person in roster:
        try:
            opened = connection(person.name, environment)
        except UserError as error:
            problems += [line for line in error.problems if line not in problems]
            continue
        own = title if opened.own else f"{title}: {person.pseudonym}"
        found.append(Queue(title=own, connection=opened, annotator=person))
    if not found:
        raise UserError(problems)
    return found, problems


class Servers:
    """Opened servers, one per address and token; the first look at each tells a wrong address or token at once."""

    def __init__(self, opener: Opener = LabelStudio) -> None:
        self._opener = opener
        self._opened: dict[Connection, LabelStudio] = {}
        self._warned: set[str] = set()

    def of(self, queue: Queue) -> LabelStudio:
        if queue.connection not in self._opened:
            server = self._opener(queue.connection)
            warning = other_version(server.check())
            if warning and server.url not in self._warned:
                self._warned.add(server.url)
                print(warning, file=sys.stderr)
            self._opened[queue.connection] = server
        return self._opened[queue.connection]


def settings(folders: Folders, queue: Queue, params: AnnotateParams) -> dict[str, object]:
    """What a queue's project must be like."""
    return {
        "title": queue.title,
        "label_config": interface(),
        "expert_instruction": instructions(folders),
        "show_instruction": True,
        "show_skip_button": True,
        "enable_empty_annotation": False,
        "show_annotation_history": False,
        "show_collab_predictions": False,
        "reveal_preannotations_interactively": False,
        "evaluate_predictions_automatically": False,
        "sampling": "Sequential sampling",  # by number, that is in the order of import, which is the planned one
        "overlap_cohort_percentage": 100,
        "maximum_annotations": 1 if queue.annotator else params.votes,
        "skip_queue": "IGNORE_SKIPPED" if queue.annotator else "REQUEUE_FOR_OTHERS",
    }
