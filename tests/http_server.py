"""Pieces of the servers on 127.0.0.1 that tests start."""

import base64
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietServer(ThreadingHTTPServer):
    """A server at a free port, or at `port`, that many clients may leave without a word."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler, port=0):
        super().__init__(("127.0.0.1", port), handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_):
        """A client that went away."""


class ChatHandler(BaseHTTPRequestHandler):
    """Reads requests of OpenAI's chat protocol and writes replies."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def read_chat(self):
        """Return the request, and the text and the image (b"" without one) of its last message."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = request["messages"][-1]["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return request, text, base64.b64decode(urls[0].partition(",")[2]) if urls else b""

    def send_chat(self, reply, num_tokens):
        """Send a reply. It is said to have `num_tokens` tokens, and its request 1,000."""
        usage = {"prompt_tokens": 1000, "completion_tokens": num_tokens, "total_tokens": 1000 + num_tokens}
        message = {"role": "assistant", "content": reply}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "net"}
        self.send_json(200, {**body, "choices": choices, "usage": usage})

    def send_json(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def serving(server):
    """Serve in a thread until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
