"""Asking web servers for files. What stalls, is cut off or is refused for now is tried again; what cannot succeed is
told at once.

Proxies come from the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY). httpx itself retries connections alone.
"""

from __future__ import annotations

import email.utils
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import httpx

from pipeline.core.errors import UserError
from pipeline.core.records import Record

S = TypeVar("S")
T = TypeVar("T")
MESSAGE_INTERVAL_SECONDS = 10.0  # seconds
RETRYABLE_STATUS_CODES = {408, 425, 429, 500, 502, 503, 504}
STATUS_MESSAGES = {
    401: "access is refused",
    403: "access is refused",
    404: "no such file",
    410: "no such file",
    416: "the file is shorter than it was; run the same command again",
}


class RetryPolicy(NamedTuple):
    """How long a server is waited for.

    Attributes:
        silence: seconds without a byte that count as a stall.
        slowest: bytes a second; a slower answer counts as a stall, too.
        attempts: tries in a row without a new byte before giving up.
        pause: seconds before the second try; doubled before each further one, at most a minute.
        longest: seconds; a server that asks (Retry-After) for a longer pause is not waited for.
    """

    stall_seconds: float = 30.0
    min_bytes_per_second: float = 1000.0
    max_attempts: int = 6
    initial_backoff_seconds: float = 1.0
    max_retry_after_seconds: float = 600.0


DEFAULT_RETRY_POLICY = RetryPolicy()


class FileVersion(Record):
    """What a server says of a file: bytes, its marks of a version ("" where it gives none), and whether single ranges of
    it can be had."""

    size: int
    etag: str = ""
    modified: str = ""
    supports_ranges: bool = True

    def matches(self, other: FileVersion) -> bool:
        """Whether both can be of one version of a file. Of several servers behind one address each may have an
        ETag of its own, so one mark in common is enough."""
        marks = [(self.etag, other.etag), (self.modified, other.modified)]
        comparable = [own == others for own, others in marks if own and others]
        return self.size == other.size and (any(comparable) or not comparable)


class ServerUnreachableError(UserError):
    """A server was tried again and again in vain; what was received so far is kept."""


class RetryableError(Exception):
    """Worth another try, after `seconds` if the server asks for so long a pause."""

    def __init__(self, reason: str, seconds: float = 0.0) -> None:
        self.seconds = seconds
        super().__init__(reason)


class HttpClient:
    """The one door to the archives' servers.

    Attributes:
        cache: the folder for what is received.
        keep: leave all of it there for later runs (without a network: `offline`).
        jobs: requests at the same time.
        received: bytes of content received so far.
        stop: set to end all threads that read or wait.
    """

    def __init__(
        self,
        cache_dir: Path,
        retry_policy: RetryPolicy,
        keep_cache: bool = False,
        offline: bool = False,
        max_connections: int = 8,
    ) -> None:
        self.cache_dir, self.retry_policy = cache_dir, retry_policy
        self.keep_cache, self.offline, self.max_connections = keep_cache, offline, max_connections
        self.bytes_received = 0
        self._update_progress: Callable[[int], object] = int
        self._last_message_time = -MESSAGE_INTERVAL_SECONDS
        self.stop_event = threading.Event()
        try:
            self.httpx_client = httpx.Client(
                timeout=httpx.Timeout(retry_policy.stall_seconds, pool=None),
                follow_redirects=True,
                limits=httpx.Limits(max_connections=None),
                headers={"Accept-Encoding": "identity", "User-Agent": "rgqa-pipeline"},
            )
        except (ValueError, httpx.InvalidURL) as error:
            raise UserError(f"the proxy that the environment names cannot be used: {error}") from error

    def close(self) -> None:
        self.stop_event.set()
        self.httpx_client.close()

    @contextmanager
    def show_progress(self, label: str, total: int) -> Iterator[None]:
        """Show what is received on a progress bar on stderr (a line now and then when that is no terminal)."""
        from tqdm import tqdm

        shown = sys.stderr.isatty()
        pace = {"mininterval": 0.2 if shown else 10, "dynamic_ncols": shown}
        with tqdm(desc=label, total=total, unit="B", unit_scale=True, **pace) as bar:
            self._update_progress = bar.update
            yield
        self._update_progress = int

    def map_parallel(self, work: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
        """Results of `work` as they come. An error or Ctrl-C stops the other threads before it goes on."""
        with ThreadPoolExecutor(self.max_connections) as pool:
            futures = [pool.submit(work, item) for item in items]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BaseException:
                self.stop_event.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def retry(self, url: str, attempt: Callable[[], T], count_progress: Callable[[], int] = lambda: 0) -> T:
        """Call `once` until it succeeds or nothing new has come for `patience.attempts` tries.

        Raises:
            Unreachable: it never succeeded.
        """
        failures, before = 0, count_progress()
        while True:
            try:
                return attempt()
            except RetryableError as reason:
                failures = failures + 1 if count_progress() == before else 1
                before = count_progress()
                if failures >= self.retry_policy.max_attempts:
                    raise ServerUnreachableError(f"{url}: {reason}; tried {failures} times") from None
                said = str(reason)
                seconds = max(
                    reason.seconds, min(self.retry_policy.initial_backoff_seconds * 2 ** (failures - 1), 60.0)
                )
                if seconds > self.retry_policy.max_retry_after_seconds:
                    raise ServerUnreachableError(
                        f"{url}: {reason}, and asks for a pause of {seconds:,.0f} s"
                    ) from None
            self._print_throttled(
                f"{url}: {said}; trying again in {seconds:,.0f} s ({failures} of {self.retry_policy.max_attempts} tries)"
            )
            if self.stop_event.wait(seconds):
                raise ServerUnreachableError(f"{url}: stopped")

    def _print_throttled(self, line: str) -> None:
        """A word on why nothing comes, now and then: many threads may wait for the same server."""
        if time.monotonic() - self._last_message_time > MESSAGE_INTERVAL_SECONDS:
            self._last_message_time = time.monotonic()
            print(line, file=sys.stderr)

    @contextmanager
    def open_stream(
        self, url: str, headers: Mapping[str, str]
    ) -> Iterator[tuple[int, FileVersion, Iterator[bytes]]]:
        """Of an answer with status 200 or 206: the first byte that it sends, what it says of the whole file, and the bytes
        as they come."""
        try:
            with self.httpx_client.stream("GET", url, headers=headers) as response:
                status, encoding = response.status_code, response.headers.get("Content-Encoding", "identity")
                if status in RETRYABLE_STATUS_CODES:
                    pause = _parse_retry_after(response.headers.get("Retry-After", ""))
                    raise RetryableError(f"the server answers {status}", pause)
                if status not in (200, 206):
                    reason = STATUS_MESSAGES.get(status, "not an answer that can be used")
                    raise UserError(f"{url}: {reason} (the server answers {status})")
                if encoding != "identity":
                    raise UserError(f"{url}: the server or a proxy changes the content ({encoding})")
                yield *_parse_file_version(url, response), self._iter_chunks(response)
        except httpx.TimeoutException:
            raise RetryableError(f"no byte for {self.retry_policy.stall_seconds:g} s") from None
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.TooManyRedirects) as error:
            raise UserError(f"{url}: {error}") from error
        except httpx.TransportError as error:
            raise RetryableError(f"the connection failed ({str(error) or type(error).__name__})") from None

    def _iter_chunks(self, response: httpx.Response) -> Iterator[bytes]:
        """The content as it comes; counted, and given up when it merely drips."""
        begun, size = time.monotonic(), 0
        for chunk in response.iter_raw():
            size += len(chunk)
            self.bytes_received += len(chunk)
            self._update_progress(len(chunk))
            yield chunk
            if self.stop_event.is_set():
                raise ServerUnreachableError(f"{response.url}: stopped")
            if (
                time.monotonic() - begun
                > self.retry_policy.stall_seconds + size / self.retry_policy.min_bytes_per_second
            ):
                raise RetryableError(f"fewer than {self.retry_policy.min_bytes_per_second:g} bytes a second")


def _parse_retry_after(text: str) -> float:
    """Seconds of a Retry-After, which gives seconds or a date; 0 if it gives neither."""
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def _parse_file_version(url: str, response: httpx.Response) -> tuple[int, FileVersion]:
    """The first byte that an answer sends, and what it says of the whole file."""
    headers, ranges = response.headers, response.status_code == 206
    if ranges:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", headers.get("Content-Range", ""))
    else:
        match = re.fullmatch(r"()(\d+)", headers.get("Content-Length", ""))
    if not match:
        raise UserError(f"{url}: the server does not say which bytes it sends, or how large the file is")
    marks = {"etag": headers.get("ETag", ""), "modified": headers.get("Last-Modified", "")}
    return int(match[1] or 0), FileVersion(size=int(match[2]), supports_ranges=ranges, **marks)
