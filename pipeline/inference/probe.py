"""Find out what a server can do before the first question: is it there, does it know the model, does it give log
probabilities and several replies at once, does the model see the image, and does its reply fit into `--max-tokens`?"""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..core.errors import UserError, format_count
from ..core.server_errors import (
    explain_error,
    format_error,
    format_one_line,
    get_base_url,
    get_http_status,
    redact_api_errors,
)
from ..scoring.reasoning_parser import extract_final_answer
from .confidence_methods import (
    CONFIDENCE_METHODS,
    SAMPLING_TEMPERATURE,
    TRUNCATED_STOP_REASONS,
    ConfidenceMethod,
    get_confidence_method,
)
from .run_options import RunOptions

RED, BLUE = (200, 40, 40), (47, 111, 208)
SQUARE_SIDE_PIXELS = 224  # pixels of the squares
PROBE_QUESTION = "What color is this picture?\nAnswer with a word or a short phrase."
SERVICE_NAME = "server"  # its key is in SERVER_API_KEY
PROBE_TIMEOUT_SECONDS = 120  # for each request
MIN_RETRY_TOKENS = 2048  # tokens, tried where a reply was truncated


class ServerCapabilities(NamedTuple):
    """Attributes:
    at_once: several replies come with one request, if they are asked for.
    warnings: a line each.
    """

    supports_num_choices: bool = True
    warnings: tuple[str, ...] = ()


def open_and_probe(options: RunOptions) -> tuple[Any, ServerCapabilities]:
    """The model, and what it can do.

    Raises:
        UserError: there is no such model, it does not answer, or cannot give what the recipe needs.
    """
    import anyio

    model, recipe = _open_model(options), get_confidence_method(options.confidence)
    if options.is_classifier:  # known to see, and LXMERT knows no other images than those that were brought
        return model, ServerCapabilities(supports_num_choices=False)

    async def ask() -> ServerCapabilities:
        if not options.is_remote:
            return await probe_server(model, recipe, options.max_tokens, options.no_image)
        async with _open_model(
            options
        ) as another:  # a client of HTTP belongs to the loop that it was made in
            return await probe_server(another, recipe, options.max_tokens, options.no_image)

    return model, anyio.run(ask)


def _open_model(options: RunOptions) -> Any:
    from inspect_ai.model import get_model

    name, more = options.model, dict[str, Any](options.model_args)
    if options.server:
        name = f"openai-api/{SERVICE_NAME}/{options.model}"
        more |= {
            "base_url": options.server,
            "api_key": os.environ.get(f"{SERVICE_NAME.upper()}_API_KEY") or "none",
        }
    try:
        model = get_model(name, memoize=False, **more)
        redact_api_errors(model.api)
        return model
    except ModuleNotFoundError as error:
        extra = "rgqa-scorers[hf]" if not options.is_remote else str(error.name)
        raise UserError(
            f'--model {options.model}: {error.name} is not installed: pip install "{extra}"'
        ) from None
    except Exception as error:  # of many kinds: no such provider, no key, no package, no such folder
        words = format_one_line(str(error), 400).removeprefix("ERROR: ")
        raise UserError(f"--model {options.model}: {words}") from None


async def probe_server(
    model: Any, method: ConfidenceMethod, max_tokens: int = 64, no_image: bool = False
) -> ServerCapabilities:
    """Ask a model of inspect_ai for the colour of two squares, as the recipe will ask it, in `most` tokens.

    Raises:
        UserError: No reply, or one that is truncated before its answer, or the server cannot give what the recipe needs.
    """
    replies, truncated, at_once = [], [], True
    for place, colour in enumerate((RED, BLUE)):
        try:
            reply = await _ask_color(
                model, colour, _make_generate_config(method, max_tokens, request_several=place == 0)
            )
        except Exception as error:
            await _diagnose_rejection(model, method, max_tokens, error)
            at_once = False
            reply = await _ask_color(model, colour, _make_generate_config(method, max_tokens))
        if not reply.choices:
            raise UserError(
                f"{model}: the server sends replies without an answer ({reply.error or 'no choices'}); it is asked at "
                f"{get_base_url(model)}"
            )
        truncated.append(_is_truncated(reply))
        if place == 0:
            if not truncated[0]:
                _check_logprobs(model, method, reply)
            at_once &= len(reply.choices) > 1
        replies.append(extract_final_answer(reply.choices[0].message.text).text.strip().lower())
    if all(truncated):
        raise UserError(await _explain_truncation(model, method, max_tokens))
    return ServerCapabilities(
        at_once or not method.needs_several_replies,
        tuple(_capability_warnings(model, replies, truncated, max_tokens, no_image)),
    )


def _capability_warnings(
    model: Any, replies: Sequence[str], truncated: Sequence[bool], max_tokens: int, no_image: bool
) -> Iterator[str]:
    if any(truncated):
        yield (
            f"{model}: one of two replies was truncated after {format_count(max_tokens, 'token')}; if many are, take a larger --max-tokens"
        )
    elif not any(replies):
        yield f"{model} replies with no words when asked for the color of a square: every question may count as refused"
    elif replies[0] == replies[1] and not no_image:
        yield f"{model} says {replies[0]!r} of a red and of a blue square: it may not see images"


def _is_truncated(reply: Any) -> bool:
    """Did the tokens end before an answer, or in its middle?"""
    choice = reply.choices[0]
    answer = extract_final_answer(choice.message.text)
    return (
        choice.stop_reason in TRUNCATED_STOP_REASONS
        or answer.is_truncated
        or (not answer.text.strip() and _has_reasoning(choice.message))
    )


def _has_reasoning(message: Any) -> bool:
    """Does a message hold reasoning, in a field of its own or in its text?"""
    content = message.content
    parts = [] if isinstance(content, str) else content
    reasons = any(getattr(part, "type", "") == "reasoning" for part in parts)
    return reasons or extract_final_answer(message.text).text.strip() != message.text.strip()


async def _explain_truncation(model: Any, method: ConfidenceMethod, max_tokens: int) -> str:
    """Say how many tokens to allow, after one more request with more of them."""
    what = f"{model}: --max-tokens {max_tokens} is too few: its replies to a one-word question were truncated"
    roomy = max(MIN_RETRY_TOKENS, 4 * max_tokens)
    try:
        reply = await _ask_color(model, RED, _make_generate_config(method, roomy))
        choice = reply.choices[0]
    except Exception:
        return f"{what}; take --max-tokens {roomy}. Nothing was asked"
    thinks = "; it is a reasoning model" if _has_reasoning(choice.message) else ""
    if _is_truncated(reply):
        return f"{what}, and one of {format_count(roomy, 'token')} was, too{thinks}; take --max-tokens {4 * roomy}, or switch its reasoning off. Nothing was asked"
    used = reply.usage.output_tokens if reply.usage else 0
    more = f"; with more it took {used:,}" if used else ""
    return f"{what}{more}{thinks}; take --max-tokens {max(roomy, 4 * used)}. Nothing was asked"


def _make_generate_config(method: ConfidenceMethod, max_tokens: int, request_several: bool = False) -> Any:
    from inspect_ai.model import GenerateConfig

    return GenerateConfig(
        # as the interview asks; some servers refuse several replies at 0
        temperature=SAMPLING_TEMPERATURE if method.needs_several_replies else 0.0,
        max_tokens=max_tokens,
        max_retries=0,
        attempt_timeout=PROBE_TIMEOUT_SECONDS,
        logprobs=True if method.needs_logprobs else None,
        top_logprobs=20 if method.needs_top_logprobs else None,
        num_choices=2 if method.needs_several_replies and request_several else None,
    )


async def _ask_color(model: Any, colour: tuple[int, int, int], config: Any) -> Any:
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText

    image = ContentImage(image="data:image/png;base64," + base64.b64encode(make_square_png(colour)).decode())
    return await model.generate(
        [ChatMessageUser(content=[image, ContentText(text=PROBE_QUESTION)])], config=config
    )


async def _diagnose_rejection(
    model: Any, method: ConfidenceMethod, max_tokens: int, error: Exception
) -> None:
    """Is it what the recipe asks for that the server refuses?

    Raises:
        UserError: says what is wrong.
    """
    if not (method.needs_logprobs or method.needs_several_replies) or get_http_status(error) not in (
        400,
        422,
        500,
        501,
    ):
        raise UserError(explain_error(model, error)) from None
    try:
        await _ask_color(model, RED, _make_generate_config(CONFIDENCE_METHODS["refusal"], max_tokens))
    except Exception as other:
        raise UserError(explain_error(model, other)) from None
    if method.needs_logprobs:
        raise UserError(
            _unsupported_message(model, method, f"refuses to give log probabilities ({format_error(error)})")
        )


def _check_logprobs(model: Any, method: ConfidenceMethod, reply: Any) -> None:
    given = reply.choices[0].logprobs if reply.choices else None
    tokens = given.content if given else []
    if method.needs_logprobs and not tokens:
        raise UserError(_unsupported_message(model, method, "gives no log probabilities"))
    if method.needs_top_logprobs and not any(len(token.top_logprobs or ()) > 1 for token in tokens):
        raise UserError(
            _unsupported_message(model, method, "gives the log probability of the chosen token alone")
        )


def _unsupported_message(model: Any, method: ConfidenceMethod, fault: str) -> str:
    others = [
        other.name
        for other in CONFIDENCE_METHODS.values()
        if not other.needs_logprobs
        or (method.needs_top_logprobs and not other.needs_top_logprobs and "alone" in fault)
    ]
    return (
        f"{model} {fault}, which recipe {method.name} needs; take --confidence {others[0]}"
        f" (or {', '.join(others[1:])}). Nothing was asked"
    )


def make_square_png(colour: tuple[int, int, int], side: int = SQUARE_SIDE_PIXELS) -> bytes:
    """A PNG of one colour."""
    rows = zlib.compress((b"\0" + bytes(colour) * side) * side, 9)
    header = struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
