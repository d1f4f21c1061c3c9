"""The pictures of a release's items as a model is sent them: read when they are asked for, none kept in memory."""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from ..validation import InputError

AT_ONCE = 64  # rows of a table that are in memory together
QUALITY = 92  # of a JPEG made smaller
KINDS = {b"\xff\xd8": "jpeg", b"\x89PNG": "png", b"GIF8": "gif", b"RIFF": "webp"}  # by a file's first bytes


class ReleasePictures:
    """The pictures of these ids. Those that stand in the tables of a release are copied out of them, once, into a file
    that the system deletes with the process: a table can be read from its beginning alone."""

    def __init__(
        self, release: Path, wanted: Collection[str], *, folder: Path | None = None, pixels: int = 0
    ) -> None:
        """
        Args:
            folder: has a file of each id's name, whatever its ending; None: they stand in the release's tables.
            pixels: of the longer side, at most; 0: as they are.

        Raises:
            InputError: a picture is not there, or nothing is installed that reads the tables, or makes pictures smaller.
        """
        self.pixels = pixels
        self._wanted = frozenset(wanted)
        self._lock = Lock()
        self._places: dict[str, tuple[int, int]] = {}  # in `_copy`: where it begins, and how long it is
        self._copy: Any = None
        self._files: dict[str, Path] = {}
        self._tables: list[tuple[Any, list[str]]] = []
        if pixels:
            _pillow()
        if folder is None:
            self._tables = [*_tables(release)]
            there = frozenset().union(*(ids for _, ids in self._tables))
        else:
            self._files = {path.stem: path for path in sorted(folder.glob("*.*"))}
            there = self._files.keys()
        if missing := sorted(self._wanted - there):
            where = folder or f"the tables of {release}"
            hint = "" if folder else "; name the folder that has them"
            raise InputError(f"{len(missing)} pictures are not in {where}, {missing[0]} among them{hint}")

    def data_uri(self, picture: str) -> str:
        """A picture as a URI that holds it, made smaller where it is larger than `pixels`."""
        data = _within(self._bytes(picture), self.pixels)
        kind = next((kind for first, kind in KINDS.items() if data.startswith(first)), "jpeg")
        return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"

    def _bytes(self, picture: str) -> bytes:
        if self._files:
            return self._files[picture].read_bytes()
        with self._lock:
            if self._copy is None:
                self._copy = self._copied()
            start, length = self._places[picture]
            self._copy.seek(start)
            return self._copy.read(length)

    def _copied(self) -> Any:
        """A file of the wanted pictures, each once."""
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this does
        left = set(self._wanted)
        for table, ids in self._tables:
            firsts = {picture: row for row, picture in reversed([*enumerate(ids)]) if picture in left}
            left -= firsts.keys()
            rows, start = sorted((row, picture) for picture, row in firsts.items())[::-1], 0
            batches = table.iter_batches(AT_ONCE, columns=["image"])
            while rows:
                images = next(batches).column(0)
                while rows and rows[-1][0] < start + len(images):
                    row, picture = rows.pop()
                    data = images[row - start]["bytes"].as_py()
                    self._places[picture] = (copy.tell(), len(data))
                    copy.write(data)
                start += len(images)
        return copy


def _tables(release: Path) -> Iterator[tuple[Any, list[str]]]:
    """The release's tables that have pictures, each with the ids of its rows' pictures."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError(
            f"{release}: reading its pictures needs pyarrow, which is not installed: pip install pyarrow; or name a "
            "folder of pictures"
        ) from None
    for path in sorted((release / "data").glob("*.parquet")):
        table = parquet.ParquetFile(path, buffer_size=1 << 20)
        if "image" in table.schema_arrow.names:
            yield table, table.read(["picture_id"]).column(0).to_pylist()


def _within(data: bytes, pixels: int) -> bytes:
    """The picture with a longer side of at most `pixels`; 0: any."""
    if not pixels:
        return data
    image = _pillow().open(io.BytesIO(data))
    if max(image.size) <= pixels:
        return data
    kind = "PNG" if image.mode in ("P", "LA", "RGBA") else "JPEG"
    smaller = image.convert("RGBA" if kind == "PNG" else "RGB")
    smaller.thumbnail((pixels, pixels))
    written = io.BytesIO()
    smaller.save(written, kind, quality=QUALITY)
    return written.getvalue()


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise InputError(
            "making pictures smaller needs Pillow, which is not installed: pip install pillow; or take pixels 0"
        ) from None
    return Image
