"""Requests and replies of a chat in OpenAI's form, as far as `serve_model` has them."""

from __future__ import annotations

import base64
import binascii
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from research.synthetic_world.served_models import ChatTurn

MAX_TOP_LOGPROBS = 20  # log probabilities of a token at most, as vLLM has it by default


class ImageUrl(msgspec.Struct):
    url: str


class MessagePart(msgspec.Struct):
    """Of a message: a text or an image."""

    type: str
    text: str = ""
    image_url: ImageUrl | None = None


class Message(msgspec.Struct):
    role: str
    content: str | list[MessagePart] | None = None


class ChatRequest(msgspec.Struct):
    """What is read of a request; anything else in it is ignored, as servers do."""

    model: str
    messages: list[Message]
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    seed: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    stream: bool | None = None


class RequestError(Exception):
    """A request that is not answered: status, words, and further headers."""

    def __init__(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(words)
        self.status, self.headers = status, dict(headers or {})


def parse_turn(message: Message) -> ChatTurn:
    """A message with its last image.

    Raises:
        Refusal: an image that is not in the request itself.
    """
    if not isinstance(message.content, list):
        return ChatTurn(message.role, message.content or "")
    text = "\n".join(part.text for part in message.content if part.type == "text")
    urls = [part.image_url.url for part in message.content if part.image_url]
    images = []
    for url in urls:
        head, _, data = url.partition(",")
        if not (head.startswith("data:image/") and head.endswith(";base64")):
            raise RequestError(
                400, "image_url: wanted data:image/...;base64,..., nothing is fetched from elsewhere"
            )
        try:
            images.append(base64.b64decode(data, validate=True))
        except binascii.Error as error:
            raise RequestError(400, f"image_url: {error}") from error
    return ChatTurn(message.role, text, images[-1] if images else None)


def make_choice(
    request: ChatRequest, said: Sequence[Mapping[str, float]], short: bool, logprobs: bool, place: int
) -> dict[str, Any]:
    """One of the `n` replies: tokens drawn from their distributions. `short`: more was to be said; `logprobs`: they are given
    where they are asked for."""
    # A seed alone would draw the same place of each question's distribution.
    told = None if request.seed is None else f"{request.seed} {place} {said}"
    drawing = random.Random(told)
    warm = 1.0 if request.temperature is None else request.temperature  # OpenAI's own is 1
    tokens = [sample_token(of_token, warm, drawing) for of_token in said]
    found = None
    if request.logprobs and logprobs:
        top = min(request.top_logprobs or 0, MAX_TOP_LOGPROBS)
        pairs = zip(tokens, said, strict=True)
        found = {"content": [_logprob(token, of) | _get_top_logprobs(of, top) for token, of in pairs]}
    return {
        "index": place,
        "message": {"role": "assistant", "content": "".join(tokens)},
        "logprobs": found,
        "finish_reason": "length" if short else "stop",
    }


def sample_token(said: Mapping[str, float], temperature: float, drawing: random.Random) -> str:
    """A token: the likeliest at temperature 0, else drawn by p^(1 / temperature)."""
    if temperature <= 0:
        return max(said, key=lambda token: said[token])
    return drawing.choices(list(said), [p ** (1 / temperature) for p in said.values()])[0]


def _logprob(token: str, said: Mapping[str, float]) -> dict[str, Any]:
    logprob = max(math.log(said[token]), -9999.0) if said[token] > 0 else -9999.0  # OpenAI's least
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def _get_top_logprobs(said: Mapping[str, float], count: int) -> dict[str, Any]:
    return {"top_logprobs": [_logprob(token, said) for token in list(said)[:count]]}
