"""Idle connections and large bodies do not keep others from their tasks."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
import requests

from annotation.server.label_studio_app.request_limits import (
    MAX_BODY_BYTES,
    MAX_LEADER_BODY_BYTES,
    limit_bodies,
)
from tests.annotation.server.conftest import Studio

TOO_LARGE = 200_000_000


def status_of(application: Callable[..., Any], **environ: str) -> str:
    statuses = []
    list(application({"PATH_INFO": "/annotate/step"} | environ, lambda status, _: statuses.append(status)))
    return statuses[0] if statuses else "passed on"


def test_only_imports_with_a_token_may_be_large():
    limited = limit_bodies(lambda environ, start_response: [])
    sizes = {"one": MAX_BODY_BYTES, "more": MAX_BODY_BYTES + 1, "import": MAX_LEADER_BODY_BYTES}
    statuses = {name: status_of(limited, CONTENT_LENGTH=str(size)) for name, size in sizes.items()}
    refused = "413 Request Entity Too Large"
    assert statuses == {"one": "passed on", "more": refused, "import": refused}
    assert status_of(limited) == status_of(limited, CONTENT_LENGTH="") == "passed on"
    token = {"HTTP_AUTHORIZATION": "Bearer x", "CONTENT_LENGTH": str(MAX_LEADER_BODY_BYTES)}
    assert status_of(limited, **token) == refused
    assert status_of(limited, PATH_INFO="/api/projects/1/import", **token) == "passed on"


def connect(studio: Studio) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(studio.url.rsplit(":", 1)[1])), timeout=20)


@pytest.mark.server
@pytest.mark.parametrize("sent", [b"", b"POST /annotate/step HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-"])
def test_200_idle_connections_delay_nobody(studio: Studio, sent: bytes) -> None:
    client = studio.open_page("bob")  # who is not asked to pass a test elsewhere
    # The test opens 200, where 100 were the limit once.
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connect(studio)).sendall(sent)
        time.sleep(1)  # so that the server has accepted them
        begun = time.monotonic()
        assert requests.get(f"{studio.url}/annotate/static/annotation_page.css", timeout=60).ok
        assert client.step({})["screen"] in ("task", "wait", "thanks")
        assert time.monotonic() - begun < 2


def response_to(studio: Studio, head: str, *parts: bytes) -> bytes:
    with connect(studio) as wire:
        wire.sendall(f"POST /annotate/step HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n\r\n".encode())
        try:
            for part in parts:
                wire.sendall(part)
        except OSError:
            pass  # the server has answered and closed the connection
        return wire.recv(1000)


@pytest.mark.server
def test_large_bodies_are_refused_before_they_are_read(studio: Studio) -> None:
    # Nothing of it is sent, so a server that reads it would never answer.
    assert b" 413 " in response_to(studio, f"Content-Length: {TOO_LARGE}").partition(b"\r\n")[0]
    chunk = b"40000\r\n" + b"x" * 0x40000 + b"\r\n"
    chunks = [chunk] * (2 * MAX_BODY_BYTES // 0x40000)
    assert (
        b" 413 "
        in response_to(studio, "Transfer-Encoding: chunked", *chunks, b"0\r\n\r\n").partition(b"\r\n")[0]
    )
