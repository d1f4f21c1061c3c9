"""Single members of a ZIP archive that lies elsewhere: its directory is read, then only the bytes of the members
wanted. Nothing is unpacked but under a name that we chose, and never more than the directory announced.
"""

from __future__ import annotations

import bisect
import hashlib
import io
import stat
import zipfile
import zlib
from collections import OrderedDict
from pathlib import Path, PurePosixPath

from pipeline.core.errors import UserError
from pipeline.core.files import replacing
from pipeline.core.records import Record
from pipeline.sources.fetching.addresses import LARGEST, LARGEST_RATIO
from pipeline.sources.fetching.byte_ranges import Kept, OnDisk, Parts, pieces

HELD = 32  # pieces in memory, at most


class Damaged(UserError):
    """A member whose bytes are not what the directory announces."""


class Sums(Record):
    """Size in bytes and checksums of a file's content."""

    size: int
    sha256: str
    crc32: int


def sums(path: Path) -> Sums:
    """Both checksums of a file, in one pass."""
    digest, crc, size = hashlib.sha256(), 0, 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            crc, size = zlib.crc32(chunk, crc), size + len(chunk)
    return Sums(size=size, sha256=digest.hexdigest(), crc32=crc)


class _View(io.RawIOBase):
    """The archive as a file that can be read and sought, for `zipfile`. What lies in a member is read in the pieces
    that `Archive.pieces` names, so that a piece fetched ahead is found."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.position = parts, 0
        self.starts: list[int] = []
        self.stops: list[int] = []
        self.held: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self.outside: set[tuple[int, int]] = set()  # pieces that lie in no member: the directory's

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = 0) -> int:
        base = {0: 0, 1: self.position, 2: self.parts.facts.size}[whence]
        if base + offset < 0:
            raise OSError("before the start of the file")
        self.position = base + offset
        return self.position

    def read(self, size: int = -1) -> bytes:
        end = self.parts.facts.size
        stop = end if size < 0 else min(end, self.position + size)
        found = bytearray()
        while self.position < stop:
            start, data = self._at(self.position, stop)
            taken = data[self.position - start : stop - start]
            if not taken:
                break
            found += taken
            self.position += len(taken)
        return bytes(found)

    def forget_directory(self) -> None:
        """Remove what was read of the directory from the disk, so that it is read anew."""
        if isinstance(self.parts, Kept):
            for piece in self.outside:
                self.parts.forget(*piece)
        self.outside.clear()

    def _at(self, position: int, stop: int) -> tuple[int, bytes]:
        number = bisect.bisect_right(self.starts, position) - 1
        if number < 0 or position >= self.stops[number]:
            self.outside.add((position, stop))
            return position, self.parts.get(position, stop)
        cut = pieces(self.starts[number], self.stops[number])
        start, stop = next(piece for piece in cut if piece[0] <= position < piece[1])
        if (start, stop) not in self.held:
            self.held[start, stop] = self.parts.get(start, stop)
            while len(self.held) > HELD:
                self.held.popitem(last=False)
        return start, self.held[start, stop]


class Archive:
    """A ZIP archive, known by its directory.

    Attributes:
        sum: SHA-256 over the directory: names, sizes, CRC-32 of all members; changes when any member does.
        members: base name -> members of that name.
        mean: mean unpacked size of a member in bytes.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._view = _View(parts)
        self._zip = self._opened()
        files = [info for info in self._zip.infolist() if not info.is_dir()]
        digest = hashlib.sha256()
        self.members: dict[str, list[zipfile.ZipInfo]] = {}
        for info in sorted(files, key=lambda info: (info.filename, info.header_offset)):
            digest.update(f"{info.filename}\x1f{info.file_size}\x1f{info.CRC}\x1e".encode())
            self.members.setdefault(PurePosixPath(info.filename).name, []).append(info)
        self.sum = digest.hexdigest()
        self.mean = sum(info.file_size for info in files) // max(1, len(files))
        starts = sorted({info.header_offset for info in self._zip.infolist()})
        self._view.starts, self._view.stops = starts, [*starts[1:], self._zip.start_dir]

    def _opened(self) -> zipfile.ZipFile:
        """The directory; read once more when it makes no sense, for it may be damaged on our disk."""
        for again in (True, False):
            try:
                return zipfile.ZipFile(self._view)
            except (zipfile.BadZipFile, ValueError, OSError) as error:
                self._view.forget_directory()
                if not again or isinstance(self.parts, OnDisk):
                    raise UserError(
                        f"{self.parts.address}: not a ZIP archive, or cut off ({error}); "
                        f"it has {self.parts.facts.size:,} bytes"
                    ) from error
        raise AssertionError

    def find(self, name: str) -> zipfile.ZipInfo:
        """The one member of this base name.

        Raises:
            UserError: there is none, or several, or it must not be unpacked.
        """
        found = self.members.get(name, [])
        where = f"{self.parts.name}, {name}"
        if len(found) != 1:
            raise UserError(f"{where}: expected one such member, there are {len(found)}")
        if reason := self._fault(found[0]):
            raise UserError(f"{where}: {reason}; not unpacked")
        return found[0]

    def pieces(self, info: zipfile.ZipInfo) -> list[tuple[int, int]]:
        """The byte ranges of the archive that a member lies in."""
        return pieces(info.header_offset, self._stop(info))

    def holds(self, info: zipfile.ZipInfo, found: Sums) -> bool:
        """Whether a file with these sums is that member."""
        return (found.size, found.crc32) == (info.file_size, info.CRC)

    def extract(self, info: zipfile.ZipInfo, path: Path) -> Sums:
        """Unpack a member, check its CRC-32, and drop its pieces. Damaged pieces are read once more.

        Raises:
            Damaged: the archive itself is wrong here.
        """
        for again in (True, False):
            try:
                return self._unpack(info, path)
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
                for piece in self.pieces(info):
                    self._view.held.pop(piece, None)
                    if isinstance(self.parts, Kept):
                        self.parts.forget(*piece)
                if not again:
                    self._view.forget_directory()
                    raise Damaged(
                        f"{self.parts.address}, {info.filename}: damaged ({error}); "
                        "the server's file is wrong, or a proxy changes it"
                    ) from error
        raise AssertionError

    def _unpack(self, info: zipfile.ZipInfo, path: Path) -> Sums:
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info) as member, replacing(path) as file:
            while chunk := member.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
            if size != info.file_size:
                raise zipfile.BadZipFile(f"{size:,} bytes instead of {info.file_size:,}")
        for piece in self.pieces(info):
            self._view.held.pop(piece, None)
            self.parts.drop(*piece)
        return Sums(size=size, sha256=digest.hexdigest(), crc32=info.CRC)

    def _stop(self, info: zipfile.ZipInfo) -> int:
        return self._view.stops[bisect.bisect_left(self._view.starts, info.header_offset)]

    def _fault(self, info: zipfile.ZipInfo) -> str:
        largest = LARGEST.get(self.parts.name, max(LARGEST.values()))
        if info.flag_bits & 1:
            return "it is encrypted"
        if stat.S_ISLNK(info.external_attr >> 16):
            return "it is a link"
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return f"it is packed by method {info.compress_type}, which GQA does not use"
        if info.file_size > largest:
            return f"it would have {info.file_size:,} bytes, more than {largest:,}"
        if info.file_size > LARGEST_RATIO * max(info.compress_size, 4096):
            return f"it would unpack {info.compress_size:,} bytes to {info.file_size:,}"
        if info.compress_size > self._stop(info) - info.header_offset:
            return "its bytes overlap with another member's"
        return ""
