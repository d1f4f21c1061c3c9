import random
import shutil
from collections import namedtuple

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.download.byte_ranges import LocalFile, RemoteFile, check_disk_space
from pipeline.sources.download.http_client import HttpClient, RetryPolicy
from tests.sources.download.conftest import NoWaiting

DATA = random.Random(3).randbytes(5000)


@pytest.fixture
def web(server, tmp_path):
    server.files = {"/a.bin": DATA}
    webs = []

    def make(**options):
        patience = RetryPolicy(stall_seconds=20, max_attempts=3, initial_backoff_seconds=0.01)
        webs.append(HttpClient(tmp_path / "cache", patience, max_connections=3, **options))
        return webs[-1]

    yield make
    for web in webs:
        web.close()


def opened(web, server):
    return RemoteFile(web, "a.bin", f"{server.url}/a.bin")


def test_a_range_is_downloaded_once_into_its_own_file(web, server, tmp_path):
    file = opened(web(), server)
    assert (file.size, file.count_missing_bytes(10, 30)) == (5000, 20)
    for _ in range(2):
        with file.open_range(10, 30) as content:
            assert content.read() == DATA[10:30]
    assert file.count_missing_bytes(10, 30) == 0
    assert (tmp_path / "cache/a.bin/10-30").read_bytes() == DATA[10:30]
    assert [wanted for _, wanted in server.log] == ["bytes=0-0", "bytes=10-29"]


@pytest.fixture
def patient(web):
    """A client that records pauses instead of waiting."""
    here = web()
    here.stop_event = NoWaiting()
    return here


def content(file, start, stop):
    return file.download_range(start, stop).read_bytes()


def asked(server):
    return [wanted.removeprefix("bytes=") for _, wanted in server.log]


def test_a_range_is_read_exactly_and_nothing_else(patient, server):
    file = opened(patient, server)
    assert (file.size, file.version.supports_ranges) == (5000, True)
    assert content(file, 10, 30) == DATA[10:30]
    assert asked(server) == ["0-0", "10-29"]
    assert patient.bytes_received == 20


@pytest.mark.parametrize("fault", ["cut", "stall"])
def test_a_broken_response_is_resumed(patient, server, fault):
    file = opened(patient, server)
    if fault == "stall":
        patient.httpx_client.timeout = 0.5
    server.faults["/a.bin"] = [fault, fault]
    assert content(file, 0, 5000) == DATA
    # Each response has half of the missing bytes: 2,500, then 1,250 of the other 2,500.
    assert asked(server)[1:] == ["0-4999", "2500-4999", "3750-4999"]
    assert patient.stop_event.pauses == [
        0.01,
        0.01,
    ]


def test_a_file_that_changes_while_it_is_read_is_reported(patient, server):
    file = opened(patient, server)
    server.files["/a.bin"] = DATA[:-1]
    with pytest.raises(
        UserError, match="the file changed on the server while it was read .5,000 bytes, now 4,999"
    ):
        content(file, 0, 10)


def test_a_server_without_ranges_is_detected_and_can_send_the_whole_file(patient, server):
    server.ranges = False
    file = opened(patient, server)
    assert not file.version.supports_ranges
    with pytest.raises(UserError, match="the server only sends the whole file"):
        content(file, 0, 10)
    server.faults["/a.bin"] = ["cut"]
    assert content(file, 0, 5000) == DATA
    assert "0-5000.part" not in [path.name for path in file.folder.iterdir()]


def test_released_ranges_are_deleted_unless_the_cache_is_kept(web, server):
    for keep in (True, False):
        file = opened(web(keep_cache=keep), server)
        file.download_range(10, 30)
        file.release_range(10, 30)
        assert file.count_missing_bytes(10, 30) == (0 if keep else 20)


def test_damaged_ranges_are_deleted_even_if_the_cache_is_kept(web, server):
    file = opened(web(keep_cache=True), server)
    file.download_range(10, 30)
    file.delete_range(10, 30)
    assert file.count_missing_bytes(10, 30) == 20


def test_offline_uses_the_cache_and_reports_missing_ranges(web, server, tmp_path):
    with pytest.raises(
        UserError, match="a.bin: not in the cache .*cache; leave out --offline to download it"
    ):
        opened(web(offline=True), server)
    opened(web(keep_cache=True), server).download_range(10, 30)
    count = len(server.log)
    file = opened(web(keep_cache=True, offline=True), server)
    assert file.download_range(10, 30).read_bytes() == DATA[10:30]
    with pytest.raises(UserError, match="a.bin, bytes 10-31: not in the cache"):
        file.download_range(10, 31)
    assert len(server.log) == count


def test_ranges_of_another_version_are_deleted(web, server):
    opened(web(keep_cache=True), server).download_range(10, 30)
    server.files["/a.bin"] = DATA[::-1]
    assert opened(web(keep_cache=True), server).count_missing_bytes(10, 30) == 20


@pytest.mark.parametrize("ranges", [True, False])
def test_a_whole_file_is_downloaded(web, server, ranges):
    server.ranges = ranges
    server.faults["/a.bin"] = [None, "cut"]
    assert opened(web(), server).download_all().read_bytes() == DATA


def test_ranges_are_read_from_the_whole_file_if_it_is_cached(web, server):
    file = opened(web(), server)
    file.download_all()
    count = len(server.log)
    with file.open_range(10, 30) as content:
        assert content.read(20) == DATA[10:30]
    file.release_range(10, 30)
    assert (file.count_missing_bytes(10, 30), len(server.log)) == (0, count)


def test_a_local_file_is_read_in_place_and_never_deleted(tmp_path):
    (tmp_path / "a.bin").write_bytes(DATA)
    file = LocalFile(tmp_path / "a.bin")
    with file.open_range(10, 30) as content:
        assert content.read(20) == DATA[10:30]
    file.release_range(0, 5000)
    file.delete_range(0, 5000)
    assert (file.size, file.count_missing_bytes(10, 30)) == (5000, 0)
    assert (tmp_path / "a.bin").read_bytes() == DATA


def test_folders_on_the_same_disk_are_added_up(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(5000))
    check_disk_space({tmp_path / "a": 2500, tmp_path / "b/c": 2500})
    with pytest.raises(UserError) as caught:
        check_disk_space({tmp_path / "a": 2500, tmp_path / "b/c": 2600})
    assert caught.value.problems == [
        "not enough disk space; nothing was downloaded",
        f"{tmp_path}: 5.1 kB needed, 5.0 kB free; free 100 bytes more",
    ]
