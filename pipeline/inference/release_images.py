"""The images of a release's items as a model is sent them: read when they are asked for, none kept in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from ..core.errors import UserError, format_count, join_examples
from ..core.images import WHITE, encode_image, find_image_files

ROWS_PER_BATCH = 64  # rows of a table that are in memory together


class ReleaseImages:
    """The images of these ids. Those that stand in the tables of a release are copied out of them, once, into a file
    that the system deletes with the process: a table can be read from its beginning alone."""

    def __init__(
        self,
        release: Path,
        image_ids: Collection[str],
        *,
        folder: Path | None = None,
        max_image_size: int = 0,
    ) -> None:
        """
        Args:
            folder: has an image of each id (see `image_files`); None: they stand in the release's tables.
            pixels: of the longer side, at most; 0: as they are.

        Raises:
            UserError: an image is not there, or nothing is installed that reads the tables or images.
        """
        self.max_image_size = max_image_size
        self._image_ids = frozenset(image_ids)
        self._lock = Lock()
        self._offsets: dict[str, tuple[int, int]] = {}  # in `_copy`: where it begins, and how long it is
        self._copy_file: Any = None
        self._files: dict[str, Path] = {}
        self._tables: list[tuple[Any, list[str]]] = []
        _require_pillow()
        if folder is None:
            self._tables = [*_image_tables(release)]
            there = frozenset().union(*(ids for _, ids in self._tables))
        else:
            self._files = find_image_files(folder)[0]
            there = self._files.keys()
        if missing := sorted(self._image_ids - there):
            where = folder or f"the tables of {release}"
            hint = "" if folder else "; name the folder that has them"
            raise UserError(
                f"{where}: {format_count(len(missing), 'image')} not found: {join_examples(missing)}{hint}"
            )

    def encode_data_uri(self, image_id: str) -> str:
        """An image, upright and in sRGB, as a URI that holds it; made smaller where it is larger than `pixels`.

        Raises:
            ValueError: it is damaged, or of a kind that is refused (`load_rgb`).
        """
        try:
            return encode_image(
                self._read_image(image_id), max_side=self.max_image_size, background=WHITE
            ).data_uri
        except ValueError as error:
            raise ValueError(f"image {image_id}: {error}") from error

    def _read_image(self, image_id: str) -> bytes:
        if self._files:
            return self._files[image_id].read_bytes()
        with self._lock:
            if self._copy_file is None:
                self._copy_file = self._copy_images()
            start, length = self._offsets[image_id]
            self._copy_file.seek(start)
            return self._copy_file.read(length)

    def _copy_images(self) -> Any:
        """A file of the wanted images, each once."""
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this does
        left = set(self._image_ids)
        for table, ids in self._tables:
            firsts = {image: row for row, image in reversed([*enumerate(ids)]) if image in left}
            left -= firsts.keys()
            rows, start = sorted((row, image) for image, row in firsts.items())[::-1], 0
            batches = table.iter_batches(ROWS_PER_BATCH, columns=["image"])
            while rows:
                images = next(batches).column(0)
                while rows and rows[-1][0] < start + len(images):
                    row, image = rows.pop()
                    data = images[row - start]["bytes"].as_py()
                    self._offsets[image] = (copy.tell(), len(data))
                    copy.write(data)
                start += len(images)
        return copy


def _image_tables(release: Path) -> Iterator[tuple[Any, list[str]]]:
    """The release's tables that have images, each with the ids of its rows' images."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise UserError(
            f"{release}: reading its images needs pyarrow, which is not installed: pip install pyarrow; or name a "
            "folder of images"
        ) from None
    for path in sorted((release / "data").glob("*.parquet")):
        table = parquet.ParquetFile(path, buffer_size=1 << 20)
        if "image" in table.schema_arrow.names:
            yield table, table.read(["image_id"]).column(0).to_pylist()


def _require_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UserError("showing images needs Pillow, which is not installed: pip install pillow") from None
