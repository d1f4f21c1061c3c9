"""Encode the images of a release for requests to a model.

Images are read when needed and are not kept in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from ..core.errors import UserError, format_count, join_examples
from ..core.images import find_image_files
from .encoded_images import EncodedImages

# Number of rows of a table that are in memory at the same time.
ROWS_PER_BATCH = 64


class ReleaseImages(EncodedImages):
    """Images of a release, by id.

    A Parquet table can only be read from its start. So the images in the tables of a release are copied once
    to a temporary file, which the operating system deletes when the process ends.
    """

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
            release: Folder of the release.
            image_ids: Ids of the images.
            folder: Folder of image files named by id (see `find_image_files`); None if the images are in the
                tables of the release.
            max_image_size: Maximum length of the longer side of an encoded image, in pixels; 0 for the
                original size.

        Raises:
            UserError: An image is missing, or a package that reads the tables or the images is not installed.
        """
        super().__init__(max_image_size)
        self._image_ids = frozenset(image_ids)
        self._lock = Lock()
        # Image id -> start and length of the image in `_copy_file`.
        self._offsets: dict[str, tuple[int, int]] = {}
        self._copy_file: Any = None
        self._files: dict[str, Path] = {}
        self._tables: list[tuple[Any, list[str]]] = []
        if folder is None:
            self._tables = [*_image_tables(release)]
            available = frozenset().union(*(ids for _, ids in self._tables))
        else:
            self._files = find_image_files(folder)[0]
            available = self._files.keys()
        if missing := sorted(self._image_ids - available):
            where = folder or f"the tables of {release}"
            hint = "" if folder else "; name their folder with --images"
            raise UserError(
                f"{where}: {format_count(len(missing), 'image')} not found: {join_examples(missing)}{hint}"
            )

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
        """Copy the images, each once, to a temporary file."""
        # The file stays open as long as this object exists.
        copy = tempfile.TemporaryFile()  # noqa: SIM115
        remaining = set(self._image_ids)
        for table, ids in self._tables:
            firsts = {image: row for row, image in reversed([*enumerate(ids)]) if image in remaining}
            remaining -= firsts.keys()
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
    """Yield the tables of a release that have images, each with the image ids of its rows."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise UserError(
            f"{release}: reading its images needs pyarrow, which is not installed: pip install pyarrow; or name "
            "the folder of the images with --images"
        ) from None
    for path in sorted((release / "data").glob("*.parquet")):
        table = parquet.ParquetFile(path, buffer_size=1 << 20)
        if "image" in table.schema_arrow.names:
            yield table, table.read(["image_id"]).column(0).to_pylist()
