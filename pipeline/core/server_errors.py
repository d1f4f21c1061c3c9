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
# How messages call the address of a provider that does not state it.
UNKNOWN_ADDRESS = "its provider's address"
# Environment variables with one of these words in their name hold secrets.
SECRET_VARIABLE_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def explain_error(model: Any, error: BaseException) -> str:
    """Return a message about a failed request to a model: what is wrong, and what to do.

    Args:
        model: The model: a `ChatModel`.
        error: The error of the request.
    """
    name, address = model.name, model.address or UNKNOWN_ADDRESS
    if model.is_local:
        return f"{name} does not answer: {format_error(error)}"
    status, reason, proxy = get_http_status(error), format_error(error), _describe_proxy(address)
    if status == 407:
        return f"{name}: a proxy requires authentication ({reason}){proxy}"
    if status in (401, 403):
        key = model.key_variable or "the environment's key"
        return f"{name}: the server refuses the API key ({reason}); set {key}{proxy}"
    if status == 404:
        return (
            f"{name}: the server knows no such model or address ({reason}); its address is {address}{proxy}"
        )
    if status == 429:
        return f"{name}: the server accepts no more requests for now ({reason}); try again later"
    if status:
        return f"{name}: the server answers with an error ({reason}); its address is {address}{proxy}"
    kind = type(unwrap_retry_error(error)).__name__
    if kind in ("AttemptTimeoutError", "APITimeoutError") or isinstance(
        unwrap_retry_error(error), TimeoutError
    ):
        return (
            f"{name}: no reply from {address} before the timeout ({reason}); check whether it is still loading the "
            f"model{proxy}"
        )
    # These errors occur if the response is a web page, truncated JSON, or JSON without the fields of a reply.
    if (
        isinstance(unwrap_retry_error(error), ValueError | TypeError | LookupError | AttributeError)
        or "Unexpected non-" in reason
    ):
        return (
            f"{name}: {address} answers, but not with a model's reply ({reason}); check the address and the "
            f"port{proxy}"
        )
    return f"{name}: no server answers at {address} ({reason}); check that it is running{proxy}"


def find_proxy(address: str) -> str:
    """Return the address of the proxy that the environment names for requests to an address; "" if there is none."""
    parts = urlsplit(address)
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not parts.hostname or not proxy or proxy_bypass_environment(parts.hostname, proxies):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _describe_proxy(address: str) -> str:
    """Return a sentence about the proxy that requests to an address use; "" if they use none."""
    proxy, parts = find_proxy(address), urlsplit(address)
    if not proxy:
        return ""
    scheme = parts.scheme if getproxies_environment().get(parts.scheme) else "all"
    name = next((name for name in os.environ if name.lower() == f"{scheme}_proxy"), f"{scheme}_proxy")
    place = urlsplit(proxy)
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
    return redact_keys(format_one_line(_remove_request(text)))


def _remove_request(message: str) -> str:
    """Remove the request that inspect_ai writes before the message of an error."""
    if "Request:" not in message:
        return message
    message = message.replace("\\n", "\n").rsplit("\n\n", 1)[-1].removesuffix("')").removesuffix('")')
    return re.sub(r"\\(['\"])", r"\1", message)


def get_failure_reason(error: Any) -> str:
    """Return why a sample of inspect_ai failed, on one line.

    The message of the error may also contain the whole request, or the list of attempts. These parts are
    removed.

    Args:
        error: The error object in the log of inspect_ai.
    """
    message = _remove_request(error.message)
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


def format_one_line(text: str, max_length: int = 200) -> str:
    """Return a text on one line, without rich markup, and truncated to `max_length` characters.

    Example:
        >>> format_one_line("a\\n  [bold]b[/bold]")
        'a b'
    """
    plain = " ".join(re.sub(r"\[/?(bold|blue|red|green|yellow|link)[^\]]*\]", "", text).split())
    return plain if len(plain) <= max_length else plain[:max_length] + " ..."
