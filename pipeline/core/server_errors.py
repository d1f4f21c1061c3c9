"""Explain errors of model servers in one line that says what to do and contains no API keys.

The module uses the standard library only, because the wheel of the scorers contains it.
"""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlsplit
from urllib.request import (
    getproxies_environment,
    proxy_bypass_environment,  # pyright: ignore[reportAttributeAccessIssue]
)

# Providers of inspect_ai whose models run in this process.
LOCAL_PROVIDERS = ("hf", "hf-vqa", "hf-vlm", "mockllm")
# Environment variables with one of these words in their name hold secrets.
SECRET_VARIABLE_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def explain_error(model: Any, error: BaseException) -> str:
    """Return a message about a failed request to a model: what is wrong, and what to do.

    Args:
        model: A model object of inspect_ai, or the name of a model.
        error: The error of the request.
    """
    if str(model).split("/")[0] in LOCAL_PROVIDERS:
        return f"{model} does not answer: {format_error(error)}"
    status, reason, proxy = get_http_status(error), format_error(error), _describe_proxy(get_base_url(model))
    if status == 407:
        return f"{model}: a proxy requires authentication ({reason}){proxy}"
    if status in (401, 403):
        key = getattr(getattr(model, "api", None), "api_key_vars", None) or ["the environment's key"]
        return f"{model}: the server refuses the API key ({reason}); set {key[0]}{proxy}"
    if status == 404:
        return f"{model}: the server knows no such model or address ({reason}); its address is {get_base_url(model)}{proxy}"
    if status == 429:
        return f"{model}: the server accepts no more requests for now ({reason}); try again later"
    if status:
        return f"{model}: the server answers with an error ({reason}); its address is {get_base_url(model)}{proxy}"
    kind = type(unwrap_retry_error(error)).__name__
    if kind in ("AttemptTimeoutError", "APITimeoutError") or isinstance(
        unwrap_retry_error(error), TimeoutError
    ):
        return (
            f"{model}: no reply from {get_base_url(model)} before the timeout ({reason}); check whether it is still loading the "
            f"model{proxy}"
        )
    # These errors occur if the response is a web page, truncated JSON, or JSON without the fields of a reply.
    if (
        isinstance(unwrap_retry_error(error), ValueError | TypeError | LookupError | AttributeError)
        or "Unexpected non-" in reason
    ):
        return (
            f"{model}: {get_base_url(model)} answers, but not with a model's reply ({reason}); check the address and the "
            f"port{proxy}"
        )
    return f"{model}: no server answers at {get_base_url(model)} ({reason}); check that it is running{proxy}"


def get_base_url(model: Any) -> str:
    return getattr(getattr(model, "api", None), "base_url", None) or "its provider's address"


def _describe_proxy(address: str) -> str:
    """Return a sentence about the proxy that requests to an address use; "" if they use none."""
    parts = urlsplit(str(address))
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not parts.hostname or not proxy or proxy_bypass_environment(parts.hostname, proxies):
        return ""
    scheme = parts.scheme if proxies.get(parts.scheme) else "all"
    name = next((name for name in os.environ if name.lower() == f"{scheme}_proxy"), f"{scheme}_proxy")
    place = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    # The address may contain a password, which is not shown.
    where = f"{place.hostname}:{place.port}" if place.port else place.hostname
    return f". Requests use the proxy {where} of {name}; to bypass it, set NO_PROXY={parts.hostname}"


def unwrap_retry_error(error: BaseException) -> BaseException:
    """Return the error of the last attempt if `error` is a RetryError; return `error` itself otherwise."""
    last = getattr(error, "last_attempt", None)
    inner = last.exception() if last is not None else None
    return inner or error


def get_http_status(error: BaseException) -> int:
    """Return the HTTP status of an error; 0 if the server sent no response."""
    return int(getattr(unwrap_retry_error(error), "status_code", 0) or 0)


def format_error(error: BaseException) -> str:
    """Return the message of an error on one line, without API keys."""
    error = unwrap_retry_error(error)
    text = getattr(error, "provider_message", None) or str(error) or type(error).__name__
    return redact_keys(format_one_line(text))


def get_failure_reason(error: Any) -> str:
    """Return why a sample of inspect_ai failed, on one line.

    The message of the error may also contain the whole request, or the list of attempts. These parts are
    removed.

    Args:
        error: The error object in the log of inspect_ai.
    """
    message = error.message
    if "Request:" in message:
        message = message.replace("\\n", "\n").rsplit("\n\n", 1)[-1].removesuffix("')").removesuffix('")')
        message = re.sub(r"\\(['\"])", r"\1", message)
    if message.startswith("RetryError"):
        causes = re.findall(r"^(?:\w+\.)*(\w+: .+)$", error.traceback, re.MULTILINE)
        message = next((cause for cause in reversed(causes) if not cause.startswith("RetryError")), message)
    return redact_keys(format_one_line(message))


def redact_keys(text: str) -> str:
    """Replace the values of all secret environment variables in a text by "***", because a server may repeat
    them.
    """
    for name, value in os.environ.items():
        # A key in the environment may end with a line break, which error messages do not show.
        if len(key := value.strip()) > 5 and any(word in name.upper() for word in SECRET_VARIABLE_WORDS):
            text = text.replace(key, "***")
    return text


def redact_api_errors(api: Any) -> None:
    """Remove API keys from the errors of an inspect_ai model, because inspect_ai writes these errors to its
    logs.

    Args:
        api: The `ModelAPI` object. Its method `generate` is replaced.
    """
    generate = api.generate

    async def generate_redacted(*values: Any, **named: Any) -> Any:
        try:
            result = await generate(*values, **named)
        except Exception as error:
            _redact_error(error)
            api.last_error = format_error(error)
            raise
        if isinstance(result, tuple) and isinstance(result[0], Exception):
            _redact_error(result[0])
            api.last_error = format_error(result[0])
            # The second value is the record of the model call, with the request and the response.
            _redact_values(vars(result[1]))
        return result

    api.generate = generate_redacted


def _redact_error(error: BaseException | None) -> None:
    """Remove API keys from an error and from the errors that caused it."""
    while error is not None:
        error.args = tuple(redact_keys(word) if isinstance(word, str) else word for word in error.args)
        _redact_values(vars(error))
        error = error.__cause__ or error.__context__


def _redact_values(values: dict[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = redact_keys(value)
        # The body of a response is such a dictionary. It is logged, too.
        elif isinstance(value, dict):
            _redact_values(value)


def format_one_line(text: str, max_length: int = 200) -> str:
    """Return a text on one line, without rich markup, and truncated to `max_length` characters.

    Example:
        >>> format_one_line("a\\n  [bold]b[/bold]")
        'a b'
    """
    plain = " ".join(re.sub(r"\[/?(bold|blue|red|green|yellow|link)[^\]]*\]", "", text).split())
    return plain if len(plain) <= max_length else plain[:max_length] + " ..."
