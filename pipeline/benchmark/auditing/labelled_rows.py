"""The input of every text-only audit: rows with a question and one of two labels.

A row may also have an image and a source question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

RowsT = TypeVar("RowsT", bound="LabelledRows")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRows:
    """Rows with one of two labels.

    Attributes:
        texts: [n] questions.
        labels: [n] labels, 0 or 1. In a set with unanswerable questions, 1 means unanswerable.
        images: [n] names of images, or None if they are not known.
        source_ids: [n] id of the source question of each row, or None if the ids are not known. A row is its
            source question or was made from it.
    """

    texts: Sequence[str]
    labels: np.ndarray
    images: Sequence[str] | None = None
    source_ids: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def select(self: RowsT, indices: Sequence[int] | np.ndarray) -> RowsT:
        """Return the rows with these indices, in this order."""
        return replace(
            self,
            texts=[self.texts[i] for i in indices],
            labels=self.labels[np.asarray(indices, int)],
            images=None if self.images is None else [self.images[i] for i in indices],
            source_ids=None if self.source_ids is None else [self.source_ids[i] for i in indices],
        )

    def in_canonical_order(self) -> LabelledRows:
        """Return the rows in an order that depends only on their content.

        So results do not depend on the order of the rows in a file.
        """
        columns: list[Sequence[Any]] = [
            self.texts,
            *(column for column in (self.images, self.source_ids) if column is not None),
            self.labels.tolist(),
        ]
        keys = list(zip(*columns, strict=True))
        rows = LabelledRows(
            texts=self.texts, labels=self.labels, images=self.images, source_ids=self.source_ids
        )
        return rows.select(sorted(range(len(keys)), key=keys.__getitem__))
