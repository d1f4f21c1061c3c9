"""The HTTP client, and files read by byte ranges."""

import random
import shutil
import socket
import threading
import time
from collections import namedtuple
from email.utils import formatdate

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.download.byte_ranges import LocalFile, RemoteFile, check_disk_space
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

# HTTP client


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


# Byte ranges


REMOTE_DATA = random.Random(3).randbytes(5000)


@pytest.fixture
def range_web(server, tmp_path):
    server.files = {"/a.bin": REMOTE_DATA}
    webs = []

    def make(**options):
        patience = RetryPolicy(stall_seconds=20, max_attempts=3, initial_backoff_seconds=0.01)
        webs.append(HttpClient(tmp_path / "cache", patience, max_connections=3, **options))
        return webs[-1]

    yield make
    for web in webs:
        web.close()


def opened(range_web, server):
    return RemoteFile(range_web, "a.bin", f"{server.url}/a.bin")


def test_a_range_is_downloaded_once_into_its_own_file(range_web, server, tmp_path):
    file = opened(range_web(), server)
    assert (file.size, file.count_missing_bytes(10, 30)) == (5000, 20)
    for _ in range(2):
        with file.open_range(10, 30) as content:
            assert content.read() == REMOTE_DATA[10:30]
    assert file.count_missing_bytes(10, 30) == 0
    assert (tmp_path / "cache/a.bin/10-30").read_bytes() == REMOTE_DATA[10:30]
    assert [wanted for _, wanted in server.log] == ["bytes=0-0", "bytes=10-29"]


@pytest.fixture
def patient(range_web):
    """A client that records pauses instead of waiting."""
    here = range_web()
    here.stop_event = NoWaiting()
    return here


def content(file, start, stop):
    return file.download_range(start, stop).read_bytes()


def asked(server):
    return [wanted.removeprefix("bytes=") for _, wanted in server.log]


def test_a_range_is_read_exactly_and_nothing_else(patient, server):
    file = opened(patient, server)
    assert (file.size, file.version.supports_ranges) == (5000, True)
    assert content(file, 10, 30) == REMOTE_DATA[10:30]
    assert asked(server) == ["0-0", "10-29"]
    assert patient.bytes_received == 20


@pytest.mark.parametrize("fault", ["cut", "stall"])
def test_a_broken_response_is_resumed(patient, server, fault):
    file = opened(patient, server)
    if fault == "stall":
        patient.httpx_client.timeout = 0.5
    server.faults["/a.bin"] = [fault, fault]
    assert content(file, 0, 5000) == REMOTE_DATA
    # Each response has half of the missing bytes: 2,500, then 1,250 of the other 2,500.
    assert asked(server)[1:] == ["0-4999", "2500-4999", "3750-4999"]
    assert patient.stop_event.pauses == [
        0.01,
        0.01,
    ]


def test_a_file_that_changes_while_it_is_read_is_reported(patient, server):
    file = opened(patient, server)
    server.files["/a.bin"] = REMOTE_DATA[:-1]
    with pytest.raises(UserError, match="5,000 bytes.*4,999"):
        content(file, 0, 10)


def test_a_server_without_ranges_is_detected_and_can_send_the_whole_file(patient, server):
    server.ranges = False
    file = opened(patient, server)
    assert not file.version.supports_ranges
    with pytest.raises(UserError, match="the server only sends the whole file"):
        content(file, 0, 10)
    server.faults["/a.bin"] = ["cut"]
    assert content(file, 0, 5000) == REMOTE_DATA
    assert "0-5000.part" not in [path.name for path in file.folder.iterdir()]


def test_released_ranges_are_deleted_unless_the_cache_is_kept(range_web, server):
    for keep in (True, False):
        file = opened(range_web(keep_cache=keep), server)
        file.download_range(10, 30)
        file.release_range(10, 30)
        assert file.count_missing_bytes(10, 30) == (0 if keep else 20)


def test_damaged_ranges_are_deleted_even_if_the_cache_is_kept(range_web, server):
    file = opened(range_web(keep_cache=True), server)
    file.download_range(10, 30)
    file.delete_range(10, 30)
    assert file.count_missing_bytes(10, 30) == 20


def test_offline_uses_the_cache_and_reports_missing_ranges(range_web, server, tmp_path):
    with pytest.raises(UserError, match="a.bin: .*--offline"):
        opened(range_web(offline=True), server)
    opened(range_web(keep_cache=True), server).download_range(10, 30)
    count = len(server.log)
    file = opened(range_web(keep_cache=True, offline=True), server)
    assert file.download_range(10, 30).read_bytes() == REMOTE_DATA[10:30]
    with pytest.raises(UserError, match="a.bin, bytes 10-31: not in the cache"):
        file.download_range(10, 31)
    assert len(server.log) == count


def test_ranges_of_another_version_are_deleted(range_web, server):
    opened(range_web(keep_cache=True), server).download_range(10, 30)
    server.files["/a.bin"] = REMOTE_DATA[::-1]
    assert opened(range_web(keep_cache=True), server).count_missing_bytes(10, 30) == 20


@pytest.mark.parametrize("ranges", [True, False])
def test_a_whole_file_is_downloaded(range_web, server, ranges):
    server.ranges = ranges
    server.faults["/a.bin"] = [None, "cut"]
    assert opened(range_web(), server).download_all().read_bytes() == REMOTE_DATA


def test_ranges_are_read_from_the_whole_file_if_it_is_cached(range_web, server):
    file = opened(range_web(), server)
    file.download_all()
    count = len(server.log)
    with file.open_range(10, 30) as content:
        assert content.read(20) == REMOTE_DATA[10:30]
    file.release_range(10, 30)
    assert (file.count_missing_bytes(10, 30), len(server.log)) == (0, count)


def test_a_local_file_is_read_in_place_and_never_deleted(tmp_path):
    (tmp_path / "a.bin").write_bytes(REMOTE_DATA)
    file = LocalFile(tmp_path / "a.bin")
    with file.open_range(10, 30) as content:
        assert content.read(20) == REMOTE_DATA[10:30]
    file.release_range(0, 5000)
    file.delete_range(0, 5000)
    assert (file.size, file.count_missing_bytes(10, 30)) == (5000, 0)
    assert (tmp_path / "a.bin").read_bytes() == REMOTE_DATA


def test_folders_on_the_same_disk_are_added_up(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(5000))
    check_disk_space({tmp_path / "a": 2500, tmp_path / "b/c": 2500})
    with pytest.raises(UserError) as caught:
        check_disk_space({tmp_path / "a": 2500, tmp_path / "b/c": 2600})
    assert caught.value.problems == [
        "not enough disk space; nothing was downloaded",
        f"{tmp_path}: 5.1 kB needed, 5.0 kB free; free 100 bytes more",
    ]
