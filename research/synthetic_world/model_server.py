"""A server of OpenAI's form (`/v1/models`, `/v1/chat/completions`) on 127.0.0.1 behind which the sample's own answer nets look
at the image of the request: to try `rgqa run`, and its faults, without a model and without a network."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

import msgspec
import torch

from pipeline.core.errors import UserError, format_count
from research.synthetic_world.chat_format import ChatRequest, RequestError, make_choice, parse_turn
from research.synthetic_world.served_models import ServedModel


@dataclass(frozen=True)
class FaultInjection:
    """How a server misbehaves. `logprobs` False: asked for, they are left out without a word; `delay`: seconds before each
    reply; `fail`, `truncate`: shares of requests that end with status 500, or cut off before the first token; `rate`:
    requests a second, more are refused with status 429 (0: no limit)."""

    has_logprobs: bool = True
    delay_seconds: float = 0.0
    failure_rate: float = 0.0
    truncation_rate: float = 0.0
    max_requests_per_second: int = 0


class ModelServer(ThreadingHTTPServer):
    """Args:
    net: what answers. port: 0 takes a free one. faults: how it misbehaves.

    Attributes:
        url: with /v1, as clients want it. requests: how many came.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, net: ServedModel, port: int = 0, faults: FaultInjection = FaultInjection()) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.net, self.faults, self.requests = net, faults, 0
        self._random, self._request_times, self._lock = random.Random(0), deque[float](), Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def inject_faults(self) -> bool:
        """Count a request, and do to it what `faults` says; whether its reply is to be cut off.

        Raises:
            Refusal: it failed, or came too early.
        """
        now, faults = time.monotonic(), self.faults
        with self._lock:
            self.requests += 1
            failing, cut = (
                self._random.random() < faults.failure_rate,
                self._random.random() < faults.truncation_rate,
            )
            while self._request_times and now - self._request_times[0] >= 1:
                self._request_times.popleft()
            if faults.max_requests_per_second and len(self._request_times) >= faults.max_requests_per_second:
                raise RequestError(
                    429,
                    f"more than {format_count(faults.max_requests_per_second, 'request')} a second",
                    {"Retry-After": "1"},
                )
            self._request_times.append(now)
        time.sleep(faults.delay_seconds)
        if failing:
            raise RequestError(500, "this request was chosen to fail")
        return cut

    def make_reply(self, request: ChatRequest) -> dict[str, Any]:
        """The answer to a request, as OpenAI has it.

        Raises:
            Refusal: it cannot be answered.
        """
        if request.model not in self.net.names:
            raise RequestError(
                404, f"the model `{request.model}` does not exist; there are: {', '.join(self.net.names)}"
            )
        if request.stream:
            raise RequestError(400, "stream: replies are not streamed here")
        turns = [parse_turn(message) for message in request.messages]
        cut = self.inject_faults()
        try:
            said = self.net.generate(request.model, turns)
        except (OSError, ValueError) as error:
            raise RequestError(400, f"the image cannot be read ({error})") from error
        most = request.max_completion_tokens or request.max_tokens or len(said)
        said, short = ([], True) if cut else (said[:most], len(said) > most)
        choices = [
            make_choice(request, said, short, self.faults.has_logprobs, place)
            for place in range(request.n or 1)
        ]
        asked = sum(len(turn.text.split()) for turn in turns)
        spoken = len(said) * len(choices)
        usage = {"prompt_tokens": asked, "completion_tokens": spoken, "total_tokens": asked + spoken}
        return {
            "id": f"chatcmpl-{self.requests}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.model,
            "choices": choices,
            "usage": usage,
        }


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path.rstrip("/") != "/v1/models":
            return self._send(404, _make_error(404, f"no {self.path} here"))
        models = [{"id": name, "object": "model", "owned_by": "sample"} for name in self.server.net.names]
        return self._send(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if self.path.rstrip("/") != "/v1/chat/completions":
                raise RequestError(404, f"no {self.path} here")
            reply = self.server.make_reply(msgspec.json.decode(body, type=ChatRequest))
        except RequestError as refusal:
            return self._send(refusal.status, _make_error(refusal.status, str(refusal)), refusal.headers)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._send(400, _make_error(400, f"not a request: {error}"))
        return self._send(200, reply)

    def _send(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        data = msgspec.json.encode(body)
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed by request."""


def _make_error(status: int, words: str) -> dict[str, Any]:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": words, "type": kind, "param": None, "code": status}}


@contextmanager
def run_in_thread(
    net: ServedModel, port: int = 0, faults: FaultInjection = FaultInjection()
) -> Iterator[ModelServer]:
    """A server in a thread, as long as the block lasts."""
    server = ModelServer(net, port, faults)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serve(names: Sequence[str], seed: int, port: int, faults: FaultInjection) -> None:
    """Serve until Ctrl-C. The first line printed names models and address.

    Raises:
        UserError: no such net, or the port is taken.
    """
    torch.set_num_threads(1)  # a net of this size gains nothing from more
    net = ServedModel(names, seed)
    try:
        server = ModelServer(net, port, faults)
    except OSError as error:
        raise UserError(
            f"port {port} cannot be had ({error.strerror}); leave --port out for a free one"
        ) from error
    with server:
        print(f"{', '.join(net.names)} at {server.url} (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("ended")
