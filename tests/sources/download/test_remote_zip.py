import io
import random
import stat
import zipfile
import zlib

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.download.byte_ranges import LocalFile, RemoteFile
from pipeline.sources.download.http_client import HttpClient, RetryPolicy
from pipeline.sources.download.remote_zip import DamagedMemberError, RemoteZip
from tests.sources.download.conftest import packed

# Noise cannot be compressed.
NOISE = random.Random(2).randbytes(3000)
LARGEST = 16_000_000_000
MEMBERS = {"images/a.jpg": NOISE[:1000], "images/b.jpg": NOISE[1000:], "c.json": b'{"x": 1}' * 100}


@pytest.fixture
def kept(server, tmp_path):
    """A function that opens an archive on the server, with the cache in tmp_path/cache."""
    webs = []

    def make(data: bytes, keep: bool = False) -> RemoteZip:
        server.files["/a.zip"] = data
        webs.append(
            HttpClient(
                tmp_path / "cache",
                RetryPolicy(stall_seconds=20, max_attempts=4, initial_backoff_seconds=0.01),
                keep_cache=keep,
            )
        )
        return RemoteZip(RemoteFile(webs[-1], "a.zip", f"{server.url}/a.zip"), "a.zip", LARGEST)

    yield make
    for web in webs:
        web.close()


def on_disk(tmp_path, data: bytes) -> RemoteZip:
    (tmp_path / "a.zip").write_bytes(data)
    return RemoteZip(LocalFile(tmp_path / "a.zip"), "a.zip", LARGEST)


def ranges(server):
    return [tuple(map(int, wanted.removeprefix("bytes=").split("-"))) for _, wanted in server.log]


def test_extracting_a_member_downloads_only_its_bytes(kept, server, tmp_path):
    data = packed(MEMBERS)
    archive = kept(data)
    server.log.clear()
    archive.extract("b.jpg", tmp_path / "b.jpg")
    assert (tmp_path / "b.jpg").read_bytes() == NOISE[1000:]
    # A local header has 30 bytes.
    start, stop = data.index(b"images/b.jpg") - 30, data.index(b"c.json") - 30
    assert min(first for first, _ in ranges(server)) == start
    assert max(last for _, last in ranges(server)) == stop - 1
    assert sum(last + 1 - first for first, last in ranges(server)) == stop - start


def place(data: bytes) -> str:
    """Return the name of the cached range of b.jpg."""
    # A local header has 30 bytes, and a member ends where the next one begins.
    return f"{data.index(b'images/b.jpg') - 30}-{data.index(b'c.json') - 30}"


@pytest.mark.parametrize("keep", [False, True])
def test_downloads_are_deleted_after_unpacking_unless_the_cache_is_kept(kept, tmp_path, keep):
    data = packed(MEMBERS)
    archive = kept(data, keep)
    before = set((tmp_path / "cache/a.zip").iterdir())
    archive.extract("b.jpg", tmp_path / "b.jpg")
    added = {path.name for path in set((tmp_path / "cache/a.zip").iterdir()) - before}
    assert added == ({place(data)} if keep else set())


def test_a_member_downloaded_by_an_earlier_run_is_not_requested_again(kept, server, tmp_path):
    data = packed(MEMBERS)
    first = kept(data)
    start, stop = map(int, place(data).split("-"))
    assert first.count_missing_bytes(first.get_member("b.jpg")) == stop - start
    first.file.download_range(start, stop)
    again = kept(data)
    server.log.clear()
    assert again.count_missing_bytes(again.get_member("b.jpg")) == 0
    again.extract("b.jpg", tmp_path / "b.jpg")
    assert server.log == []


def test_a_partial_download_of_an_earlier_run_is_resumed(kept, server, tmp_path):
    data = packed(MEMBERS)
    start, stop = map(int, place(data).split("-"))
    kept(data)
    (tmp_path / f"cache/a.zip/{start}-{stop}.part").write_bytes(data[start : start + 700])
    archive = kept(data)
    server.log.clear()
    archive.extract("b.jpg", tmp_path / "b.jpg")
    assert ranges(server) == [(start + 700, stop - 1)]
    assert (tmp_path / "b.jpg").read_bytes() == NOISE[1000:]


def test_downloads_of_another_version_are_deleted(kept, server, tmp_path):
    data = packed(MEMBERS)
    kept(data).file.download_range(*map(int, place(data).split("-")))
    archive = kept(packed(MEMBERS | {"images/b.jpg": NOISE[:2000]}))
    archive.extract("b.jpg", tmp_path / "b.jpg")
    assert (tmp_path / "b.jpg").read_bytes() == NOISE[:2000]


@pytest.mark.parametrize(
    "damage", [lambda data: bytes(len(data)), lambda data: data[:-200]], ids=["zeros", "cut"]
)
def test_a_damaged_cache_is_downloaded_again(kept, tmp_path, damage):
    data = packed(MEMBERS)
    archive = kept(data)
    received = archive.file.download_range(*map(int, place(data).split("-")))
    received.write_bytes(damage(received.read_bytes()))
    archive.extract("b.jpg", tmp_path / "b.jpg")
    assert (tmp_path / "b.jpg").read_bytes() == NOISE[1000:]


def test_a_member_damaged_in_the_archive_is_reported_and_not_written(kept, tmp_path):
    data = bytearray(packed(MEMBERS))
    data[data.index(b"images/b.jpg") + 500] ^= 255
    archive = kept(bytes(data))
    with pytest.raises(
        DamagedMemberError, match=r"a\.zip, images/b\.jpg: damaged .*the file on the server is damaged"
    ):
        archive.extract("b.jpg", tmp_path / "b.jpg")
    assert not (tmp_path / "b.jpg").exists()


def test_the_directory_checksum_does_not_depend_on_the_order():
    def found(members, tmp):
        return on_disk(tmp, packed(members)).directory_sha256

    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        plain = found(MEMBERS, tmp)
        assert found(dict(reversed(MEMBERS.items())), tmp) == plain
        assert found(MEMBERS | {"c.json": b'{"x": 2}' * 100}, tmp) != plain
        assert found(MEMBERS | {"d.json": b"{}"}, tmp) != plain


def changed(**facts) -> bytes:
    """Return an archive with a member x.jpg whose directory entry is changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        info = zipfile.ZipInfo("x.jpg")
        archive.writestr(info, b"0" * 100, facts.get("method", zipfile.ZIP_STORED))
        for name, value in facts.items():
            setattr(info, name, value) if name != "method" else None
    return file.getvalue()


def bomb() -> bytes:
    # These zeros compress to about 5,000 bytes.
    return packed({"x.jpg": bytes(5_000_000)})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(flag_bits=1), "it is encrypted"),
        (changed(external_attr=(stat.S_IFLNK | 0o777) << 16), "it is a link"),
        (changed(method=zipfile.ZIP_LZMA), "it is compressed by method 14"),
        (changed(file_size=10**11), "it would have 100,000,000,000 bytes, more than 16,000,000,000"),
        (changed(compress_size=10**6), "its bytes overlap with another member's"),
        (bomb(), "it would unpack 4,868 bytes to 5,000,000"),
        (packed({"a/x.jpg": b"1", "b/x.jpg": b"2"}), "expected one member with this name, found 2"),
        (packed({"y.jpg": b"1"}), "expected one member with this name, found 0"),
    ],
)
def test_a_suspicious_member_is_refused(tmp_path, data, message):
    if data == bomb():
        message = f"it would unpack {len(zlib.compress(bytes(5_000_000), 6)) - 6:,} bytes to 5,000,000"
    with pytest.raises(UserError, match=message):
        on_disk(tmp_path, data).get_member("x.jpg")


def test_a_member_is_not_unpacked_beyond_its_stated_size(tmp_path):
    data = packed({"x.jpg": bytes(100_000)}).replace(
        (100_000).to_bytes(4, "little"), (50_000).to_bytes(4, "little")
    )
    archive = on_disk(tmp_path, data)
    with pytest.raises(DamagedMemberError):
        archive.extract("x.jpg", tmp_path / "out/x.jpg")
    assert list((tmp_path / "out").iterdir()) == []


def test_paths_in_the_archive_do_not_determine_where_files_are_written(tmp_path):
    (tmp_path / "in").mkdir()
    archive = on_disk(tmp_path / "in", packed({"../../x.jpg": b"1", "/etc/y.jpg": b"2"}))
    archive.extract("x.jpg", tmp_path / "in/out/x.jpg")
    archive.extract("y.jpg", tmp_path / "in/out/y.jpg")
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.jpg")) == [
        "in/out/x.jpg",
        "in/out/y.jpg",
    ]


@pytest.mark.parametrize("data", [b"", b"<html>not found</html>", packed(MEMBERS)[:-30]])
def test_an_invalid_archive_is_reported_with_its_size(tmp_path, data):
    with pytest.raises(
        UserError, match=rf"a\.zip: not a ZIP archive, or truncated .*; it has {len(data):,} bytes"
    ):
        on_disk(tmp_path, data)


def test_members_beyond_4_gib_are_found(tmp_path):
    """GQA's archive of images has 20 GB. Here a hole of 5 GiB comes before the members."""
    with (tmp_path / "a.zip").open("wb") as file:
        file.seek(5 << 30)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in MEMBERS.items():
                archive.writestr(name, data)
    archive = RemoteZip(LocalFile(tmp_path / "a.zip"), "a.zip", LARGEST)
    assert archive.get_member("b.jpg").header_offset > 5 << 30
    archive.extract("b.jpg", tmp_path / "b.jpg")
    assert (tmp_path / "b.jpg").read_bytes() == NOISE[1000:]
