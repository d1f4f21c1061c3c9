"""The door to the copy of GQA on the Hugging Face hub: Parquet files, turned into GQA's own layout.

    <split>_<balanced|all>_instructions/*.parquet   id and the fields of a question
    <split>_<balanced|all>_images/*.parquet         id, image (bytes, path)

The same folders in a folder of one's own serve as well. The hub states each file's SHA-256; it is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pipeline.core.errors import UserError
from pipeline.core.files import read_json, replacing, sha256_file, write_json
from pipeline.core.records import Record
from pipeline.sources.fetching.addresses import HUB_DATASET, LARGEST, PICTURES, hub_endpoint
from pipeline.sources.fetching.byte_ranges import Kept, bar, whole
from pipeline.sources.fetching.hub_parquet import convert, opened
from pipeline.sources.fetching.manifest import SeenRemote
from pipeline.sources.fetching.official_archives import Item
from pipeline.sources.fetching.opening import Store
from pipeline.sources.fetching.web_files import WebFile
from pipeline.sources.fetching.zip_members import Sums, sums

# Bytes of GQA's JSON for a byte of Parquet, for the question whether the disk has room: 6 for 2,421 questions, more
# for larger files, which pack better.
GROWS = 12


class _Large(msgspec.Struct):
    oid: str = ""


class _Entry(msgspec.Struct):
    type: str
    path: str
    size: int
    lfs: _Large | None = None


class Parquet(Record):
    """A Parquet file: path in the data set, bytes, SHA-256."""

    path: str
    size: int
    sha256: str


class Parcel(NamedTuple):
    """What an item of the hub is made of."""

    files: list[Parquet]
    picture_id: str = ""


class Hub:
    """`folder` is a folder with the hub's folders in it, or None for the hub itself."""

    def __init__(self, store: Store, folder: Path | None = None) -> None:
        self.store, self.folder = store, folder
        self.cache = store.cache / "hub"
        self.address = folder.as_posix() if folder else f"{hub_endpoint()}/datasets/{HUB_DATASET}"
        self._listed: dict[str, list[Parquet]] = {}

    def remotes(self) -> dict[str, SeenRemote]:
        """The Parquet files listed so far."""
        return {
            file.path: SeenRemote(address=f"{self.address}/{file.path}", size=file.size, sum=file.sha256)
            for files in self._listed.values()
            for file in files
        }

    def questions(self, split: str, which: str) -> list[Item]:
        folder = f"{split}_{which}_instructions"
        path = f"questions1.2/{split}_{which}_questions.json"
        files = self._list(folder)
        total = sum(file.size for file in files)
        return [Item(path, folder, self._receive(files), GROWS * total, Parcel(files))]

    def pictures(self, split: str, which: str, ids: list[str]) -> list[Item]:
        """One item a picture; the bytes of the whole Parquet files are shared out evenly among them."""
        folder = f"{split}_{which}_images"
        files = self._list(folder)
        received, size = self._receive(files), sum(file.size for file in files)
        share = max(1, len(ids))
        return [
            Item(f"images/{name}.jpg", folder, received // share, size // share, Parcel(files, name))
            for name in ids
        ]

    def holds(self, item: Item, found: Sums) -> bool:
        """Only the manifest knows the sums of what is made from Parquet."""
        return False

    def get(self, item: Item, source: Path, record: Callable[[Sums], None]) -> Sums:
        """Fetch and convert the questions of a split. `record(sums)` is called before the file takes its place, so
        that a kill in between leaves no file that nobody knows."""
        local = [self._fetch(file) for file in item.key.files]
        made = self.cache / f"{item.origin}.json"
        convert(local, made)
        found = sums(made)
        record(found)
        target = source / item.path
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file, made.open("rb") as content:
            while chunk := content.read(1 << 20):
                file.write(chunk)
        made.unlink()
        self._drop(item.key.files)
        return found

    def get_pictures(
        self, items: list[Item], source: Path, save: Callable[[], None]
    ) -> Iterator[tuple[Item, Sums | str]]:
        """Write the wanted pictures out of the Parquet files, one file after the other. A picture of another content
        that is there already stays and gives a message. `save()` is called before a Parquet file is dropped; what
        is dropped is noted, so that it is not fetched again after a kill."""
        wanted = {item.key.picture_id: item for item in items}
        files = items[0].key.files if items else []
        for file in sorted(files, key=lambda file: self._used(file).exists()):
            if not wanted:
                break
            table = opened(self._fetch(file), {"id", "image"})
            with bar("fetch: pictures written", table.metadata.num_rows, "picture") as tell:
                for batch in table.iter_batches(batch_size=64, columns=["id", "image"]):
                    for row in batch.to_pylist():
                        tell(1)
                        if item := wanted.pop(row["id"], None):
                            yield _write_picture(item, row["image"], source)
            save()
            self._drop([file])
        for picture_id, item in sorted(wanted.items()):
            yield item, f"picture {picture_id}: not in {item.origin} of the hub"

    def waiting(self, items: list[Item]) -> int:
        """Bytes of Parquet files that lie in the cache at a time."""
        if self.folder:
            return 0
        sizes = {file.path: file.size for item in items for file in item.key.files}
        only_one = not self.store.keep and any(item.key.picture_id for item in items)
        return max(sizes.values(), default=0) if only_one else sum(sizes.values())

    def _receive(self, files: list[Parquet]) -> int:
        return 0 if self.folder else sum(file.size for file in files)

    def _list(self, folder: str) -> list[Parquet]:
        if folder not in self._listed:
            self._listed[folder] = self._ask(folder)
        return self._listed[folder]

    def _ask(self, folder: str) -> list[Parquet]:
        listing = self.cache / folder / "listing.json"
        if self.folder:
            found = [
                Parquet(path=f"{folder}/{path.name}", size=path.stat().st_size, sha256=sha256_file(path))
                for path in sorted((self.folder / folder).glob("*.parquet"))
            ]
        elif self.store.offline:
            if not listing.exists():
                raise UserError(
                    f"{folder}: not in the cache {self.cache}, and --offline forbids to ask the hub"
                )
            found = read_json(listing, list[Parquet])
        else:
            url = f"{hub_endpoint()}/api/datasets/{HUB_DATASET}/tree/main/{folder}"
            try:
                entries = msgspec.json.decode(self.store.web.text(url), type=list[_Entry])
            except msgspec.DecodeError as error:
                raise UserError(f"{url}: not the hub's list of files ({error})") from error
            found = [
                Parquet(path=entry.path, size=entry.size, sha256=entry.lfs.oid if entry.lfs else "")
                for entry in sorted(entries, key=lambda entry: entry.path)
                if entry.type == "file" and entry.path.endswith(".parquet")
            ]
            for file in found:
                if not re.fullmatch(rf"{re.escape(folder)}/[A-Za-z0-9_.-]+", file.path):
                    raise UserError(f"{url}: {file.path!r} is not a file of this folder")
        if not found:
            raise UserError(f"{self.address}: no Parquet file in {folder}")
        if not self.folder:
            write_json(listing, found)
        return found

    def _fetch(self, file: Parquet) -> Path:
        """The Parquet file on disk, with the SHA-256 that was stated."""
        if self.folder:
            return self.folder / file.path
        path = self.cache / file.path
        if path.exists() and self._sound(path, file):
            return path
        if self.store.offline:
            raise UserError(f"{file.path}: not in the cache {self.cache}, or damaged there")
        remote = WebFile(self.store.web, f"{self.address}/resolve/main/{file.path}")
        name = Path(file.path).name
        parts = Kept(name, remote, path.with_name(f"{name}.pieces"))
        if not remote.ranges:
            remote.save(path)
        else:
            whole(parts, path, self.store.jobs)
        if not self._sound(path, file):
            path.unlink()
            raise UserError(
                f"{remote.url}: damaged, or changed meanwhile (its SHA-256 is not the one stated); run the same command again"
            )
        return path

    def _sound(self, path: Path, file: Parquet) -> bool:
        return path.stat().st_size == file.size and (not file.sha256 or sha256_file(path) == file.sha256)

    def _drop(self, files: list[Parquet]) -> None:
        if not self.folder and not self.store.keep:
            for file in files:
                self._used(file).touch()
                (self.cache / file.path).unlink(missing_ok=True)

    def _used(self, file: Parquet) -> Path:
        path = self.cache / file.path
        return path.with_name(f"{path.name}.used")


def as_png(path: str) -> str:
    """The name of a picture that the hub has as PNG instead of JPEG."""
    return path.removesuffix(".jpg") + ".png"


def _write_picture(item: Item, image: dict[str, Any] | None, source: Path) -> tuple[Item, Sums | str]:
    data = (image or {}).get("bytes") or b""
    where = f"picture {item.key.picture_id} of {item.origin}"
    if data[:2] == b"\xff\xd8":
        path = item.path
    elif data[:4] == b"\x89PNG":
        path = as_png(item.path)
    else:
        return item, f"{where}: neither JPEG nor PNG"
    if len(data) > LARGEST[PICTURES]:
        return item, f"{where}: {len(data):,} bytes, more than {LARGEST[PICTURES]:,}"
    target = source / path
    if target.exists() and target.read_bytes() != data:
        return (
            item,
            f"{path}: is there already and is not the hub's; move it away and run the same command again",
        )
    if not target.exists():
        with replacing(target) as file:
            file.write(data)
    return item._replace(path=path), sums(target)
