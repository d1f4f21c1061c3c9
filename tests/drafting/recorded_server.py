"""An OpenAI-compatible server on 127.0.0.1 that replies to `rgqa draft` from recorded replies.

It recognizes an image by its bytes. To a question that it recorded, it replies with the recorded answer, and to every other question
"no". To a part of an image, it replies with the object whose box is shown.

    python -m tests.drafting.recorded_server [PORT]
"""

import base64
import io
import json
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image

from pipeline.drafting.images import widen_box
from pipeline.drafting.prompts import DraftPrompts
from pipeline.inference.probe import PROBE_QUESTION

from .fixtures import read_recorded

PHOTOGRAPHS = Path("data/photos/source/images")
CROP_REQUEST = DraftPrompts().crop()


class RecordedServer(ThreadingHTTPServer):
    """`asked` counts the requests by image and first line of the text; `answered` those whose reply was sent."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port=0, folder=PHOTOGRAPHS, replies=None, spoil=None):
        """`spoil(image id, kind, reply)` returns what is sent in place of a reply; kind is look, question or crop."""
        super().__init__(("127.0.0.1", port), Handler)
        self.replies = replies or read_recorded()
        self.images = {path.read_bytes(): path.stem for path in folder.iterdir()}
        self.sizes = {path.stem: Image.open(path).size for path in folder.iterdir()}
        self.spoil = spoil or (lambda image_id, kind, reply: reply)
        self.asked, self.answered, self.lock = Counter(), Counter(), threading.Lock()
        self.stop_after = 10**9

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_):
        """A client that went away."""

    def answer(self, image, text):
        """Return the image id, the kind of request, and the reply."""
        if text == PROBE_QUESTION:
            return "", "probe", "red" if Image.open(io.BytesIO(image)).getpixel((0, 0))[0] > 100 else "blue"
        if not image:
            return "", "probe", '{"name": "cup", "attributes": []}'
        if text == CROP_REQUEST:
            size = Image.open(io.BytesIO(image)).size
            for image_id in self.sizes:
                for thing in json.loads(self.replies[image_id][1])["objects"]:
                    left, top, right, bottom = widen_box(
                        to_pixels(thing["box"], self.sizes[image_id]), self.sizes[image_id]
                    )
                    if (right - left, bottom - top) == size:
                        return (
                            image_id,
                            "crop",
                            json.dumps({"name": thing["name"], "attributes": thing["attributes"]}),
                        )
            return "", "crop", '{"name": "thing", "attributes": []}'
        image_id = self.images[image]
        reply = self.replies[image_id][1]
        if text.startswith("Describe this picture"):
            return image_id, "look", reply
        recorded = {row["question"]: row["answer"] for row in json.loads(reply)["questions"]}
        return image_id, "question", recorded.get(text.splitlines()[0], "no")


def to_pixels(box, size):
    left, top, right, bottom = (round(edge * side / 1000) for edge, side in zip(box, size * 2, strict=True))
    return left, top, right - left, bottom - top


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = request["messages"][-1]["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        image = base64.b64decode(urls[0].partition(",")[2]) if urls else b""
        image_id, kind, reply = self.server.answer(image, text)
        # Parts of an image have their bytes as key.
        key = (kind, image_id, text.splitlines()[0], hash(image) if kind == "crop" else 0)
        with self.server.lock:
            self.server.asked[key] += 1
        if kind != "probe":
            reply = self.server.spoil(image_id, kind, reply)
        message = {"role": "assistant", "content": reply}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        usage = {
            "prompt_tokens": 1000,
            "completion_tokens": len(reply.split()),
            "total_tokens": 1000 + len(reply.split()),
        }
        body = {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "net",
            "choices": choices,
            "usage": usage,
        }
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        with self.server.lock:
            self.server.answered[key] += 1

    def log_message(self, *_):
        pass


@contextmanager
def recorded_server(**how):
    server = RecordedServer(**how)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    server = RecordedServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(server.url, flush=True)
    server.serve_forever()
