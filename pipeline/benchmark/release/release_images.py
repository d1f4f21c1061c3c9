"""The images of a release as files in which every reader sees what annotators saw: each is encoded once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.images import encode_image
from pipeline.core.records import ImageRecord


@contextmanager
def prepare_release_images(images: Iterable[ImageRecord]) -> Iterator[dict[str, ImageRecord]]:
    """Give each image a file that is upright, in sRGB, and a JPEG, PNG or WebP.

    A file that is so already, with the suffix of its format, keeps its path. The others are written into a temporary folder, which is
    deleted at the end.

    Args:
        images: as ingest wrote them, which decoded each of them.

    Yields:
        The images by id, in the order given.

    Raises:
        UserError: lists all files that are missing, damaged or refused.
    """
    problems = Problems("images that have changed since ingest read them; restore them, or run dvc repro")
    with tempfile.TemporaryDirectory(prefix="rgqa-images-") as folder:
        ready: dict[str, ImageRecord] = {}
        for image in images:
            try:
                encoded = encode_image(image.path, verify=False)
            except ValueError as error:
                problems.add(image.path, str(error))
                continue
            suffix = Path(image.path).suffix.lower().replace(".jpeg", ".jpg")
            if not encoded.is_reencoded and suffix == encoded.suffix:
                ready[image.image_id] = image
                continue
            path = Path(folder) / f"{image.image_id}{encoded.suffix}"
            path.write_bytes(encoded.data)
            ready[image.image_id] = msgspec.structs.replace(image, path=path.as_posix())
        problems.raise_if_any()
        yield ready
