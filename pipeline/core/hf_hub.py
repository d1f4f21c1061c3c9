"""The hub of Hugging Face, where it may be out of reach."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def use_cache_if_unreachable(label: str) -> Iterator[None]:
    """Within it, libraries look for `what` in their cache alone if the hub does not answer within five seconds, which is said:
    by themselves they try it up to ten times more, most of a minute."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    if not before and not _is_reachable(constants.ENDPOINT):
        print(f"{constants.ENDPOINT} is out of reach; looking for {label} in its cache", file=sys.stderr)
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _is_reachable(address: str) -> bool:
    """Whether anything answers there, be it with a refusal."""
    import httpx

    try:
        httpx.head(address, timeout=5)
    except (httpx.ConnectError, httpx.ProxyError, httpx.TimeoutException):
        return False
    except httpx.TransportError:  # something is there, if no good server
        return True
    return True
