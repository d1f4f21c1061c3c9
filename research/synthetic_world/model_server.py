"""Serve the sample's own VQA models on 127.0.0.1 as an OpenAI-compatible server.

The server has the endpoints `/v1/models` and `/v1/chat/completions`, and uses the images of the requests.
With it, `rgqa run` and its reaction to faults can be tested without a large model and without a network.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Protocol

import msgspec
import torch

from pipeline.core.errors import UserError, format_count
from research.synthetic_world.chat_format import ChatRequest, RequestError, make_choice, parse_turn
from research.synthetic_world.served_models import ChatTurn, ServedModel


@dataclass(frozen=True)
class FaultInjection:
    """The faults of a server.

    Attributes:
        has_logprobs: If False, requested log probabilities are silently omitted.
        delay_seconds: Waiting time before each reply.
        failure_rate: Proportion of requests that fail with status 500.
        truncation_rate: Proportion of replies that are truncated before the first token.
        max_requests_per_second: Requests beyond this number are answered with status 429. 0 means no limit.
    """

    has_logprobs: bool = True
    delay_seconds: float = 0.0
    failure_rate: float = 0.0
    truncation_rate: float = 0.0
    max_requests_per_second: int = 0


class ChatModel(Protocol):
    """Models that reply to messages."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the models."""
        ...

    def generate(self, name: str, turns: Sequence[ChatTurn]) -> list[dict[str, float]]:
        """Return the reply of a model: for each position, token -> probability.

        Raises:
            OSError, ValueError: The image cannot be read, or is not known to the model.
        """
        ...


class ModelServer(ThreadingHTTPServer):
    """An OpenAI-compatible HTTP server.

    Args:
        net: The served models.
        port: The port; 0 chooses a free port.
        faults: The faults of the server.

    Attributes:
        url: The base URL, including /v1, for clients.
        requests: Number of requests so far.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, net: ChatModel, port: int = 0, faults: FaultInjection = FaultInjection()) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.net, self.faults, self.requests = net, faults, 0
        self._random, self._request_times, self._lock = random.Random(0), deque[float](), Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def inject_faults(self) -> bool:
        """Count a request and apply the faults. Return whether the reply is truncated.

        Raises:
            RequestError: The request fails or exceeds the rate limit.
        """
        now, faults = time.monotonic(), self.faults
        with self._lock:
            self.requests += 1
            fails, is_truncated = (
                self._random.random() < faults.failure_rate,
                self._random.random() < faults.truncation_rate,
            )
            while self._request_times and now - self._request_times[0] >= 1:
                self._request_times.popleft()
            if faults.max_requests_per_second and len(self._request_times) >= faults.max_requests_per_second:
                raise RequestError(
                    429,
                    f"more than {format_count(faults.max_requests_per_second, 'request')} per second",
                    {"Retry-After": "1"},
                )
            self._request_times.append(now)
        time.sleep(faults.delay_seconds)
        if fails:
            raise RequestError(500, "this request was chosen to fail")
        return is_truncated

    def make_reply(self, request: ChatRequest) -> dict[str, Any]:
        """Answer a request in OpenAI's format.

        Raises:
            RequestError: The request cannot be answered.
        """
        if request.model not in self.net.names:
            raise RequestError(
                404, f"the model `{request.model}` does not exist; available: {', '.join(self.net.names)}"
            )
        if request.stream:
            raise RequestError(400, "stream: streaming is not supported")
        turns = [parse_turn(message) for message in request.messages]
        is_truncated = self.inject_faults()
        try:
            said = self.net.generate(request.model, turns)
        except (OSError, ValueError) as error:
            raise RequestError(400, f"the image cannot be read ({error})") from error
        limit = request.max_completion_tokens or request.max_tokens or len(said)
        said, is_short = ([], True) if is_truncated else (said[:limit], len(said) > limit)
        choices = [
            make_choice(request, said, is_short, self.faults.has_logprobs, index)
            for index in range(request.n or 1)
        ]
        num_prompt = sum(len(turn.text.split()) for turn in turns)
        num_completion = len(said) * len(choices)
        usage = {
            "prompt_tokens": num_prompt,
            "completion_tokens": num_completion,
            "total_tokens": num_prompt + num_completion,
        }
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
            return self._send(404, _make_error(404, f"{self.path} not found"))
        models = [{"id": name, "object": "model", "owned_by": "sample"} for name in self.server.net.names]
        return self._send(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if self.path.rstrip("/") != "/v1/chat/completions":
                raise RequestError(404, f"{self.path} not found")
            reply = self.server.make_reply(msgspec.json.decode(body, type=ChatRequest))
        except RequestError as error:
            return self._send(error.status, _make_error(error.status, str(error)), error.headers)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._send(400, _make_error(400, f"invalid request: {error}"))
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
        """Print nothing for a request."""


def _make_error(status: int, words: str) -> dict[str, Any]:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": words, "type": kind, "param": None, "code": status}}


@contextmanager
def run_in_thread(
    net: ChatModel, port: int = 0, faults: FaultInjection = FaultInjection()
) -> Iterator[ModelServer]:
    """Run a server in a thread within the context."""
    server = ModelServer(net, port, faults)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def load_nets(names: Sequence[str], seed: int) -> ServedModel:
    """Load nets of the sample.

    Raises:
        UserError: A net does not exist.
    """
    # Nets of this size are not faster with more threads.
    torch.set_num_threads(1)
    return ServedModel(names, seed)


def serve(net: ChatModel, port: int, faults: FaultInjection) -> None:
    """Serve until Ctrl-C. The first printed line has the names of the models and the address.

    Raises:
        UserError: The port is in use.
    """
    try:
        server = ModelServer(net, port, faults)
    except OSError as error:
        raise UserError(
            f"--port {port}: cannot be opened ({error.strerror}). Leave --port out for a free one."
        ) from error
    with server:
        print(f"{', '.join(net.names)} at {server.url} (stop with Ctrl-C)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("stopped")
