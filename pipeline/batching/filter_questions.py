"""Filter questions: questions with a known verdict that show whether an annotator pays attention.

The paper's templates (appendix D) are easy to recognise, and then annotators know which question counts. So
most filters here are questions like those under judgement, whose verdict is known; templates are a small share.
Pure: what is known of a picture comes in, filters go out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from pipeline.core.records import Candidate, Record, Step, Subset

Known = Literal["valid", "invalid"]
Source = Literal["template", "own question", "judged candidate", "foreign question", "verified candidate"]
RELATIONS = ("next to", "around", "under", "on", "above")
OF_THE_SCENE = {
    "Is this indoor or outdoor?": (("select", "scene"), ("choose location", "indoors|outdoors")),
    "Is this a color image?": (),  # about the picture, not about what is on it: no program of GQA says it
    "What place is this?": (("select", "scene"), ("query", "place")),
}


class Filter(Record):
    """A filter question for one picture. `subset` is that of the candidate which it is, if it is one."""

    text: str
    expected: Known
    source: Source
    program: tuple[Step, ...] = ()
    question_id: str | None = None
    candidate_id: str | None = None
    subset: Subset | None = None


def template(text: str, expected: Known, *steps: tuple[str, str]) -> Filter:
    """A filter from a template; each step of its program takes the one before it."""
    program = tuple(
        Step(operation=operation, argument=argument, dependencies=(number - 1,) if number else ())
        for number, (operation, argument) in enumerate(steps)
    )
    return Filter(text=text, expected=expected, source="template", program=program)


def existence(name: str, number: str) -> Filter:
    """`Is there a cup?`, `Are there jeans?`, `Is there grass?` - always answerable, with no if need be."""
    a = {"singular": "an " if name[0].lower() in "aeiou" else "a ", "plural": "", "mass": ""}[number]
    text = f"{'Are' if number == 'plural' else 'Is'} there {a}{name}?"
    return template(text, "valid", ("select", f"{name} (-)"), ("exist", "?"))


def of_the_scene() -> list[Filter]:
    """Questions that every photo answers."""
    return [template(text, "valid", *steps) for text, steps in OF_THE_SCENE.items()]


def absent_object(absent: str, number: str, relation: str, other: str) -> Filter:
    """`What color is the cup next to the table?` where there is no cup."""
    text = f"What color {'are' if number == 'plural' else 'is'} the {absent} {relation} the {other}?"
    steps = ("select", f"{other} (-)"), ("relate", f"{absent},{relation},s (-)"), ("query", "color")
    return template(text, "invalid", *steps)


def halves(keys: Sequence[str], offer: Callable[[str], int], rng: np.random.Generator) -> set[str]:
    """The keys that get an invalid filter: half of them, as far as enough can have one, drawn by lot.

    Args:
        offer: how good the invalid filters for a key are; the best are taken first, 0 (none) never.
    """
    order: list[int] = rng.permutation(len(keys)).tolist()
    drawn = [keys[i] for i in order]
    able = sorted((key for key in drawn if offer(key)), key=offer, reverse=True)  # stable: then by lot
    return set(able[: len(keys) // 2])


class FilterPool:
    """The filters of one picture, given out evenly: what is seen again and again would be known as a filter."""

    def __init__(self, filters: Iterable[Filter]) -> None:
        self.filters = sorted(
            filters, key=lambda row: (row.text, row.source, row.candidate_id or "", row.question_id or "")
        )
        self.uses: Counter[str] = Counter()

    def offer(self) -> int:
        """How good the invalid filters are: 2 if some are like candidates, 1 for templates alone, 0 for none."""
        invalid = (1 + (row.source != "template") for row in self.filters if row.expected == "invalid")
        return max(invalid, default=0)

    def draw(
        self, candidate: Candidate, wanted: Known, templates: bool, rng: np.random.Generator
    ) -> Filter | None:
        """A filter to be shown beside a candidate: of the wanted verdict if there is one, and of the wanted kind (template or
        not); of those the least used, then one of the candidate's own subset, as they are most alike; ties are drawn by lot.

        Returns:
            None when there is none but the same question, or the one that the candidate was made from.
        """

        def preference(row: Filter) -> tuple[bool, bool, int, bool]:
            other_kind = (row.source == "template") != templates
            unlike = not other_kind and row.subset != candidate.subset
            return row.expected != wanted, other_kind, self.uses[row.text], unlike

        fit = [
            row
            for row in self.filters
            if row.text != candidate.text and row.question_id != candidate.question_id
        ]
        if not fit:
            return None
        best = min(map(preference, fit))
        ties = [row for row in fit if preference(row) == best]
        drawn = ties[rng.integers(len(ties))]
        self.uses[drawn.text] += 1
        return drawn
