"""The qualification round on the servers: each annotator first gets a project of tasks whose verdicts are known.

Its title is the queue's with ": qualification" behind. Who answered all of it, and enough as known, gets real tasks by
the next push. Its answers are never pulled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from annotation.client.contents import Shown, bring, look
from annotation.client.pull import given
from annotation.client.queues import Queue, Servers
from annotation.study.exports import verdicts_of
from annotation.study.plan import AnnotateParams
from annotation.study.qualification import Score, passed, qualification, scores
from pipeline.core.paths import Folders
from pipeline.core.records import Task


def qualify(
    servers: Servers,
    all_queues: Sequence[Queue],
    tasks: Sequence[Task],
    shown: Mapping[str, Shown],
    folders: Folders,
    params: AnnotateParams,
) -> set[str]:
    """Bring the round to everybody who is active; the names of those who have not passed it.

    Raises:
        UserError: there are not so many tasks with known answers, or a server fails.
    """
    if not params.qualification:
        return set()
    known = {task.task_id: task for task in qualification(tasks, params.qualification, params.seed)}
    image = {task.picture_id: shown[task.task_id].data["image"] for task in tasks}
    rows = {
        key: Shown(
            {
                "task": key,
                "image": image[task.picture_id],
                "first": task.first.text,
                "second": task.second.text,
            }
        )
        for key, task in known.items()
    }
    out = set()
    for queue in all_queues:
        if queue.annotator is None or not queue.annotator.active:
            continue
        round_ = msgspec.structs.replace(queue, title=f"{queue.title}: qualification")
        server = servers.of(round_)
        bring(server, round_, look(server, round_, set(rows)), list(rows), rows, folders, params)
        verdicts, _ = verdicts_of(given(server, round_), known)
        found = {
            queue.name: scores(list(known.values()), verdicts).get(
                queue.name, Score(right=0, answered=0, asked=2 * len(known))
            )
        }
        if not passed(found, params.qualification_share):
            out.add(queue.name)
        tell(queue.name, found[queue.name], queue.name not in out)
    return out


def tell(name: str, found: Score, through: bool) -> None:
    """Say how far somebody is."""
    if found.answered < found.asked:
        said = f"{found.answered} of {found.asked} questions answered; real tasks come by a later push"
    else:
        said = f"{'passed' if through else 'not passed'}, {found.right} of {found.asked} questions as known"
    print(f"push: {name}: qualification: {said}")
