"""The gate: a Django middleware that lets annotators label, each in an organisation of their own, and nothing else; and
Label Studio's own question who may see a project.

Accounts of ours (the administrator, service accounts) are "staff" and pass. Everybody else who is logged in is an
annotator and falls under `rules`, by whatever way they logged in: the page's form or a token.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from django.apps import apps
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.deprecation import MiddlewareMixin
from projects.mixins import ProjectMixin as LabelStudioProjectMixin

from annotation.server.studio.rules import BODY_LIMIT, NONE, RULES, RequestRefused, check, references, skips

log = logging.getLogger(__name__)
PAGE = "rgqa_page.html"
START = ("main", "projects:project-index")
# Where the organisation of a thing stands, from the thing's model.
ORGANISATION = {
    "project": ("projects.Project", "organization_id"),
    "task": ("tasks.Task", "project__organization_id"),
    "annotation": ("tasks.Annotation", "task__project__organization_id"),
    "draft": ("tasks.AnnotationDraft", "task__project__organization_id"),
    "view": ("data_manager.View", "project__organization_id"),
}


class ProjectMixin(LabelStudioProjectMixin):
    """Named by the setting PROJECT_MIXIN: a project is for the members of its organisation; Label Studio's open edition lets
    in every account of the server. Tasks, annotations, drafts, exports and storages ask their project."""

    def has_permission(self, user: Any) -> bool:
        return super().has_permission(user) and self.organization_id == user.active_organization_id


class Gate(MiddlewareMixin):
    """Placed last, so that `request.user` is known: by session or by personal token."""

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, address: dict[str, Any]
    ) -> HttpResponse | None:
        name = request.resolver_match.view_name
        try:
            # Legacy tokens are read only inside Label Studio's views, past this gate: nobody has one here.
            if request.headers.get("Authorization", "").lower().startswith("token"):
                raise RequestRefused(
                    401, "this server takes personal tokens only (Authorization: Bearer ...)"
                )
            if name == "heidi_tips":
                return JsonResponse({})  # Label Studio would fetch advertisements from elsewhere
            rule = RULES.get(name, NONE)
            if (rule.open and rule.allows(request.method)) or request.user.is_staff:
                return None
            if not request.user.is_authenticated:
                # Pages send strangers to the login. Signing up is closed: accounts are made by invitation.
                page = name in (*START, "data_manager:project-data")
                return None if page else JsonResponse({"detail": "log in first"}, status=401)
            inspect(request, name, address)
        except RequestRefused as refusal:
            log.warning(
                "refused %s %s (%s) to %s: %s", request.method, request.path, name, request.user, refusal
            )
            return refused(request, refusal)
        return desk(request) if name in START else None


def inspect(request: HttpRequest, name: str, address: dict[str, Any]) -> None:
    """Let an annotator's request pass.

    Raises:
        RequestRefused: the rules do not allow it, or something that it names belongs to somebody else.
    """
    query = {key: request.GET.getlist(key) for key in request.GET}
    body = sent(request)
    rule = check(name, request.method, query, body)
    for kind, number in references(rule.names, address, query, body):
        if not owned(kind, number, request.user):
            raise RequestRefused(404, f"no such {kind}")
    answers = apps.get_model("tasks.Annotation").objects.filter(was_cancelled=False)
    # This deletes the annotation: right for a skipped task that is taken up again, never for a verdict.
    converts = name == "tasks:api-annotations:annotation-convert-to-draft"
    if converts and answers.filter(pk=address["pk"]).exists():
        raise RequestRefused(403, "only a skipped task can be taken up again")
    # The button Skip stands beside Update; one slip would take an answer back.
    if skips(query, body):
        own = {"task": address["pk"], "completed_by": request.user}
        if answers.filter(**({"pk": address["pk"]} if rule.names == "annotation" else own)).exists():
            why = "this task is answered: correct the answer, or leave it; it cannot be skipped any more"
            raise RequestRefused(403, why)


def sent(request: HttpRequest) -> dict[str, Any]:
    """What a request carries: a JSON object, or nothing. Other forms would be read differently here and there."""
    if not request.body:
        return {}
    if len(request.body) > BODY_LIMIT:
        raise RequestRefused(413, f"more than {BODY_LIMIT} bytes")
    if request.method not in ("POST", "PATCH") or request.content_type != "application/json":
        raise RequestRefused(415, "only JSON can be sent here")
    try:
        body = json.loads(request.body)
    except ValueError as error:
        raise RequestRefused(415, "what was sent is not JSON") from error
    if not isinstance(body, dict):
        raise RequestRefused(415, "a JSON object was expected")
    return body


def owned(kind: str, number: int, user: Any) -> bool:
    """Whether a thing is in the annotator's organisation; a user is nobody but the annotator."""
    if kind == "user":
        return number == user.pk
    model, organisation = ORGANISATION[kind]
    own = {organisation: user.active_organization_id}
    return apps.get_model(model).objects.filter(pk=number, **own).exists()


def desk(request: HttpRequest) -> HttpResponse:
    """Where an annotator starts: at the queue of the first project with open tasks, or of the last if all are done."""
    own = {"organization_id": request.user.active_organization_id}
    projects = apps.get_model("projects.Project").objects.filter(**own).order_by("pk")
    project = projects.filter(tasks__is_labeled=False).first() or projects.last()
    if project is None:
        text = "The study leader will put tasks here. Come back later."
        return render(request, PAGE, {"title": "There is nothing to judge yet", "text": text})
    return redirect(f"/projects/{project.pk}/data?labeling=1")


def refused(request: HttpRequest, refusal: RequestRefused) -> HttpResponse:
    if request.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", ""):
        return JsonResponse({"detail": str(refusal)}, status=refusal.status)
    shown = {"title": "Not for annotators", "text": "This page is not yours."}
    return render(request, PAGE, shown, status=refusal.status)
