"""Single members of a ZIP archive that lies elsewhere: its directory is read, then only the bytes of the members
wanted. Nothing is unpacked but under a name that we chose, and never more than the directory announced.
"""

from __future__ import annotations

import bisect
import hashlib
import io
import shutil
import stat
import struct
import zipfile
import zlib
from collections import defaultdict
from pathlib import Path, PurePosixPath

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError
from pipeline.sources.download.byte_ranges import LocalFile, RemoteFile

CHUNK_BYTES = 1 << 20  # bytes unpacked at a time
NAME_LENGTHS_OFFSET = (
    26  # a member's header has here, in its last 4 bytes, the lengths of its name and of what follows that
)
MAX_COMPRESSION_RATIO = 200  # a member that claims to unpack to more times its size is not unpacked


class DamagedMemberError(UserError):
    """A member whose bytes are not what the directory announces."""


class _RangeReader(io.RawIOBase):
    """A file as `zipfile` reads it when it looks for the directory: what it reads in one go is one range."""

    def __init__(self, file: LocalFile | RemoteFile) -> None:
        self.file, self.position = file, 0
        self.ranges: list[tuple[int, int]] = []

    def seek(self, offset: int, whence: int = 0) -> int:
        self.position = (0, self.position, self.file.size)[whence] + offset
        if self.position < 0:
            raise OSError("before the start of the file")
        return self.position

    def read(self, size: int = -1) -> bytes:
        start, end = self.position, self.file.size
        self.position = stop = end if size < 0 else min(end, start + size)
        if start >= stop:
            return b""
        self.ranges.append((start, stop))
        with self.file.open_range(start, stop) as content:
            return content.read(stop - start)

    def delete_ranges(self) -> None:
        """Remove what was read from the disk, so that it is read anew."""
        for start, stop in self.ranges:
            self.file.delete_range(start, stop)


class RemoteZip:
    """A ZIP archive, known by its directory.

    Args:
        largest: bytes; a member that claims to be larger is not unpacked.

    Attributes:
        sum: SHA-256 over the directory: names, sizes, CRC-32 of all members; changes when any member does.
        members: base name -> members of that name.
        mean: mean unpacked size of a member in bytes.

    Raises:
        UserError: it is no ZIP archive.
    """

    def __init__(self, file: LocalFile | RemoteFile, name: str, max_member_bytes: int) -> None:
        self.file, self.name, self.max_member_bytes = file, name, max_member_bytes
        self._reader = _RangeReader(file)
        directory = self._read_directory()
        files = [info for info in directory.infolist() if not info.is_dir()]
        digest = hashlib.sha256()
        self.members: defaultdict[str, list[zipfile.ZipInfo]] = defaultdict(list)
        for info in sorted(files, key=lambda info: (info.filename, info.header_offset)):
            digest.update(f"{info.filename}\x1f{info.file_size}\x1f{info.CRC}\x1e".encode())
            self.members[PurePosixPath(info.filename).name].append(info)
        self.directory_sha256 = digest.hexdigest()
        self.mean_member_bytes = sum(info.file_size for info in files) // max(1, len(files))
        self._entry_offsets = sorted(
            {directory.start_dir, *(info.header_offset for info in directory.infolist())}
        )

    def _read_directory(self, last: bool = False) -> zipfile.ZipFile:
        """The directory; read once more when it makes no sense, for it may be damaged on our disk."""
        try:
            return zipfile.ZipFile(self._reader)
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            self._reader.delete_ranges()
            if not last:
                return self._read_directory(last=True)
            raise UserError(
                f"{self.file.url}: not a ZIP archive, or cut off ({error}); it has {self.file.size:,} bytes"
            ) from error

    def get_member(self, name: str) -> zipfile.ZipInfo:
        """The one member of this base name.

        Raises:
            UserError: there is none, or several, or it must not be unpacked.
        """
        candidates = self.members.get(name, [])
        where = f"{self.name}, {name}"
        if len(candidates) != 1:
            raise UserError(f"{where}: expected one such member, there are {len(candidates)}")
        info = candidates[0]
        start, stop = self._find_range(info)
        size, packed, method = info.file_size, info.compress_size, info.compress_type
        faults = {
            "it is encrypted": info.flag_bits & 1,
            "it is a link": stat.S_ISLNK(info.external_attr >> 16),
            f"it is packed by method {method}, which GQA does not use": method
            not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
            f"it would have {size:,} bytes, more than {self.max_member_bytes:,}": size
            > self.max_member_bytes,
            f"it would unpack {packed:,} bytes to {size:,}": size > MAX_COMPRESSION_RATIO * max(packed, 4096),
            "its bytes overlap with another member's": packed > stop - start,
        }
        for fault, holds in faults.items():
            if holds:
                raise UserError(f"{where}: {fault}; not unpacked")
        return info

    def count_missing_bytes(self, info: zipfile.ZipInfo) -> int:
        """How many bytes of a member are still to be received."""
        return self.file.count_missing_bytes(*self._find_range(info))

    def extract(self, name: str, path: Path) -> None:
        """Unpack a member and check its size and CRC-32. What is damaged is received once more.

        Raises:
            Damaged: the archive itself is wrong here.
        """
        info = self.get_member(name)
        start, stop = self._find_range(info)
        for last in (False, True):
            try:
                with self.file.open_range(start, stop) as packed, atomic_write(path) as file:
                    # Not by ZipFile.open, which would read the range through the view.
                    packed.seek(NAME_LENGTHS_OFFSET, io.SEEK_CUR)
                    packed.seek(sum(struct.unpack("<HH", packed.read(4))), io.SEEK_CUR)
                    with zipfile.ZipExtFile(packed, "r", info) as member:
                        shutil.copyfileobj(member, file, CHUNK_BYTES)
                    if file.tell() != info.file_size:
                        raise zipfile.BadZipFile(f"{file.tell():,} bytes instead of {info.file_size:,}")
                self.file.release_range(start, stop)
                return
            except (zipfile.BadZipFile, zlib.error, struct.error, EOFError) as error:
                self.file.delete_range(start, stop)
                if last:
                    self._reader.delete_ranges()
                    raise DamagedMemberError(
                        f"{self.file.url}, {info.filename}: damaged ({error}); "
                        "the server's file is wrong, or a proxy changes it"
                    ) from error

    def _find_range(self, info: zipfile.ZipInfo) -> tuple[int, int]:
        """The bytes of the archive that a member lies in: up to the next entry, or to the directory."""
        start, number = info.header_offset, bisect.bisect_right(self._entry_offsets, info.header_offset)
        return start, self._entry_offsets[number] if number < len(self._entry_offsets) else start
