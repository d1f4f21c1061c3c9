"""Scenes made by hand, with their answers and the questions about them.

The hand-made kitchen, 448 x 336 (left ends at x = 179.2, right begins at 268.8; no side is stated within
17.9 of these, 4 % of the width):

    11 cup: red, plastic, on the table; centre x 72: left
    12 cup: blue, plastic, striped, on the shelf; centre x 392: right
    13 table: brown, wood, large; on the left          14 shelf: white, wood; on the right
    15 man: old, standing, wears the jeans and holds the apple; centre x 225: middle
    16 jeans: blue                                     17 apple: green
    18 dog: black, lying, small; centre x 275, so nobody says whether it is right or middle
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

import msgspec
import pytest

from pipeline.core.records import Relation, SceneGraph, SceneObject
from pipeline.verifier.evidence import build_scene_evidence
from research.synthetic_world import questions as sample_questions
from research.synthetic_world.question_checks import LEXICON, CheckedQuestion, find_faults
from research.synthetic_world.questions import Family, SampleQuestion, generate_questions, to_gqa

OPPOSITE = {"to the left of": "to the right of", "above": "below", "in front of": "behind"}


def scene(
    objects: dict[str, tuple],
    holds: list[tuple[str, str, str]],
    image_id: str = "n000042",
    location: str = "kitchen",
    weather: str = "",
) -> SceneGraph:
    """objects: id -> (name, (x, y, w, h), attributes); holds: (subject, relation, object), with opposites."""
    listed: dict[str, list[Relation]] = defaultdict(list)
    for a, name, b in holds:
        listed[a].append(Relation(name=name, object_id=b))
        if name in OPPOSITE:
            listed[b].append(Relation(name=OPPOSITE[name], object_id=a))
    return SceneGraph(
        image_id=image_id,
        split="testdev",
        width=448,
        height=336,
        location=location,
        weather=weather,
        is_complete=True,
        objects=tuple(
            SceneObject(
                object_id=i,
                name=name,
                x=x,
                y=y,
                w=w,
                h=h,
                attributes=tuple(attributes.split()),
                relations=tuple(listed[i]),
            )
            for i, (name, (x, y, w, h), attributes) in objects.items()
        ),
    )


KITCHEN = scene(
    {
        "11": ("cup", (60, 150, 24, 26), "red plastic"),
        "12": ("cup", (380, 120, 24, 26), "blue plastic striped"),
        "13": ("table", (20, 176, 140, 90), "brown wood large"),
        "14": ("shelf", (340, 140, 96, 130), "white wood"),
        "15": ("man", (200, 130, 50, 120), "old standing"),
        "16": ("jeans", (208, 190, 34, 55), "blue"),
        "17": ("apple", (240, 190, 20, 20), "green"),
        "18": ("dog", (245, 250, 60, 40), "black lying small"),
    },
    [
        ("11", "on", "13"),
        ("12", "on", "14"),
        ("15", "wearing", "16"),
        ("15", "holding", "17"),
        *((i, "to the left of", j) for i in ("11", "13") for j in ("15", "16", "17", "18", "14", "12")),
        *((i, "to the left of", j) for i in ("15", "16", "17", "18") for j in ("14", "12")),
        ("15", "above", "18"),
        ("18", "in front of", "15"),
    ],
)
# Object -> attribute type -> value, as in the table above.
LOOKS = {
    "11": {"color": "red", "material": "plastic"},
    "12": {"color": "blue", "material": "plastic", "pattern": "striped"},
    "13": {"color": "brown", "material": "wood", "size": "large"},
    "14": {"color": "white", "material": "wood"},
    "15": {"age": "old", "pose": "standing"},
    "16": {"color": "blue"},
    "17": {"color": "green"},
    "18": {"color": "black", "pose": "lying", "size": "small"},
}
# 15, 16 and 17 are in the middle.
SIDES = {"11": "left", "12": "right", "13": "left", "14": "right"}
PARK = scene(
    {
        "21": ("dog", (20, 230, 70, 50), "brown lying"),
        "22": ("tree", (300, 60, 96, 150), ""),
        "23": ("bench", (120, 200, 120, 60), "green wood"),
        "24": ("woman", (150, 130, 54, 98), "young sitting"),
        "25": ("shirt", (159, 160, 36, 40), "red striped"),
        "26": ("kite", (250, 20, 40, 50), "yellow"),
        "27": ("car", (330, 230, 100, 60), "red metal"),
    },
    [
        ("24", "on", "23"),
        ("24", "sitting on", "23"),
        ("24", "wearing", "25"),
        *(("21", "to the left of", j) for j in ("23", "24", "25", "27")),
        *((i, "to the left of", "22") for i in ("23", "24", "25")),
        *((i, "to the left of", "27") for i in ("23", "24", "25")),
        ("22", "above", "27"),
    ],
    image_id="n000043",
    location="park",
    weather="sunny",
)


def asked(image: SceneGraph, rounds: int = 140, per_image: int = 9) -> list[SampleQuestion]:
    """Generate questions about an image with many seeds."""
    return [question for seed in range(rounds) for question in generate_questions([image], seed, per_image)]


@cache
def asked_by(family: Family, rounds: int = 30) -> list[list[SampleQuestion]]:
    """Generate questions of one family about the kitchen and the park, by seed: at most four about each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_questions, "FAMILY_RATES", {family: 1.0})
        patch.setattr(sample_questions, "MAX_PER_FAMILY", {family: 4})
        # Few attempts are enough for families that rarely find a question.
        patch.setattr(sample_questions, "MAX_ATTEMPTS", 6)
        return [generate_questions([KITCHEN, PARK], seed, 4) for seed in range(rounds)]


def wrong_with(rounds: list[list[SampleQuestion]]) -> list[str]:
    """Return the faults that the checker, which shares no code with the generator, finds in questions about kitchen and park."""
    facts = {image.image_id: build_scene_evidence(image, LEXICON) for image in (KITCHEN, PARK)}
    faults = []
    for asked_together in rounds:
        entries = {q.question_id: msgspec.convert(to_gqa(q), CheckedQuestion) for q in asked_together}
        for key, entry in entries.items():
            faults += [
                f"{entry.question} {entry.answer}: {fault}"
                for fault in find_faults(key, entry, entries, facts[entry.image_id])
            ]
    return faults


def target(question: SampleQuestion) -> str:
    """Return the id of the object found by the second-last step."""
    ids = [re.search(r"\(([\d,]+)\)", step.argument) for step in question.program]
    return [match[1] for match in ids if match][-1]


def detailed(asked_: list[SampleQuestion], *names: str) -> list[SampleQuestion]:
    never = set(names) - {question.detailed for question in asked_}
    assert not never, f"never asked: {never}"
    return [question for question in asked_ if question.detailed in names]


def pairs(asked_: list[SampleQuestion]):
    """Return pairs (question, entailed question) about the same image in the same round."""
    seen: dict[str, SampleQuestion] = {}
    for question in asked_:
        if question.question_id in seen:
            yield from ((one, seen[i]) for one in seen.values() for i in one.entailed)
            seen = {}
        seen[question.question_id] = question


def check_family(family, structural: str, semantics: str) -> None:
    """Assert that a family makes at least ten questions of its own types, each with one right answer by an independent checker."""
    rounds = asked_by(family)
    every = [question for asked_together in rounds for question in asked_together]
    assert len({question.text for question in every}) >= 10
    assert {question.structural for question in every} == {structural}
    assert {question.semantic for question in every} == set(semantics.split())
    assert wrong_with(rounds) == []
