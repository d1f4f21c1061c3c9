"""Which part of the release a picture belongs to: thresholds are chosen on dev and applied to test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pipeline.core.files import content_key

Part = Literal["dev", "test"]


def part_of(picture_id: str, dev_share: float, seed: int) -> Part:
    """Decided by the picture's id alone, so that pictures added or removed change no other picture's part."""
    return "dev" if int(content_key(str(seed), "part", picture_id), 16) < dev_share * 2**64 else "test"


def parts(picture_ids: Iterable[str], dev_share: float, seed: int) -> dict[str, Part]:
    """The part of each picture, by id."""
    return {picture: part_of(picture, dev_share, seed) for picture in picture_ids}
