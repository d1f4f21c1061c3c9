"""Files on web servers, read by byte ranges. What stalls, is cut off or is refused for now is tried again from
the byte where it stopped; what cannot succeed is told at once.

Proxies come from the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY). httpx itself retries connections alone.
"""

from __future__ import annotations

import email.utils
import re
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import httpx

from pipeline.core.errors import UserError
from pipeline.core.records import Record

T = TypeVar("T")
BUSY = {408, 425, 429, 500, 502, 503, 504}
REFUSALS = {
    401: "access is refused",
    403: "access is refused",
    404: "no such file",
    410: "no such file",
    416: "the file is shorter than it was; run the same command again",
}


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


class FileVersion(Record):
    """What a server says of a file: bytes, and its marks of a version ("" where it gives none)."""

    size: int
    etag: str = ""
    modified: str = ""

    def agrees(self, other: FileVersion) -> bool:
        """Whether both can be of one version of a file. Of several servers behind one address each may have an
        ETag of its own, so one mark in common is enough."""
        marks = [(self.etag, other.etag), (self.modified, other.modified)]
        comparable = [own == others for own, others in marks if own and others]
        return self.size == other.size and (any(comparable) or not comparable)


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
    """The one door to the archives' servers.

    Attributes:
        received: bytes of content received so far.
        stop: set to end all threads that read or wait.
    """

    def __init__(self, patience: Patience = PATIENT) -> None:
        self.patience = patience
        self.received = 0
        self._advance: Callable[[int], object] = int
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

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[None]:
        """Show what is received on a progress bar on stderr (a line now and then when that is no terminal)."""
        from tqdm import tqdm

        quiet = not sys.stderr.isatty()
        with tqdm(
            desc=label,
            total=total,
            unit="B",
            unit_scale=True,
            mininterval=10 if quiet else 0.2,
            dynamic_ncols=not quiet,
        ) as bar:
            self._advance = bar.update
            yield
        self._advance = int

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
    def ask(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
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
        begun, size = time.monotonic(), 0
        for chunk in response.iter_raw():
            size += len(chunk)
            self.received += len(chunk)
            self._advance(len(chunk))
            yield chunk
            if self.stop.is_set():
                raise Unreachable(f"{response.url}: stopped")
            if time.monotonic() - begun > self.patience.silence + size / self.patience.slowest:
                raise _Again(f"fewer than {self.patience.slowest:g} bytes a second")


class WebFile:
    """A file at an address. The server is asked once for its version; later answers must be of that one.

    Attributes:
        ranges: whether the server sends ranges of bytes.
    """

    def __init__(self, web: Web, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.web, self.url, self.headers = web, url, dict(headers or {})
        self.version, self.ranges = web.again(url, self._first)

    def _first(self) -> tuple[FileVersion, bool]:
        with self.web.ask(self.url, self.headers | {"Range": "bytes=0-0"}) as response:
            return _described(self.url, response)[1], response.status_code == 206

    def save(self, start: int, stop: int, path: Path) -> None:
        """Put bytes [start, stop) into a file; what an earlier process received of them is continued. A server without
        ranges can give the whole file alone; each try starts anew there.

        Raises:
            RangesIgnored, Unreachable, UserError (the file changed meanwhile).
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.part")  # not fsynced: what a crash damages is known by its sum
        with partial.open("ab", buffering=0) as file:

            def once() -> None:
                if not self.ranges or file.tell() > stop - start:
                    file.seek(0)
                    file.truncate()
                if file.tell() < stop - start:
                    for chunk in self._content(start + file.tell(), stop):
                        file.write(chunk)
                if file.tell() < stop - start:
                    raise _Again(f"cut off after {file.tell():,} of {stop - start:,} bytes")

            self.web.again(self.url, once, file.tell if self.ranges else lambda: 0)
        partial.replace(path)

    def _content(self, start: int, stop: int) -> Iterator[bytes]:
        """Bytes [start, stop) as they come; possibly fewer."""
        wanted = {"Range": f"bytes={start}-{stop - 1}"} if self.ranges else {}
        with self.web.ask(self.url, self.headers | wanted) as response:
            first, version = _described(self.url, response)
            if not self.version.agrees(version):
                raise UserError(
                    f"{self.url}: the file changed on the server while it was read ({self.version.size:,} bytes, now "
                    f"{version.size:,}); run the same command again"
                )
            if response.status_code == 200 and (start, stop) != (0, version.size):
                raise RangesIgnored(f"{self.url}: the server sends the whole file only")
            if first != start:
                raise UserError(f"{self.url}: asked for bytes from {start}, got them from {first}")
            left = stop - start
            for chunk in self.web.chunks(response):
                yield chunk[:left]
                left -= len(chunk[:left])


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust; read once, for it takes a while."""
    return httpx.create_ssl_context()


def _check(url: str, response: httpx.Response) -> None:
    status = response.status_code
    if status in BUSY:
        raise _Again(f"the server answers {status}", _retry_after(response.headers.get("Retry-After", "")))
    if status not in (200, 206):
        reason = REFUSALS.get(status, "not an answer that can be used")
        raise UserError(f"{url}: {reason} (the server answers {status})")
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise UserError(f"{url}: the server or a proxy changes the content ({encoding})")


def _retry_after(text: str) -> float | None:
    """Seconds of a Retry-After, which gives seconds or a date."""
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _described(url: str, response: httpx.Response) -> tuple[int, FileVersion]:
    """The first byte that an answer sends, and what it says of the whole file."""
    headers = response.headers
    if response.status_code == 206:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", headers.get("Content-Range", ""))
    else:
        match = re.fullmatch(r"()(\d+)", headers.get("Content-Length", ""))
    if not match:
        raise UserError(f"{url}: the server does not say which bytes it sends, or how large the file is")
    version = FileVersion(
        size=int(match[2]), etag=headers.get("ETag", ""), modified=headers.get("Last-Modified", "")
    )
    return int(match[1] or 0), version
