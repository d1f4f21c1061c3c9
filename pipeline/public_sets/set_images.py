"""Find and encode the images of a public set: in its rows, or in a folder."""

from __future__ import annotations

import errno
import tempfile
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

from pipeline.core.errors import UserError, format_count, join_examples
from pipeline.core.images import add_coco_numbers, find_image_files
from pipeline.inference.encoded_images import EncodedImages
from pipeline.public_sets.cells import decode_image, iterate_column, normalize_value
from pipeline.public_sets.open_set import PublicSet


class SetImages(EncodedImages):
    """Images of a public set, by the name that `SetItem.image` has.

    Images that are embedded in rows are copied once to a temporary file, which the operating system deletes when the process ends.
    """

    def __init__(
        self, public_set: PublicSet, image_ids: Collection[str], folder: Path | None, max_image_size: int = 0
    ) -> None:
        """
        Args:
            public_set: The set.
            image_ids: Names of the images that are needed.
            folder: Folder of image files; None to read them from the rows, or else from the folder of the set.
            max_image_size: As in `EncodedImages`.

        Raises:
            UserError: Images are missing.
        """
        super().__init__(max_image_size)
        self._lock = Lock()
        self._files: dict[str, Path] = {}
        self._copy_file: Any = None
        self._offsets: dict[str, tuple[int, int]] = {}
        wanted = {name for name in image_ids if name}
        if folder is None:
            self._copy_embedded(public_set, wanted)
        where = folder or (public_set.path if public_set.path.is_dir() else public_set.path.parent)
        if left := wanted - self._offsets.keys():
            self._files = find_files(where, left)
        if missing := sorted(left - self._files.keys()):
            hint = (
                ""
                if folder
                else "; name the folder of the images with --images, or ask without images (--no-image)"
            )
            raise UserError(
                f"{where}: {format_count(len(missing), 'image')} of {len(wanted):,} not found: {join_examples(missing)}{hint}"
            )

    def _copy_embedded(self, public_set: PublicSet, wanted: Collection[str]) -> None:
        """Copy the images that are embedded in the rows to a temporary file."""
        source = public_set.rows.image_rows
        for column in public_set.known.image_columns:
            if column not in source.columns:
                continue
            named = public_set.known.image_name_column
            names = map(normalize_value, iterate_column(source, named or column))
            for name, cell in zip(names, iterate_column(source, column), strict=True):
                if name not in wanted or name in self._offsets or (data := decode_image(cell)) is None:
                    continue
                if self._copy_file is None:
                    # The file stays open as long as this object exists.
                    self._copy_file = tempfile.TemporaryFile()  # noqa: SIM115
                self._offsets[name] = (self._copy_file.tell(), len(data))
                self._copy_file.write(data)

    def _read_image(self, image_id: str) -> bytes:
        if image_id in self._files:
            return self._files[image_id].read_bytes()
        start, length = self._offsets[image_id]
        with self._lock:
            self._copy_file.seek(start)
            return self._copy_file.read(length)


def find_files(folder: Path, names: Collection[str]) -> dict[str, Path]:
    """Find image files by the names that a set gives them.

    A name may be a path, of which the folder is any part; a file name; a file name without its suffix; or the number of a COCO image.

    Args:
        folder: The folder of the images.
        names: Names of images.

    Returns:
        The file of each name that was found.

    Raises:
        UserError: There is no such folder, or one file would be the image of several names.
    """
    if not folder.is_dir():
        raise UserError(f"--images {folder}: no such folder")
    found: dict[str, Path] = {}
    for name in names:
        parts = PurePosixPath(name.replace("\\", "/")).parts
        paths = (
            folder.joinpath(*parts[start:])
            for start in range(len(parts))
            if ".." not in parts and parts[0] != "/"
        )
        if path := next(filter(_is_file, paths), None):
            found[name] = path
    if left := set(names) - found.keys():
        by_id = add_coco_numbers(find_image_files(folder)[0])
        for name in left:
            if path := by_id.get(name) or by_id.get(PurePosixPath(name).stem):
                found[name] = path
    names_of = defaultdict[Path, list[str]](list)
    for name in sorted(found):
        names_of[found[name]].append(name)
    if clashes := [same for same in names_of.values() if _are_different_images(same)]:
        raise UserError(
            f"{folder}: {format_count(len(clashes), 'file')} would be the image of several names: {join_examples(clashes[0])}. Name the"
            " folder that has all of them with --images"
        )
    return found


def _are_different_images(names: Sequence[str]) -> bool:
    """Return whether names cannot be those of one image, because their folders differ.

    >>> _are_different_images(["VD/1.png", "VS/1.png"]), _are_different_images(["1", "VD/1.png"])
    (True, False)
    """
    paths = [PurePosixPath(name.replace("\\", "/")).with_suffix("").parts for name in names]
    longest = max(paths, key=len)
    return any(parts and longest[-len(parts) :] != parts for parts in paths)


def _is_file(path: Path) -> bool:
    """Return whether there is such a file. There is none with a name that is too long for the file system."""
    try:
        return path.is_file()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise
