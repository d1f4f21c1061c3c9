"""Prepare the images of a release, so that every user sees them in the same way as the annotators."""

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
    """Provide each image as an upright JPEG, PNG or WebP file in sRGB.

    A file that already meets these conditions, and has the suffix of its format, keeps its path. All other
    images are encoded into a temporary folder, which is deleted when the context is closed.

    Args:
        images: The images, as written by stage `ingest`.

    Yields:
        Image id -> image, in the order of `images`.

    Raises:
        UserError: Files are missing, damaged or refused. The message lists all these files.
    """
    problems = Problems("images have changed since stage `ingest` read them; restore them or run dvc repro")
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
