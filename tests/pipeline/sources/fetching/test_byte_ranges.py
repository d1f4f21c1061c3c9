import random
import threading

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.fetching.byte_ranges import LocalFile, Store
from pipeline.sources.fetching.web_files import Patience, Web

DATA = random.Random(3).randbytes(5000)


@pytest.fixture
def store(server, tmp_path):
    server.files = {"/a.bin": DATA}
    web = Web(Patience(silence=20, attempts=3, pause=0.01))

    def make(keep=False, offline=False):
        return Store(tmp_path / "cache", web, keep=keep, offline=offline, all_of_it=False, jobs=3)

    yield make
    web.close()


def opened(store, server):
    return store.open("a.bin", f"{server.url}/a.bin")


def test_a_range_is_received_once_and_lies_in_a_file_of_its_own(store, server, tmp_path):
    file = opened(store(), server)
    assert (file.size, file.missing(10, 30)) == (5000, 20)
    for _ in range(2):
        with file.open(10, 30) as content:
            assert content.read() == DATA[10:30]
    assert file.missing(10, 30) == 0
    assert (tmp_path / "cache/a.bin/10-30").read_bytes() == DATA[10:30]
    assert [wanted for _, wanted in server.log] == ["bytes=0-0", "bytes=10-29"]


def test_what_is_dropped_goes_unless_it_is_to_be_kept(store, server):
    for keep in (True, False):
        file = opened(store(keep), server)
        file.file(10, 30)
        file.drop(10, 30)
        assert file.missing(10, 30) == (0 if keep else 20)


def test_what_is_damaged_goes_even_from_a_cache_that_is_kept(store, server):
    file = opened(store(keep=True), server)
    file.file(10, 30)
    file.forget(10, 30)
    assert file.missing(10, 30) == 20


def test_without_a_network_the_cache_serves_and_what_it_lacks_is_told(store, server, tmp_path):
    with pytest.raises(
        UserError, match="a.bin: not in the cache .*cache, and --offline forbids to ask the server"
    ):
        opened(store(offline=True), server)
    opened(store(keep=True), server).file(10, 30)
    count = len(server.log)
    file = opened(store(keep=True, offline=True), server)
    assert file.file(10, 30).read_bytes() == DATA[10:30]
    with pytest.raises(UserError, match="a.bin, bytes 10-31: not in the cache"):
        file.file(10, 31)
    assert len(server.log) == count


def test_ranges_of_another_version_are_thrown_away(store, server):
    opened(store(keep=True), server).file(10, 30)
    server.files["/a.bin"] = DATA[::-1]
    assert opened(store(keep=True), server).missing(10, 30) == 20


@pytest.mark.parametrize("ranges", [True, False])
def test_all_of_a_file_comes_in_one(store, server, ranges):
    server.ranges = ranges
    server.faults["/a.bin"] = [None, "cut"]
    assert opened(store(), server).whole().read_bytes() == DATA


def test_what_is_no_longer_needed_is_removed_with_the_cache_unless_it_is_kept(store, server, tmp_path):
    for keep in (True, False):
        opened(store(keep), server)
        store(keep).clear()
        assert (tmp_path / "cache").exists() is keep


def test_a_file_in_a_folder_is_read_in_place_and_never_removed(tmp_path):
    (tmp_path / "a.bin").write_bytes(DATA)
    file = LocalFile(tmp_path / "a.bin")
    with file.open(10, 30) as content:
        assert content.read(20) == DATA[10:30]
    file.drop(0, 5000)
    file.forget(0, 5000)
    assert (file.size, file.missing(10, 30)) == (5000, 0)
    assert (tmp_path / "a.bin").read_bytes() == DATA


def test_work_is_done_by_several_threads_at_once(store):
    together = threading.Barrier(3, timeout=10)  # passes only when three wait for it

    def work(item):
        together.wait()
        return item * item

    assert sorted(store().parallel(work, [1, 2, 3])) == [1, 4, 9]


def test_an_error_of_one_thread_stops_the_others(store):
    here = store()

    def work(item):
        if item:
            raise UserError("wrong")
        assert here.web.stop.wait(10)  # ends when the error has told it to

    with pytest.raises(UserError, match="wrong"):
        list(here.parallel(work, [0, 1]))
