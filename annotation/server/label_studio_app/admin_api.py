"""Serve the requests of the study leader's commands: progress reports and the erasure of an annotator."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST
from users.models import User

from annotation.server.label_studio_app.models import Participant, TaskAssignment
from annotation.server.label_studio_app.seats import erase_user
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
    """Return, as JSON, data set -> progress of the annotators and tasks."""
    with open_queues() as all_queues:
        return JsonResponse({queue.dataset: _build_progress(queue) for queue in all_queues})


def _build_progress(queue: TaskQueue) -> dict[str, Any]:
    """Return the progress of one data set.

    `num_wanted_votes` is the maximum number of votes that can be requested now.
    """
    assigner, max_votes, wave_size = queue.assigner, queue.rules["max_votes"], queue.rules["wave_size"]
    wanted = assigner.get_wanted_votes().tolist()
    decided = {key for key, more in zip(assigner.keys, wanted, strict=True) if not more}
    assignments = TaskAssignment.objects.filter(dataset=queue.dataset, kind="task")
    finished = next((index for index, more in enumerate(wanted) if more), len(wanted) + wave_size - 1)
    judged = assignments.filter(state="answered").values_list("key", flat=True)
    tasks = {
        "num_tasks": len(wanted),
        "num_decided": len(decided),
        "max_votes": max_votes,
        "num_votes_on_decided": sum(key in decided for key in judged),
        "num_wanted_votes": sum(wanted),
        "num_waves": -(-len(wanted) // wave_size),
        "num_finished_waves": finished // wave_size,
    }
    states = Counter(assignments.values_list("state", flat=True))
    return {"tasks": tasks, "assignment_states": states, "annotators": _build_annotator_rows(queue)}


def _build_annotator_rows(queue: TaskQueue) -> list[dict[str, Any]]:
    accounts, rows = User.objects.in_bulk(), []
    for person in Participant.objects.filter(dataset=queue.dataset, user__in=accounts).order_by("user"):
        own = TaskAssignment.objects.filter(dataset=queue.dataset, user=person.user)
        num_answered = Counter(own.filter(state="answered").values_list("kind", flat=True))
        answered = own.exclude(kind="task").filter(state="answered").values_list("key", "answer")
        score = score_answers(
            queue.content["known_tasks"],
            {key: (answer["first"], answer["second"]) for key, answer in answered},
            queue.assigner.is_gold_counted,
        )
        num_judged, max_tasks = queue.assigner.get_progress(str(person.user))
        rows.append(
            {
                "email": accounts[person.user].email,
                "name": person.name,
                "consent_hash": person.consent_hash,
                "consented_at": person.consent_hash == queue.content["consent"]["hash"]
                and person.consented_at,
                "num_training_answered": num_answered["training"],
                "num_test_answered": num_answered["test"],
                # Some pass the test for the time being, until others have judged the same questions.
                "is_qualified": person.is_qualified or num_judged > 0,
                "stopped_because": queue.assigner.explain_stop(str(person.user)),
                "num_correct": score.num_correct,
                "num_known_questions": score.num_answered,
                "num_judged": num_judged,
                "max_tasks": max_tasks,
            }
        )
    return rows


@require_POST
def erase_annotator(request: HttpRequest) -> HttpResponse:
    """Delete all data of one annotator: account, answers, drafts, assignments and sessions.

    Return the numbers of deleted entries.
    """
    try:
        email = parse_json_body(request).get("email")
        with open_queues():
            if not isinstance(email, str) or not email:
                raise RequestRefused(400, "An e-mail address is required.")
            user = User.objects.filter(email__iexact=email, is_staff=False).first()
            counts = erase_user(user) if user else {"annotations": 0, "assignments": 0, "accounts": 0}
            # The next request builds the queues again, without this annotator.
            cached_queues.clear()
    except RequestRefused as refusal:
        return JsonResponse({"detail": str(refusal)}, status=refusal.status)
    with QUEUES_LOCK, connection.cursor() as cursor:
        # Without this, SQLite would keep the deleted content in free pages of the file.
        if connection.vendor == "sqlite":
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return JsonResponse(counts)
