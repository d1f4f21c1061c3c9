"""Encode images for requests to a model, each once."""

from __future__ import annotations

import asyncio
import os
import tempfile
from abc import ABC, abstractmethod
from contextlib import suppress

from ..core.errors import UserError
from ..core.images import WHITE, encode_image


class EncodedImages(ABC):
    """Images as data URIs, by id. Encoded images are kept in a temporary file, which the operating system deletes when the process ends."""

    def __init__(self, max_image_size: int = 0) -> None:
        """
        Args:
            max_image_size: Maximum length of the longer side of an encoded image, in pixels; 0 for the
                original size.

        Raises:
            UserError: The package that encodes images is not installed.
        """
        self.max_image_size = max_image_size
        # Image id -> start and length of the encoded image in the temporary file.
        self._encoded: dict[str, tuple[int, int]] = {}
        self._encoded_file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._encoding: dict[str, asyncio.Future[str]] = {}
        _require_pillow()

    @abstractmethod
    def _read_image(self, image_id: str) -> bytes:
        """Return the content of the image's file. The function is called in several threads."""

    async def get_data_uri(self, image_id: str) -> str:
        """Return an image as a data URI (see `encode_data_uri`). Each image is encoded once, in a thread.

        Raises:
            ValueError: The image is damaged, or `load_rgb` does not accept its format.
        """
        if image_id in self._encoded:
            start, length = self._encoded[image_id]
            return os.pread(self._encoded_file.fileno(), length, start).decode()
        # Several questions about an image are often asked at the same time.
        if image_id not in self._encoding:
            self._encoding[image_id] = asyncio.ensure_future(
                asyncio.to_thread(self.encode_data_uri, image_id)
            )
            self._encoding[image_id].add_done_callback(lambda _: self._encoding.pop(image_id))
        uri = await self._encoding[image_id]
        if image_id not in self._encoded:
            data = uri.encode()
            # If the disk is full, the image is encoded again when it is needed again.
            with suppress(OSError):
                start = self._encoded_file.seek(0, os.SEEK_END)
                if self._encoded_file.write(data) == len(data):
                    self._encoded[image_id] = (start, len(data))
        return uri

    def encode_data_uri(self, image_id: str) -> str:
        """Return an image as a data URI: upright, in sRGB, and with sides of at most `max_image_size` pixels.

        Raises:
            ValueError: The image is damaged, or `load_rgb` does not accept its format.
        """
        try:
            return encode_image(
                self._read_image(image_id), max_side=self.max_image_size, background=WHITE
            ).data_uri
        except ValueError as error:
            raise ValueError(f"image {image_id}: {error}") from error


def _require_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UserError("sending images needs Pillow, which is not installed: pip install pillow") from None
