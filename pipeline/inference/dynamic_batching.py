"""What models of transformers share: pictures out of messages, and questions of many tasks answered together."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

A = TypeVar("A")
B = TypeVar("B")


def picture_bytes(image: str) -> bytes:
    """The bytes of a picture, from a data URI or the path of a file.

    Raises:
        OSError: no such file.
    """
    head, _, data = image.partition(";base64,")
    return base64.b64decode(data) if head.startswith("data:") else Path(image).read_bytes()


class Batches(Generic[A, B]):
    """Questions of many tasks answered together: while some are answered, those that come wait, and go together next.

    Args:
        answer: what answers a batch, in a thread; one batch at a time. most: questions of a batch.
    """

    def __init__(self, answer: Callable[[Sequence[A]], Sequence[B]], most: int) -> None:
        self._answer, self._most = answer, most
        self._waiting: list[tuple[A, list[B | Exception]]] = []
        self._one = anyio.Lock()

    async def __call__(self, asked: A) -> B:
        """
        Raises:
            Exception: what `answer` raised for this question alone.
        """
        box: list[B | Exception] = []
        self._waiting.append((asked, box))
        await anyio.sleep(0)  # so that others that are ready come along
        async with self._one:
            while not box:  # others may be first
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                replies = await anyio.to_thread.run_sync(self._each, [one for one, _ in batch])
                for (_, other), reply in zip(batch, replies, strict=True):
                    other.append(reply)
        if isinstance(box[0], Exception):
            raise box[0]
        return box[0]

    def _each(self, batch: list[A]) -> list[B | Exception]:
        """A reply to each; where a batch fails, its questions are asked one by one, so that one broken picture spoils no
        other."""
        try:
            return list(self._answer(batch))
        except Exception as error:
            if len(batch) == 1:
                return [error]
            return [reply for one in batch for reply in self._each([one])]
