"""The pictures of a release's items as a model is sent them: read when they are asked for, none kept in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from ..core.errors import UserError, counted, some_of
from ..core.images import WHITE, encode_image, image_files

AT_ONCE = 64  # rows of a table that are in memory together


class ReleasePictures:
    """The pictures of these ids. Those that stand in the tables of a release are copied out of them, once, into a file
    that the system deletes with the process: a table can be read from its beginning alone."""

    def __init__(
        self, release: Path, wanted: Collection[str], *, folder: Path | None = None, pixels: int = 0
    ) -> None:
        """
        Args:
            folder: has an image of each id (see `image_files`); None: they stand in the release's tables.
            pixels: of the longer side, at most; 0: as they are.

        Raises:
            UserError: a picture is not there, or nothing is installed that reads the tables or images.
        """
        self.pixels = pixels
        self._wanted = frozenset(wanted)
        self._lock = Lock()
        self._places: dict[str, tuple[int, int]] = {}  # in `_copy`: where it begins, and how long it is
        self._copy: Any = None
        self._files: dict[str, Path] = {}
        self._tables: list[tuple[Any, list[str]]] = []
        _check_pillow()
        if folder is None:
            self._tables = [*_tables(release)]
            there = frozenset().union(*(ids for _, ids in self._tables))
        else:
            self._files = image_files(folder)[0]
            there = self._files.keys()
        if missing := sorted(self._wanted - there):
            where = folder or f"the tables of {release}"
            hint = "" if folder else "; name the folder that has them"
            raise UserError(f"{where}: {counted(len(missing), 'image')} not found: {some_of(missing)}{hint}")

    def data_uri(self, picture: str) -> str:
        """A picture, upright and in sRGB, as a URI that holds it; made smaller where it is larger than `pixels`.

        Raises:
            ValueError: it is damaged, or of a kind that is refused (`load_rgb`).
        """
        try:
            return encode_image(self._bytes(picture), max_side=self.pixels, background=WHITE).data_uri
        except ValueError as error:
            raise ValueError(f"picture {picture}: {error}") from error

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
        raise UserError(
            f"{release}: reading its pictures needs pyarrow, which is not installed: pip install pyarrow; or name a "
            "folder of pictures"
        ) from None
    for path in sorted((release / "data").glob("*.parquet")):
        table = parquet.ParquetFile(path, buffer_size=1 << 20)
        if "image" in table.schema_arrow.names:
            yield table, table.read(["picture_id"]).column(0).to_pylist()


def _check_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UserError("showing images needs Pillow, which is not installed: pip install pillow") from None
