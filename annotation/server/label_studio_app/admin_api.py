"""What the study leader's commands ask of the server: how far everybody is, and to forget somebody."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.file import SessionStore
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST
from tasks.models import Annotation, AnnotationDraft
from users.models import User

from annotation.server.label_studio_app.models import Participant, Place
from annotation.server.label_studio_app.task_queue import LOCK, Queue, Refused, body_of, held, queues
from annotation.study.qualification import marks


def report(request: HttpRequest) -> HttpResponse:
    """Of each data set: its people and how far they are; how far the tasks are."""
    with queues() as all_queues:
        return JsonResponse({queue.data_set: _progress(queue) for queue in all_queues})


def _progress(queue: Queue) -> dict[str, Any]:
    """How far the tasks are; `wanted`: judgements that may still be asked, at most."""
    asking, votes, wave = queue.asking, queue.rules["votes"], queue.rules["wave"]
    wanted = asking.wanted().tolist()
    known = {key for key, more in zip(asking.keys, wanted, strict=True) if not more}
    places = Place.objects.filter(data_set=queue.data_set, kind="task")
    done = next((number for number, more in enumerate(wanted) if more), len(wanted) + wave - 1)
    judged = places.filter(state="answered").values_list("key", flat=True)
    tasks = {
        "tasks": len(wanted),
        "known": len(known),
        "votes": votes,
        "votes_on_known": sum(key in known for key in judged),
        "wanted": sum(wanted),
        "waves": -(-len(wanted) // wave),
        "waves_done": done // wave,
    }
    states = Counter(places.values_list("state", flat=True))
    return {"tasks": tasks, "votes": states, "people": _people(queue)}


def _people(queue: Queue) -> list[dict[str, Any]]:
    accounts, rows = User.objects.in_bulk(), []
    for person in Participant.objects.filter(data_set=queue.data_set, user__in=accounts).order_by("user"):
        own = Place.objects.filter(data_set=queue.data_set, user=person.user)
        done = Counter(own.filter(state="answered").values_list("kind", flat=True))
        told = own.exclude(kind="task").filter(state="answered").values_list("key", "answer")
        reached = marks(queue.content["known"], {key: (said["first"], said["second"]) for key, said in told})
        judged, most = queue.asking.progress(str(person.user))
        rows.append(
            {
                "email": accounts[person.user].email,
                "name": person.name,
                "consent_hash": person.consent_hash,
                "consent": person.consent_hash == queue.content["consent"]["hash"] and person.consent_time,
                "trained": done["training"],
                "tested": done["test"],
                "passed": person.passed,
                "out": queue.asking.out(str(person.user)),
                "right": reached.right,
                "asked": reached.asked,
                "judged": judged,
                "of": most,
            }
        )
    return rows


@require_POST
def forget(request: HttpRequest) -> HttpResponse:
    """Delete all that there is of somebody: account, answers, drafts, places, sessions."""
    try:
        email = body_of(request).get("email")
        with queues():
            if not isinstance(email, str) or not email:
                raise Refused(400, "an e-mail address is wanted")
            user = User.objects.filter(email__iexact=email, is_staff=False).first()
            counts = _deleted(user) if user else {"annotations": 0, "places": 0, "accounts": 0}
            held.clear()  # the queues are built anew, without them
    except Refused as refusal:
        return JsonResponse({"detail": str(refusal)}, status=refusal.status)
    with LOCK, connection.cursor() as cursor:
        if connection.vendor == "sqlite":  # what was deleted stays in the file's free pages otherwise
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return JsonResponse(counts)


def _deleted(user: User) -> dict[str, int]:
    given = list(Annotation.objects.filter(completed_by=user))
    for annotation in given:
        annotation.delete()  # one by one: Label Studio counts along
    AnnotationDraft.objects.filter(user=user).delete()
    places = Place.objects.filter(user=user.pk).delete()[0]
    Participant.objects.filter(user=user.pk).delete()
    for path in Path(settings.SESSION_FILE_PATH).iterdir():
        session = SessionStore(path.name.removeprefix(settings.SESSION_COOKIE_NAME))
        if session.get("_auth_user_id") == str(user.pk):
            session.delete()
    user.delete()
    return {"annotations": len(given), "places": places, "accounts": 1}
