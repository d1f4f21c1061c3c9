"""Probe a server before the first question.

The probe finds out whether the server answers, whether it knows the model, and whether it returns log
probabilities and several replies to one request. It also finds out whether the model sees the image, and
whether its reply fits into `--max-tokens`.
"""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..core.errors import UserError, format_count
from ..core.server_errors import (
    UNKNOWN_ADDRESS,
    explain_error,
    format_error,
    format_one_line,
    get_http_status,
)
from ..scoring.reasoning_parser import extract_final_answer
from .chat_model import (
    TRUNCATED_STOP_REASONS,
    ChatModel,
    Choice,
    Message,
    Reply,
    RequestSettings,
)
from .confidence_methods import (
    CONFIDENCE_METHODS,
    SAMPLING_TEMPERATURE,
    ConfidenceMethod,
    get_confidence_method,
)
from .question_dialog import NUM_TOP_LOGPROBS
from .run_options import SERVICE_PREFIX, RunOptions

T = TypeVar("T")

RED, BLUE = (200, 40, 40), (47, 111, 208)
SQUARE_SIDE_PIXELS = 224
PROBE_QUESTION = "What color is this picture?\nAnswer with a word or a short phrase."
# Environment variable with the API key of the server of --server.
SERVER_KEY_VARIABLE = "SERVER_API_KEY"
INSPECT_MISSING_MESSAGE = (
    'the packages that run models are not installed: pip install "rgqa-scorers[inspect]"'
)
# Maximum number of tokens in the second attempt, if a reply was truncated.
MIN_RETRY_TOKENS = 2048
CHOSEN_TOKEN_ONLY = "returns the log probability of the chosen token only"


class ServerCapabilities(NamedTuple):
    """What a server can do.

    Attributes:
        supports_num_choices: Whether the server returns several replies to one request.
        warnings: Warnings, one line each.
    """

    supports_num_choices: bool = True
    warnings: tuple[str, ...] = ()


def open_and_probe(options: RunOptions) -> tuple[ChatModel, ServerCapabilities]:
    """Open the model and probe it.

    Returns:
        The model, and what its server can do.

    Raises:
        UserError: There is no such model, the model does not answer, or the server cannot return what the
            confidence method needs.
    """
    model, method = open_model(options), get_confidence_method(options.confidence)
    # VQA models of transformers always see the image, so they need no probe. LXMERT could not even answer
    # one, because it has features for the images of the benchmark only.
    if options.is_classifier:
        return model, ServerCapabilities(supports_num_choices=False)

    async def probe() -> ServerCapabilities:
        async with model:
            return await probe_server(model, method, options.max_tokens, options.no_image)

    return model, run_async(probe)


def run_async(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run asynchronous code to its end.

    Raises:
        UserError: The packages that run models are not installed.
    """
    try:
        import anyio
    except ModuleNotFoundError:
        raise UserError(INSPECT_MISSING_MESSAGE) from None
    return anyio.run(work)


def open_model(options: RunOptions) -> ChatModel:
    """Open the model of a run.

    A model on an OpenAI-compatible server is asked directly, every other model through inspect_ai.

    Raises:
        UserError: There is no such model, or a package or key is missing.
    """
    try:
        if options.server:
            from .openai_server import OpenAiServer

            return OpenAiServer(options.model, options.server, SERVER_KEY_VARIABLE, options.model_args)
        if options.model.startswith(SERVICE_PREFIX):
            return _open_service(options)
        from inspect_ai.model import get_model

        from .inspect_model import InspectModel

        return InspectModel(partial(get_model, options.model, memoize=False, **dict(options.model_args)))
    except UserError:
        raise
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in ("inspect_ai", "aiohttp", "anyio"):
            raise UserError(INSPECT_MISSING_MESSAGE) from None
        extra = "rgqa-scorers[hf]" if not options.is_remote else str(error.name)
        raise UserError(
            f'--model {options.model}: {error.name} is not installed: pip install "{extra}"'
        ) from None
    # Providers raise errors of many types: for an unknown provider, a missing key, package or folder.
    except Exception as error:
        message = format_one_line(str(error), 400).removeprefix("ERROR: ")
        raise UserError(f"--model {options.model}: {message}") from None


def _open_service(options: RunOptions) -> ChatModel:
    """Open the model openai-api/NAME/MODEL, whose address and key are in the environment."""
    from .openai_server import OpenAiServer

    service, _, model = options.model.removeprefix(SERVICE_PREFIX).partition("/")
    name = service.upper().replace("-", "_")
    settings = [(key, value) for key, value in options.model_args if key != "base_url"]
    address = dict(options.model_args).get("base_url") or os.environ.get(f"{name}_BASE_URL", "")
    problems = []
    if not (service and model):
        problems.append(f"--model {options.model}: wanted {SERVICE_PREFIX}NAME/MODEL")
    if not os.environ.get(f"{name}_API_KEY", "").strip():
        problems.append(f"--model {options.model}: No {name}_API_KEY defined in the environment")
    if not address:
        problems.append(f"--model {options.model}: No {name}_BASE_URL defined in the environment")
    if problems:
        raise UserError(problems)
    return OpenAiServer(model, address.rstrip("/"), f"{name}_API_KEY", settings)


async def probe_server(
    model: ChatModel, method: ConfidenceMethod, max_tokens: int = 64, no_image: bool = False
) -> ServerCapabilities:
    """Ask a model for the colors of two squares, with the request settings of the run.

    Args:
        model: The model, within `async with`.
        method: Confidence method of the run.
        max_tokens: Maximum length of a reply in tokens.
        no_image: Whether the run sends no images. Then a model that does not see images is not a fault.

    Raises:
        UserError: There is no reply, both replies are truncated, or the server cannot return what the method
            needs.
    """
    replies, truncated, supports_num_choices = [], [], True
    for i, color in enumerate((RED, BLUE)):
        try:
            reply = await _ask_color(model, color, _make_settings(method, max_tokens, request_several=i == 0))
        except Exception as error:
            await _diagnose_rejection(model, method, max_tokens, error)
            supports_num_choices = False
            try:
                reply = await _ask_color(model, color, _make_settings(method, max_tokens))
            except Exception as other:
                raise UserError(explain_error(model, other)) from None
        if not reply.choices:
            raise UserError(
                f"{model.name}: the server at {model.address or UNKNOWN_ADDRESS} sends replies without an answer ({reply.error}); "
                "check the address and the server's log"
            )
        truncated.append(_is_truncated(reply))
        if i == 0:
            if not truncated[0]:
                _check_logprobs(model, method, reply)
            supports_num_choices &= len(reply.choices) > 1
        replies.append(extract_final_answer(reply.choices[0].text).text.strip().lower())
    if all(truncated):
        raise UserError(await _explain_truncation(model, method, max_tokens))
    return ServerCapabilities(
        supports_num_choices or not method.needs_several_replies,
        tuple(_capability_warnings(model.name, replies, truncated, max_tokens, no_image)),
    )


def _capability_warnings(
    model: str, replies: Sequence[str], truncated: Sequence[bool], max_tokens: int, no_image: bool
) -> Iterator[str]:
    if any(truncated):
        yield (
            f"{model}: one of two replies was truncated after {format_count(max_tokens, 'token')}; if many are, set --max-tokens higher"
        )
    elif not any(replies):
        yield f"{model} gives an empty reply when asked for the color of a square: every question may count as abstained"
    elif replies[0] == replies[1] and not no_image:
        yield f"{model} replies {replies[0]!r} to a red and to a blue square: it may not see images"


def _is_truncated(reply: Reply) -> bool:
    """Return whether the token limit was reached before the end of the answer."""
    choice = reply.choices[0]
    answer = extract_final_answer(choice.text)
    return (
        choice.stop_reason in TRUNCATED_STOP_REASONS
        or answer.is_truncated
        or (not answer.text.strip() and _has_reasoning(choice))
    )


def _has_reasoning(choice: Choice) -> bool:
    """Return whether a reply has reasoning, in a separate field or in its text."""
    return choice.has_reasoning or extract_final_answer(choice.text).text.strip() != choice.text.strip()


async def _explain_truncation(model: ChatModel, method: ConfidenceMethod, max_tokens: int) -> str:
    """Return a message that says how many tokens to allow, after one more request with a higher limit."""
    fault = f"{model.name}: --max-tokens {max_tokens} is too few: its replies to a one-word question were truncated"
    higher = max(MIN_RETRY_TOKENS, 4 * max_tokens)
    try:
        reply = await _ask_color(model, RED, _make_settings(method, higher))
        choice = reply.choices[0]
    except Exception:
        return f"{fault}; set --max-tokens {higher}. No question was asked"
    reasoning = "; it is a reasoning model" if _has_reasoning(choice) else ""
    if _is_truncated(reply):
        return (
            f"{fault}, and a reply of {format_count(higher, 'token')} was truncated, too{reasoning}; set --max-tokens {4 * higher}, "
            "or switch its reasoning off. No question was asked"
        )
    used = reply.num_output_tokens
    needed = f"; with a higher limit it used {used:,}" if used else ""
    return f"{fault}{needed}{reasoning}; set --max-tokens {max(higher, 4 * used)}. No question was asked"


def _make_settings(
    method: ConfidenceMethod, max_tokens: int, request_several: bool = False
) -> RequestSettings:
    return RequestSettings(
        # The same temperature as in the run: some servers reject requests for several replies at temperature
        # 0.
        temperature=SAMPLING_TEMPERATURE if method.needs_several_replies else 0.0,
        max_tokens=max_tokens,
        needs_logprobs=method.needs_logprobs,
        num_top_logprobs=NUM_TOP_LOGPROBS if method.needs_top_logprobs else 0,
        num_choices=2 if method.needs_several_replies and request_several else 1,
    )


async def _ask_color(model: ChatModel, color: tuple[int, int, int], settings: RequestSettings) -> Reply:
    image = "data:image/png;base64," + base64.b64encode(make_square_png(color)).decode()
    return await model.send([Message("user", PROBE_QUESTION, image)], settings)


async def _diagnose_rejection(
    model: ChatModel, method: ConfidenceMethod, max_tokens: int, error: Exception
) -> None:
    """Find out whether the server rejected a request because of what the confidence method needs.

    The function returns only if the server rejects requests for several replies. These can be requested one
    by one instead.

    Raises:
        UserError: The server cannot be used with this method.
    """
    if not (method.needs_logprobs or method.needs_several_replies) or get_http_status(error) not in (
        400,
        422,
        500,
        501,
    ):
        raise UserError(explain_error(model, error)) from None
    try:
        await _ask_color(model, RED, _make_settings(CONFIDENCE_METHODS["abstention"], max_tokens))
    except Exception as other:
        raise UserError(explain_error(model, other)) from None
    if method.needs_logprobs:
        raise UserError(
            _unsupported_message(
                model, method, f"rejects requests for log probabilities ({format_error(error)})"
            )
        )


def _check_logprobs(model: ChatModel, method: ConfidenceMethod, reply: Reply) -> None:
    tokens = reply.choices[0].token_logprobs
    if method.needs_logprobs and not tokens:
        raise UserError(_unsupported_message(model, method, "returns no log probabilities"))
    if method.needs_top_logprobs and not any(len(token.get("top_logprobs") or ()) > 1 for token in tokens):
        raise UserError(_unsupported_message(model, method, CHOSEN_TOKEN_ONLY))


def _unsupported_message(model: ChatModel, method: ConfidenceMethod, fault: str) -> str:
    others = [
        other.name
        for other in CONFIDENCE_METHODS.values()
        if not other.needs_logprobs
        or (method.needs_top_logprobs and not other.needs_top_logprobs and fault == CHOSEN_TOKEN_ONLY)
    ]
    needed = "log probabilities" + " of tokens that were not chosen" * method.needs_top_logprobs
    return (
        f"{model.name} {fault}; --confidence {method.name} needs {needed}. Use --confidence {others[0]}"
        f" (or {', '.join(others[1:])}). No question was asked"
    )


def make_square_png(color: tuple[int, int, int], side: int = SQUARE_SIDE_PIXELS) -> bytes:
    """Return the bytes of a PNG of one color."""
    rows = zlib.compress((b"\0" + bytes(color) * side) * side, 9)
    header = struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
