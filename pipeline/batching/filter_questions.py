"""Filter questions: questions with a known verdict that show whether an annotator pays attention.

The paper's templates (appendix D) are easy to recognise, and then annotators know which question counts. So
most filters here are questions like those under judgement, whose verdict is known; templates are a small share.
Pure: what is known of a picture comes in, filters go out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from pipeline.core.records import Record, Step, Subset

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
    expected: Literal["valid", "invalid"]
    source: Source
    program: tuple[Step, ...] = ()
    question_id: str | None = None
    candidate_id: str | None = None
    subset: Subset | None = None


def chain(*steps: tuple[str, str]) -> tuple[Step, ...]:
    """A program in which each step takes the one before it."""
    return tuple(
        Step(operation=operation, argument=argument, dependencies=(number - 1,) if number else ())
        for number, (operation, argument) in enumerate(steps)
    )


def existence(name: str, number: str) -> Filter:
    """`Is there a cup?`, `Are there jeans?`, `Is there grass?` - always answerable, with no if need be."""
    a = {"singular": "an " if name[0].lower() in "aeiou" else "a ", "plural": "", "mass": ""}[number]
    text = f"{'Are' if number == 'plural' else 'Is'} there {a}{name}?"
    return Filter(
        text=text,
        expected="valid",
        source="template",
        program=chain(("select", f"{name} (-)"), ("exist", "?")),
    )


def of_the_scene() -> list[Filter]:
    """Questions that every photo answers."""
    return [
        Filter(text=text, expected="valid", source="template", program=chain(*steps))
        for text, steps in OF_THE_SCENE.items()
    ]


def absent_object(absent: str, number: str, relation: str, other: str) -> Filter:
    """`What color is the cup next to the table?` where there is no cup."""
    return Filter(
        text=f"What color {'are' if number == 'plural' else 'is'} the {absent} {relation} the {other}?",
        expected="invalid",
        source="template",
        program=chain(
            ("select", f"{other} (-)"), ("relate", f"{absent},{relation},s (-)"), ("query", "color")
        ),
    )


def halves(keys: Sequence[str], offer: Callable[[str], int], rng: np.random.Generator) -> set[str]:
    """The keys that get an invalid filter: half of them, as far as enough can have one, drawn by lot.

    Args:
        offer: how good the invalid filters for a key are; the best are taken first, 0 (none) never.
    """
    lots = [
        (-offer(keys[i]), place, keys[i])
        for place, i in enumerate(rng.permutation(len(keys)))
        if offer(keys[i])
    ]
    return {key for *_, key in sorted(lots)[: len(keys) // 2]}


class Pool:
    """The filters of one picture, given out evenly: what is seen again and again would be known as a filter."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.filters = sorted(
            filters,
            key=lambda found: (found.text, found.source, found.candidate_id or "", found.question_id or ""),
        )
        self.uses: dict[str, int] = {}

    def offer(self) -> int:
        """How good the invalid filters are: 2 if some are like candidates, 1 for templates alone, 0 for none."""
        return max(
            (1 if found.source == "template" else 2 for found in self.filters if found.expected == "invalid"),
            default=0,
        )

    def draw(
        self, expected: str, rank: Callable[[Filter], int | None], rng: np.random.Generator
    ) -> Filter | None:
        """The least used filter, of those the one of lowest rank; ties are drawn by lot.

        Args:
            rank: how well a filter goes with the task, 0 is best; None when it must not be used there.

        Returns:
            None when no filter fits.
        """
        fit = [
            (self.uses.get(found.text, 0), place, found.text, found)
            for found in self.filters
            if found.expected == expected and (place := rank(found)) is not None
        ]
        if not fit:
            return None
        best = min(row[:2] for row in fit)
        ties = [row[3] for row in fit if row[:2] == best]
        chosen = ties[rng.integers(len(ties))]
        self.uses[chosen.text] = self.uses.get(chosen.text, 0) + 1
        return chosen


def source_counts(filters: Sequence[Filter]) -> Mapping[str, int]:
    """How many filters came from where, and with which expected verdict: `own question, valid` -> 12."""
    counts: dict[str, int] = {}
    for found in filters:
        key = f"{found.source}, {found.expected}"
        counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items()))
