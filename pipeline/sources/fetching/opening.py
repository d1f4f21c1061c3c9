"""From an address to a file whose bytes can be read: on a server, in a folder, in the cache, or fetched whole."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.files import read_json, write_json
from pipeline.sources.fetching.addresses import is_web
from pipeline.sources.fetching.byte_ranges import Kept, OnDisk, Parts, whole
from pipeline.sources.fetching.web_files import Facts, RangesIgnored, Web, WebFile


def spoken(size: float) -> str:
    """Bytes in words: 65.6 MB."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def room(needed: dict[Path, int]) -> None:
    """Check that folders have room for so many bytes more; folders of one disk are added up.

    Raises:
        UserError: it is not enough; says how much is missing.
    """
    disks: dict[int, tuple[Path, int]] = {}
    for folder, size in needed.items():
        there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        disk = there.stat().st_dev
        disks[disk] = there, disks.get(disk, (there, 0))[1] + size
    short = []
    for there, size in disks.values():
        free = shutil.disk_usage(there).free
        if size > free:
            short.append(
                f"{there}: {spoken(size)} needed, {spoken(free)} free; make room for {spoken(size - free)} more"
            )
    if short:
        raise UserError(["not enough room on the disk; nothing was fetched", *short])


class Store:
    """Opens files by address and name.

    Attributes:
        cache: folder of the pieces fetched so far.
        keep: leave all of it there for later runs (without a network: `offline`).
        all_of_it: fetch archives whole, from servers that ignore byte ranges.
    """

    def __init__(
        self, cache: Path, web: Web, *, keep: bool, offline: bool, all_of_it: bool, jobs: int
    ) -> None:
        self.cache, self.web, self.keep, self.offline = cache, web, keep, offline
        self.all_of_it, self.jobs = all_of_it, jobs

    def open(self, address: str, name: str) -> Parts:
        """The file `name` at `address` (a web address or a folder).

        Raises:
            RangesIgnored: the server sends whole files only, and `all_of_it` is not set; says the size.
        """
        if not is_web(address):
            if not (Path(address) / name).is_file():
                raise UserError(
                    f"{Path(address) / name}: no such file; put it there, or name the archives' place with --archives"
                )
            return OnDisk(Path(address) / name)
        if self.offline:
            copy = self._whole(name)
            return OnDisk(copy) if copy.exists() else Kept(name, None, self.cache / name, self.keep)
        file = WebFile(self.web, f"{address}/{name}")
        if self.all_of_it:
            return self._fetch_whole(name, file)
        if not file.ranges:
            raise RangesIgnored(
                f"{file.url}: the server ignores byte ranges, so single members cannot be read; all of it is "
                f"{spoken(file.facts.size)}: fetch it with --whole, or name another server with --archives"
            )
        return Kept(name, file, self.cache / name, self.keep)

    def clear(self) -> None:
        """Remove what is only needed until all is done, unless it is to be kept."""
        if not self.keep:
            shutil.rmtree(self.cache, ignore_errors=True)

    def _whole(self, name: str) -> Path:
        return self.cache / "whole" / name

    def _fetch_whole(self, name: str, file: WebFile) -> OnDisk:
        path = self._whole(name)
        facts = path.with_name(path.name + ".json")
        if not (path.exists() and facts.exists() and read_json(facts, Facts).agrees(file.facts)):
            room({self.cache: (2 if file.ranges else 1) * file.facts.size})
            if file.ranges:
                whole(Kept(name, file, self.cache / name), path, self.jobs)
            else:
                file.save(path)
            write_json(facts, file.facts)
        return OnDisk(path)
