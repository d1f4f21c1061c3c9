"""The gate: a Django middleware that lets annotators reach the desk and nothing else of Label Studio.

Accounts with the mark "staff" (the administrator) pass. Everybody else, by whatever way they logged in, reaches the views
named here, by the names that Label Studio gives them; what a later version adds is refused until somebody allows it.
"""

from __future__ import annotations

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.deprecation import MiddlewareMixin

log = logging.getLogger(__name__)
START_VIEWS = ("main", "projects:project-index")  # where a login leads
PUBLIC_VIEWS = {  # logged in or not
    "user-login": "GET POST",
    "logout": "GET",
    "health": "GET",
    "jwt_auth:token_refresh": "POST",  # push and pull begin with it; what a token opens is decided here again
    "core.utils.static_serve.serve": "GET",
    "core.views.serve_file": "GET",
    "django.views.generic.base.RedirectView": "GET",  # the icon
    "desk-in": "GET",
    "desk-join": "GET POST",
    "desk-static": "GET",
}
ANNOTATOR_VIEWS = {"desk": "GET", "desk-step": "POST", "desk-image": "GET"}


class AccessControlMiddleware(MiddlewareMixin):
    """Placed last, so that `request.user` is known: by session or by personal token."""

    def process_view(self, request: HttpRequest, view: Any, args: Any, address: Any) -> HttpResponse | None:
        name = request.resolver_match.view_name
        # Legacy tokens are read only inside Label Studio's views, past this gate: nobody has one here.
        if request.headers.get("Authorization", "").lower().startswith("token"):
            return self.deny(
                request, 401, "this server takes personal tokens only (Authorization: Bearer ...)"
            )
        if name == "heidi_tips":
            return JsonResponse({})  # Label Studio would fetch advertisements from elsewhere
        if is_allowed(PUBLIC_VIEWS, name, request) or request.user.is_staff:
            return None
        if not request.user.is_authenticated:
            if name in (*START_VIEWS, "desk") and request.method in ("GET", "HEAD"):
                text = "The address that you were sent brings you back to your tasks. If it is lost, ask whoever sent it."
                page = {"title": "Open your own link", "text": text, "leader": True}
                return render(request, "rgqa_page.html", page, status=401)
            return self.deny(request, 401, "open your own link first")
        if name in START_VIEWS and request.method in ("GET", "HEAD"):
            return redirect("/desk/")
        if is_allowed(ANNOTATOR_VIEWS, name, request):
            return None
        return self.deny(request, 403, "annotators may only judge; ask the study leader")

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.method == "HEAD" and not response.streaming:
            response.content = b""  # waitress sends what it is given, and the next answer would begin with it
        return response

    @staticmethod
    def deny(request: HttpRequest, status: int, why: str) -> HttpResponse:
        """A page for who opens an address in a browser, else JSON. The log tells the account's number, no name."""
        log.warning("refused %s %s to account %s: %s", request.method, request.path, request.user.pk, why)
        if request.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", ""):
            return JsonResponse({"detail": why}, status=status)
        page = {"title": "Not for annotators", "text": "This page is not yours.", "back": True}
        return render(request, "rgqa_page.html", page, status=status)


def is_allowed(views: dict[str, str], name: str, request: HttpRequest) -> bool:
    """Whether a view is among some, with the request's method."""
    return ("GET" if request.method == "HEAD" else request.method) in views.get(name, "").split()
