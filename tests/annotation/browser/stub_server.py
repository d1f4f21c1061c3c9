"""Serve the annotation page with prepared answers to POST /annotate/step, to test the page without a real server."""

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
    "screen": "consent",
    "html": render_page(read_text("consent.md", Path("none"))[1].replace("{contact}", CONTACT)),
    "hash": "abc",
    "contact": CONTACT,
}


def task(place: int = 1, first: str = "What color is the car?", second: str = "Is there a dog?", **more: Any):
    """A state that shows two questions."""
    asked = {"assignment": place, "image_url": f"/annotate/image/{place}", "first": first, "second": second}
    progress = {"task_number": place, "set_size": 20, "num_done_in_set": (place - 1) % 20}
    return {"screen": "task", "previous_assignment": None, "answer": None} | progress | asked | more


class StubServer:
    """Serves the page. `state` is what every step answers, or a function of what was sent; `sent` is all that was."""

    def __init__(self) -> None:
        self.state: dict[str, Any] | Callable[[dict[str, Any]], Any] = CONSENT
        self.sent: list[dict[str, Any]] = []
        self.fail: list[int] = []  # statuses for the next steps; 0 breaks the connection off
        self.failure = b'{"detail": "no such choice"}'  # their content
        self.images = IMAGES
        stub = self

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
                    self.give(stub.images[number % len(stub.images)].read_bytes(), "image/jpeg")
                    return
                text = (
                    (PAGE / (name or "annotation_page.html"))
                    .read_text()
                    .replace("{{ csrf_token }}", "a token")
                )
                self.give(text.encode(), KINDS[Path(name).suffix])

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.path == "/annotate/step" and self.headers["X-CSRFToken"] == "a token"
                stub.sent.append(body)
                if stub.fail:
                    status = stub.fail.pop(0)
                    if status:
                        self.give(stub.failure, "application/json", status)
                    else:
                        self.close_connection = True
                    return
                state = stub.state(body) if callable(stub.state) else stub.state
                more = {} if body else {"guidelines": render_guidelines(Path("none")), "contact": CONTACT}
                self.give(json.dumps(state | more).encode(), "application/json")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
