"""Batch the requests of concurrent tasks for models of transformers."""

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
    """Return the bytes of an image, given as a data URI or as the path of a file.

    Raises:
        OSError: The file cannot be read.
    """
    head, _, data = image.partition(";base64,")
    return base64.b64decode(data) if head.startswith("data:") else Path(image).read_bytes()


class DynamicBatcher(Generic[RequestT, ReplyT]):
    """Collect the requests of concurrent tasks into batches.

    Requests that arrive while a batch is answered are in the next batch.

    Args:
        answer_batch: Answers a batch. It is called in a thread, for one batch at a time.
        batch_size: Maximum number of requests in a batch.
    """

    def __init__(
        self, answer_batch: Callable[[Sequence[RequestT]], Sequence[ReplyT]], batch_size: int
    ) -> None:
        self._answer_batch, self._batch_size = answer_batch, batch_size
        self._queue: list[tuple[RequestT, list[ReplyT | Exception]]] = []
        self._lock = anyio.Lock()

    async def __call__(self, request: RequestT) -> ReplyT:
        """Return the reply to a request.

        Raises:
            Exception: The exception that `answer_batch` raised for a batch of this request alone.
        """
        result: list[ReplyT | Exception] = []
        self._queue.append((request, result))
        # Let other tasks that are ready join the batch.
        await anyio.sleep(0)
        async with self._lock:
            # Another task may already have sent this request in its batch. If older requests fill the next
            # batch, wait again.
            while not result:
                batch, self._queue = self._queue[: self._batch_size], self._queue[self._batch_size :]
                replies = await anyio.to_thread.run_sync(self._answer_each, [one for one, _ in batch])
                for (_, other), reply in zip(batch, replies, strict=True):
                    other.append(reply)
        if isinstance(result[0], Exception):
            raise result[0]
        return result[0]

    def _answer_each(self, batch: list[RequestT]) -> list[ReplyT | Exception]:
        """Return a reply or an error for each request.

        A failed batch is repeated one by one to isolate the faulty request.
        """
        try:
            return list(self._answer_batch(batch))
        except Exception as error:
            if len(batch) == 1:
                return [error]
            return [reply for one in batch for reply in self._answer_each([one])]
