"""The photographs of a folder: checked before the first request, and encoded one at a time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

from pipeline.core.errors import Problems, UserError
from pipeline.core.images import WHITE, EncodedImage, encode_image, load_rgb
from pipeline.core.progress import track
from pipeline.drafting.look_reader import Box
from pipeline.sources.image_files import inspect_image, is_valid_id, list_images

# A part of an image is shown with a margin of this proportion of its box on each side.
CROP_MARGIN = 0.15
# The smallest part that is shown, in pixels. Models see little in smaller images.
MIN_CROP_SIDE = 96


class Photograph(NamedTuple):
    """An image file: its path, its size in pixels, and the SHA-256 of the file."""

    path: Path
    size: tuple[int, int]
    sha256: str


class Photographs:
    """The images of a folder by id.

    Args:
        folder: The folder. Subfolders are ignored.
        max_image_size: Maximum length of the longer side of the image that is sent, in pixels; 0 for the original size.

    Attributes:
        by_id: Image id -> file, sorted by id.

    Raises:
        UserError: The folder has no images, or images that the pipeline would refuse. All faults are listed.
    """

    def __init__(self, folder: Path, max_image_size: int = 0) -> None:
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; wanted a folder of photographs")
        self._max_image_size, problems = max_image_size, Problems(str(folder))
        self.by_id: dict[str, Photograph] = {}
        files = list_images(folder, problems)
        # Files of a format that browsers do not show also have their whole name as id.
        paths = {path: image_id for image_id, path in sorted(files.items(), reverse=True)}
        for path, image_id in track(sorted(paths.items()), "draft: images", len(paths), "image"):
            if not is_valid_id(image_id):
                problems.add(
                    path.name,
                    "invalid name; only letters, digits, '.', '-' and '_' are allowed, so rename it",
                )
                continue
            try:
                width, height, sha256 = inspect_image(path)
            except ValueError as error:
                problems.add(path.name, str(error))
                continue
            self.by_id[image_id] = Photograph(path, (width, height), sha256)
        if not paths and not problems.lines:
            problems.add("images", "no image in this folder; subfolders are not read")
        problems.raise_if_any()

    def encode(self, image_id: str, box: Box | None = None) -> EncodedImage:
        """Return an image, or the part of it around a box, as it is sent to a model.

        Args:
            image_id: Id of the image.
            box: Left, top, width and height in pixels; None for the whole image.
        """
        path = self.by_id[image_id].path
        if box is None:
            return encode_image(path, max_side=self._max_image_size, background=WHITE)
        # The pixels of a part are those of the image: PNG is lossless.
        part = load_rgb(path, background=WHITE).crop(widen_box(box, self.by_id[image_id].size))
        if self._max_image_size:
            part.thumbnail((self._max_image_size, self._max_image_size))
        written = io.BytesIO()
        part.save(written, "PNG")
        return EncodedImage(written.getvalue(), "image/png", part.size, True)


def widen_box(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the part of an image that is shown for a box.

    >>> widen_box((100, 100, 200, 20), (1000, 110))
    (70, 14, 330, 110)
    """
    edges = []
    for start, length, limit in zip(box[:2], box[2:], size, strict=True):
        side = min(max(round(length * (1 + 2 * CROP_MARGIN)), MIN_CROP_SIDE), limit)
        first = min(max(start + (length - side) // 2, 0), limit - side)
        edges.append((first, first + side))
    return edges[0][0], edges[1][0], edges[0][1], edges[1][1]
