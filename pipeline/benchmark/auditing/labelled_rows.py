"""Rows with a question, one of two labels, and perhaps an image and a source question: what every text-only audit works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

RowsT = TypeVar("RowsT", bound="LabelledRows")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRows:
    """Rows that have one of two labels.

    Attributes:
        texts: [n] questions.
        labels: [n], 0 or 1; 1 is a UQ where there are UQs.
        images: [n] names; None where images are not known.
        source_ids: [n], the id of the question that each row is, or was made from; None where that is not known.
    """

    texts: Sequence[str]
    labels: np.ndarray
    images: Sequence[str] | None = None
    source_ids: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def select(self: RowsT, indices: Sequence[int] | np.ndarray) -> RowsT:
        """The rows at these places, in this order."""
        return replace(
            self,
            texts=[self.texts[i] for i in indices],
            labels=self.labels[np.asarray(indices, int)],
            images=None if self.images is None else [self.images[i] for i in indices],
            source_ids=None if self.source_ids is None else [self.source_ids[i] for i in indices],
        )

    def in_canonical_order(self) -> LabelledRows:
        """The same rows in an order that depends on their content alone, so that no figure depends on the order of a file."""
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
