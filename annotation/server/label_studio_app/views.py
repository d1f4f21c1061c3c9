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
from annotation.server.label_studio_app.access_links import VOLUNTEER, VOLUNTEERS, link_of, secret_of
from annotation.server.label_studio_app.admin_api import forget, report
from annotation.server.label_studio_app.models import Participant
from annotation.server.label_studio_app.sessions import Desk
from annotation.server.label_studio_app.task_queue import Queue, Refused, body_of, queues
from pipeline.core.images import file_media_type

LOCAL = "/data/local-files/?d="  # Label Studio's address of a picture, before its path in data/
PICTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/source/images/[^/\\\x00]+")
STATIC = {"desk.js": "text/javascript", "desk.css": "text/css"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}")
MOST = 500  # volunteers that may come by one open link
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def page(request: HttpRequest) -> HttpResponse:
    answer = render(request, "desk.html")
    answer["Content-Security-Policy"], answer["Cache-Control"] = POLICY, "no-store"
    return answer


def static(request: HttpRequest, name: str) -> HttpResponse:
    if name not in STATIC:
        raise Http404
    content = files("annotation.server.label_studio_app").joinpath("templates", name).read_bytes()
    kind = f"{STATIC[name]}; charset=utf-8"
    return HttpResponse(content, content_type=kind, headers={"Cache-Control": "no-cache"})


@enforce_csrf_checks
def step(request: HttpRequest) -> HttpResponse:
    """What the page sends, and what it shows next; both JSON."""
    try:
        said = body_of(request)
        with queues() as all_queues:
            queue = _of(request, all_queues)
            nobody = {"show": "wait", "words": "There is nothing for you here now."}
            answer = Desk(queue, request.user).step(said) if queue else nobody
    except Refused as refusal:
        return JsonResponse({"detail": str(refusal)}, status=refusal.status)
    return JsonResponse(answer, headers={"Cache-Control": "no-store"})


def _of(request: HttpRequest, queues_now: list[Queue]) -> Queue | None:
    """The queue of whoever asks: of the data set that was pushed last, if there are several."""
    return next((queue for queue in queues_now if queue.has(request.user)), None)


def picture(request: HttpRequest, number: int) -> HttpResponse:
    """The picture of an own place."""
    try:
        with queues() as all_queues:
            queue = _of(request, all_queues)
            desk = queue and Desk(queue, request.user)
            image = desk.shown_of(desk.place(number))["image"] if desk else ""
    except Refused as refusal:
        raise Http404 from refusal
    return _sent(request, image.removeprefix(LOCAL))


def local_file(request: HttpRequest) -> HttpResponse:
    """A picture at the address that Label Studio's own serving has (which is off), for the study leader in its interface."""
    return _sent(request, request.GET.get("d", ""))


def _sent(request: HttpRequest, name: str) -> HttpResponse:
    """Send an image of the data set, with the media type of its content; 404 for everything else, SVG included, which can
    carry scripts."""
    kind = ""
    with suppress(OSError):
        kind = file_media_type(settings.RGQA_DATA / name) if PICTURE.fullmatch(name) else ""
    if not kind:
        raise Http404("no such picture")
    known = request.headers.get("If-None-Match")
    answer = build_localfile_response(request, str(settings.RGQA_DATA / name), known)
    if answer.status_code == 404:
        raise Http404("no such picture")  # without the path on the disk that Label Studio's answer names
    answer["Content-Type"], answer["Cache-Control"] = kind, "private, max-age=3600"
    return answer


def come_in(request: HttpRequest, token: str) -> HttpResponse:
    """Open the session of the person whose link this is."""
    with queues() as all_queues:
        people = {person for queue in all_queues for person in queue.content["people"].items()}
        came = User.objects.filter(email__endswith=VOLUNTEER).values_list("email", flat=True)
        people |= {(email, "") for email in came}
        opened = [person[0] for person in people if _same(token, link_of(settings.SECRET_KEY, *person))]
        user = user_accounts.person(opened[0]) if opened else None
        if user is None or not any(queue.has(user) for queue in all_queues):
            return said(request, "This link opens nothing", "Ask whoever sent it for a new one.", 403)
    _enter(request, user)
    return redirect("/desk/")


@enforce_csrf_checks
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Let a volunteer in by the open link: a name, an account, and a link of their own to come back with."""
    with queues() as all_queues:
        doors = [queue for queue in all_queues if queue.content["volunteers"]]
        key = settings.SECRET_KEY
        queue = next((one for one in doors if _same(token, secret_of(key, VOLUNTEERS + one.data_set))), None)
        if queue is None:
            return said(request, "This link opens nothing", "Ask whoever sent it for a new one.", 403)
        name = request.POST.get("name", "").strip()
        if request.method == "POST" and not (why := _refusal(name, queue)):
            user = user_accounts.person(f"{name.lower()}.{token_hex(4)}{VOLUNTEER}")
            Participant.objects.create(user=user.pk, data_set=queue.data_set, name=name)
            _enter(request, user)
            link = request.build_absolute_uri(f"/desk/in/{link_of(key, user.email, '')}")
            text = "Keep this address: it brings you back to your tasks, on any day. Give it to nobody."
            return said(request, f"Welcome, {name}", text, link=link)
    text = "What may we call you? The study leader alone sees this name."
    wrong = why if request.method == "POST" else ""
    return said(request, "Welcome", text, 400 if wrong else 200, asks=True, wrong=wrong)


def _same(token: str, secret: str) -> bool:
    return compare_digest(token.encode(), secret.encode())


def _refusal(name: str, queue: Queue) -> str:
    """Why a volunteer cannot have this name; "" if they can."""
    if not NAME.fullmatch(name):
        return "A name has letters, digits, dots and dashes, and begins with a letter or digit; no spaces."
    volunteers = Participant.objects.filter(data_set=queue.data_set).exclude(name="")
    if volunteers.filter(name__iexact=name).exists():
        return "Somebody has that name already. If it is you, use the link that you were given; else take another."
    return "There are enough people already. Thank you!" if volunteers.count() >= MOST else ""


def _enter(request: HttpRequest, user: User) -> None:
    request.session.flush()
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")


def said(request: HttpRequest, title: str, text: str, status: int = 200, **more: Any) -> HttpResponse:
    """A page with a few words."""
    return render(request, "rgqa_page.html", {"title": title, "text": text, **more}, status=status)


urlpatterns = [
    path("desk/", page, name="desk"),
    path("desk/step", step, name="desk-step"),
    path("desk/picture/<int:number>", picture, name="desk-picture"),
    path("desk/static/<str:name>", static, name="desk-static"),
    path("desk/in/<str:token>", come_in, name="desk-in"),
    path("desk/join/<str:token>", join, name="desk-join"),
    path("desk/report", report, name="desk-report"),
    path("desk/forget", forget, name="desk-forget"),
    re_path(r"^data/local-files/?$", local_file, name="rgqa-picture"),
    *label_studio,
]
