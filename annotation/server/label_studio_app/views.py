"""Define the views and URLs of the annotation page and the admin API.

These URLs take precedence over Label Studio's URLs.
"""

from __future__ import annotations

import re
from contextlib import suppress
from hmac import compare_digest
from importlib.resources import files
from secrets import token_hex
from typing import Any

from core.middleware import enforce_csrf_checks
from core.urls import urlpatterns as label_studio
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path, re_path
from io_storages.localfiles.views import build_localfile_response
from users.functions import login
from users.models import User

from annotation.server.label_studio_app import seats, user_accounts
from annotation.server.label_studio_app.access_links import (
    OPEN_LINK_PREFIX,
    VOLUNTEER_EMAIL_SUFFIX,
    derive_annotator_secret,
    derive_secret,
)
from annotation.server.label_studio_app.admin_api import erase_annotator, get_report
from annotation.server.label_studio_app.models import Participant
from annotation.server.label_studio_app.sessions import AnnotatorSession
from annotation.server.label_studio_app.task_queue import (
    RequestRefused,
    TaskQueue,
    open_queues,
    parse_json_body,
)
from pipeline.core.images import detect_file_media_type

# URL prefix of an image in Label Studio, before its path in data/.
LOCAL_FILES_PREFIX = "/data/local-files/?d="
IMAGE_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/source/images/[^/\\\x00]+")
STATIC_FILES = {"annotation_page.js": "text/javascript", "annotation_page.css": "text/css"}
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def annotation_page(request: HttpRequest) -> HttpResponse:
    answer = render(request, "annotation_page.html")
    answer["Content-Security-Policy"], answer["Cache-Control"] = CONTENT_SECURITY_POLICY, "no-store"
    return answer


def static_file(request: HttpRequest, name: str) -> HttpResponse:
    if name not in STATIC_FILES:
        raise Http404
    content = files("annotation.server.label_studio_app").joinpath("templates", name).read_bytes()
    kind = f"{STATIC_FILES[name]}; charset=utf-8"
    return HttpResponse(content, content_type=kind, headers={"Cache-Control": "no-cache"})


@enforce_csrf_checks
def submit_step(request: HttpRequest) -> HttpResponse:
    """Process a message (JSON) of the annotation page, and return the next screen (JSON)."""
    try:
        message = parse_json_body(request)
        with open_queues() as all_queues:
            queue = _find_queue(request, all_queues)
            no_tasks = {"screen": "wait", "message": "There are no tasks for you at the moment."}
            answer = AnnotatorSession(queue, request.user).handle_step(message) if queue else no_tasks
    except RequestRefused as refusal:
        return JsonResponse({"detail": str(refusal)}, status=refusal.status)
    return JsonResponse(answer, headers={"Cache-Control": "no-store"})


def _find_queue(request: HttpRequest, queues_now: list[TaskQueue]) -> TaskQueue | None:
    """Return the queue of the user.

    If the user annotates several data sets, the data set that was pushed last is used.
    """
    return next((queue for queue in queues_now if queue.is_member(request.user)), None)


def task_image(request: HttpRequest, number: int) -> HttpResponse:
    """Return the image of one of the user's own assignments."""
    try:
        with open_queues() as all_queues:
            queue = _find_queue(request, all_queues)
            session = queue and AnnotatorSession(queue, request.user)
            image = session.get_content(session.get_assignment(number))["image"] if session else ""
    except RequestRefused as refusal:
        raise Http404 from refusal
    return _send_image(request, image.removeprefix(LOCAL_FILES_PREFIX))


def local_file(request: HttpRequest) -> HttpResponse:
    """Return an image under Label Studio's URL for local files, for the study leader.

    Label Studio's own view is switched off.
    """
    return _send_image(request, request.GET.get("d", ""))


def _send_image(request: HttpRequest, name: str) -> HttpResponse:
    """Send an image of a data set with the media type of its content. Other files give status 404.

    SVG images are refused, too, because they can contain scripts.
    """
    kind = ""
    with suppress(OSError):
        kind = detect_file_media_type(settings.RGQA_DATA / name) if IMAGE_PATTERN.fullmatch(name) else ""
    if not kind:
        raise Http404("no such image")
    known = request.headers.get("If-None-Match")
    answer = build_localfile_response(request, str(settings.RGQA_DATA / name), known)
    if answer.status_code == 404:
        # The answer of Label Studio would reveal the path on disk, so it is replaced.
        raise Http404("no such image")
    answer["Content-Type"], answer["Cache-Control"] = kind, "private, max-age=3600"
    return answer


def open_session(request: HttpRequest, token: str) -> HttpResponse:
    """Log in the owner of a personal link and redirect to the annotation page."""
    with open_queues() as all_queues:
        people = {person for queue in all_queues for person in queue.content["annotators"].items()}
        volunteers = User.objects.filter(email__endswith=VOLUNTEER_EMAIL_SUFFIX).values_list(
            "email", flat=True
        )
        people |= {(email, "") for email in volunteers}
        owners = [
            person[0]
            for person in people
            if _is_same_token(token, derive_annotator_secret(settings.SECRET_KEY, *person))
        ]
        user = user_accounts.get_or_create_annotator(owners[0]) if owners else None
        if user is None or not any(queue.is_member(user) for queue in all_queues):
            return render_message(
                request, "This link is not valid", "Please ask the person who sent it for a new one.", 403
            )
    _log_in(request, user)
    return redirect("/annotate/")


@enforce_csrf_checks
def join_by_open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Sign up a volunteer through the open link: ask for a name, create an account, and show their personal
    link.
    """
    with open_queues() as all_queues:
        signup_queues = [queue for queue in all_queues if queue.content["is_signup_open"]]
        key = settings.SECRET_KEY
        queue = next(
            (
                one
                for one in signup_queues
                if _is_same_token(token, derive_secret(key, OPEN_LINK_PREFIX + one.dataset))
            ),
            None,
        )
        if queue is None:
            return render_message(
                request, "This link is not valid", "Please ask the person who sent it for a new one.", 403
            )
        name = request.POST.get("name", "").strip()
        if request.method == "POST":
            seats.release_unused_seats(queue)
        if request.method == "POST" and not (problem := seats.find_signup_problem(name, queue)):
            user = user_accounts.get_or_create_annotator(
                f"{name.lower()}.{token_hex(4)}{VOLUNTEER_EMAIL_SUFFIX}"
            )
            Participant.objects.create(user=user.pk, dataset=queue.dataset, name=name)
            _log_in(request, user)
            link = request.build_absolute_uri(
                f"/annotate/open/{derive_annotator_secret(key, user.email, '')}"
            )
            text = (
                "Please save this link. It brings you back to your tasks at any time. Do not share it. "
                f"Your place is kept for {seats.UNUSED_HOURS} hours, and after your first task for good."
            )
            return render_message(request, f"Welcome, {name}", text, link=link)
    text = "Please choose a name. Only the study leader sees it."
    error = problem if request.method == "POST" else ""
    return render_message(request, "Welcome", text, 400 if error else 200, asks_name=True, error=error)


def _is_same_token(token: str, secret: str) -> bool:
    return compare_digest(token.encode(), secret.encode())


def _log_in(request: HttpRequest, user: User) -> None:
    request.session.flush()
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")


def render_message(
    request: HttpRequest, title: str, text: str, status: int = 200, **more: Any
) -> HttpResponse:
    """Return a page with a short message."""
    return render(request, "message_page.html", {"title": title, "text": text, **more}, status=status)


urlpatterns = [
    path("annotate/", annotation_page, name="annotation-page"),
    path("annotate/step", submit_step, name="annotation-step"),
    path("annotate/image/<int:number>", task_image, name="annotation-image"),
    path("annotate/static/<str:name>", static_file, name="annotation-static"),
    path("annotate/open/<str:token>", open_session, name="annotation-open"),
    path("annotate/join/<str:token>", join_by_open_link, name="annotation-join"),
    path("annotate/report", get_report, name="annotation-report"),
    path("annotate/erase", erase_annotator, name="annotation-erase"),
    re_path(r"^data/local-files/?$", local_file, name="rgqa-image"),
    *label_studio,
]
