"""An optional round before the real tasks: both verdicts of every task are known, and who knows too few of them is not let on.

The questions are the real tasks' filter questions, two of one picture at a time, one valid and one invalid where the picture
has both. They look like any task and get task ids of their own, so no verdict of this round is ever collected.
Pure: tasks come in, tasks and scores go out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from annotation.study.judged import as_expected
from pipeline.core.errors import UserError
from pipeline.core.files import content_key
from pipeline.core.randomness import generator
from pipeline.core.records import Record, Subset, Task, TaskQuestion, Verdict


class Score(Record):
    """Known answers that someone gave as expected, gave at all, and was asked for."""

    right: int
    answered: int
    asked: int

    def passed(self, least: float) -> bool:
        """Whether all were answered, and at least the share `least` (0 to 1) as expected."""
        return self.answered == self.asked and self.right / self.asked >= least


def qualification(tasks: Iterable[Task], count: int, seed: int) -> list[Task]:
    """Tasks whose two verdicts are both known, in the order to be shown; the order of `tasks` does not matter.

    Every picture serves once. Pictures with a valid and an invalid question come first, then by lot; templates are used
    only where a picture has nothing else.

    Args:
        count: how many tasks to make, 1 or more.

    Raises:
        UserError: there are not so many pictures with two known questions.
    """
    known: dict[str, dict[str, TaskQuestion]] = defaultdict(dict)
    subset: dict[str, Subset] = {}
    for task in sorted(tasks, key=lambda task: task.task_id):
        for question in (task.first, task.second):
            if question.role == "filter":
                known[task.picture_id].setdefault(question.text, question)
                subset.setdefault(task.picture_id, task.subset)
    made = {
        picture_id: _task(picture_id, subset[picture_id], list(questions.values()), seed)
        for picture_id, questions in sorted(known.items())
        if len(questions) > 1
    }
    if len(made) < count:
        raise UserError(
            f"qualification: {count} tasks wanted, but only {len(made)} pictures have two questions with a known verdict; "
            "ask for fewer, or make more tasks first"
        )
    places = generator(seed, "qualification", "pictures").permutation(len(made)).tolist()
    order = [made[picture_id] for _, picture_id in sorted(zip(places, made, strict=True))]
    mixed_first = sorted(order, key=lambda task: task.first.expected == task.second.expected)  # stable
    chosen = {task.task_id for task in mixed_first[:count]}
    return [task for task in order if task.task_id in chosen]


def score(tasks: Mapping[str, Task], verdicts: Iterable[Verdict], annotator: str) -> Score:
    """An annotator's score; both questions of a task count, "unsure" as "valid". Verdicts on other tasks do not matter.

    Args:
        tasks: by id. verdicts: one of each annotator on each task.
    """
    right: list[bool] = []
    for verdict in verdicts:
        if verdict.annotator == annotator and (task := tasks.get(verdict.task_id)):
            right += [as_expected(task.first, verdict.first), as_expected(task.second, verdict.second)]
    return Score(right=sum(right), answered=len(right), asked=2 * len(tasks))


def _task(picture_id: str, subset: Subset, questions: Sequence[TaskQuestion], seed: int) -> Task:
    """A task of two questions of a picture that has as many: of different verdicts if possible, of no template if possible."""
    lots = generator(seed, "qualification", picture_id).permutation(len(questions))
    drawn = [questions[i] for i in lots]
    drawn.sort(key=lambda question: question.source == "template")  # stable: the lot decides among the rest
    first = drawn[0]
    second = next((row for row in drawn[1:] if row.expected != first.expected), drawn[1])
    if generator(seed, "qualification", "order", picture_id).random() < 0.5:
        first, second = second, first
    key = content_key("qualification", picture_id, first.text, second.text)
    return Task(task_id=key, picture_id=picture_id, subset=subset, first=first, second=second)
