"""Give seats to volunteers who sign up through the open link, and delete people's accounts.

A seat counts for good once the volunteer has finished a task (of the training, the test or the work). Until then, it is
kept for `UNUSED_HOURS`, and the account is deleted afterwards. So nobody can take all seats at once, or keep them
without work.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.backends.file import SessionStore
from django.utils.timezone import now
from tasks.models import Annotation, AnnotationDraft
from users.models import User

from annotation.server.label_studio_app.access_links import VOLUNTEER_EMAIL_SUFFIX
from annotation.server.label_studio_app.models import Participant, TaskAssignment
from annotation.server.label_studio_app.task_queue import TaskQueue, cached_queues
from annotation.study.names import find_name_problem

# Maximum number of volunteers per data set.
MAX_VOLUNTEERS_PER_LINK = 500
# Hours after which the seat of a volunteer who has not finished a task is given to others.
UNUSED_HOURS = 24
# For a queue file of an earlier version, see `AnnotateParams.max_signups_per_hour`.
DEFAULT_SIGNUPS_PER_HOUR = 20


def find_signup_problem(name: str, queue: TaskQueue) -> str:
    """Return why a volunteer cannot sign up with a name; "" if there is a seat."""
    if problem := find_name_problem(name):
        return problem
    volunteers = Participant.objects.filter(dataset=queue.dataset).exclude(name="")
    if volunteers.filter(name__iexact=name).exists():
        return "This name is already taken. If it is yours, use your personal link. Otherwise, choose another name."
    if volunteers.count() >= MAX_VOLUNTEERS_PER_LINK:
        return "We have enough volunteers already. Thank you!"
    hour = now() - timedelta(hours=1), now()
    accounts = User.objects.filter(pk__in=volunteers.values_list("user", flat=True))
    if accounts.filter(date_joined__range=hour).count() >= queue.rules.get(
        "max_signups_per_hour", DEFAULT_SIGNUPS_PER_HOUR
    ):
        return "Many people have signed up in the last hour. Please try again in an hour."
    return ""


def release_unused_seats(queue: TaskQueue) -> int:
    """Delete the accounts of volunteers who signed up long ago and have not finished a task. Return their number.

    People whom the study leader already has in the roster keep their seats.
    """
    volunteers = Participant.objects.filter(dataset=queue.dataset).exclude(name="")
    unused = User.objects.filter(
        pk__in=[*volunteers.values_list("user", flat=True)],
        email__endswith=VOLUNTEER_EMAIL_SUFFIX,
        date_joined__lt=now() - timedelta(hours=UNUSED_HOURS),
        is_staff=False,
    ).exclude(pk__in=[*TaskAssignment.objects.filter(state="answered").values_list("user", flat=True)])
    enrolled = queue.content["annotators"].keys() | queue.content["removed"].keys()
    accounts = [
        user
        for user in unused
        if user.email not in enrolled and not Annotation.objects.filter(completed_by=user).exists()
    ]
    for user in accounts:
        erase_user(user)
    if accounts:
        # The next request builds the queues again, without these people.
        cached_queues.clear()
    return len(accounts)


def erase_user(user: User) -> dict[str, int]:
    """Delete all data of a person on the server, and return the numbers of deleted entries."""
    annotations = list(Annotation.objects.filter(completed_by=user))
    # Annotations are deleted one by one, so that Label Studio updates its counts.
    for annotation in annotations:
        annotation.delete()
    AnnotationDraft.objects.filter(user=user).delete()
    num_assignments = TaskAssignment.objects.filter(user=user.pk).delete()[0]
    Participant.objects.filter(user=user.pk).delete()
    for path in Path(settings.SESSION_FILE_PATH).iterdir():
        session = SessionStore(path.name.removeprefix(settings.SESSION_COOKIE_NAME))
        if session.get("_auth_user_id") == str(user.pk):
            session.delete()
    user.delete()
    return {"annotations": len(annotations), "assignments": num_assignments, "accounts": 1}
