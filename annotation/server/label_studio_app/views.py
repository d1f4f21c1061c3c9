"""The desk's addresses, and before them nothing of Label Studio's: what annotators reach (see `gate`), and what the study
leader's commands ask for."""

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

from annotation.server.label_studio_app import user_accounts
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

LOCAL_FILES_PREFIX = "/data/local-files/?d="  # Label Studio's address of an image, before its path in data/
IMAGE_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/source/images/[^/\\\x00]+")
STATIC_FILES = {"desk.js": "text/javascript", "desk.css": "text/css"}
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}")
MAX_VOLUNTEERS_PER_LINK = 500  # volunteers that may come by one open link
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def annotation_page(request: HttpRequest) -> HttpResponse:
    answer = render(request, "desk.html")
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
    """What the page sends, and what it shows next; both JSON."""
    try:
        said = parse_json_body(request)
        with open_queues() as all_queues:
            queue = _find_queue(request, all_queues)
            nobody = {"show": "wait", "words": "There is nothing for you here now."}
            answer = AnnotatorSession(queue, request.user).handle_step(said) if queue else nobody
    except RequestRefused as refusal:
        return JsonResponse({"detail": str(refusal)}, status=refusal.status)
    return JsonResponse(answer, headers={"Cache-Control": "no-store"})


def _find_queue(request: HttpRequest, queues_now: list[TaskQueue]) -> TaskQueue | None:
    """The queue of whoever asks: of the data set that was pushed last, if there are several."""
    return next((queue for queue in queues_now if queue.is_member(request.user)), None)


def task_image(request: HttpRequest, number: int) -> HttpResponse:
    """The image of an own place."""
    try:
        with open_queues() as all_queues:
            queue = _find_queue(request, all_queues)
            desk = queue and AnnotatorSession(queue, request.user)
            image = desk.get_content(desk.get_assignment(number))["image"] if desk else ""
    except RequestRefused as refusal:
        raise Http404 from refusal
    return _send_image(request, image.removeprefix(LOCAL_FILES_PREFIX))


def local_file(request: HttpRequest) -> HttpResponse:
    """An image at the address that Label Studio's own serving has (which is off), for the study leader in its interface."""
    return _send_image(request, request.GET.get("d", ""))


def _send_image(request: HttpRequest, name: str) -> HttpResponse:
    """Send an image of the data set, with the media type of its content; 404 for everything else, SVG included, which can
    carry scripts."""
    kind = ""
    with suppress(OSError):
        kind = detect_file_media_type(settings.RGQA_DATA / name) if IMAGE_PATTERN.fullmatch(name) else ""
    if not kind:
        raise Http404("no such image")
    known = request.headers.get("If-None-Match")
    answer = build_localfile_response(request, str(settings.RGQA_DATA / name), known)
    if answer.status_code == 404:
        raise Http404("no such image")  # without the path on the disk that Label Studio's answer names
    answer["Content-Type"], answer["Cache-Control"] = kind, "private, max-age=3600"
    return answer


def open_session(request: HttpRequest, token: str) -> HttpResponse:
    """Open the session of the person whose link this is."""
    with open_queues() as all_queues:
        people = {person for queue in all_queues for person in queue.content["people"].items()}
        came = User.objects.filter(email__endswith=VOLUNTEER_EMAIL_SUFFIX).values_list("email", flat=True)
        people |= {(email, "") for email in came}
        opened = [
            person[0]
            for person in people
            if _is_same_token(token, derive_annotator_secret(settings.SECRET_KEY, *person))
        ]
        user = user_accounts.get_or_create_annotator(opened[0]) if opened else None
        if user is None or not any(queue.is_member(user) for queue in all_queues):
            return render_message(
                request, "This link opens nothing", "Ask whoever sent it for a new one.", 403
            )
    _log_in(request, user)
    return redirect("/desk/")


@enforce_csrf_checks
def join_by_open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Let a volunteer in by the open link: a name, an account, and a link of their own to come back with."""
    with open_queues() as all_queues:
        doors = [queue for queue in all_queues if queue.content["volunteers"]]
        key = settings.SECRET_KEY
        queue = next(
            (
                one
                for one in doors
                if _is_same_token(token, derive_secret(key, OPEN_LINK_PREFIX + one.dataset))
            ),
            None,
        )
        if queue is None:
            return render_message(
                request, "This link opens nothing", "Ask whoever sent it for a new one.", 403
            )
        name = request.POST.get("name", "").strip()
        if request.method == "POST" and not (why := _find_name_problem(name, queue)):
            user = user_accounts.get_or_create_annotator(
                f"{name.lower()}.{token_hex(4)}{VOLUNTEER_EMAIL_SUFFIX}"
            )
            Participant.objects.create(user=user.pk, data_set=queue.dataset, name=name)
            _log_in(request, user)
            link = request.build_absolute_uri(f"/desk/in/{derive_annotator_secret(key, user.email, '')}")
            text = "Keep this address: it brings you back to your tasks, on any day. Give it to nobody."
            return render_message(request, f"Welcome, {name}", text, link=link)
    text = "What may we call you? The study leader alone sees this name."
    wrong = why if request.method == "POST" else ""
    return render_message(request, "Welcome", text, 400 if wrong else 200, asks=True, wrong=wrong)


def _is_same_token(token: str, secret: str) -> bool:
    return compare_digest(token.encode(), secret.encode())


def _find_name_problem(name: str, queue: TaskQueue) -> str:
    """Why a volunteer cannot have this name; "" if they can."""
    if not NAME_PATTERN.fullmatch(name):
        return "A name has letters, digits, dots and dashes, and begins with a letter or digit; no spaces."
    volunteers = Participant.objects.filter(data_set=queue.dataset).exclude(name="")
    if volunteers.filter(name__iexact=name).exists():
        return "Somebody has that name already. If it is you, use the link that you were given; else take another."
    return (
        "There are enough people already. Thank you!" if volunteers.count() >= MAX_VOLUNTEERS_PER_LINK else ""
    )


def _log_in(request: HttpRequest, user: User) -> None:
    request.session.flush()
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")


def render_message(
    request: HttpRequest, title: str, text: str, status: int = 200, **more: Any
) -> HttpResponse:
    """A page with a few words."""
    return render(request, "rgqa_page.html", {"title": title, "text": text, **more}, status=status)


urlpatterns = [
    path("desk/", annotation_page, name="desk"),
    path("desk/step", submit_step, name="desk-step"),
    path("desk/image/<int:number>", task_image, name="desk-image"),
    path("desk/static/<str:name>", static_file, name="desk-static"),
    path("desk/in/<str:token>", open_session, name="desk-in"),
    path("desk/join/<str:token>", join_by_open_link, name="desk-join"),
    path("desk/report", get_report, name="desk-report"),
    path("desk/forget", erase_annotator, name="desk-forget"),
    re_path(r"^data/local-files/?$", local_file, name="rgqa-image"),
    *label_studio,
]
