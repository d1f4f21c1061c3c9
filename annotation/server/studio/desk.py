"""The desk's addresses, and before them nothing of Label Studio's: what annotators reach (see `gate`), and what the study
leader's commands ask for."""

from __future__ import annotations

import mimetypes
import re
from hashlib import sha256
from hmac import compare_digest
from importlib.resources import files
from secrets import token_urlsafe

from core.middleware import enforce_csrf_checks
from core.urls import urlpatterns as label_studio
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path, re_path
from io_storages.localfiles.views import build_localfile_response
from organizations.models import Organization
from users.functions import login
from users.models import User

from annotation.server.studio.desk_tables import Participant
from annotation.server.studio.leader import forget, report
from annotation.server.studio.places import NOTHING, Desk
from annotation.server.studio.queue import Queue, Refused, body_of, queues

LOCAL = "/data/local-files/?d="  # Label Studio's address of a picture, before its path in data/
PICTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/source/images/[^/\\\x00]+")
STATIC = {"desk.js": "text/javascript", "desk.css": "text/css"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}")
VOLUNTEERS = 500  # that may come by one open link
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
    content = files("annotation.server.studio").joinpath("templates", name).read_bytes()
    return HttpResponse(
        content, content_type=f"{STATIC[name]}; charset=utf-8", headers={"Cache-Control": "no-cache"}
    )


@enforce_csrf_checks
def step(request: HttpRequest) -> HttpResponse:
    """What the page sends, and what it shows next; both JSON."""
    try:
        with queues() as all_queues:
            said = body_of(request)
            queue = _of(request, all_queues)
            nobody = "There is nothing for you here yet. Come back later."
            answer = (
                Desk(queue, request.user).step(said)
                if queue
                else {"show": "wait", "words": nobody, "guide": "", "contact": "", **NOTHING}
            )
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
    """A data set's picture; 404 for everything else. SVG may carry scripts, so it is no picture here."""
    kind = mimetypes.guess_type(name)[0] or ""
    if not PICTURE.fullmatch(name) or not kind.startswith("image/") or kind == "image/svg+xml":
        raise Http404("no such picture")
    answer = build_localfile_response(
        request, str(settings.RGQA_DATA / name), request.headers.get("If-None-Match")
    )
    if answer.status_code == 404:
        raise Http404("no such picture")  # without the path on the disk that Label Studio's answer names
    answer["Cache-Control"] = "private, max-age=3600"
    return answer


def come_in(request: HttpRequest, token: str) -> HttpResponse:
    """Open the session of the person whose link this is."""
    digest = hashed(token)
    person = Participant.objects.filter(link=digest).first()
    user = (
        person
        and compare_digest(person.link, digest)
        and User.objects.filter(pk=person.user, is_active=True).first()
    )
    if not user or user.is_staff:
        return _said(request, "This link opens nothing", "Ask whoever sent it for a new one.", 404)
    _enter(request, user)
    return redirect("/desk/")


@enforce_csrf_checks
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Let a volunteer in by the open link: a name, an account, and a link of their own to come back with."""
    digest = hashed(token)
    with queues() as all_queues:
        queue = next(
            (one for one in all_queues if compare_digest(one.content.get("join") or "-", digest)), None
        )
        if queue is None:
            return _said(request, "This link opens nothing", "Ask whoever sent it for a new one.", 404)
        name = request.POST.get("name", "").strip()
        volunteers = Participant.objects.filter(data_set=queue.data_set).exclude(name="")
        email = f"{name.lower()}@volunteer.rgqa.local"
        why = ""
        if request.method != "POST":
            pass
        elif not NAME.fullmatch(name):
            why = "A name has letters, digits, dots and dashes, and begins with a letter or digit; no spaces."
        elif User.objects.filter(email=email).exists():
            why = "Somebody has that name already. If it is you, use the link that you were given; else take another."
        elif volunteers.count() >= VOLUNTEERS:
            why = "There are enough people already. Thank you!"
        else:
            return _joined(request, queue.data_set, name, email)
    text = "What may we call you? The study leader alone sees this name. " + why
    return render(
        request,
        "rgqa_page.html",
        {"title": "Welcome", "text": text, "asks": True},
        status=400 if why else 200,
    )


def _joined(request: HttpRequest, data_set: str, name: str, email: str) -> HttpResponse:
    home = Organization.objects.order_by("pk").first()
    user = User(email=email, username=email, active_organization=home, allow_newsletters=False)
    user.set_unusable_password()
    user.save()
    home.add_user(user)
    secret = token_urlsafe(32)
    Participant.objects.create(user=user.pk, data_set=data_set, name=name, link=hashed(secret))
    _enter(request, user)
    link = request.build_absolute_uri(f"/desk/in/{secret}")
    text = "Keep this address: it brings you back to your tasks, on any day. Give it to nobody."
    return render(request, "rgqa_page.html", {"title": f"Welcome, {name}", "text": text, "link": link})


def hashed(token: str) -> str:
    """What is kept of the secret in a link."""
    return sha256(token.encode()).hexdigest()


def _enter(request: HttpRequest, user: User) -> None:
    request.session.flush()
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")


def _said(request: HttpRequest, title: str, text: str, status: int) -> HttpResponse:
    return render(request, "rgqa_page.html", {"title": title, "text": text}, status=status)


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
