"""An OpenAI-compatible server on 127.0.0.1 that judges tasks: "invalid" for a question about a dog with an odd number."""

import base64
import io
import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from PIL import Image

from pipeline.inference.probe import PROBE_QUESTION


class PanelServer(ThreadingHTTPServer):
    """`asked` has the text of each request about a task in order; `spoil(text, reply)` returns what is sent: a text, or an
    HTTP status. `has_schema` is whether requests with a schema are accepted.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, spoil=None, has_schema=True, delay=0.0, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.spoil, self.has_schema, self.delay = spoil or (lambda text, reply: reply), has_schema, delay
        self.asked, self.schemas, self.lock = [], 0, threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_):
        """A client that went away."""


def judge(text):
    first, second = re.findall(r"^(?:First|Second) question: (.*)$", text, re.M)

    def choose(question):
        number = int(re.search(r"\d+", question)[0])
        return ("invalid", "missing object") if "dog" in question and number % 2 else ("valid", "")

    (one, one_reason), (two, two_reason) = choose(first), choose(second)
    return json.dumps({"first": one, "first_reason": one_reason, "second": two, "second_reason": two_reason})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        self.send(*self.reply())

    def reply(self):
        """Return status and body."""
        server = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = request["messages"][-1]["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        if "response_format" in request and not server.has_schema:
            return 400, {"error": {"message": "response_format is not supported"}}
        if text == PROBE_QUESTION:
            pixel = Image.open(io.BytesIO(base64.b64decode(urls[0].partition(",")[2]))).getpixel((0, 0))
            reply = "red" if pixel[0] > 100 else "blue"
        elif "First question:" not in text:
            reply = '{"name": "cup", "attributes": []}'
        else:
            time.sleep(server.delay)
            with server.lock:
                server.asked.append(text)
                server.schemas += "response_format" in request
            reply = server.spoil(text, judge(text))
            if isinstance(reply, int):
                return reply, {"error": {"message": "out of order"}}
        message = {"role": "assistant", "content": reply}
        usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "net"}
        return 200, {**body, "choices": choices, "usage": usage}

    def send(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def panel_server(**how):
    server = PanelServer(**how)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
