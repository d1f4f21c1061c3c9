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

from annotation.server.label_studio_app.models import Participant, Place
from annotation.study.assignment import Asking, AskingRules

STALE = 12 * 3600  # seconds after which what somebody has open is asked of others too
BODY = 20_000  # bytes that may be sent
LOCK = threading.RLock()
log = logging.getLogger(__name__)
held: dict[Path, Queue] = {}


class Refused(Exception):
    """The request is refused, and nothing was changed; `status` is the HTTP status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@contextmanager
def queues() -> Iterator[list[Queue]]:
    """All data sets' queues as they are now, the last pushed first, for one request alone and in one transaction."""
    with LOCK:
        try:
            with transaction.atomic():
                for path in settings.RGQA_DATA.glob("*/study/queue.json"):
                    seen = path.stat()
                    stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
                    if path in held and held[path].stamp == stamp:
                        continue
                    held.pop(path, None)
                    try:
                        held[path] = Queue(path, stamp)
                    except (ValueError, LookupError, TypeError, AttributeError) as error:
                        # The other data sets' people work on; a push, which asks for the report first, writes it anew.
                        log.error("%s cannot be used (%r): run rgqa annotate push", path, error)
                for path in [path for path in held if not path.exists()]:
                    del held[path]
                yield sorted(held.values(), key=lambda queue: queue.stamp, reverse=True)
        except Refused:
            raise
        except BaseException:
            held.clear()
            raise


def body_of(request: HttpRequest) -> dict[str, Any]:
    """The JSON object that a request carries; Refused (415) if it is none."""
    if len(request.body) > BODY or request.content_type != "application/json":
        raise Refused(415, f"a JSON object of at most {BODY} bytes was expected")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise Refused(415, "what was sent is not JSON") from error
    if not isinstance(body, dict):
        raise Refused(415, "a JSON object was expected")
    return body


class Queue:
    """What is asked about one data set.

    Attributes:
        content: of queue.json. known: its tasks with known verdicts, by key.
        project, task: numbers in Label Studio: of the project, and by key of the tasks that may be asked.
    """

    def __init__(self, path: Path, stamp: tuple[int, int, int]) -> None:
        self.content: dict[str, Any] = json.loads(path.read_bytes())
        self.stamp, self.data_set, self.rules = stamp, self.content["data_set"], self.content["rules"]
        self.known = {row["key"]: row for row in self.content["known"]}
        project = Project.objects.filter(title=self.content["project"]).order_by("pk").last()
        self.project = project and project.pk
        fallen = set(self.content["fallen"])
        asked = {
            row["key"]: _without_filter(row) if row["key"] in fallen else row for row in self.content["tasks"]
        }
        there = Task.objects.filter(project=project).order_by("-pk").values_list("pk", "data")
        keys = {number: data["task"] for number, data in there.iterator() if data.get("task") in asked}
        self.task = {key: number for number, key in keys.items()}
        rules = AskingRules(**{name: self.rules[name] for name in AskingRules._fields})
        given = self.content["answerable"], rules, self.content["doubtful"]
        self.asking = Asking([asked[key] for key in self.task], *given)
        self._replay(keys)

    def _replay(self, keys: Mapping[int, str]) -> None:
        """Tell who is an expert, what was answered, in the order in which it was given, and what is open with those who may come."""
        people = {user.pk: user for user in User.objects.filter(is_staff=False)}
        for user in people.values():
            self.appoint(user)
        given = Annotation.objects.filter(project=self.project, completed_by__in=people).order_by("pk")
        for number, user, skipped, result in given.values_list(
            "task_id", "completed_by_id", "was_cancelled", "result"
        ).iterator():
            said = {row["from_name"]: row["value"]["choices"][0] for row in result or ()}
            if number in keys and skipped:
                self.asking.skip(str(user), keys[number])
            elif number in keys and {"first", "second"} <= said.keys():
                self.asking.answer(str(user), keys[number], said["first"], said["second"])
        agreed = Participant.objects.filter(data_set=self.data_set).exclude(consent_hash="")
        may = set(agreed.values_list("user", flat=True)) & people.keys()
        for place in self.opened():
            user = people[place.user] if place.user in may else None
            if user and self.has(user) and not self.out(user) and not stale(place):
                self.asking.hold(str(user.pk), place.key)
        for user in people.values():
            if (since := self.content["excluded"].get(user.email)) is not None:
                self.asking.exclude(str(user.pk), since)

    def opened(self) -> list[Place]:
        """The tasks that somebody has open, of those that are asked."""
        places = Place.objects.filter(data_set=self.data_set, kind="task", state="open")
        return [place for place in places if place.key in self.task]

    def out(self, user: User) -> bool:
        """Whether they are asked no more: stage `collect` excludes them, or they fail too many filter questions."""
        return user.email in self.content["excluded"] or self.asking.out(str(user.pk))

    def has(self, user: User) -> bool:
        """Whether somebody annotates this data set: invited by name, or come by the open link, and did not leave."""
        if user.email in self.content["people"] or user.email in self.content["left"]:
            return user.email in self.content["people"]
        return Participant.objects.filter(user=user.pk, data_set=self.data_set).exclude(name="").exists()

    def appoint(self, user: User) -> bool:
        """Whether somebody is, or was, an expert, who gets what is doubtful alone; the asking knows it from then on."""
        pseudonyms = self.content["people"] | self.content["left"]
        expert = pseudonyms.get(user.email, "").startswith("expert-")
        if expert:
            self.asking.appoint(str(user.pk))
        return expert


def _without_filter(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task whose filter has fallen: it tells nothing of anybody."""
    return {name: {**row, "expected": None} if isinstance(row, dict) else row for name, row in task.items()}


def stale(place: Place) -> bool:
    return (now() - place.opened).total_seconds() > STALE
