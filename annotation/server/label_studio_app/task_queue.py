"""Keep the task queue of each data set in memory.

A `TaskQueue` is built from study/queue.json (which `rgqa annotate push` writes), from the annotations in the
Label Studio project, and from our own tables. The queue is built again when queue.json has changed. Requests
are handled one at a time, each in one database transaction. After an error, the queues are discarded, and the
next request builds them again from the database.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.http import HttpRequest
from projects.models import Project
from tasks.models import Annotation, Task
from users.models import User

from annotation.server.label_studio_app.models import Participant, TaskAssignment
from annotation.server.label_studio_app.study_clock import CLOCK, now
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules

# After this time, a task that an annotator has open is also given to others.
STALE_SECONDS = 12 * 3600
# Maximum size of a message in bytes.
MAX_MESSAGE_BYTES = 20_000
QUEUES_LOCK = threading.RLock()
log = logging.getLogger(__name__)
cached_queues: dict[Path, TaskQueue] = {}


class RequestRefused(Exception):
    """The request is refused, and nothing was changed. `status` is the HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@contextmanager
def open_queues() -> Iterator[list[TaskQueue]]:
    """Yield the current queues of all data sets, last pushed first, under an exclusive lock and in one
    transaction.
    """
    with QUEUES_LOCK:
        try:
            with transaction.atomic():
                for path in settings.RGQA_DATA.glob("*/study/queue.json"):
                    info = path.stat()
                    stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
                    if path in cached_queues and cached_queues[path].file_stamp == stamp:
                        continue
                    cached_queues.pop(path, None)
                    try:
                        cached_queues[path] = TaskQueue(path, stamp)
                    except (ValueError, LookupError, TypeError, AttributeError) as error:
                        # The other data sets stay available. The next push repairs the file.
                        log.error("cannot read %s (%r). Run: rgqa annotate push", path, error)
                for path in [path for path in cached_queues if not path.exists()]:
                    del cached_queues[path]
                yield sorted(cached_queues.values(), key=lambda queue: queue.file_stamp, reverse=True)
        except RequestRefused:
            raise
        except BaseException:
            cached_queues.clear()
            raise


def parse_json_body(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object in the body of a request.

    Raises:
        RequestRefused: The body is not a JSON object (status 415), or too large (status 413).
    """
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_MESSAGE_BYTES:
        raise RequestRefused(413, f"Expected a JSON object of at most {MAX_MESSAGE_BYTES} bytes.")
    if request.content_type != "application/json":
        raise RequestRefused(415, "Expected a JSON object.")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(415, "The body is not valid JSON.") from error
    if not isinstance(body, dict):
        raise RequestRefused(415, "Expected a JSON object.")
    return body


class TaskQueue:
    """The task queue of one data set.

    Attributes:
        content: The content of queue.json.
        file_stamp: Identifies the version of queue.json from which the queue was built.
        dataset: Name of the data set.
        rules: Section `annotate` of params.yaml.
        known_tasks: Task key -> task of the training or of the qualification test.
        project_number: Number of the Label Studio project.
        task_numbers: Task key -> Label Studio's task number.
        assigner: The state of the task assignment.
    """

    def __init__(self, path: Path, stamp: tuple[int, int, int]) -> None:
        self.content: dict[str, Any] = json.loads(path.read_bytes())
        self.file_stamp, self.dataset, self.rules = stamp, self.content["dataset"], self.content["rules"]
        self.known_tasks = {row["key"]: row for row in self.content["known_tasks"]}
        project = Project.objects.filter(title=self.content["project"]).order_by("pk").last()
        self.project_number = project and project.pk
        discarded = set(self.content["discarded_tasks"])
        tasks = {
            row["key"]: _without_gold(row) if row["key"] in discarded else row
            for row in self.content["tasks"]
        }
        existing = Task.objects.filter(project=project).order_by("-pk").values_list("pk", "data")
        keys, shown = dict[int, str](), dict[tuple[str, str], list[str]]()
        for number, data in existing.iterator():
            if (key := data.get("task")) in tasks:
                keys[number] = key
                for text in {data["first"], data["second"]}:
                    shown.setdefault((data["image"], text), []).append(key)
        # Task key of training or test -> keys of the tasks that show one of its questions.
        self._tasks_by_known = {
            key: {
                task
                for side in ("first", "second")
                for task in shown.get((row["image"], row[side]["text"]), ())
            }
            for key, row in self.known_tasks.items()
        }
        self.task_numbers = {key: number for number, key in keys.items()}
        # A queue.json of an earlier version may lack a rule.
        given = {name: self.rules[name] for name in AssignmentRules._fields if name in self.rules}
        rules = AssignmentRules(**given)
        options = (
            self.content["prior_answerable"],
            rules,
            self.content["doubtful"],
            # A queue.json of an earlier version has no panel.
            self.content.get("decided_by_panel", ()),
            self.content.get("called_valid_by_panel", ()),
        )
        self.assigner = AdaptiveAssigner([tasks[key] for key in self.task_numbers], *options)
        self._advance_clock()
        self._replay(keys)

    def _advance_clock(self) -> None:
        """Let the clock of the study go on from the last stored time."""
        assignments = TaskAssignment.objects.filter(dataset=self.dataset)
        stored = assignments.aggregate(opened=Max("opened_at"), answered=Max("answered_at"))
        annotations = Annotation.objects.filter(project=self.project_number)
        for moment in (*stored.values(), annotations.aggregate(last=Max("updated_at"))["last"]):
            CLOCK.advance(moment)

    def _replay(self, keys: Mapping[int, str]) -> None:
        """Pass adjudicators, answers (in their order in time), open tasks and exclusions to the assigner."""
        people = {user.pk: user for user in User.objects.filter(is_staff=False)}
        for user in people.values():
            self.mark_if_adjudicator(user)
        seen = TaskAssignment.objects.filter(dataset=self.dataset, user__in=people).exclude(kind="task")
        for assignment in seen:
            self.withhold_tasks(assignment)
        tests = TaskAssignment.objects.filter(dataset=self.dataset, kind="test", state="answered")
        for assignment in tests.filter(user__in=people).order_by("pk"):
            self.record_test_answer(assignment)
        annotations = Annotation.objects.filter(
            project=self.project_number, completed_by__in=people
        ).order_by("pk")
        for number, user, skipped, result in annotations.values_list(
            "task_id", "completed_by_id", "was_cancelled", "result"
        ).iterator():
            choices = {row["from_name"]: row["value"]["choices"][0] for row in result or ()}
            if number in keys and skipped:
                self.assigner.record_skip(str(user), keys[number])
            elif number in keys and {"first", "second"} <= choices.keys():
                self.assigner.record_answer(str(user), keys[number], choices["first"], choices["second"])
        consenting = Participant.objects.filter(dataset=self.dataset).exclude(consent_hash="")
        allowed = set(consenting.values_list("user", flat=True)) & people.keys()
        for assignment in self.get_open_assignments():
            user = people[assignment.user] if assignment.user in allowed else None
            if user and self.is_member(user) and not self.is_blocked(user) and not is_stale(assignment):
                self.assigner.assign_task(str(user.pk), assignment.key)
        for user in people.values():
            if (since := self.content["excluded_since"].get(user.email)) is not None:
                self.assigner.exclude_annotator(str(user.pk), since)

    def record_test_answer(self, assignment: TaskAssignment) -> None:
        """Pass an answer in the qualification test to the assigner, unless the task is no longer in use."""
        task = self.known_tasks.get(assignment.key)
        for side in ("first", "second") if task else ():
            where = f"{assignment.key} {side}"
            self.assigner.record_test_answer(str(assignment.user), where, task[side], assignment.answer[side])

    def withhold_tasks(self, assignment: TaskAssignment) -> None:
        """Keep the tasks from an annotator that contain a question of the annotator's training or test."""
        for key in self._tasks_by_known.get(assignment.key, ()):
            if key in self.task_numbers:
                self.assigner.withhold_task(str(assignment.user), key)

    def get_open_assignments(self) -> list[TaskAssignment]:
        """Return the open assignments of tasks in the queue."""
        assignments = TaskAssignment.objects.filter(dataset=self.dataset, kind="task", state="open")
        return [assignment for assignment in assignments if assignment.key in self.task_numbers]

    def is_blocked(self, user: User) -> bool:
        """Return whether a user gets no more tasks.

        A user is blocked after an exclusion by stage `collect`, or after too many failed gold questions.
        """
        return user.email in self.content["excluded_since"] or self.assigner.has_failed_gold(str(user.pk))

    def is_member(self, user: User) -> bool:
        """Return whether a user may annotate this data set.

        A member was invited or signed up through the open link, and was not removed.
        """
        if user.email in self.content["annotators"] or user.email in self.content["removed"]:
            return user.email in self.content["annotators"]
        return Participant.objects.filter(user=user.pk, dataset=self.dataset).exclude(name="").exists()

    def mark_if_adjudicator(self, user: User) -> bool:
        """Return whether a user is an adjudicator. If so, mark the user in the assigner."""
        pseudonyms = self.content["annotators"] | self.content["removed"]
        is_adjudicator = pseudonyms.get(user.email, "").startswith("adjudicator-")
        if is_adjudicator:
            self.assigner.mark_adjudicator(str(user.pk))
        return is_adjudicator


def _without_gold(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task without the expected choice of its gold question, because the gold question is discarded."""
    return {name: {**row, "expected": None} if isinstance(row, dict) else row for name, row in task.items()}


def is_stale(assignment: TaskAssignment) -> bool:
    return (now() - assignment.opened_at).total_seconds() > STALE_SECONDS
