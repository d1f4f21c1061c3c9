"""An optional round before the real tasks: both verdicts of every task are known, and who knows too few of them is not let on.

The questions are the real tasks' filter questions, two of one picture at a time, one valid and one invalid where the picture
has both. They look like any task and get task ids of their own, so no verdict of this round is ever collected.
Pure: tasks come in, tasks and scores go out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import nan

from annotation.study.judged import answers_of
from pipeline.core.errors import UserError
from pipeline.core.files import content_key
from pipeline.core.randomness import generator
from pipeline.core.records import Record, Subset, Task, TaskQuestion, Verdict


class Score(Record):
    """Known answers that someone gave as expected, gave at all, and was asked for."""

    right: int
    answered: int
    asked: int

    @property
    def share(self) -> float:
        """Right ones of those answered; NaN before the first."""
        return self.right / self.answered if self.answered else nan


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
    pairs = {
        picture_id: _pair(list(questions.values()), picture_id, seed)
        for picture_id, questions in sorted(known.items())
        if len(questions) > 1
    }
    if len(pairs) < count:
        raise UserError(
            f"qualification: {count} tasks wanted, but only {len(pairs)} pictures have two questions with a known verdict; "
            "ask for fewer, or make more tasks first"
        )
    places = generator(seed, "qualification", "pictures").permutation(len(pairs))
    lots = {
        (first.expected == second.expected, place): picture_id
        for (picture_id, (first, second)), place in zip(pairs.items(), places.tolist(), strict=True)
    }
    chosen = sorted(sorted(lots)[:count], key=lambda lot: lot[1])
    return [_task(lots[lot], pairs[lots[lot]], subset[lots[lot]]) for lot in chosen]


def scores(tasks: Sequence[Task], verdicts: Iterable[Verdict]) -> dict[str, Score]:
    """Annotator -> score; both questions of a task count, "unsure" as "valid". Verdicts on other tasks do not matter.

    Args:
        verdicts: one of each annotator on each task.
    """
    asked = {task.task_id: task for task in tasks}
    results: dict[str, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.task_id in asked:
            answers = answers_of(asked[verdict.task_id], verdict)
            results[verdict.annotator] += [answer.as_expected for answer in answers]
    return {
        annotator: Score(right=sum(right), answered=len(right), asked=2 * len(asked))
        for annotator, right in sorted(results.items())
    }


def passed(results: Mapping[str, Score], least: float) -> set[str]:
    """Annotators who answered all and gave at least the share `least` (0 to 1) as expected."""
    return {
        annotator for annotator, row in results.items() if row.answered == row.asked and row.share >= least
    }


def _pair(questions: Sequence[TaskQuestion], picture_id: str, seed: int) -> tuple[TaskQuestion, TaskQuestion]:
    """Two questions of a picture that has as many: of different verdicts if possible, of no template if possible."""
    lots = generator(seed, "qualification", picture_id).permutation(len(questions))
    drawn = [questions[i] for i in lots]
    drawn.sort(key=lambda question: question.source == "template")  # stable: the lot decides among the rest
    first = drawn[0]
    second = next((row for row in drawn[1:] if row.expected != first.expected), drawn[1])
    swap = generator(seed, "qualification", "order", picture_id).random() < 0.5
    return (second, first) if swap else (first, second)


def _task(picture_id: str, pair: tuple[TaskQuestion, TaskQuestion], subset: Subset) -> Task:
    key = content_key("qualification", picture_id, pair[0].text, pair[1].text)
    return Task(task_id=key, picture_id=picture_id, subset=subset, first=pair[0], second=pair[1])
