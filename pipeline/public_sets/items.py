"""Items of a public set, in one form for all sets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class SetItem(NamedTuple):
    """A question of a public set, as a model is asked it.

    Attributes:
        id: Unique within the set.
        image: Name of the image's file in the folder of images; "" if the question has no image.
        question: The question, without the options and without an instruction.
        options: Options of a multiple-choice question, option letter -> text, in the order in which they are shown; empty for others.
        hint: Text that is shown before the question; "" for none.
        is_answerable: Whether the question has an answer; None if the set does not say so (as in POPE, whose questions all have one).
        answers: Accepted answers: "yes" or "no", the letter of an option, or free text; one for each annotator if a set has several.
            Empty if the question has no answer, unless the set has a text for this case (VizWiz: what the annotators said, TDIUC:
            "doesnotapply", MM-UPD: the column `answer`).
        group: Name of the part of the set that its authors score separately, such as "adversarial" of POPE; "" for none.
        pair_id: Id that the items of a pair or group share, such as the standard and the unsolvable version of a question; "" for none.
        details: Other fields that the authors' scores need, by the name that the authors use.
    """

    id: str
    image: str
    question: str
    options: Mapping[str, str] = MappingProxyType({})
    hint: str = ""
    is_answerable: bool | None = None
    answers: tuple[str, ...] = ()
    group: str = ""
    pair_id: str = ""
    details: Mapping[str, str] = MappingProxyType({})
