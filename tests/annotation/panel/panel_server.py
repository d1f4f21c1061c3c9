"""An OpenAI-compatible server on 127.0.0.1 that judges tasks: "invalid" for a question about a dog with an odd number."""

import io
import json
import re
import threading
import time

from PIL import Image

from pipeline.inference.probe import PROBE_QUESTION
from tests.http_server import ChatHandler, QuietServer, serving


class PanelServer(QuietServer):
    """`asked` has the text of each request about a task in order; `spoil(text, reply)` returns what is sent: a text, or an
    HTTP status. `has_schema` is whether requests with a schema are accepted. A server that is blind says "red" to every square.
    """

    def __init__(self, spoil=None, has_schema=True, delay=0.0, port=0, is_blind=False):
        super().__init__(Handler, port)
        self.spoil, self.has_schema, self.delay = spoil or (lambda text, reply: reply), has_schema, delay
        self.is_blind = is_blind
        self.asked, self.schemas, self.lock = [], 0, threading.Lock()


def judge(text):
    first, second = re.findall(r"^(?:First|Second) question: (.*)$", text, re.M)

    def choose(question):
        number = int(re.search(r"\d+", question)[0])
        return ("invalid", "missing object") if "dog" in question and number % 2 else ("valid", "")

    (one, one_reason), (two, two_reason) = choose(first), choose(second)
    return json.dumps({"first": one, "first_reason": one_reason, "second": two, "second_reason": two_reason})


class Handler(ChatHandler):
    def do_POST(self):
        server = self.server
        request, text, image = self.read_chat()
        if "response_format" in request and not server.has_schema:
            return self.send_json(400, {"error": {"message": "response_format is not supported"}})
        if text == PROBE_QUESTION:
            is_red = Image.open(io.BytesIO(image)).getpixel((0, 0))[0] > 100
            reply = "red" if is_red or server.is_blind else "blue"
        elif "First question:" not in text:
            reply = '{"name": "cup", "attributes": []}'
        else:
            time.sleep(server.delay)
            with server.lock:
                server.asked.append(text)
                server.schemas += "response_format" in request
            reply = server.spoil(text, judge(text))
            if isinstance(reply, int):
                return self.send_json(reply, {"error": {"message": "out of order"}})
        return self.send_chat(reply, num_tokens=20)


def panel_server(**how):
    return serving(PanelServer(**how))
