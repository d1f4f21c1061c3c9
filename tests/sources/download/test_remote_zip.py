"""Archives that are read remotely, and the official ones."""

import io
import json
import random
import stat
import zipfile
import zlib

import pytest

from pipeline.core.errors import Problems, UserError
from pipeline.sources.download.byte_ranges import LocalFile, RemoteFile
from pipeline.sources.download.http_client import DEFAULT_RETRY_POLICY, HttpClient, RetryPolicy
from pipeline.sources.download.manifest import Manifest
from pipeline.sources.download.official_archives import OfficialArchives, is_url
from pipeline.sources.download.remote_zip import DamagedMemberError, RemoteZip
from tests.sources.download.conftest import JSONS, archives, jpeg, packed

# Remote zip


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
    with pytest.raises(DamagedMemberError, match=r"a\.zip, images/b\.jpg: damaged"):
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


# Official archives


@pytest.fixture
def official(tmp_path):
    """The archives in a local folder."""
    for name, data in archives().items():
        (tmp_path / name).write_bytes(data)
    web = HttpClient(tmp_path / "cache", DEFAULT_RETRY_POLICY, max_connections=2)
    yield OfficialArchives(web, str(tmp_path))
    web.close()


@pytest.mark.parametrize(
    ("address", "web"),
    [
        ("https://x/y", True),
        ("http://127.0.0.1:80", True),
        ("ftp://x", False),
        ("/data/gqa", False),
        ("", False),
    ],
)
def test_a_url_begins_with_http(address, web):
    assert is_url(address) is web


def test_an_address_is_a_url_or_an_existing_folder(official, tmp_path):
    assert OfficialArchives(official.client, "https://x/gqa/").address == "https://x/gqa"
    assert official.address == str(tmp_path)
    with pytest.raises(UserError, match="use `official`, `hub`, a URL .* or an existing folder"):
        OfficialArchives(official.client, str(tmp_path / "not there"))


def paths(files):
    return [file.path for file in files]


def test_a_split_has_one_file_of_questions_or_a_folder_of_them(official):
    assert paths(official.list_questions("val", "balanced")) == ["questions1.2/val_balanced_questions.json"]
    assert paths(official.list_questions("train", "all")) == [
        f"questions1.2/train_all_questions/train_all_questions_{part}.json" for part in (0, 1)
    ]


def test_answer_choices_are_only_those_of_the_split(official):
    assert paths(official.list_choices("testdev")) == ["eval/testdev_choices.json"]
    with pytest.raises(UserError, match="train.*--answer-choices"):
        official.list_choices("train")


def test_images_missing_in_the_archive_are_reported(official):
    with pytest.raises(UserError) as caught:
        official.list_images(["n1", "x1", "x2"])
    assert caught.value.problems == [
        f"images.zip, {name}.jpg: expected one member with this name, found 0" for name in ("x1", "x2")
    ]


def test_a_file_has_the_size_and_checksum_in_the_archive(official):
    (wanted,) = official.list_images(["n1"])
    # A local folder needs no download.
    assert (wanted.origin, wanted.download_bytes) == ("images.zip", 0)
    assert (wanted.disk_bytes, wanted.crc32) == (len(jpeg(0)), zlib.crc32(jpeg(0)))


def test_files_are_unpacked_and_recorded_despite_a_damaged_one(official, tmp_path):
    data = bytearray(packed({"images/n1.jpg": jpeg(0), "images/n2.jpg": jpeg(1)}))
    data[data.index(b"images/n1.jpg") + 100] ^= 1
    (tmp_path / "images.zip").write_bytes(data)
    source = tmp_path / "source"
    manifest, problems = Manifest(source), Problems("x")
    wanted = official.list_images(["n1", "n2"]) + official.list_questions("val", "balanced")
    official.fetch(wanted, manifest, problems)
    assert (source / "images/n2.jpg").read_bytes() == jpeg(1)
    text = (source / "questions1.2/val_balanced_questions.json").read_text()
    assert json.loads(text) == JSONS["val_balanced_questions.json"]
    assert sorted(manifest.files) == ["images/n2.jpg", "questions1.2/val_balanced_questions.json"]
    (damage,) = problems.lines
    assert "images/n1.jpg: damaged" in damage
    assert not (source / "images/n1.jpg").exists()


def test_the_fingerprint_of_an_archive_is_its_size_and_directory_checksum(official, tmp_path):
    assert official.get_seen_remotes() == {}
    official.get_archive("images.zip")
    seen = official.get_seen_remotes()["images.zip"]
    assert (seen.address, seen.size) == (f"{tmp_path}/images.zip", len(archives()["images.zip"]))
    assert len(seen.checksum) == 64
