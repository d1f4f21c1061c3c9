import random
import socket
import time
from email.utils import formatdate

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.fetching.web_files import (
    FileVersion,
    Patience,
    RangesIgnored,
    Unreachable,
    Web,
    WebFile,
    _Again,
    _retry_after,
)

DATA = random.Random(1).randbytes(10_000)


class NoWaiting:
    """Stands for the event of a `Web`: notes the pauses instead of making them."""

    def __init__(self):
        self.pauses = []

    def wait(self, seconds):
        self.pauses.append(seconds)
        return False

    def is_set(self):
        return False

    def set(self): ...


@pytest.fixture
def web(server):
    server.files = {"/a.bin": DATA}
    found = Web(Patience(silence=20, slowest=1000, attempts=4, pause=1, longest=100))
    found.stop = NoWaiting()
    yield found
    found.close()


def saved(file, folder, start, stop):
    file.save(start, stop, folder / "a.bin")
    return (folder / "a.bin").read_bytes()


def asked(server):
    return [wanted.removeprefix("bytes=") for _, wanted in server.log]


def test_a_range_is_read_exactly_and_nothing_else(web, server, tmp_path):
    file = WebFile(web, f"{server.url}/a.bin")
    assert (file.version.size, file.ranges) == (10_000, True)
    assert saved(file, tmp_path, 10, 30) == DATA[10:30]
    assert asked(server) == ["0-0", "10-29"]
    assert web.received == 20


@pytest.mark.parametrize("fault", ["cut", "stall"])
def test_a_broken_answer_is_continued_from_where_it_stopped(web, server, fault, tmp_path):
    file = WebFile(web, f"{server.url}/a.bin")
    if fault == "stall":
        web.client.timeout = 0.5
    server.faults["/a.bin"] = [fault, fault]
    assert saved(file, tmp_path, 0, 10_000) == DATA
    # each time half of what is left comes: 5,000, then 2,500 of the other 5,000
    assert asked(server)[1:] == ["0-9999", "5000-9999", "7500-9999"]
    assert web.stop.pauses == [1, 1]  # something new came each time, so the pause does not grow


class Drip:
    """An answer of 100 bytes at a time; each look at the clock finds it 10 s later."""

    url = "http://x/a.bin"

    def __init__(self):
        self.seconds = 0

    def iter_raw(self):
        for _ in range(20):
            yield bytes(100)

    def monotonic(self):
        self.seconds += 10
        return self.seconds


def test_an_answer_that_merely_drips_counts_as_a_stall(monkeypatch):
    drip, got = Drip(), []
    web = Web(Patience(silence=30, slowest=1000))
    monkeypatch.setattr("pipeline.sources.fetching.web_files.time", drip)
    with pytest.raises(_Again, match="fewer than 1000 bytes a second"):
        got.extend(web.chunks(drip))
    # after k chunks 10 k seconds are gone and 30 + 0.1 k are allowed: too slow at k = 4
    assert (len(got), web.received) == (4, 400)
    web.close()


def test_a_busy_server_is_asked_again_after_growing_pauses(web, server):
    server.faults["/a.bin"] = [500, 503, 502]
    WebFile(web, f"{server.url}/a.bin")
    assert web.stop.pauses == [1, 2, 4]


def test_the_pause_that_a_server_asks_for_is_made(web, server):
    in_a_minute = formatdate(time.time() + 60, usegmt=True)
    server.faults["/a.bin"] = [(429, "17"), (503, in_a_minute)]
    WebFile(web, f"{server.url}/a.bin")
    assert web.stop.pauses[0] == 17
    assert 50 < web.stop.pauses[1] <= 60


def test_a_pause_too_long_is_told_instead_of_made(web, server):
    server.faults["/a.bin"] = [(429, "3600")]
    with pytest.raises(Unreachable, match="the server answers 429, and asks for a pause of 3,600 s"):
        WebFile(web, f"{server.url}/a.bin")
    assert web.stop.pauses == []


def test_a_server_that_never_answers_well_is_given_up(web, server):
    server.faults["/a.bin"] = [500] * 9
    with pytest.raises(Unreachable, match=r"/a\.bin: the server answers 500; tried 4 times"):
        WebFile(web, f"{server.url}/a.bin")
    assert len(server.log) == 4


def test_a_server_that_is_not_there_is_given_up(web):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match="the connection failed .*; tried 4 times"):
        WebFile(web, f"http://127.0.0.1:{port}/a.bin")


@pytest.mark.parametrize(
    ("status", "told"),
    [(404, "no such file"), (410, "no such file"), (403, "access is refused"), (418, "not an answer")],
)
def test_what_cannot_succeed_is_told_at_once(web, server, status, told):
    server.faults["/a.bin"] = [status]
    with pytest.raises(UserError, match=f"{told}.*the server answers {status}"):
        WebFile(web, f"{server.url}/a.bin")
    assert len(server.log) == 1


def test_a_file_that_changes_while_it_is_read_is_told(web, server, tmp_path):
    file = WebFile(web, f"{server.url}/a.bin")
    server.files["/a.bin"] = DATA[:-1]
    with pytest.raises(
        UserError, match="the file changed on the server while it was read .10,000 bytes, now 9,999"
    ):
        saved(file, tmp_path, 0, 10)


def test_a_server_that_ignores_ranges_is_known_and_can_send_the_whole(web, server, tmp_path):
    server.ranges = False
    file = WebFile(web, f"{server.url}/a.bin")
    assert not file.ranges
    with pytest.raises(RangesIgnored):
        saved(file, tmp_path, 0, 10)
    server.faults["/a.bin"] = ["cut"]
    assert saved(file, tmp_path, 0, 10_000) == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


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
        ),  # two servers, one file
        (FileVersion(size=1, etag="a", modified="x"), FileVersion(size=1, etag="b", modified="y"), False),
        (FileVersion(size=1, etag="a"), FileVersion(size=1, modified="x"), True),
        (FileVersion(size=1, etag="a"), FileVersion(size=2, etag="a"), False),
    ],
)
def test_two_answers_are_of_one_version_when_size_and_one_mark_agree(one, other, same):
    assert one.agrees(other) is same


@pytest.mark.parametrize(("text", "seconds"), [("3", 3.0), ("", None), ("soon", None), ("-1", None)])
def test_retry_after_is_seconds_or_nothing(text, seconds):
    assert _retry_after(text) == seconds


def test_a_date_that_has_passed_asks_for_no_pause():
    assert _retry_after("Mon, 01 Jan 2024 00:00:00 GMT") == 0.0
