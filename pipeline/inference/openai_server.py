"""Ask a model on a server that speaks OpenAI's protocol (POST /chat/completions), with aiohttp.

The protocol: https://platform.openai.com/docs/api-reference/chat. vLLM, SGLang, llama.cpp, Ollama and LM Studio speak it, and so do
many hosted services.

aiohttp was chosen by measurement (`python -m research.benchmarks.runner_speed RELEASE`): the other clients take several times as long for a
request.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp

from ..core.errors import UserError
from ..core.server_errors import find_proxy, format_one_line
from .chat_model import Choice, Message, Reply, RequestSettings
from .run_options import DEFAULT_MAX_CONNECTIONS

# Maximum waiting time for a reply, in seconds.
REQUEST_TIMEOUT_SECONDS = 300
# HTTP statuses after which the same request may succeed later: timeouts, conflicts, rate limits and faults of the server.
TRANSIENT_STATUSES = frozenset((408, 409, 429, *range(500, 600)))
# The words of the protocol for truncated replies, and those of `chat_model`.
STOP_REASONS = {"length": "max_tokens"}
# Fields in which servers send reasoning apart from the reply.
REASONING_FIELDS = ("reasoning_content", "reasoning")
# Prefix of the settings of a model that are HTTP headers.
HEADER_PREFIX = "header."


class ServerError(Exception):
    """The server answered with an HTTP error.

    Attributes:
        status_code: The HTTP status.
        retry_after: Number of seconds after which the server wants to be asked again; 0 if it does not say.
    """

    def __init__(self, status_code: int, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(f"Error code: {status_code} - {reason}")
        self.status_code, self.retry_after = status_code, retry_after


class InvalidReplyError(ValueError):
    """The server answered with something that is not a reply of a model."""


class OpenAiServer:
    """A model on a server.

    Args:
        name: Name of the model on the server.
        address: Base URL, such as http://127.0.0.1:8000/v1.
        key_variable: Environment variable with the API key. If it is not set, no key is sent.
        settings: Further settings: `header.NAME` is an HTTP header, any other name a field of every request, whose value is read
            as JSON if it is JSON.

    Raises:
        UserError: The environment names a proxy that does not speak HTTP.
    """

    is_local = False
    default_connections = DEFAULT_MAX_CONNECTIONS
    model_info: Mapping[str, Any] = {}
    answer_vocabulary: Sequence[str] = ()

    def __init__(
        self, name: str, address: str, key_variable: str = "", settings: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.name, self.address, self.key_variable = name, address, key_variable
        self._headers = {"Content-Type": "application/json"}
        if key := os.environ.get(key_variable, "").strip():
            self._headers["Authorization"] = f"Bearer {key}"
        self._fields: dict[str, Any] = {"model": name}
        for setting, value in settings:
            if setting.startswith(HEADER_PREFIX):
                self._headers[setting.removeprefix(HEADER_PREFIX)] = value
            else:
                self._fields[setting] = _read_value(value)
        self._proxy = find_proxy(address)
        if self._proxy and urlsplit(self._proxy).scheme not in ("http", "https"):
            raise UserError(
                f"{name}: the proxy of the environment for {address} is no HTTP proxy; set NO_PROXY={urlsplit(address).hostname}"
            )
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # The number of requests at the same time is limited by the caller. The proxy is looked up once: aiohttp's own option
        # `trust_env` looks it up for every request, in a thread.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_SECONDS),
            proxy=self._proxy or None,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._session:
            await self._session.close()

    async def send(self, messages: Sequence[Message], settings: RequestSettings) -> Reply:
        """Send a conversation and return the reply to its last message.

        Raises:
            ServerError: The server answered with an HTTP error.
            InvalidReplyError: The server answered with something else.
            TimeoutError: There was no reply in time.
            ConnectionError: The connection failed.
        """
        assert self._session, "used within `async with`"
        body = json.dumps(self._fields | make_request_fields(messages, settings)).encode()
        try:
            async with self._session.post(f"{self.address}/chat/completions", data=body) as response:
                data = await response.read()
        except TimeoutError:
            raise TimeoutError(f"no reply within {REQUEST_TIMEOUT_SECONDS} s") from None
        except aiohttp.ClientError as error:
            raise ConnectionError(f"connection error: {error}") from error
        if response.status >= 400:
            raise ServerError(
                response.status, _read_error(data), _read_seconds(response.headers.get("Retry-After", ""))
            )
        return read_reply(data)

    def is_transient(self, error: Exception) -> bool:
        """Return whether the same request may succeed later."""
        if isinstance(error, ServerError):
            return error.status_code in TRANSIENT_STATUSES
        return isinstance(error, TimeoutError | ConnectionError)


def make_request_fields(messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    """Return the fields of a request in the protocol.

    >>> make_request_fields([Message("user", "Why?")], RequestSettings(seed=1, max_tokens=9))
    {'messages': [{'role': 'user', 'content': 'Why?'}], 'temperature': 0.0, 'max_tokens': 9, 'seed': 1}
    """
    fields: dict[str, Any] = {
        "messages": [{"role": message.role, "content": _make_content(message)} for message in messages],
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
    }
    if settings.seed is not None:
        fields["seed"] = settings.seed
    if settings.num_choices > 1:
        fields["n"] = settings.num_choices
    if settings.needs_logprobs:
        fields["logprobs"] = True
    if settings.num_top_logprobs:
        fields["top_logprobs"] = settings.num_top_logprobs
    if settings.schema:
        schema = {"name": settings.schema.name, "schema": settings.schema.schema, "strict": True}
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    return fields


def _make_content(message: Message) -> Any:
    if not message.image:
        return message.text
    return [
        {"type": "image_url", "image_url": {"url": message.image}},
        {"type": "text", "text": message.text},
    ]


def read_reply(data: bytes) -> Reply:
    """Read the body of a reply.

    Raises:
        InvalidReplyError: It is not a reply of a model.
    """
    try:
        body = json.loads(data)
    except ValueError:
        raise InvalidReplyError(f"not JSON: {_shorten(data)}") from None
    if not isinstance(body, dict):
        raise InvalidReplyError(f"not a reply of a model: {_shorten(data)}")
    if body.get("error"):
        raise InvalidReplyError(f"an error in place of a reply: {_read_error(data)}")
    choices, usage = body.get("choices"), body.get("usage")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise InvalidReplyError(f"a reply without the field choices: {_shorten(data)}")
    counts = usage if isinstance(usage, dict) else {}
    return Reply(
        [_read_choice(choice) for choice in choices],
        *(
            count if isinstance(count := counts.get(name), int) else 0
            for name in ("prompt_tokens", "completion_tokens")
        ),
        error="" if choices else "the server sent no choices",
    )


def _read_choice(choice: Mapping[str, Any]) -> Choice:
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    reason, logprobs = choice.get("finish_reason"), choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return Choice(
        text=content if isinstance(content, str) and content else str(refusal or ""),
        stop_reason=STOP_REASONS.get(str(reason), str(reason or "stop")),
        is_refusal=bool(refusal),
        has_reasoning=any(message.get(field) for field in REASONING_FIELDS),
        token_logprobs=tokens if isinstance(tokens, list) and all(map(_is_token, tokens)) else (),
    )


def _is_token(token: Any) -> bool:
    """Return whether this is a token with its log probability, as the protocol wants it."""
    return (
        isinstance(token, dict)
        and isinstance(token.get("token"), str)
        and isinstance(token.get("logprob"), int | float)
        and isinstance(tops := token.get("top_logprobs") or [], list)
        and all(map(_is_token, tops))
    )


def _read_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_error(data: bytes) -> str:
    """Return what a server says of an error: the message in its JSON, or the beginning of its text."""
    try:
        body = json.loads(data)
    except ValueError:
        return _shorten(data)
    while isinstance(body, dict) and (
        inner := body.get("error") or body.get("message") or body.get("detail")
    ):
        body = inner
    return format_one_line(body if isinstance(body, str) else json.dumps(body))


def _shorten(data: bytes) -> str:
    return format_one_line(data.decode(errors="replace")) or "an empty reply"


def _read_seconds(text: str) -> float:
    """Return the seconds of the header Retry-After; 0 if it is absent or a date."""
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if 0 < seconds < math.inf else 0.0
