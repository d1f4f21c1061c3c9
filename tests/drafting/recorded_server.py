"""An OpenAI-compatible server on 127.0.0.1 that replies to `rgqa draft` from recorded replies.

It recognizes an image by its bytes. To a question that it recorded, it replies with the recorded answer, and to every other question
"no". To a part of an image, it replies with the object whose box is shown.

    python -m tests.drafting.recorded_server [PORT]
"""

import io
import json
import sys
import threading
from collections import Counter
from pathlib import Path

from PIL import Image

from pipeline.drafting.images import widen_box
from pipeline.drafting.prompts import DraftPrompts
from pipeline.inference.probe import PROBE_QUESTION
from tests.http_server import ChatHandler, QuietServer, serving

from .fixtures import read_recorded

PHOTOGRAPHS = Path("data/photos/source/images")
CROP_REQUEST = DraftPrompts().crop()


class RecordedServer(QuietServer):
    """`asked` counts the requests by image and first line of the text; `answered` those whose reply was sent."""

    def __init__(self, port=0, folder=PHOTOGRAPHS, replies=None, spoil=None):
        """`spoil(image id, kind, reply)` returns what is sent in place of a reply, or the status of an error; kind is look, question or crop."""
        super().__init__(Handler, port)
        self.replies = replies or read_recorded()
        self.images = {path.read_bytes(): path.stem for path in folder.iterdir()}
        self.sizes = {path.stem: Image.open(path).size for path in folder.iterdir()}
        self.spoil = spoil or (lambda image_id, kind, reply: reply)
        self.asked, self.answered, self.lock = Counter(), Counter(), threading.Lock()
        self.stop_after = 10**9

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


class Handler(ChatHandler):
    def do_POST(self):
        _, text, image = self.read_chat()
        image_id, kind, reply = self.server.answer(image, text)
        # Parts of an image have their bytes as key.
        key = (kind, image_id, text.splitlines()[0], hash(image) if kind == "crop" else 0)
        with self.server.lock:
            self.server.asked[key] += 1
        if kind != "probe":
            reply = self.server.spoil(image_id, kind, reply)
        if isinstance(reply, int):
            return self.send_json(reply, {"error": {"message": "out of memory", "type": "server_error"}})
        self.send_chat(reply, num_tokens=len(reply.split()))
        with self.server.lock:
            self.server.answered[key] += 1
        return None


def recorded_server(**how):
    return serving(RecordedServer(**how))


if __name__ == "__main__":
    server = RecordedServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(server.url, flush=True)
    server.serve_forever()
