"""Where each annotator's tasks lie: a project of their own, on our server in an organisation of their own.

With an empty roster on another server everybody who can log in there shares one project.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from annotation.client.credentials import connection
from annotation.client.label_studio import LabelStudio
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.paths import Folders
from pipeline.core.records import Record


class Queue(Record):
    """A project on a server and whose it is; `annotator` None is the one that everybody shares."""

    title: str
    server: LabelStudio
    annotator: Annotator | None = None

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.annotator.pseudonym if self.annotator else "everybody"

    @property
    def active(self) -> bool:
        """Whether somebody judges here still."""
        return self.annotator is None or self.annotator.active


def open_queues(folders: Folders, problems: Problems) -> list[Queue]:
    """The queues of all annotators, of those who left too. What keeps some from being reached goes to `problems`.

    Raises:
        UserError: nobody was invited yet and there is no server elsewhere, or no server is known.
    """
    title = f"RGQA {folders.dataset}"
    roster = read_roster(folders)
    if not roster:
        shared = connection()
        if shared.own:
            raise UserError("nobody annotates yet; run: rgqa annotate invite NAME ...")
        return [Queue(title=title, server=LabelStudio(shared))]
    servers: dict[str, LabelStudio] = {}  # by token: each is looked at once
    queues = []
    for person in roster:
        with noted(problems):
            opened = connection(person.name)
            server = servers.setdefault(opened.token, LabelStudio(opened))
            own = title if opened.own else f"{title}: {person.pseudonym}"
            queues.append(Queue(title=own, server=server, annotator=person))
    if not queues:
        problems.raise_if_any()
    return queues


@contextmanager
def noted(problems: Problems, prefix: str = "") -> Iterator[None]:
    """Let one queue fail without the others; what several of them say alike is noted once."""
    try:
        yield
    except UserError as error:
        lines = [prefix + line for line in error.problems]
        problems.lines += [line for line in lines if line not in problems.lines]
