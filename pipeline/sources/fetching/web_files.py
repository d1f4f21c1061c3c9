"""Files on web servers, read by byte ranges. What stalls, is cut off or is refused for now is tried again from
the byte where it stopped; what cannot succeed is told at once.

Proxies come from the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
"""

from __future__ import annotations

import email.utils
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import httpx

from pipeline.core.errors import UserError
from pipeline.core.files import replacing
from pipeline.core.records import Record

T = TypeVar("T")
BUSY = {408, 425, 429, 500, 502, 503, 504}


class Patience(NamedTuple):
    """How long a server is waited for.

    Attributes:
        silence: seconds without a byte that count as a stall.
        slowest: bytes a second; a slower answer counts as a stall, too.
        attempts: tries in a row without a new byte before giving up.
        pause: seconds before the second try; doubled before each further one, at most a minute.
        longest: seconds; a server that asks (Retry-After) for a longer pause is not waited for.
    """

    silence: float = 30.0
    slowest: float = 1000.0
    attempts: int = 6
    pause: float = 1.0
    longest: float = 600.0


PATIENT = Patience()


class Facts(Record):
    """What a server says of a file: bytes, and its marks of a version ("" where it gives none)."""

    size: int
    etag: str = ""
    modified: str = ""

    def agrees(self, other: Facts) -> bool:
        """Whether both can be of one version of a file. Of several servers behind one address each may have an
        ETag of its own, so one mark in common is enough."""
        marks = [(self.etag, other.etag), (self.modified, other.modified)]
        known = [mine == theirs for mine, theirs in marks if mine and theirs]
        return self.size == other.size and (any(known) or not known)


class Unreachable(UserError):
    """A server was tried again and again in vain; what was received so far is kept."""


class RangesIgnored(UserError):
    """A server sends whole files only."""


class _Again(Exception):
    """Worth another try, after `seconds` if the server names them."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        self.seconds = seconds
        super().__init__(reason)


class Web:
    """The one door to the network.

    Attributes:
        received: bytes of content received so far.
        stop: set to end all threads that read or wait.
    """

    def __init__(self, patience: Patience = PATIENT) -> None:
        self.patience = patience
        self.received = 0
        self.stop = threading.Event()
        try:
            self.client = httpx.Client(
                verify=_certificates(),
                timeout=httpx.Timeout(patience.silence, pool=None),
                follow_redirects=True,
                limits=httpx.Limits(max_connections=None),
                headers={"Accept-Encoding": "identity", "User-Agent": "rgqa-pipeline"},
            )
        except (ValueError, httpx.InvalidURL) as error:
            raise UserError(f"the proxy that the environment names cannot be used: {error}") from error

    def close(self) -> None:
        self.stop.set()
        self.client.close()

    def again(self, url: str, once: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        """Call `once` until it succeeds or nothing new has come for `patience.attempts` tries.

        Raises:
            Unreachable: it never succeeded.
        """
        failures, before = 0, progress()
        while True:
            try:
                return once()
            except _Again as reason:
                failures = failures + 1 if progress() == before else 1
                before = progress()
                if failures >= self.patience.attempts:
                    raise Unreachable(f"{url}: {reason}; tried {failures} times") from None
                pause = min(self.patience.pause * 2 ** (failures - 1), 60.0)
                seconds = pause if reason.seconds is None else max(reason.seconds, pause)
                if seconds > self.patience.longest:
                    raise Unreachable(f"{url}: {reason}, and asks for a pause of {seconds:,.0f} s") from None
            if self.stop.wait(seconds):
                raise Unreachable(f"{url}: stopped")

    @contextmanager
    def ask(self, url: str, **headers: str) -> Iterator[httpx.Response]:
        """An answer with status 200 or 206, its content not yet read.

        Raises:
            UserError: the server has no such file, or forbids it.
        """
        try:
            with self.client.stream("GET", url, headers=headers) as response:
                _check(url, response)
                yield response
        except httpx.TimeoutException:
            raise _Again(f"no byte for {self.patience.silence:g} s") from None
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.TooManyRedirects) as error:
            raise UserError(f"{url}: {error}") from error
        except httpx.TransportError as error:
            raise _Again(f"the connection failed ({str(error) or type(error).__name__})") from None

    def chunks(self, response: httpx.Response) -> Iterator[bytes]:
        """The content as it comes; counted, and given up when it merely drips."""
        begun, got = time.monotonic(), 0
        for chunk in response.iter_raw():
            got += len(chunk)
            self.received += len(chunk)
            yield chunk
            if self.stop.is_set():
                raise Unreachable(f"{response.url}: stopped")
            if time.monotonic() - begun > self.patience.silence + got / self.patience.slowest:
                raise _Again(f"fewer than {self.patience.slowest:g} bytes a second")

    def text(self, url: str) -> bytes:
        """A small answer, whole."""

        def once() -> bytes:
            with self.ask(url) as response:
                return b"".join(self.chunks(response))

        return self.again(url, once)


class WebFile:
    """A file at an address. `facts` asks the server once; later answers must be of that version."""

    def __init__(self, web: Web, url: str) -> None:
        self.web, self.url = web, url
        self.facts, self.ranges = web.again(url, self._first)

    def _first(self) -> tuple[Facts, bool]:
        with self.web.ask(self.url, Range="bytes=0-0") as response:
            return _facts(self.url, response), response.status_code == 206

    def read(self, start: int, stop: int) -> bytes:
        """Bytes [start, stop).

        Raises:
            RangesIgnored, Unreachable, UserError (the file changed meanwhile).
        """
        got = bytearray()

        def once() -> bytes:
            if start + len(got) < stop:
                with self.web.ask(self.url, Range=f"bytes={start + len(got)}-{stop - 1}") as response:
                    self._same(response)
                    if response.status_code != 206:
                        raise RangesIgnored(f"{self.url}: the server sends the whole file only")
                    first = int(_content_range(self.url, response)[0])
                    if first != start + len(got):
                        raise UserError(
                            f"{self.url}: asked for bytes from {start + len(got)}, got them from {first}"
                        )
                    for chunk in self.web.chunks(response):
                        got.extend(chunk[: stop - start - len(got)])
            if start + len(got) < stop:
                raise _Again(f"cut off after {len(got):,} of {stop - start:,} bytes")
            return bytes(got)

        return self.web.again(self.url, once, lambda: len(got))

    def save(self, path: Path) -> None:
        """The whole file in one answer, from a server that ignores ranges: each try starts anew."""

        def once() -> None:
            with self.web.ask(self.url) as response, replacing(path) as file:
                self._same(response)
                for chunk in self.web.chunks(response):
                    file.write(chunk)
                if file.tell() != self.facts.size:
                    raise _Again(f"cut off after {file.tell():,} of {self.facts.size:,} bytes")

        self.web.again(self.url, once)

    def _same(self, response: httpx.Response) -> None:
        now = _facts(self.url, response)
        if not self.facts.agrees(now):
            raise UserError(
                f"{self.url}: the file changed on the server while it was read ({self.facts.size:,} bytes, now "
                f"{now.size:,}); run the same command again"
            )


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust; read once, for it takes a while."""
    return httpx.create_ssl_context()


def _check(url: str, response: httpx.Response) -> None:
    status = response.status_code
    if status in (200, 206):
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise UserError(
                f"{url}: the server or a proxy changes the content ({response.headers['Content-Encoding']})"
            )
        return
    if status in BUSY:
        raise _Again(f"the server answers {status}", _retry_after(response.headers.get("Retry-After", "")))
    told = {401: "access is refused", 403: "access is refused", 404: "no such file", 410: "no such file"}
    told[416] = "the file is shorter than it was; run the same command again"
    raise UserError(
        f"{url}: {told.get(status, 'not an answer that can be used')} (the server answers {status})"
    )


def _retry_after(text: str) -> float | None:
    """Seconds of a Retry-After, which gives seconds or a date."""
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _content_range(url: str, response: httpx.Response) -> tuple[str, str, str]:
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("Content-Range", ""))
    if not found:
        raise UserError(f"{url}: the server does not say which bytes it sends")
    return found.group(1), found.group(2), found.group(3)


def _facts(url: str, response: httpx.Response) -> Facts:
    if response.status_code == 206:
        size = _content_range(url, response)[2]
    else:
        size = response.headers.get("Content-Length", "")
    if not size.isdigit():
        raise UserError(f"{url}: the server does not say how large the file is")
    return Facts(
        size=int(size),
        etag=response.headers.get("ETag", ""),
        modified=response.headers.get("Last-Modified", ""),
    )
