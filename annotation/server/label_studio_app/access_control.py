"""Restrict annotators to the annotation page with a Django middleware.

Staff accounts (the administrator) have access to everything. All other accounts have access only to the views
that are listed here by name, however the user logged in. If a later version of Label Studio adds views,
access to them is refused until they are listed here.
"""

from __future__ import annotations

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.deprecation import MiddlewareMixin

log = logging.getLogger(__name__)
# Pages that Label Studio shows after a login. Annotators are redirected to the annotation page instead.
START_VIEWS = ("main", "projects:project-index")
# View name -> allowed methods, for everybody, without a login.
PUBLIC_VIEWS = {
    "user-login": "GET POST",
    "logout": "GET",
    "health": "GET",
    # Needed by push and pull. Requests with the new token are checked again.
    "jwt_auth:token_refresh": "POST",
    "core.utils.static_serve.serve": "GET",
    "core.views.serve_file": "GET",
    # The icon of the site.
    "django.views.generic.base.RedirectView": "GET",
    "annotation-open": "GET",
    "annotation-join": "GET POST",
    "annotation-static": "GET",
}
# View name -> allowed methods, for annotators.
ANNOTATOR_VIEWS = {"annotation-page": "GET", "annotation-step": "POST", "annotation-image": "GET"}


class AccessControlMiddleware(MiddlewareMixin):
    """Allow or deny each request.

    This middleware must be the last one, so that `request.user` is known from the session or from a personal
    token.
    """

    def process_view(self, request: HttpRequest, view: Any, args: Any, address: Any) -> HttpResponse | None:
        name = request.resolver_match.view_name
        # Label Studio reads legacy tokens inside its views, after this check, so they are refused. Nobody has
        # one on this server.
        if request.headers.get("Authorization", "").lower().startswith("token"):
            return self.deny(
                request, 401, "This server accepts only personal tokens (Authorization: Bearer ...)."
            )
        if name == "heidi_tips":
            # Here, Label Studio would fetch advertisements from another server.
            return JsonResponse({})
        if is_allowed(PUBLIC_VIEWS, name, request) or request.user.is_staff:
            return None
        if not request.user.is_authenticated:
            if name in (*START_VIEWS, "annotation-page") and request.method in ("GET", "HEAD"):
                text = "Your personal link brings you back to your tasks. If you have lost it, ask the person who sent it."
                page = {"title": "Open your personal link", "text": text, "shows_admin_login": True}
                return render(request, "message_page.html", page, status=401)
            return self.deny(request, 401, "Please open your personal link first.")
        if name in START_VIEWS and request.method in ("GET", "HEAD"):
            return redirect("/annotate/")
        if is_allowed(ANNOTATOR_VIEWS, name, request):
            return None
        return self.deny(
            request, 403, "Annotators have access to the annotation page only. Please ask the study leader."
        )

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.method == "HEAD" and not response.streaming:
            # Responses to HEAD must have no content. waitress would send the content, and it would become
            # part of the next response.
            response.content = b""
        return response

    @staticmethod
    def deny(request: HttpRequest, status: int, reason: str) -> HttpResponse:
        """Refuse a request: return a page for browsers, and JSON for others.

        The log contains the account number, but no name.
        """
        log.warning("refused %s %s to account %s: %s", request.method, request.path, request.user.pk, reason)
        if request.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", ""):
            return JsonResponse({"detail": reason}, status=status)
        page = {
            "title": "Not for annotators",
            "text": "You have no access to this page.",
            "shows_task_link": True,
        }
        return render(request, "message_page.html", page, status=status)


def is_allowed(views: dict[str, str], name: str, request: HttpRequest) -> bool:
    """Return whether a view is listed in `views` with the method of the request."""
    return ("GET" if request.method == "HEAD" else request.method) in views.get(name, "").split()
