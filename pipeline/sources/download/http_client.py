"""Download files from web servers, with retries.

Requests are repeated if they stall, if their response is truncated, or if the server refuses them
temporarily. Errors that a retry cannot solve are reported at once. Proxies are read from the environment
(HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
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
MESSAGE_INTERVAL_SECONDS = 10.0
RETRYABLE_STATUS_CODES = {408, 425, 429, 500, 502, 503, 504}
STATUS_MESSAGES = {
    401: "access is refused",
    403: "access is refused",
    404: "no such file",
    410: "no such file",
    416: "the file is shorter than it was; run the same command again",
}


class RetryPolicy(NamedTuple):
    """How often requests are repeated, and how long to wait for a server.

    Attributes:
        stall_seconds: A request counts as stalled after this number of seconds without a byte.
        min_bytes_per_second: A request counts as stalled if the response is slower than this.
        max_attempts: Number of consecutive attempts without a new byte, after which the client gives up.
        initial_backoff_seconds: Pause in seconds before the second attempt. The pause doubles with each
            further attempt, up to a minute.
        max_retry_after_seconds: The client gives up if a server asks for a longer pause (header Retry-After).
    """

    stall_seconds: float = 30.0
    min_bytes_per_second: float = 1000.0
    max_attempts: int = 6
    initial_backoff_seconds: float = 1.0
    max_retry_after_seconds: float = 600.0


DEFAULT_RETRY_POLICY = RetryPolicy()


class FileVersion(Record):
    """What a server says about a file.

    Attributes:
        size: Number of bytes.
        etag: ETag; "" if the server sends none.
        modified: Last-Modified; "" if the server sends none.
        supports_ranges: Whether the server sends byte ranges.
    """

    size: int
    etag: str = ""
    modified: str = ""
    supports_ranges: bool = True

    def matches(self, other: FileVersion) -> bool:
        """Report whether two descriptions can belong to the same version of a file.

        The sizes must be equal. Of the ETag and the modification date, it is enough if one agrees, because
        several servers at the same address may send different ETags.
        """
        marks = [(self.etag, other.etag), (self.modified, other.modified)]
        comparable = [ours == theirs for ours, theirs in marks if ours and theirs]
        return self.size == other.size and (any(comparable) or not comparable)


class ServerUnreachableError(UserError):
    """A server did not answer after several attempts. Everything that was downloaded is kept."""


class RetryableError(Exception):
    """An error after which the request should be repeated.

    Args:
        reason: What went wrong.
        seconds: The pause in seconds that the server asks for; 0 if it asks for none.
    """

    def __init__(self, reason: str, seconds: float = 0.0) -> None:
        self.seconds = seconds
        super().__init__(reason)


class HttpClient:
    """An HTTP client with a cache folder, retries and a progress bar.

    Args:
        cache_dir: Folder for downloaded files.
        retry_policy: How often requests are repeated, and how long to wait.
        keep_cache: Keep downloaded files for later runs.
        offline: Use only the cache, without a network.
        max_connections: Maximum number of simultaneous requests.

    Attributes:
        bytes_received: Number of downloaded bytes.
        stop_event: Setting this event stops all threads that read or wait.
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
            raise UserError(
                f"the proxy in the environment cannot be used: {error}; check HTTPS_PROXY and HTTP_PROXY"
            ) from error

    def close(self) -> None:
        self.stop_event.set()
        self.httpx_client.close()

    @contextmanager
    def show_progress(self, label: str, total: int) -> Iterator[None]:
        """Show a progress bar on stderr, or a line every ten seconds if stderr is not a terminal."""
        from tqdm import tqdm

        is_terminal = sys.stderr.isatty()
        settings = {"mininterval": 0.2 if is_terminal else 10, "dynamic_ncols": is_terminal}
        with tqdm(desc=label, total=total, unit="B", unit_scale=True, **settings) as bar:
            self._update_progress = bar.update
            yield
        self._update_progress = int

    def map_parallel(self, work: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
        """Yield the results of `work` for all items, in the order in which they become ready.

        After an error or Ctrl-C, the other threads are stopped before the error is raised.
        """
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
        """Call `attempt` until it succeeds.

        Args:
            url: The URL, for messages.
            attempt: Raises a RetryableError if it should be called again.
            count_progress: Returns the number of bytes downloaded so far. If it grew, the count of failed
                attempts starts again.

        Raises:
            ServerUnreachableError: `max_attempts` attempts in a row made no progress.
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
                message = str(reason)
                seconds = max(
                    reason.seconds, min(self.retry_policy.initial_backoff_seconds * 2 ** (failures - 1), 60.0)
                )
                if seconds > self.retry_policy.max_retry_after_seconds:
                    raise ServerUnreachableError(
                        f"{url}: {reason}, and asks for a pause of {seconds:,.0f} s"
                    ) from None
            self._print_throttled(
                f"{url}: {message}; retrying in {seconds:,.0f} s (attempt {failures} of {self.retry_policy.max_attempts})"
            )
            if self.stop_event.wait(seconds):
                raise ServerUnreachableError(f"{url}: stopped")

    def _print_throttled(self, line: str) -> None:
        """Print a line, unless another line was printed shortly before.

        Many threads may wait for the same server and would print similar lines.
        """
        if time.monotonic() - self._last_message_time > MESSAGE_INTERVAL_SECONDS:
            self._last_message_time = time.monotonic()
            print(line, file=sys.stderr)

    @contextmanager
    def open_stream(
        self, url: str, headers: Mapping[str, str]
    ) -> Iterator[tuple[int, FileVersion, Iterator[bytes]]]:
        """Open a response with status 200 or 206.

        Yields:
            The position of the first byte, what the server says about the file, and an iterator over the
            content.

        Raises:
            RetryableError: The request should be repeated.
            UserError: The request cannot succeed.
        """
        try:
            with self.httpx_client.stream("GET", url, headers=headers) as response:
                status, encoding = response.status_code, response.headers.get("Content-Encoding", "identity")
                if status in RETRYABLE_STATUS_CODES:
                    pause = _parse_retry_after(response.headers.get("Retry-After", ""))
                    raise RetryableError(f"the server answers {status}", pause)
                if status not in (200, 206):
                    reason = STATUS_MESSAGES.get(status, "unexpected response")
                    raise UserError(f"{url}: {reason} (the server answers {status})")
                if encoding != "identity":
                    raise UserError(f"{url}: the server or a proxy encodes the content ({encoding})")
                yield *_parse_file_version(url, response), self._iter_chunks(response)
        except httpx.TimeoutException:
            raise RetryableError(f"no byte for {self.retry_policy.stall_seconds:g} s") from None
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.TooManyRedirects) as error:
            raise UserError(f"{url}: {error}") from error
        except httpx.TransportError as error:
            raise RetryableError(f"the connection failed ({str(error) or type(error).__name__})") from None

    def _iter_chunks(self, response: httpx.Response) -> Iterator[bytes]:
        """Yield the content of a response as it arrives.

        Raises:
            RetryableError: The response is too slow.
        """
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
    """Return the pause in seconds that a Retry-After header asks for, as seconds or as a date; 0 for invalid
    values.
    """
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def _parse_file_version(url: str, response: httpx.Response) -> tuple[int, FileVersion]:
    """Return the position of the first byte of a response in the file, and what the response says about the
    file.
    """
    headers, ranges = response.headers, response.status_code == 206
    if ranges:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", headers.get("Content-Range", ""))
    else:
        match = re.fullmatch(r"()(\d+)", headers.get("Content-Length", ""))
    if not match:
        raise UserError(f"{url}: the server does not state which bytes it sends or the size of the file")
    marks = {"etag": headers.get("ETag", ""), "modified": headers.get("Last-Modified", "")}
    return int(match[1] or 0), FileVersion(size=int(match[2]), supports_ranges=ranges, **marks)
