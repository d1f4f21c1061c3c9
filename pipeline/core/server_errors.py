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

LOCAL = ("hf", "hf-vqa", "hf-vlm", "mockllm")  # models that run in this process
SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")  # in names of environment variables


def no_reply(model: Any, error: BaseException) -> str:
    """What is wrong, and what to do."""
    if str(model).split("/")[0] in LOCAL:
        return f"{model} does not answer: {said(error)}"
    status, words, way = status_of(error), said(error), _through_proxy(address_of(model))
    if status == 407:
        return f"{model}: a proxy wants to know who asks ({words}){way}"
    if status in (401, 403):
        key = getattr(getattr(model, "api", None), "api_key_vars", None) or ["the environment's key"]
        return f"{model}: the server refuses the key ({words}); set {key[0]}{way}"
    if status == 404:
        return f"{model}: the server knows no such model or address ({words}); it is asked at {address_of(model)}{way}"
    if status == 429:
        return f"{model}: the server takes no more requests for now ({words}); try again later"
    if status:
        return f"{model}: the server answers with an error ({words}); it is asked at {address_of(model)}{way}"
    kind = type(cause(error)).__name__
    if kind in ("AttemptTimeoutError", "APITimeoutError") or isinstance(cause(error), TimeoutError):
        return (
            f"{model}: no reply from {address_of(model)} within the time for a request ({words}); is it still "
            f"loading the model?{way}"
        )
    # What comes of a web page, of JSON that breaks off, or of an object without the fields of a reply.
    if (
        isinstance(cause(error), ValueError | TypeError | LookupError | AttributeError)
        or "Unexpected non-" in words
    ):
        return (
            f"{model}: {address_of(model)} answers, but not with a model's reply ({words}); is it the right address "
            f"and port?{way}"
        )
    return f"{model}: no server answers at {address_of(model)} ({words}); is it running?{way}"


def address_of(model: Any) -> str:
    return getattr(getattr(model, "api", None), "base_url", None) or "its provider's address"


def _through_proxy(address: str) -> str:
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


def cause(error: BaseException) -> BaseException:
    """The failure of the last try, of an error of many tries."""
    last = getattr(error, "last_attempt", None)
    inner = last.exception() if last is not None else None
    return inner or error


def status_of(error: BaseException) -> int:
    """HTTP's status; 0 where there was no answer at all."""
    return int(getattr(cause(error), "status_code", 0) or 0)


def said(error: BaseException) -> str:
    """An error's words on one line, without any key of the environment."""
    error = cause(error)
    text = getattr(error, "provider_message", None) or str(error) or type(error).__name__
    return without_keys(one_line(text))


def reason_of(error: Any) -> str:
    """Why a sample failed, of an error of inspect_ai, which shows the whole request before it, or speaks of its tries."""
    message = error.message
    if "Request:" in message:
        message = message.replace("\\n", "\n").rsplit("\n\n", 1)[-1].removesuffix("')").removesuffix('")')
        message = re.sub(r"\\(['\"])", r"\1", message)
    if message.startswith("RetryError"):
        causes = re.findall(r"^(?:\w+\.)*(\w+: .+)$", error.traceback, re.MULTILINE)
        message = next((cause for cause in reversed(causes) if not cause.startswith("RetryError")), message)
    return without_keys(one_line(message))


def without_keys(text: str) -> str:
    """Without any key that stands in the environment, should a server repeat it."""
    for name, value in os.environ.items():
        # A key with a line end after it stands otherwise in the words of an error.
        if len(key := value.strip()) > 5 and any(word in name.upper() for word in SECRETS):
            text = text.replace(key, "***")
    return text


def hide_keys(api: Any) -> None:
    """Let the errors of a model of inspect_ai come without keys: it writes them to its logs as they are."""
    generate = api.generate

    async def hidden(*values: Any, **named: Any) -> Any:
        try:
            found = await generate(*values, **named)
        except Exception as error:
            _hide(error)
            api.last_error = said(error)
            raise
        if isinstance(found, tuple) and isinstance(found[0], Exception):
            _hide(found[0])
            api.last_error = said(found[0])
            _hide_in(vars(found[1]))  # request and response
        return found

    api.generate = hidden


def _hide(error: BaseException | None) -> None:
    """In the words of an error, and of those that it came from."""
    while error is not None:
        error.args = tuple(without_keys(word) if isinstance(word, str) else word for word in error.args)
        _hide_in(vars(error))
        error = error.__cause__ or error.__context__


def _hide_in(holder: dict[str, Any]) -> None:
    for name, value in holder.items():
        if isinstance(value, str):
            holder[name] = without_keys(value)
        elif isinstance(value, dict):  # what the server sent, which is logged, too
            _hide_in(value)


def one_line(text: str, most: int = 200) -> str:
    """
    >>> one_line("a\\n  [bold]b[/bold]")
    'a b'
    """
    plain = " ".join(re.sub(r"\[/?(bold|blue|red|green|yellow|link)[^\]]*\]", "", text).split())
    return plain if len(plain) <= most else plain[:most] + " ..."
