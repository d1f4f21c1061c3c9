"""The qualification round on the servers: each annotator first gets a project of tasks whose verdicts are known.

Its title is the queue's with ": qualification" behind. Who answered all of it, and enough as known, gets real tasks by
the next push. Its answers are never pulled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from annotation.client.contents import TaskData, answers, bring, look
from annotation.client.queues import Queue
from annotation.study.exports import verdicts_of
from annotation.study.plan import AnnotateParams
from annotation.study.qualification import Score, passed, qualification, scores
from pipeline.core.records import Task


def qualify(
    queues: Sequence[Queue], tasks: Sequence[Task], shown: Mapping[str, TaskData], params: AnnotateParams
) -> set[str]:
    """Bring the round to everybody who is active; the names of those who have not passed it.

    Raises:
        UserError: there are not so many tasks with known answers, or a server fails.
    """
    known = qualification(tasks, params.qualification, params.seed)
    image = {task.picture_id: shown[task.task_id]["image"] for task in tasks}
    data = {
        task.task_id: {
            "task": task.task_id,
            "image": image[task.picture_id],
            "first": task.first.text,
            "second": task.second.text,
        }
        for task in known
    }
    waiting = set()
    for queue in queues:
        if queue.active:
            qualifying = msgspec.structs.replace(queue, title=f"{queue.title}: qualification")
            bring(qualifying, look(qualifying, data), list(data), data, params)
            verdicts, _ = verdicts_of(answers(qualifying), {task.task_id: task for task in known})
            nothing_yet = Score(right=0, answered=0, asked=2 * len(known))
            score = scores(known, verdicts).get(queue.name, nothing_yet)
            if not passed({queue.name: score}, params.qualification_share):
                waiting.add(queue.name)
            tell(queue.name, score, queue.name not in waiting)
    return waiting


def tell(name: str, score: Score, through: bool) -> None:
    """Say how far somebody is."""
    if score.answered < score.asked:
        said = f"{score.answered} of {score.asked} questions answered; real tasks come by a later push"
    else:
        said = f"{'passed' if through else 'not passed'}, {score.right} of {score.asked} questions as known"
    print(f"push: {name}: qualification: {said}")
