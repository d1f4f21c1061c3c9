"""Extract single members of a remote ZIP archive.

Only the directory of the archive and the bytes of the wanted members are read. Members are written under
names that the caller chooses, and never with more bytes than the directory states.
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

# Number of bytes that are unpacked at a time.
CHUNK_BYTES = 1 << 20
# Offset of the last 4 bytes in the header of a member. They are the lengths of the name and of the extra
# field.
NAME_LENGTHS_OFFSET = 26
# Members with a higher ratio of unpacked to packed bytes are refused as ZIP bombs.
MAX_COMPRESSION_RATIO = 200


class DamagedMemberError(UserError):
    """The content of a member does not have the size or the CRC-32 that the directory states."""


class _RangeReader(io.RawIOBase):
    """A file object from which `zipfile` reads the directory of the archive.

    Each call of `read` reads one byte range.
    """

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
        """Delete the cached ranges, so that they are downloaded again."""
        for start, stop in self.ranges:
            self.file.delete_range(start, stop)


class RemoteZip:
    """A ZIP archive. The directory is read when the object is made.

    Args:
        file: The file of the archive.
        name: Name of the archive, for messages.
        max_member_bytes: Maximum size of a member in bytes. Larger members are not unpacked.

    Attributes:
        directory_sha256: SHA-256 of the names, sizes and CRC-32 of all members. It changes if any member
            changes.
        members: Base name (without folders) -> members with this name.
        mean_member_bytes: Mean size of the unpacked members in bytes.

    Raises:
        UserError: The file is not a ZIP archive.
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

    def _read_directory(self, is_last_attempt: bool = False) -> zipfile.ZipFile:
        """Read the directory.

        If the directory is invalid, download it once more, because the cache may be damaged.
        """
        try:
            return zipfile.ZipFile(self._reader)
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            self._reader.delete_ranges()
            if not is_last_attempt:
                return self._read_directory(is_last_attempt=True)
            raise UserError(
                f"{self.file.url}: not a ZIP archive, or truncated ({error}); it has {self.file.size:,} bytes"
            ) from error

    def get_member(self, name: str) -> zipfile.ZipInfo:
        """Return the only member with a base name.

        Raises:
            UserError: There is no such member, there are several, or the member must not be unpacked.
        """
        candidates = self.members.get(name, [])
        where = f"{self.name}, {name}"
        if len(candidates) != 1:
            raise UserError(f"{where}: expected one member with this name, found {len(candidates)}")
        info = candidates[0]
        start, stop = self._find_range(info)
        size, packed, method = info.file_size, info.compress_size, info.compress_type
        refusals = {
            "it is encrypted": info.flag_bits & 1,
            "it is a link": stat.S_ISLNK(info.external_attr >> 16),
            f"it is compressed by method {method}, which GQA does not use": method
            not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
            f"it would have {size:,} bytes, more than {self.max_member_bytes:,}": size
            > self.max_member_bytes,
            f"it would unpack {packed:,} bytes to {size:,}": size > MAX_COMPRESSION_RATIO * max(packed, 4096),
            "its bytes overlap with another member's": packed > stop - start,
        }
        for reason, applies in refusals.items():
            if applies:
                raise UserError(f"{where}: {reason}; not unpacked")
        return info

    def count_missing_bytes(self, info: zipfile.ZipInfo) -> int:
        """Return how many bytes of a member must be downloaded."""
        return self.file.count_missing_bytes(*self._find_range(info))

    def extract(self, name: str, path: Path) -> None:
        """Unpack a member, and check its size and CRC-32. If the member is damaged, download it once more.

        Args:
            name: Base name of the member.
            path: File to write.

        Raises:
            DamagedMemberError: The member is damaged in the archive.
        """
        info = self.get_member(name)
        start, stop = self._find_range(info)
        for is_last_attempt in (False, True):
            try:
                with self.file.open_range(start, stop) as packed, atomic_write(path) as file:
                    # ZipFile.open would read the range through `_RangeReader`.
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
                if is_last_attempt:
                    self._reader.delete_ranges()
                    raise DamagedMemberError(
                        f"{self.file.url}, {info.filename}: damaged ({error}); "
                        "the file on the server is damaged, or a proxy changes it"
                    ) from error

    def _find_range(self, info: zipfile.ZipInfo) -> tuple[int, int]:
        """Return the byte range [start, stop) of a member in the archive.

        It ends at the next entry or at the directory.
        """
        start, index = info.header_offset, bisect.bisect_right(self._entry_offsets, info.header_offset)
        return start, self._entry_offsets[index] if index < len(self._entry_offsets) else start
