"""What went wrong with a server, on one line, and what to do; never with a key in it."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlsplit
from urllib.request import (
    getproxies_environment,
    proxy_bypass_environment,  # pyright: ignore[reportAttributeAccessIssue]
)

LOCAL_PROVIDERS = ("hf", "hf-vqa", "hf-vlm", "mockllm")  # models that run in this process
SECRET_VARIABLE_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")  # in names of environment variables


def explain_error(model: Any, error: BaseException) -> str:
    """What is wrong, and what to do."""
    if str(model).split("/")[0] in LOCAL_PROVIDERS:
        return f"{model} does not answer: {format_error(error)}"
    status, words, way = get_http_status(error), format_error(error), _describe_proxy(get_base_url(model))
    if status == 407:
        return f"{model}: a proxy wants to know who asks ({words}){way}"
    if status in (401, 403):
        key = getattr(getattr(model, "api", None), "api_key_vars", None) or ["the environment's key"]
        return f"{model}: the server refuses the key ({words}); set {key[0]}{way}"
    if status == 404:
        return f"{model}: the server knows no such model or address ({words}); it is asked at {get_base_url(model)}{way}"
    if status == 429:
        return f"{model}: the server takes no more requests for now ({words}); try again later"
    if status:
        return (
            f"{model}: the server answers with an error ({words}); it is asked at {get_base_url(model)}{way}"
        )
    kind = type(unwrap_retry_error(error)).__name__
    if kind in ("AttemptTimeoutError", "APITimeoutError") or isinstance(
        unwrap_retry_error(error), TimeoutError
    ):
        return (
            f"{model}: no reply from {get_base_url(model)} within the time for a request ({words}); is it still "
            f"loading the model?{way}"
        )
    # What comes of a web page, of JSON that breaks off, or of an object without the fields of a reply.
    if (
        isinstance(unwrap_retry_error(error), ValueError | TypeError | LookupError | AttributeError)
        or "Unexpected non-" in words
    ):
        return (
            f"{model}: {get_base_url(model)} answers, but not with a model's reply ({words}); is it the right address "
            f"and port?{way}"
        )
    return f"{model}: no server answers at {get_base_url(model)} ({words}); is it running?{way}"


def get_base_url(model: Any) -> str:
    return getattr(getattr(model, "api", None), "base_url", None) or "its provider's address"


def _describe_proxy(address: str) -> str:
    """Name the proxy of the environment through which requests to this address go; "" if there is none."""
    parts = urlsplit(str(address))
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not parts.hostname or not proxy or proxy_bypass_environment(parts.hostname, proxies):
        return ""
    scheme = parts.scheme if proxies.get(parts.scheme) else "all"
    name = next((name for name in os.environ if name.lower() == f"{scheme}_proxy"), f"{scheme}_proxy")
    place = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    where = f"{place.hostname}:{place.port}" if place.port else place.hostname  # without a password
    return f". Requests go through the proxy {where} that {name} names; to go without it: NO_PROXY={parts.hostname}"


def unwrap_retry_error(error: BaseException) -> BaseException:
    """The failure of the last try, of an error of many tries."""
    last = getattr(error, "last_attempt", None)
    inner = last.exception() if last is not None else None
    return inner or error


def get_http_status(error: BaseException) -> int:
    """HTTP's status; 0 where there was no answer at all."""
    return int(getattr(unwrap_retry_error(error), "status_code", 0) or 0)


def format_error(error: BaseException) -> str:
    """An error's words on one line, without any key of the environment."""
    error = unwrap_retry_error(error)
    text = getattr(error, "provider_message", None) or str(error) or type(error).__name__
    return redact_keys(format_one_line(text))


def get_failure_reason(error: Any) -> str:
    """Why a sample failed, of an error of inspect_ai, which shows the whole request before it, or speaks of its tries."""
    message = error.message
    if "Request:" in message:
        message = message.replace("\\n", "\n").rsplit("\n\n", 1)[-1].removesuffix("')").removesuffix('")')
        message = re.sub(r"\\(['\"])", r"\1", message)
    if message.startswith("RetryError"):
        causes = re.findall(r"^(?:\w+\.)*(\w+: .+)$", error.traceback, re.MULTILINE)
        message = next((cause for cause in reversed(causes) if not cause.startswith("RetryError")), message)
    return redact_keys(format_one_line(message))


def redact_keys(text: str) -> str:
    """Without any key that stands in the environment, should a server repeat it."""
    for name, value in os.environ.items():
        # A key with a line end after it stands otherwise in the words of an error.
        if len(key := value.strip()) > 5 and any(word in name.upper() for word in SECRET_VARIABLE_WORDS):
            text = text.replace(key, "***")
    return text


def redact_api_errors(api: Any) -> None:
    """Let the errors of a model of inspect_ai come without keys: it writes them to its logs as they are."""
    generate = api.generate

    async def hidden(*values: Any, **named: Any) -> Any:
        try:
            found = await generate(*values, **named)
        except Exception as error:
            _redact_error(error)
            api.last_error = format_error(error)
            raise
        if isinstance(found, tuple) and isinstance(found[0], Exception):
            _redact_error(found[0])
            api.last_error = format_error(found[0])
            _redact_values(vars(found[1]))  # request and response
        return found

    api.generate = hidden


def _redact_error(error: BaseException | None) -> None:
    """In the words of an error, and of those that it came from."""
    while error is not None:
        error.args = tuple(redact_keys(word) if isinstance(word, str) else word for word in error.args)
        _redact_values(vars(error))
        error = error.__cause__ or error.__context__


def _redact_values(values: dict[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = redact_keys(value)
        elif isinstance(value, dict):  # what the server sent, which is logged, too
            _redact_values(value)


def format_one_line(text: str, max_length: int = 200) -> str:
    """
    >>> one_line("a\\n  [bold]b[/bold]")
    'a b'
    """
    plain = " ".join(re.sub(r"\[/?(bold|blue|red|green|yellow|link)[^\]]*\]", "", text).split())
    return plain if len(plain) <= max_length else plain[:max_length] + " ..."
