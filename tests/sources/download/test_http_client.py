import random
import socket
import threading
import time
from email.utils import formatdate

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.download.http_client import (
    DEFAULT_RETRY_POLICY,
    FileVersion,
    HttpClient,
    RetryableError,
    RetryPolicy,
    ServerUnreachableError,
    _parse_retry_after,
)
from tests.sources.download.conftest import NoWaiting

DATA = random.Random(1).randbytes(10_000)


@pytest.fixture
def web(server, tmp_path):
    server.files = {"/a.bin": DATA}
    found = HttpClient(
        tmp_path,
        RetryPolicy(
            stall_seconds=20,
            min_bytes_per_second=1000,
            max_attempts=4,
            initial_backoff_seconds=1,
            max_retry_after_seconds=100,
        ),
    )
    found.stop_event = NoWaiting()
    yield found
    found.close()


def version(web, place):
    """Request a file until the server answers, and return its version."""
    url = f"{place}/a.bin"

    def once():
        with web.open_stream(url, {}) as (_, of, _):
            return of

    return web.retry(url, once)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_response_has_its_first_byte_the_size_and_range_support(web, server, ranges):
    server.ranges = ranges
    with web.open_stream(f"{server.url}/a.bin", {"Range": "bytes=7-9"}) as (first, of, _):
        pass
    assert (first, of.size, of.supports_ranges) == (7 if ranges else 0, 10_000, ranges)
    assert of.etag and of.modified


class Drip:
    """A response with 100 bytes at a time, and a clock that advances by 10 s per reading."""

    url = "http://x/a.bin"

    def __init__(self):
        self.seconds = 0

    def iter_raw(self):
        for _ in range(20):
            yield bytes(100)

    def monotonic(self):
        self.seconds += 10
        return self.seconds


def test_a_slow_response_counts_as_a_stall(monkeypatch, tmp_path):
    drip, got = Drip(), []
    web = HttpClient(tmp_path, RetryPolicy(stall_seconds=30, min_bytes_per_second=1000))
    monkeypatch.setattr("pipeline.sources.download.http_client.time", drip)
    with pytest.raises(RetryableError, match="fewer than 1000 bytes a second"):
        got.extend(web._iter_chunks(drip))
    # After k chunks 10 k seconds have passed and 30 + 0.1 k are allowed, so k = 4 is too slow.
    assert (len(got), web.bytes_received) == (4, 400)
    web.close()


def test_requests_to_a_busy_server_are_repeated_with_growing_pauses(web, server):
    server.faults["/a.bin"] = [500, 503, 502]
    version(web, server.url)
    assert web.stop_event.pauses == [1, 2, 4]


def test_retry_after_is_respected(web, server):
    in_a_minute = formatdate(time.time() + 60, usegmt=True)
    server.faults["/a.bin"] = [(429, "17"), (503, in_a_minute)]
    version(web, server.url)
    assert web.stop_event.pauses[0] == 17
    assert 50 < web.stop_event.pauses[1] <= 60


def test_a_long_retry_after_is_an_error(web, server):
    server.faults["/a.bin"] = [(429, "3600")]
    with pytest.raises(
        ServerUnreachableError, match="the server answers 429, and asks for a pause of 3,600 s"
    ):
        version(web, server.url)
    assert web.stop_event.pauses == []


def test_a_server_that_always_fails_is_an_error(web, server):
    server.faults["/a.bin"] = [500] * 9
    with pytest.raises(ServerUnreachableError, match=r"/a\.bin: the server answers 500; tried 4 times"):
        version(web, server.url)
    assert len(server.log) == 4


def test_a_missing_server_is_an_error(web):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServerUnreachableError, match="the connection failed .*; tried 4 times"):
        version(web, f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("status", "told"),
    [(404, "no such file"), (410, "no such file"), (403, "access is refused"), (418, "unexpected response")],
)
def test_permanent_errors_are_reported_at_once(web, server, status, told):
    server.faults["/a.bin"] = [status]
    with pytest.raises(UserError, match=f"{told}.*the server answers {status}"):
        version(web, server.url)
    assert len(server.log) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (FileVersion(size=1), FileVersion(size=1), True),
        (FileVersion(size=1), FileVersion(size=2), False),
        (FileVersion(size=1, etag="a"), FileVersion(size=1, etag="b"), False),
        (
            FileVersion(size=1, etag="a", modified="x"),
            FileVersion(size=1, etag="b", modified="x"),
            True,
        ),
        (FileVersion(size=1, etag="a", modified="x"), FileVersion(size=1, etag="b", modified="y"), False),
        (FileVersion(size=1, etag="a"), FileVersion(size=1, modified="x"), True),
        (FileVersion(size=1, etag="a"), FileVersion(size=2, etag="a"), False),
    ],
)
def test_versions_match_if_size_and_one_mark_agree(one, other, same):
    assert one.matches(other) is same


@pytest.mark.parametrize(("text", "seconds"), [("3", 3.0), ("", 0.0), ("soon", 0.0), ("-1", 0.0)])
def test_retry_after_is_seconds_or_nothing(text, seconds):
    assert _parse_retry_after(text) == seconds


def test_a_date_that_has_passed_asks_for_no_pause():
    assert _parse_retry_after("Mon, 01 Jan 2024 00:00:00 GMT") == 0.0


def test_work_is_done_by_several_threads(tmp_path):
    # The barrier needs three threads.
    together = threading.Barrier(3, timeout=10)

    def work(item):
        together.wait()
        return item * item

    assert sorted(
        HttpClient(tmp_path, DEFAULT_RETRY_POLICY, max_connections=3).map_parallel(work, [1, 2, 3])
    ) == [
        1,
        4,
        9,
    ]


def test_an_error_of_one_thread_stops_the_others(tmp_path):
    here = HttpClient(tmp_path, DEFAULT_RETRY_POLICY, max_connections=3)

    def work(item):
        if item:
            raise UserError("wrong")
        # The error sets the event.
        assert here.stop_event.wait(10)

    with pytest.raises(UserError, match="wrong"):
        list(here.map_parallel(work, [0, 1]))
