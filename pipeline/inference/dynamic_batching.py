"""What models of transformers share: images out of messages, and questions of many tasks answered together."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")


def read_image_bytes(image: str) -> bytes:
    """The bytes of an image, from a data URI or the path of a file.

    Raises:
        OSError: no such file.
    """
    head, _, data = image.partition(";base64,")
    return base64.b64decode(data) if head.startswith("data:") else Path(image).read_bytes()


class DynamicBatcher(Generic[RequestT, ReplyT]):
    """Questions of many tasks answered together: while some are answered, those that come wait, and go together next.

    Args:
        answer: what answers a batch, in a thread; one batch at a time. most: questions of a batch.
    """

    def __init__(
        self, answer_batch: Callable[[Sequence[RequestT]], Sequence[ReplyT]], batch_size: int
    ) -> None:
        self._answer_batch, self._batch_size = answer_batch, batch_size
        self._queue: list[tuple[RequestT, list[ReplyT | Exception]]] = []
        self._lock = anyio.Lock()

    async def __call__(self, request: RequestT) -> ReplyT:
        """
        Raises:
            Exception: what `answer` raised for this question alone.
        """
        box: list[ReplyT | Exception] = []
        self._queue.append((request, box))
        await anyio.sleep(0)  # so that others that are ready come along
        async with self._lock:
            while not box:  # others may be first
                batch, self._queue = self._queue[: self._batch_size], self._queue[self._batch_size :]
                replies = await anyio.to_thread.run_sync(self._answer_each, [one for one, _ in batch])
                for (_, other), reply in zip(batch, replies, strict=True):
                    other.append(reply)
        if isinstance(box[0], Exception):
            raise box[0]
        return box[0]

    def _answer_each(self, batch: list[RequestT]) -> list[ReplyT | Exception]:
        """A reply to each; where a batch fails, its questions are asked one by one, so that one broken image spoils no
        other."""
        try:
            return list(self._answer_batch(batch))
        except Exception as error:
            if len(batch) == 1:
                return [error]
            return [reply for one in batch for reply in self._answer_each([one])]
