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

from annotation.server.label_studio_app.models import Participant, TaskAssignment
from annotation.server.label_studio_app.task_queue import (
    QUEUES_LOCK,
    RequestRefused,
    TaskQueue,
    cached_queues,
    open_queues,
    parse_json_body,
)
from annotation.study.qualification import score_answers


def get_report(request: HttpRequest) -> HttpResponse:
    """Of each data set: its people and how far they are; how far the tasks are."""
    with open_queues() as all_queues:
        return JsonResponse({queue.dataset: _build_progress(queue) for queue in all_queues})


def _build_progress(queue: TaskQueue) -> dict[str, Any]:
    """How far the tasks are; `wanted`: judgements that may still be asked, at most."""
    asking, votes, wave = queue.assigner, queue.rules["votes"], queue.rules["wave"]
    wanted = asking.get_wanted_votes().tolist()
    known = {key for key, more in zip(asking.keys, wanted, strict=True) if not more}
    places = TaskAssignment.objects.filter(data_set=queue.dataset, kind="task")
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
    return {"tasks": tasks, "votes": states, "people": _build_annotator_rows(queue)}


def _build_annotator_rows(queue: TaskQueue) -> list[dict[str, Any]]:
    accounts, rows = User.objects.in_bulk(), []
    for person in Participant.objects.filter(data_set=queue.dataset, user__in=accounts).order_by("user"):
        own = TaskAssignment.objects.filter(data_set=queue.dataset, user=person.user)
        done = Counter(own.filter(state="answered").values_list("kind", flat=True))
        told = own.exclude(kind="task").filter(state="answered").values_list("key", "answer")
        reached = score_answers(
            queue.content["known"], {key: (said["first"], said["second"]) for key, said in told}
        )
        judged, most = queue.assigner.get_progress(str(person.user))
        rows.append(
            {
                "email": accounts[person.user].email,
                "name": person.name,
                "consent_hash": person.consent_hash,
                "consent": person.consent_hash == queue.content["consent"]["hash"] and person.consent_time,
                "trained": done["training"],
                "tested": done["test"],
                "passed": person.passed,
                "out": queue.assigner.has_failed_gold(str(person.user)),
                "right": reached.num_correct,
                "asked": reached.num_answered,
                "judged": judged,
                "of": most,
            }
        )
    return rows


@require_POST
def erase_annotator(request: HttpRequest) -> HttpResponse:
    """Delete all that there is of somebody: account, answers, drafts, places, sessions."""
    try:
        email = parse_json_body(request).get("email")
        with open_queues():
            if not isinstance(email, str) or not email:
                raise RequestRefused(400, "an e-mail address is wanted")
            user = User.objects.filter(email__iexact=email, is_staff=False).first()
            counts = _erase_user(user) if user else {"annotations": 0, "places": 0, "accounts": 0}
            cached_queues.clear()  # the queues are built anew, without them
    except RequestRefused as refusal:
        return JsonResponse({"detail": str(refusal)}, status=refusal.status)
    with QUEUES_LOCK, connection.cursor() as cursor:
        if connection.vendor == "sqlite":  # what was deleted stays in the file's free pages otherwise
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return JsonResponse(counts)


def _erase_user(user: User) -> dict[str, int]:
    given = list(Annotation.objects.filter(completed_by=user))
    for annotation in given:
        annotation.delete()  # one by one: Label Studio counts along
    AnnotationDraft.objects.filter(user=user).delete()
    places = TaskAssignment.objects.filter(user=user.pk).delete()[0]
    Participant.objects.filter(user=user.pk).delete()
    for path in Path(settings.SESSION_FILE_PATH).iterdir():
        session = SessionStore(path.name.removeprefix(settings.SESSION_COOKIE_NAME))
        if session.get("_auth_user_id") == str(user.pk):
            session.delete()
    user.delete()
    return {"annotations": len(given), "places": places, "accounts": 1}
