"""A stand-in for the desk's server that speaks POST /annotate/step from a list of states: for what the page does by itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from annotation.client.annotator_texts import read_text, render_guidelines, render_page

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "annotation/server/label_studio_app/templates"
IMAGES = sorted((ROOT / "data/sample/source/images").glob("*.jpg"))
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
CONTACT = "Ann Lee, ann@example.org"
KINDS = {"": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}
CONSENT = {
    "show": "consent",
    "html": render_page(read_text("consent.md", Path("none"))[1].replace("{contact}", CONTACT)),
    "hash": "abc",
    "contact": CONTACT,
}


def task(place: int = 1, first: str = "What color is the car?", second: str = "Is there a dog?", **more: Any):
    """A state that shows two questions."""
    asked = {"place": place, "image": f"/annotate/image/{place}", "first": first, "second": second}
    return {"show": "task", "number": place, "of": 20, "back": None, "given": None} | asked | more


class StandIn:
    """Serves the page. `state` is what every step answers, or a function of what was sent; `sent` is all that was."""

    def __init__(self) -> None:
        self.state: dict[str, Any] | Callable[[dict[str, Any]], Any] = CONSENT
        self.sent: list[dict[str, Any]] = []
        self.fail: list[int] = []  # statuses for the next steps; 0 breaks the connection off
        self.images = IMAGES
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def give(self, data: bytes, kind: str, status: int = 200) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Security-Policy", CSP)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                name = self.path.rpartition("/")[2]
                if self.path.startswith("/annotate/image/"):
                    number = int(name.partition("?")[0])
                    self.give(stand_in.images[number % len(stand_in.images)].read_bytes(), "image/jpeg")
                    return
                text = (PAGE / (name or "desk.html")).read_text().replace("{{ csrf_token }}", "a token")
                self.give(text.encode(), KINDS[Path(name).suffix])

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.path == "/annotate/step" and self.headers["X-CSRFToken"] == "a token"
                stand_in.sent.append(body)
                if stand_in.fail:
                    status = stand_in.fail.pop(0)
                    if status:
                        self.give(b'{"detail": "no such choice"}', "application/json", status)
                    else:
                        self.close_connection = True
                    return
                told = stand_in.state(body) if callable(stand_in.state) else stand_in.state
                more = {} if body else {"guide": render_guidelines(Path("none")), "contact": CONTACT}
                self.give(json.dumps(told | more).encode(), "application/json")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
