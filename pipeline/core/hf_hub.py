"""Use models of the Hugging Face Hub when the Hub may be unreachable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def use_cache_if_unreachable(label: str) -> Iterator[None]:
    """If the Hub does not answer within five seconds, let libraries read only their cache inside the block.

    Otherwise libraries would retry up to ten times, which takes most of a minute.

    Args:
        label: What is loaded, for the message on stderr.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    if not before and not _is_reachable(constants.ENDPOINT):
        print(f"{constants.ENDPOINT} is unreachable; looking for {label} in the local cache", file=sys.stderr)
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _is_reachable(address: str) -> bool:
    """Report whether a server answers. An error status counts as an answer."""
    import httpx

    try:
        httpx.head(address, timeout=5)
    except (httpx.ConnectError, httpx.ProxyError, httpx.TimeoutException):
        return False
    except httpx.TransportError:
        # A server exists at this address, even if its answer is invalid.
        return True
    return True
