"""Who is shown what: one `Queue` per data set, held in the process's memory.

It is built from study/queue.json (which `push` writes), the annotations of the data set's project and our tables, and anew
when queue.json has changed. One request at a time; what it writes, Label Studio's annotation and our place, is one
transaction, and whatever fails inside lets go of the memory, so that the next request builds it from the database.
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
from django.http import HttpRequest
from django.utils.timezone import now
from projects.models import Project
from tasks.models import Annotation, Task
from users.models import User

from annotation.server.label_studio_app.models import Participant, TaskAssignment
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules

STALE_SECONDS = 12 * 3600  # seconds after which what somebody has open is asked of others too
MAX_BODY_BYTES = 20_000  # bytes that may be sent
QUEUES_LOCK = threading.RLock()
log = logging.getLogger(__name__)
cached_queues: dict[Path, TaskQueue] = {}


class RequestRefused(Exception):
    """The request is refused, and nothing was changed; `status` is the HTTP status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@contextmanager
def open_queues() -> Iterator[list[TaskQueue]]:
    """All data sets' queues as they are now, the last pushed first, for one request alone and in one transaction."""
    with QUEUES_LOCK:
        try:
            with transaction.atomic():
                for path in settings.RGQA_DATA.glob("*/study/queue.json"):
                    seen = path.stat()
                    stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
                    if path in cached_queues and cached_queues[path].file_stamp == stamp:
                        continue
                    cached_queues.pop(path, None)
                    try:
                        cached_queues[path] = TaskQueue(path, stamp)
                    except (ValueError, LookupError, TypeError, AttributeError) as error:
                        # The other data sets' people work on; a push, which asks for the report first, writes it anew.
                        log.error("%s cannot be used (%r): run rgqa annotate push", path, error)
                for path in [path for path in cached_queues if not path.exists()]:
                    del cached_queues[path]
                yield sorted(cached_queues.values(), key=lambda queue: queue.file_stamp, reverse=True)
        except RequestRefused:
            raise
        except BaseException:
            cached_queues.clear()
            raise


def parse_json_body(request: HttpRequest) -> dict[str, Any]:
    """The JSON object that a request carries; Refused (415) if it is none."""
    if len(request.body) > MAX_BODY_BYTES or request.content_type != "application/json":
        raise RequestRefused(415, f"a JSON object of at most {MAX_BODY_BYTES} bytes was expected")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(415, "what was sent is not JSON") from error
    if not isinstance(body, dict):
        raise RequestRefused(415, "a JSON object was expected")
    return body


class TaskQueue:
    """What is asked about one data set.

    Attributes:
        content: of queue.json. known: its tasks with known verdicts, by key.
        project, task: numbers in Label Studio: of the project, and by key of the tasks that may be asked.
    """

    def __init__(self, path: Path, stamp: tuple[int, int, int]) -> None:
        self.content: dict[str, Any] = json.loads(path.read_bytes())
        self.file_stamp, self.dataset, self.rules = stamp, self.content["data_set"], self.content["rules"]
        self.known_tasks = {row["key"]: row for row in self.content["known"]}
        project = Project.objects.filter(title=self.content["project"]).order_by("pk").last()
        self.project_number = project and project.pk
        fallen = set(self.content["fallen"])
        asked = {
            row["key"]: _without_gold(row) if row["key"] in fallen else row for row in self.content["tasks"]
        }
        there = Task.objects.filter(project=project).order_by("-pk").values_list("pk", "data")
        keys = {number: data["task"] for number, data in there.iterator() if data.get("task") in asked}
        self.task_numbers = {key: number for number, key in keys.items()}
        rules = AssignmentRules(**{name: self.rules[name] for name in AssignmentRules._fields})
        given = self.content["answerable"], rules, self.content["doubtful"]
        self.assigner = AdaptiveAssigner([asked[key] for key in self.task_numbers], *given)
        self._replay(keys)

    def _replay(self, keys: Mapping[int, str]) -> None:
        """Tell who is an expert, what was answered, in the order in which it was given, and what is open with those who may come."""
        people = {user.pk: user for user in User.objects.filter(is_staff=False)}
        for user in people.values():
            self.mark_if_adjudicator(user)
        given = Annotation.objects.filter(project=self.project_number, completed_by__in=people).order_by("pk")
        for number, user, skipped, result in given.values_list(
            "task_id", "completed_by_id", "was_cancelled", "result"
        ).iterator():
            said = {row["from_name"]: row["value"]["choices"][0] for row in result or ()}
            if number in keys and skipped:
                self.assigner.record_skip(str(user), keys[number])
            elif number in keys and {"first", "second"} <= said.keys():
                self.assigner.record_answer(str(user), keys[number], said["first"], said["second"])
        agreed = Participant.objects.filter(data_set=self.dataset).exclude(consent_hash="")
        may = set(agreed.values_list("user", flat=True)) & people.keys()
        for place in self.get_open_assignments():
            user = people[place.user] if place.user in may else None
            if user and self.is_member(user) and not self.is_blocked(user) and not is_stale(place):
                self.assigner.assign_task(str(user.pk), place.key)
        for user in people.values():
            if (since := self.content["excluded"].get(user.email)) is not None:
                self.assigner.exclude_annotator(str(user.pk), since)

    def get_open_assignments(self) -> list[TaskAssignment]:
        """The tasks that somebody has open, of those that are asked."""
        places = TaskAssignment.objects.filter(data_set=self.dataset, kind="task", state="open")
        return [place for place in places if place.key in self.task_numbers]

    def is_blocked(self, user: User) -> bool:
        """Whether they are asked no more: stage `collect` excludes them, or they fail too many filter questions."""
        return user.email in self.content["excluded"] or self.assigner.has_failed_gold(str(user.pk))

    def is_member(self, user: User) -> bool:
        """Whether somebody annotates this data set: invited by name, or come by the open link, and did not leave."""
        if user.email in self.content["people"] or user.email in self.content["left"]:
            return user.email in self.content["people"]
        return Participant.objects.filter(user=user.pk, data_set=self.dataset).exclude(name="").exists()

    def mark_if_adjudicator(self, user: User) -> bool:
        """Whether somebody is, or was, an expert, who gets what is doubtful alone; the asking knows it from then on."""
        pseudonyms = self.content["people"] | self.content["left"]
        expert = pseudonyms.get(user.email, "").startswith("expert-")
        if expert:
            self.assigner.mark_adjudicator(str(user.pk))
        return expert


def _without_gold(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task whose filter has fallen: it tells nothing of anybody."""
    return {name: {**row, "expected": None} if isinstance(row, dict) else row for name, row in task.items()}


def is_stale(place: TaskAssignment) -> bool:
    return (now() - place.opened_at).total_seconds() > STALE_SECONDS
