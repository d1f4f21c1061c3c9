"""What one person sees of a data set and says to it, place by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.db.models import Max, QuerySet, Sum
from django.utils.timezone import now
from tasks.models import Annotation, Task
from users.models import User

from annotation.server.label_studio_app.models import Participant, Place
from annotation.server.label_studio_app.task_queue import Queue, Refused, stale
from annotation.study.qualification import TRIES, Marks, lessons, marks, right

CHOICES = ("valid", "invalid", "unsure")
REASONS = (
    "missing object", "wrong attribute", "wrong relation", "no valid answer", "underspecified", "unclear picture",
)  # fmt: skip
CONTROLS = ("first", "second", "first_reason", "second_reason")  # as interface.xml calls them
WORDS = {
    "thanks": "That is all there is for you. Thank you very much!",
    "out": "Thank you for your work. There are no more tasks for you: on questions whose answers we know, yours were often others. "
    "These questions are odd, and people read them differently; it is no judgement of you. If you think that we are mistaken, "
    "please write to us.",
    "declined": "You take no part; nothing more is asked. What you answered before is kept until you ask the study leader to delete it.",
    "wait": "There is nothing for you just now. Come back later: what others answer decides what is asked next.",
    "again": "That was not enough this time. Read the guidelines once more; then you have a second try, with other questions.",
    "failed": "Thank you for trying. These tasks do not suit everybody, and you get no more of them. Nothing else depends on it.",
}


class Desk:
    """What one person sees and says: `step` takes what their page sent and gives what it shows next."""

    def __init__(self, queue: Queue, user: User) -> None:
        self.queue, self.user, self.name = queue, user, str(user.pk)
        self.expert = queue.appoint(user)
        self.of = {"user": user.pk, "data_set": queue.data_set}
        self.person = Participant.objects.get_or_create(**self.of)[0]
        self.places = Place.objects.filter(**self.of)

    def step(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Raises Refused if what is said makes no sense, or is about what is not theirs."""
        consent = self.queue.content["consent"]
        match said:
            case {"consent": wanted} if len(said) == 1:
                if wanted != consent["hash"]:
                    raise Refused(409, "the text has changed: read it again")
                self.person.consent_hash, self.person.consent_time = wanted, now()
                self.person.save()
            case {"decline": True} if len(said) == 1:
                self.queue.asking.leave(self.name)
                self.person.consent_hash = ""
                self.person.save()
                return self._end("thanks", "declined")
            case {"again": True} if len(said) == 1:
                if self._failed() and self.person.tries + 1 < TRIES:
                    self.person.tries += 1
                    self.person.save()
            case {"answer": {"place": number, **answer}} if len(said) == 1:
                place = self.place(number)
                self._answer(place, *_checked(answer))
                if place.kind == "training":
                    return self._feedback(place)
            case {"skip": {"place": number, **rest}} if len(said) == 1 and not rest:
                self._skip(self.place(number))
            case {"open": number} if len(said) == 1:
                place = self.place(number)
                if place.kind != "task":
                    raise Refused(404, "answers of training and test stay as they are")
                return self._shown(place)
            case _ if said:
                raise Refused(400, "what was sent is nothing that the desk knows")
        return self._next() | (
            {} if said else {"guide": self.queue.content["guide"], "contact": consent["contact"]}
        )

    def place(self, number: Any) -> Place:
        """One of theirs, by its number; Refused (404) if there is none, or they take no part."""
        known = type(number) is int and 0 < number < 1 << 31 and self.person.consent_hash
        place = self.places.filter(number=number).first() if known else None
        if place is None or not self._there(place):
            raise Refused(404, "no such place")
        return place

    def _there(self, place: Place) -> bool:
        """Whether what was shown there is still asked: another batch may have come."""
        return place.key in (self.queue.task if place.kind == "task" else self.queue.known)

    def shown_of(self, place: Place) -> dict[str, Any]:
        """The picture's address and the texts of the questions of a place."""
        if place.kind != "task":
            row = self.queue.known[place.key]
            return {"image": row["image"], "first": row["first"]["text"], "second": row["second"]["text"]}
        return Task.objects.values_list("data", flat=True).get(pk=self.queue.task[place.key])

    def _next(self) -> dict[str, Any]:
        consent = self.queue.content["consent"]
        if self.person.consent_hash != consent["hash"]:
            return {"show": "consent", "guide": self.queue.content["guide"], **consent}
        if not self.person.passed:
            done = set(self.places.exclude(state="open").exclude(kind="task").values_list("key", flat=True))
            for kind, keys in zip(("training", "test"), self._lessons(), strict=True):
                if key := next((key for key in keys if key not in done), None):
                    return self._shown(self._put(kind, key))
            if self._failed():
                again = self.person.tries + 1 < TRIES
                return self._end("failed", "again" if again else "failed", again=again)
            self.person.passed = True
            self.person.save()
        if self.queue.out(self.user):
            self.queue.asking.leave(self.name)
            return self._end("thanks", "out")
        opened = self.places.filter(kind="task", state="open")
        if place := next((row for row in opened if row.key in self.queue.task), None):
            self.queue.asking.hold(self.name, place.key)  # again, if it went to others meanwhile
            return self._shown(place)
        if key := self._asked():
            return self._shown(self._put("task", key))
        judged, most = self.queue.asking.progress(self.name)
        return self._end("wait" if judged < most or self.expert else "thanks")

    def _asked(self) -> str | None:
        """The next task, which is theirs then. What others keep open and do not answer is free after a while."""
        if key := self.queue.asking.next(self.name):
            return key
        free = [place for place in self.queue.opened() if stale(place)]
        for place in free:
            self.queue.asking.leave(str(place.user))
        return self.queue.asking.next(self.name) if free else None

    def _lessons(self) -> tuple[list[str], list[str]]:
        """The keys of training and test, of this try."""
        rules = {} if self.expert else self.queue.rules
        sizes = rules.get("training", 0), rules.get("test", 0)
        return lessons(self.queue.content["known"], *sizes, self.name, self.person.tries)

    def _reached(self, keys: Sequence[str]) -> Marks:
        """What the answers to some known tasks come to."""
        given = self.places.exclude(kind="task").filter(key__in=keys, state="answered")
        said = {row.key: (row.answer["first"], row.answer["second"]) for row in given}
        return marks(self.queue.content["known"], said)

    def _failed(self) -> bool:
        """Whether the test of this try was answered to its end, and not well enough."""
        test = self._lessons()[1]
        reached = self._reached(test)
        done = reached.asked == 2 * len(test)
        return not self.person.passed and done and not reached.passed(self.queue.rules["test_share"])

    def _put(self, kind: str, key: str) -> Place:
        """The place of a task, made if it is none yet. A number is of one task alone, whatever the data set: what a page that was left
        open sends is never taken for an answer to another."""
        last = Place.objects.filter(user=self.user.pk).aggregate(last=Max("number"))["last"] or 0
        new = {"number": last + 1, "opened": now()}
        return Place.objects.get_or_create(**self.of, kind=kind, key=key, defaults=new)[0]

    def _shown(self, place: Place) -> dict[str, Any]:
        shown = {"show": place.kind, **self._page(place), "given": place.answer, "back": None}
        if place.kind != "task":
            keys = self._lessons()[place.kind == "test"]
            return shown | {"number": keys.index(place.key) + 1, "of": len(keys)}
        before = self.places.filter(kind="task", number__lt=place.number)
        number = before.count() + 1
        of = max(number, self.queue.asking.progress(self.name)[1])
        return shown | {"number": number, "of": of, "back": self._last(before)}

    def _last(self, places: QuerySet[Place]) -> int | None:
        """The number of the last of some places to which one can go back."""
        return next((row.number for row in places.order_by("-number") if self._there(row)), None)

    def _page(self, place: Place) -> dict[str, Any]:
        shown = self.shown_of(place)
        # Numbers come again for the next person at this browser, and pictures are kept there.
        mark = sha256(f"{self.of}{place.key}".encode()).hexdigest()[:16]
        picture = f"/desk/picture/{place.number}?{mark}"
        return {"place": place.number, "picture": picture, "first": shown["first"], "second": shown["second"]}

    def _feedback(self, place: Place) -> dict[str, Any]:
        row, given = self.queue.known[place.key], place.answer
        sides = ("first", "second")
        return {
            "show": "feedback",
            **self._page(place),
            "given": given,
            "known": {side: row[side]["expected"] for side in sides},
            "why": {side: row[side]["why"] for side in sides},
            "right": {side: right(row[side], given[side]) for side in sides},
        }

    def _end(self, show: str, words: str = "", **more: Any) -> dict[str, Any]:
        taught = () if words == "out" else self._lessons()
        reached = self._reached([key for keys in taught for key in keys])
        own = self.places.filter(kind="task", state="answered")
        return {
            "show": show,
            "words": WORDS[words or show],
            "judged": own.count(),
            "minutes": (self.places.aggregate(all=Sum("seconds"))["all"] or 0) / 60,
            "right": reached.right,
            "asked": reached.asked,
            "back": None if words or show == "failed" else self._last(own),
            **more,
        }

    def _answer(self, place: Place, answer: dict[str, str], seconds: float) -> None:
        """Write an answer. The same one again changes nothing; another one corrects a task, and nothing else."""
        if place.state != "answered":
            place.answered = now()
            place.seconds = min(seconds, (place.answered - place.opened).total_seconds())
        elif place.kind != "task":
            return
        place.state, place.answer = "answered", answer
        place.save()
        if place.kind == "task":
            self._annotate(place, _result(answer), cancelled=False)
            self.queue.asking.answer(self.name, place.key, answer["first"], answer["second"])

    def _skip(self, place: Place) -> None:
        if place.kind != "task" or place.state == "answered":
            raise Refused(409, "this is answered already, or cannot be skipped")
        place.state = "skipped"
        place.save()
        self._annotate(place, [], cancelled=True)
        self.queue.asking.skip(self.name, place.key)

    def _annotate(self, place: Place, result: list[dict[str, Any]], cancelled: bool) -> None:
        """Label Studio's annotation of a place, one for each person and task, made or changed; and its counts.

        Past the models' own `save`, whose signals work out the whole project's summary each time (0.1 s). One that says the same
        stays as it is: `pull` would take it for a correction. One that the study leader deleted is made again.
        """
        number, when = self.queue.task[place.key], now()
        given = Annotation.objects.filter(task=number)
        own = given.filter(completed_by=self.user)
        if (cancelled, result) in own.values_list("was_cancelled", "result"):
            return
        fields = {
            "result": result, "result_count": len(result), "was_cancelled": cancelled, "lead_time": place.seconds,
            "updated_by": self.user, "updated_at": when,
        }  # fmt: skip
        if not own.update(**fields):
            new = {"task_id": number, "project_id": self.queue.project, "completed_by": self.user}
            Annotation.objects.bulk_create([Annotation(**new, **fields)])
        skips = list(given.values_list("was_cancelled", flat=True))
        Task.objects.filter(pk=number).update(
            total_annotations=skips.count(False),
            cancelled_annotations=skips.count(True),
            is_labeled=skips.count(False) >= self.queue.rules["votes"],
            updated_at=when,
        )


def _checked(answer: Mapping[str, Any]) -> tuple[dict[str, str], float]:
    """An answer and its seconds; Refused (400) if they are not what the page sends."""
    given, seconds = {name: answer.get(name) or "" for name in CONTROLS}, answer.get("seconds")
    right = (
        type(seconds) in (int, float) and 0 <= seconds <= 86_400 and answer.keys() <= {*CONTROLS, "seconds"}
    )
    for side in ("first", "second"):
        reasons = ("", *REASONS) if given[side] == "invalid" else ("",)
        right = right and given[side] in CHOICES and given[f"{side}_reason"] in reasons
    if not right:
        raise Refused(400, "an answer needs two choices, seconds, and reasons for what is invalid alone")
    return given, float(seconds)


def _result(answer: Mapping[str, str]) -> list[dict[str, Any]]:
    """An answer as interface.xml's controls give it."""
    kind = {"to_name": "image", "type": "choices", "origin": "manual"}
    return [
        {"id": f"rgqa-{name}", "from_name": name, **kind, "value": {"choices": [answer[name]]}}
        for name in CONTROLS
        if answer[name]
    ]
