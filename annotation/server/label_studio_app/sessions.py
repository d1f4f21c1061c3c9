"""What one person sees of a data set and says to it, place by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.db.models import Max, QuerySet, Sum
from django.utils.timezone import now
from tasks.models import Annotation, Task
from users.models import User

from annotation.server.label_studio_app.models import Participant, TaskAssignment
from annotation.server.label_studio_app.task_queue import RequestRefused, TaskQueue, is_stale
from annotation.study.qualification import (
    MAX_ATTEMPTS,
    QualificationScore,
    is_correct,
    score_answers,
    select_tasks,
)

CHOICES = ("valid", "invalid", "unsure")
REASONS = (
    "missing object", "wrong attribute", "wrong relation", "no valid answer", "underspecified", "unclear image",
)  # fmt: skip
CONTROLS = ("first", "second", "first_reason", "second_reason")  # as interface.xml calls them
MESSAGES = {
    "thanks": "That is all there is for you. Thank you very much!",
    "out": "Thank you for your work. There are no more tasks for you: on questions whose answers we know, yours were often others. "
    "These questions are odd, and people read them differently; it is no judgement of you. If you think that we are mistaken, "
    "please write to us.",
    "declined": "You take no part; nothing more is asked. What you answered before is kept until you ask the study leader to delete it.",
    "wait": "There is nothing for you just now. Come back later: what others answer decides what is asked next.",
    "again": "That was not enough this time. Read the guidelines once more; then you have a second try, with other questions.",
    "failed": "Thank you for trying. These tasks do not suit everybody, and you get no more of them. Nothing else depends on it.",
}


class AnnotatorSession:
    """What one person sees and says: `step` takes what their page sent and gives what it shows next."""

    def __init__(self, queue: TaskQueue, user: User) -> None:
        self.queue, self.user, self.name = queue, user, str(user.pk)
        self.is_adjudicator = queue.mark_if_adjudicator(user)
        self.assignment_keys = {"user": user.pk, "data_set": queue.dataset}
        self.participant = Participant.objects.get_or_create(**self.assignment_keys)[0]
        self.assignments = TaskAssignment.objects.filter(**self.assignment_keys)

    def handle_step(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Raises Refused if what is said makes no sense, or is about what is not theirs."""
        consent = self.queue.content["consent"]
        match message:
            case {"consent": wanted} if len(message) == 1:
                if wanted != consent["hash"]:
                    raise RequestRefused(409, "the text has changed: read it again")
                self.participant.consent_hash, self.participant.consent_time = wanted, now()
                self.participant.save()
            case {"decline": True} if len(message) == 1:
                self.queue.assigner.release_open_task(self.name)
                self.participant.consent_hash = ""
                self.participant.save()
                return self._end_payload("thanks", "declined")
            case {"again": True} if len(message) == 1:
                if self._has_failed_test() and self.participant.tries + 1 < MAX_ATTEMPTS:
                    self.participant.tries += 1
                    self.participant.save()
            case {"answer": {"place": number, **answer}} if len(message) == 1:
                place = self.get_assignment(number)
                self._save_answer(place, *_validate_answer(answer))
                if place.kind == "training":
                    return self._feedback_payload(place)
            case {"skip": {"place": number, **rest}} if len(message) == 1 and not rest:
                self._save_skip(self.get_assignment(number))
            case {"open": number} if len(message) == 1:
                place = self.get_assignment(number)
                if place.kind != "task":
                    raise RequestRefused(404, "answers of training and test stay as they are")
                return self._show_assignment(place)
            case _ if message:
                raise RequestRefused(400, "what was sent is nothing that the desk knows")
        return self._show_next() | (
            {} if message else {"guide": self.queue.content["guide"], "contact": consent["contact"]}
        )

    def get_assignment(self, number: Any) -> TaskAssignment:
        """One of theirs, by its number; Refused (404) if there is none, or they take no part."""
        known = type(number) is int and 0 < number < 1 << 31 and self.participant.consent_hash
        place = self.assignments.filter(number=number).first() if known else None
        if place is None or not self._is_current(place):
            raise RequestRefused(404, "no such place")
        return place

    def _is_current(self, place: TaskAssignment) -> bool:
        """Whether what was shown there is still asked: another batch may have come."""
        return place.key in (self.queue.task_numbers if place.kind == "task" else self.queue.known_tasks)

    def get_content(self, place: TaskAssignment) -> dict[str, Any]:
        """The image's address and the texts of the questions of a place."""
        if place.kind != "task":
            row = self.queue.known_tasks[place.key]
            return {"image": row["image"], "first": row["first"]["text"], "second": row["second"]["text"]}
        return Task.objects.values_list("data", flat=True).get(pk=self.queue.task_numbers[place.key])

    def _show_next(self) -> dict[str, Any]:
        consent = self.queue.content["consent"]
        if self.participant.consent_hash != consent["hash"]:
            return {"show": "consent", "guide": self.queue.content["guide"], **consent}
        if not self.participant.passed:
            done = set(
                self.assignments.exclude(state="open").exclude(kind="task").values_list("key", flat=True)
            )
            for kind, keys in zip(("training", "test"), self._qualification_keys(), strict=True):
                if key := next((key for key in keys if key not in done), None):
                    return self._show_assignment(self._get_or_create_assignment(kind, key))
            if self._has_failed_test():
                again = self.participant.tries + 1 < MAX_ATTEMPTS
                return self._end_payload("failed", "again" if again else "failed", again=again)
            self.participant.passed = True
            self.participant.save()
        if self.queue.is_blocked(self.user):
            self.queue.assigner.release_open_task(self.name)
            return self._end_payload("thanks", "out")
        opened = self.assignments.filter(kind="task", state="open")
        if place := next((row for row in opened if row.key in self.queue.task_numbers), None):
            self.queue.assigner.assign_task(self.name, place.key)  # again, if it went to others meanwhile
            return self._show_assignment(place)
        if key := self._assign_next_task():
            return self._show_assignment(self._get_or_create_assignment("task", key))
        judged, most = self.queue.assigner.get_progress(self.name)
        return self._end_payload("wait" if judged < most or self.is_adjudicator else "thanks")

    def _assign_next_task(self) -> str | None:
        """The next task, which is theirs then. What others keep open and do not answer is free after a while."""
        if key := self.queue.assigner.assign_next_task(self.name):
            return key
        free = [place for place in self.queue.get_open_assignments() if is_stale(place)]
        for place in free:
            self.queue.assigner.release_open_task(str(place.user))
        return self.queue.assigner.assign_next_task(self.name) if free else None

    def _qualification_keys(self) -> tuple[list[str], list[str]]:
        """The keys of training and test, of this try."""
        rules = {} if self.is_adjudicator else self.queue.rules
        sizes = rules.get("training", 0), rules.get("test", 0)
        return select_tasks(self.queue.content["known"], *sizes, self.name, self.participant.tries)

    def _score_known_tasks(self, keys: Sequence[str]) -> QualificationScore:
        """What the answers to some known tasks come to."""
        given = self.assignments.exclude(kind="task").filter(key__in=keys, state="answered")
        said = {row.key: (row.answer["first"], row.answer["second"]) for row in given}
        return score_answers(self.queue.content["known"], said)

    def _has_failed_test(self) -> bool:
        """Whether the test of this try was answered to its end, and not well enough."""
        test = self._qualification_keys()[1]
        reached = self._score_known_tasks(test)
        done = reached.num_answered == 2 * len(test)
        return not self.participant.passed and done and not reached.has_passed(self.queue.rules["test_share"])

    def _get_or_create_assignment(self, kind: str, key: str) -> TaskAssignment:
        """The place of a task, made if it is none yet. A number is of one task alone, whatever the data set: what a page that was left
        open sends is never taken for an answer to another."""
        last = TaskAssignment.objects.filter(user=self.user.pk).aggregate(last=Max("number"))["last"] or 0
        new = {"number": last + 1, "opened": now()}
        return TaskAssignment.objects.get_or_create(**self.assignment_keys, kind=kind, key=key, defaults=new)[
            0
        ]

    def _show_assignment(self, place: TaskAssignment) -> dict[str, Any]:
        shown = {"show": place.kind, **self._task_payload(place), "given": place.answer, "back": None}
        if place.kind != "task":
            keys = self._qualification_keys()[place.kind == "test"]
            return shown | {"number": keys.index(place.key) + 1, "of": len(keys)}
        before = self.assignments.filter(kind="task", number__lt=place.number)
        number = before.count() + 1
        of = max(number, self.queue.assigner.get_progress(self.name)[1])
        return shown | {"number": number, "of": of, "back": self._find_last_number(before)}

    def _find_last_number(self, places: QuerySet[TaskAssignment]) -> int | None:
        """The number of the last of some places to which one can go back."""
        return next((row.number for row in places.order_by("-number") if self._is_current(row)), None)

    def _task_payload(self, place: TaskAssignment) -> dict[str, Any]:
        shown = self.get_content(place)
        # Numbers come again for the next person at this browser, and images are kept there.
        mark = sha256(f"{self.assignment_keys}{place.key}".encode()).hexdigest()[:16]
        image = f"/desk/image/{place.number}?{mark}"
        return {"place": place.number, "image": image, "first": shown["first"], "second": shown["second"]}

    def _feedback_payload(self, place: TaskAssignment) -> dict[str, Any]:
        row, given = self.queue.known_tasks[place.key], place.answer
        sides = ("first", "second")
        return {
            "show": "feedback",
            **self._task_payload(place),
            "given": given,
            "known": {side: row[side]["expected"] for side in sides},
            "why": {side: row[side]["why"] for side in sides},
            "right": {side: is_correct(row[side], given[side]) for side in sides},
        }

    def _end_payload(self, show: str, words: str = "", **more: Any) -> dict[str, Any]:
        taught = () if words == "out" else self._qualification_keys()
        reached = self._score_known_tasks([key for keys in taught for key in keys])
        own = self.assignments.filter(kind="task", state="answered")
        return {
            "show": show,
            "words": MESSAGES[words or show],
            "judged": own.count(),
            "minutes": (self.assignments.aggregate(all=Sum("seconds"))["all"] or 0) / 60,
            "right": reached.num_correct,
            "asked": reached.num_answered,
            "back": None if words or show == "failed" else self._find_last_number(own),
            **more,
        }

    def _save_answer(self, place: TaskAssignment, answer: dict[str, str], seconds: float) -> None:
        """Write an answer. The same one again changes nothing; another one corrects a task, and nothing else."""
        if place.state != "answered":
            place.answered_at = now()
            place.seconds = min(seconds, (place.answered_at - place.opened_at).total_seconds())
        elif place.kind != "task":
            return
        place.state, place.answer = "answered", answer
        place.save()
        if place.kind == "task":
            self._save_annotation(place, _to_label_studio_result(answer), cancelled=False)
            self.queue.assigner.record_answer(self.name, place.key, answer["first"], answer["second"])

    def _save_skip(self, place: TaskAssignment) -> None:
        if place.kind != "task" or place.state == "answered":
            raise RequestRefused(409, "this is answered already, or cannot be skipped")
        place.state = "skipped"
        place.save()
        self._save_annotation(place, [], cancelled=True)
        self.queue.assigner.record_skip(self.name, place.key)

    def _save_annotation(self, place: TaskAssignment, result: list[dict[str, Any]], cancelled: bool) -> None:
        """Label Studio's annotation of a place, one for each person and task, made or changed; and its counts.

        Past the models' own `save`, whose signals work out the whole project's summary each time (0.1 s). One that says the same
        stays as it is: `pull` would take it for a correction. One that the study leader deleted is made again.
        """
        number, when = self.queue.task_numbers[place.key], now()
        given = Annotation.objects.filter(task=number)
        own = given.filter(completed_by=self.user)
        if (cancelled, result) in own.values_list("was_cancelled", "result"):
            return
        fields = {
            "result": result, "result_count": len(result), "was_cancelled": cancelled, "lead_time": place.seconds,
            "updated_by": self.user, "updated_at": when,
        }  # fmt: skip
        if not own.update(**fields):
            new = {"task_id": number, "project_id": self.queue.project_number, "completed_by": self.user}
            Annotation.objects.bulk_create([Annotation(**new, **fields)])
        skips = list(given.values_list("was_cancelled", flat=True))
        Task.objects.filter(pk=number).update(
            total_annotations=skips.count(False),
            cancelled_annotations=skips.count(True),
            is_labeled=skips.count(False) >= self.queue.rules["votes"],
            updated_at=when,
        )


def _validate_answer(answer: Mapping[str, Any]) -> tuple[dict[str, str], float]:
    """An answer and its seconds; Refused (400) if they are not what the page sends."""
    given, seconds = {name: answer.get(name) or "" for name in CONTROLS}, answer.get("seconds")
    right = (
        type(seconds) in (int, float) and 0 <= seconds <= 86_400 and answer.keys() <= {*CONTROLS, "seconds"}
    )
    for side in ("first", "second"):
        reasons = ("", *REASONS) if given[side] == "invalid" else ("",)
        right = right and given[side] in CHOICES and given[f"{side}_reason"] in reasons
    if not right:
        raise RequestRefused(
            400, "an answer needs two choices, seconds, and reasons for what is invalid alone"
        )
    return given, float(seconds)


def _to_label_studio_result(answer: Mapping[str, str]) -> list[dict[str, Any]]:
    """An answer as interface.xml's controls give it."""
    kind = {"to_name": "image", "type": "choices", "origin": "manual"}
    return [
        {"id": f"rgqa-{name}", "from_name": name, **kind, "value": {"choices": [answer[name]]}}
        for name in CONTROLS
        if answer[name]
    ]
