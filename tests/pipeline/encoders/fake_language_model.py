"""A server with OpenAI's interface on 127.0.0.1, whose model gives each letter of a word log probability -1."""

import json
import math
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeLanguageModel(ThreadingHTTPServer):
    """Attributes: asked: (path, key, body) of each request. refuse: status codes of the next replies. replies: text -> what
    chat says of it: a str, or digit -> probability. raw: sent in place of any reply."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked, self.refuse, self.replies, self.raw = [], [], {}, None

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def texts(self):
        """All texts that completions were asked for."""
        return [text for _, _, body in self.asked for text in body["prompt"]]


class _Handler(BaseHTTPRequestHandler):
    server: FakeLanguageModel

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        if self.server.refuse:
            self.send_response(self.server.refuse.pop(0))
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"busy")
            return
        reply = self.server.raw or json.dumps(
            chat(self.server.replies[body["messages"][-1]["content"]])
            if self.path.endswith("/chat/completions")
            else {"choices": [echoed(i, text) for i, text in reversed(list(enumerate(body["prompt"])))]}
        )
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply.encode())

    def log_message(self, format, *args):
        pass


def echoed(index, text):
    """A token for each word and its space before; the first has no log probability. One more is made, of -100."""
    words = text.split(" ")
    starts = [sum(len(word) + 1 for word in words[:i]) - (i > 0) for i in range(len(words))]
    values = [None, *(-float(len(word)) for word in words[1:])]
    return {
        "index": index,
        "text": f"{text} more",
        "logprobs": {"token_logprobs": [*values, -100.0], "text_offset": [*starts, len(text)], "tokens": []},
    }


def chat(said):
    if isinstance(said, str):
        return {"choices": [{"message": {"content": said}}]}
    top = [{"token": digit, "logprob": math.log(p)} for digit, p in said.items()]
    return {"choices": [{"message": {"content": "?"}, "logprobs": {"content": [{"top_logprobs": top}]}}]}


@contextmanager
def fake_language_model():
    with FakeLanguageModel() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
