"""Parse chat requests and make replies in OpenAI's format, as far as `model_server` supports the format."""

from __future__ import annotations

import base64
import binascii
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from research.synthetic_world.served_models import ChatTurn

# Maximum number of log probabilities per token, as in vLLM by default.
MAX_TOP_LOGPROBS = 20


class ImageUrl(msgspec.Struct):
    url: str


class MessagePart(msgspec.Struct):
    """A part of a message: a text or an image."""

    type: str
    text: str = ""
    image_url: ImageUrl | None = None


class Message(msgspec.Struct):
    role: str
    content: str | list[MessagePart] | None = None


class ChatRequest(msgspec.Struct):
    """The fields of a request that are used. Other fields are ignored."""

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
    """A request that is answered with an error: status, message and additional headers."""

    def __init__(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(words)
        self.status, self.headers = status, dict(headers or {})


def parse_turn(message: Message) -> ChatTurn:
    """Convert a message to a turn with its last image.

    Raises:
        RequestError: An image is given by a URL and is not contained in the request.
    """
    if not isinstance(message.content, list):
        return ChatTurn(message.role, message.content or "")
    text = "\n".join(part.text for part in message.content if part.type == "text")
    urls = [part.image_url.url for part in message.content if part.image_url]
    images = []
    for url in urls:
        head, _, data = url.partition(",")
        if not (head.startswith("data:image/") and head.endswith(";base64")):
            raise RequestError(400, "image_url: must be data:image/...;base64,... URLs are not fetched")
        try:
            images.append(base64.b64decode(data, validate=True))
        except binascii.Error as error:
            raise RequestError(400, f"image_url: {error}") from error
    return ChatTurn(message.role, text, images[-1] if images else None)


def make_choice(
    request: ChatRequest,
    distributions: Sequence[Mapping[str, float]],
    is_truncated: bool,
    has_logprobs: bool,
    index: int,
) -> dict[str, Any]:
    """Make one of the `n` replies, with tokens sampled from their distributions.

    Args:
        request: The request.
        distributions: For each position, token -> probability.
        is_truncated: Whether the reply is shorter than it would be without a token limit.
        has_logprobs: Whether log probabilities are returned if the request asks for them.
        index: Index of the reply.
    """
    # With the seed alone, the same quantile of the distribution would be sampled for every question.
    seed = None if request.seed is None else f"{request.seed} {index} {distributions}"
    rng = random.Random(seed)
    # OpenAI's default temperature is 1.
    temperature = 1.0 if request.temperature is None else request.temperature
    tokens = [sample_token(probabilities, temperature, rng) for probabilities in distributions]
    found = None
    if request.logprobs and has_logprobs:
        top = min(request.top_logprobs or 0, MAX_TOP_LOGPROBS)
        pairs = zip(tokens, distributions, strict=True)
        found = {"content": [_logprob(token, of) | _get_top_logprobs(of, top) for token, of in pairs]}
    return {
        "index": index,
        "message": {"role": "assistant", "content": "".join(tokens)},
        "logprobs": found,
        "finish_reason": "length" if is_truncated else "stop",
    }


def sample_token(probabilities: Mapping[str, float], temperature: float, rng: random.Random) -> str:
    """Return the most likely token at temperature 0, else a token sampled in proportion to p^(1 /
    temperature).
    """
    if temperature <= 0:
        return max(probabilities, key=lambda token: probabilities[token])
    return rng.choices(list(probabilities), [p ** (1 / temperature) for p in probabilities.values()])[0]


def _logprob(token: str, probabilities: Mapping[str, float]) -> dict[str, Any]:
    # OpenAI uses -9999 as the minimum.
    p = probabilities[token]
    logprob = max(math.log(p), -9999.0) if p > 0 else -9999.0
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def _get_top_logprobs(probabilities: Mapping[str, float], count: int) -> dict[str, Any]:
    return {"top_logprobs": [_logprob(token, probabilities) for token in list(probabilities)[:count]]}
