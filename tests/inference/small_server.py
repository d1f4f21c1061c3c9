"""An OpenAI-compatible server on 127.0.0.1 that records its requests, and a release to ask it about."""

import base64
import hashlib
import json
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from types import MappingProxyType

from pipeline.inference.probe import PROBE_QUESTION, make_square_png
from tests.http_server import QuietServer, serving

KEY = "key-that-nobody-may-see"


class SmallServer(QuietServer):
    """Its reply is a function of the question and the image. `asked` counts each question except that of the probe."""

    logprobs, sees, delay, key = True, True, 0.0, None
    failing = ()  # numbers of requests that get `status`
    status, retry_after = 500, ""
    dead_after = 10**9  # requests from this one on get `status`
    most_choices = 10
    words, mutter = "out of order", ""  # of an error; after each answer
    greedy = True  # several replies at temperature 0
    several = True  # several replies at all
    # Of the requests in `failing`, and from `dead_after` on, instead of `status`: a method of Handler.
    fault = ""
    spoilt = MappingProxyType({})  # replaces parts of the choice in every reply beside the probe's
    spoilt_probe = MappingProxyType({})  # the same of the probe's replies

    def __init__(self):
        super().__init__(Handler)
        self.asked, self.requests, self.lock = Counter(), 0, threading.Lock()
        self.busy, self.most_busy, self.over = 0, 0, threading.Event()

    def reply(self, request, number):
        *_, last = [message for message in request["messages"] if message["role"] == "user"]
        parts = (
            last["content"]
            if isinstance(last["content"], list)
            else [{"type": "text", "text": last["content"]}]
        )
        text = " ".join(part["text"] for part in parts if part["type"] == "text")
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        image = base64.b64decode(urls[0].partition(",")[2]) if urls and self.sees else b""
        if text != PROBE_QUESTION:
            with self.lock:
                self.asked[text.splitlines()[0]] += 1
        digest = hashlib.sha256(image + text.encode()).digest()
        said = "unanswerable" if digest[0] < 64 else ("red", "blue", "yes", "no")[digest[1] % 4]
        logprob = -digest[2] / 100
        tokens = [{"token": said, "logprob": logprob, "bytes": None, "top_logprobs": [{"token": said, "logprob": logprob, "bytes": None}, {"token": "Yes", "logprob": -3.0, "bytes": None}]}]  # fmt: skip
        logprobs = {"content": tokens} if request.get("logprobs") and self.logprobs else None
        count = min(request.get("n") or 1, self.most_choices)
        message = {"role": "assistant", "content": said + self.mutter}
        choices = [
            {"index": i, "finish_reason": "stop", "message": message, "logprobs": logprobs}
            for i in range(count)
        ]
        for choice in choices:
            choice |= self.spoilt_probe if text == PROBE_QUESTION else self.spoilt
        usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
        return {"id": f"c{number}", "object": "chat.completion", "created": 1, "model": request["model"], "choices": choices, "usage": usage}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        server = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests += 1
            number, server.busy = server.requests, server.busy + 1
            server.most_busy = max(server.busy, server.most_busy)
        time.sleep(server.delay)
        if server.key and self.headers["Authorization"] != f"Bearer {server.key}":
            self.send(401, {"error": {"message": f"wrong key {self.headers['Authorization']}"}})
        elif request["model"] != "net":
            self.send(404, {"error": {"message": f"no model {request['model']}"}})
        elif not server.greedy and request.get("n", 1) > 1 and not request.get("temperature"):
            self.send(400, {"error": {"message": "n must be 1 when using greedy sampling"}})
        elif not server.several and request.get("n", 1) > 1:
            self.send(400, {"error": {"message": "n must be 1"}})
        elif (number in server.failing or number >= server.dead_after) and server.fault:
            getattr(self, server.fault)()
        elif number in server.failing or number >= server.dead_after:
            self.send(server.status, {"error": {"message": server.words}}, server.retry_after)
        else:
            self.send(200, server.reply(request, number))
        with server.lock:
            server.busy -= 1

    def do_GET(self):
        self.send(404, {"error": {"message": "nothing here"}})

    def send(self, status, body, retry_after=""):
        data = json.dumps(body).encode()
        self.send_response(status)
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reset(self):
        """Close the connection by TCP's RST."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def hang(self):
        """Send nothing until the test is over."""
        self.server.over.wait()

    def half(self):
        """Close the connection in the middle of the body."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id": "c1", "choi')
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def web_page(self):
        """Send a page for people, as a proxy or a wrong port does."""
        self.raw(b"<html><body><h1>Welcome to nginx!</h1></body></html>", "text/html")

    def half_json(self):
        """Send JSON that breaks off."""
        self.raw(b'{"id": "c1", "choi', "application/json")

    def other_json(self):
        """Send JSON that is no completion."""
        self.raw(b'["pong"]', "application/json")

    def no_choices(self):
        self.raw(
            b'{"id": "c1", "object": "chat.completion", "model": "net", "choices": []}', "application/json"
        )

    def null_choices(self):
        self.raw(
            b'{"id": "c1", "object": "chat.completion", "model": "net", "choices": null}', "application/json"
        )

    def error_in_200(self):
        self.raw(b'{"error": {"message": "out of memory", "code": 500}}', "application/json")

    def raw(self, data, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def small_server(**how):
    server = SmallServer()
    for name, value in how.items():
        setattr(server, name, value)
    with serving(server):
        try:
            yield server
        finally:
            server.over.set()


def make_release(folder, count=60):
    """A release 1.0.0 of `count` pairs, one AQ and one UQ on each image, all of them in two subsets, of split test."""
    release = folder / "toy" / "1.0.0"
    (release / "rgqa").mkdir(parents=True)
    (release / "images").mkdir()
    rows, items = [], []
    for number in range(count):
        (release / "images" / f"n{number}.png").write_bytes(
            make_square_png((number % 256, number // 256, 50), 4)
        )
        for kind, answer in (("a", ("red", "blue", "yes", "no")[number % 4]), ("u", "UQ")):
            name = f"{kind}{number}"
            rows.append(
                {
                    "img_id": f"n{number}",
                    "question_id": name,
                    "sent": f"Is {name} red?",
                    "label": {answer: 1.0},
                }
            )
            items.append({"item_id": name, "split": "test", "pair_id": f"p{number}"})
    for subset in ("clip-easy", "pt-hard"):
        (release / "rgqa" / f"{subset}.json").write_text(json.dumps(rows))
    lines = [
        json.dumps({"item": item | {"subset": name}}) for name in ("clip-easy", "pt-hard") for item in items
    ]
    (release / "provenance.jsonl").write_text("\n".join(lines))
    (release / "params.json").write_text(json.dumps({"version": "1.0.0", "dataset": "toy"}))
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  rgqa/{path.name}\n"
        for path in (release / "rgqa").iterdir()
    ]
    (release / "CHECKSUMS.sha256").write_text("".join(sorted(sums)))
    return release
