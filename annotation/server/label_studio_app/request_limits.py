"""Limit the bodies of requests, before anything reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

# Maximum size of a request body in bytes.
MAX_BODY_BYTES = 1 << 20
# The same for the study leader's commands, which upload tasks and guidelines with images. The web server refuses
# larger bodies, and keeps bodies of more than 512 KB in a temporary file.
MAX_LEADER_BODY_BYTES = 1 << 24

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def limit_bodies(application: Application) -> Application:
    """Return a WSGI application that answers requests with too large bodies with status 413.

    The web server sets the length also for chunked bodies. Only requests to the API with a personal token may have
    larger bodies; whether the token is valid, is checked later.
    """

    def limited(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        has_token = environ.get("HTTP_AUTHORIZATION", "").startswith("Bearer ")
        is_import = has_token and environ.get("PATH_INFO", "").startswith("/api/")
        limit = MAX_LEADER_BODY_BYTES if is_import else MAX_BODY_BYTES
        if int(environ.get("CONTENT_LENGTH") or 0) <= limit:
            return application(environ, start_response)
        body = b'{"detail": "The request is too large."}'
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response("413 Request Entity Too Large", headers)
        return [body]

    return limited
