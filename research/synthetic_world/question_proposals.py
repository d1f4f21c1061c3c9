"""Propose a question about an image: text, program, answer, and what knowing the answer implies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from research.synthetic_world.ontology import (
    AGES,
    ATTRIBUTE_TYPES,
    COLORS,
    KIND_BY_NAME,
    KINDS,
    MATERIALS,
    PATTERNS,
    SIZES,
    STATES,
    ObjectKind,
)
from research.synthetic_world.phrasing import Phrase, fill_template, make_phrase, to_annotations, to_sentence
from research.synthetic_world.program_builder import Program
from research.synthetic_world.random_choice import choose_key, choose_uniform
from research.synthetic_world.references import Fact, Reference, make_reference
from research.synthetic_world.scene_index import SceneIndex

T = TypeVar("T")
_VALUES = STATES | {
    "color": tuple(COLORS),
    "material": MATERIALS,
    "pattern": PATTERNS,
    "size": SIZES,
    "age": AGES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedQuestion:
    """A question before it has an id.

    Attributes:
        detailed: GQA's detailed type. Types that end with C have the answer "no".
        question_marks, full_marks, answer_marks: GQA's annotations of question, full answer and answer.
        asserted_facts: Facts that hold if the answer is correct and the presuppositions hold.
        required_facts: Alternative sets of facts. All facts of a set together imply the answer.
        target: Id of the object that the question is about; "" for none.
        topic: What the question asks. Rephrasings of a question have equal topics.
    """

    detailed: str
    text: str
    answer: str
    full_answer: str
    program: Program
    question_marks: dict[str, str]
    full_marks: dict[str, str]
    answer_marks: dict[str, str]
    group_global: str
    group_local: str
    asserted_facts: frozenset[Fact]
    required_facts: tuple[frozenset[Fact], ...]
    target: str
    topic: tuple[str, ...]


class QuestionGenerator:
    """Generates random questions about one scene. All randomness comes from `rng`."""

    def __init__(self, view: SceneIndex, rng: np.random.Generator) -> None:
        self.scene_index = view
        self.rng = rng

    def choose(self, options: Sequence[T]) -> T:
        return choose_uniform(self.rng, options)

    def is_chosen(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def choose_object(self, wanted: Callable[[str], bool] = lambda _: True) -> str | None:
        """Choose an object id that satisfies `wanted`, all equally likely.

        Return None if there is no such object.
        """
        ids = [i for i in self.scene_index.objects if wanted(i)]
        return self.choose(ids) if ids else None

    def choose_attribute(self, shares: Mapping[str, float]) -> tuple[str, str] | None:
        """Choose an object and the type of one of its attributes, in proportion to `shares`."""
        there = {kind for values in self.scene_index.attributes.values() for kind in values}
        present = {kind: share for kind, share in shares.items() if kind in there}
        if not present:
            return None
        kind = choose_key(self.rng, present)
        return self.choose([i for i, values in self.scene_index.attributes.items() if kind in values]), kind

    def choose_relation(self, wanted: Callable[[str, str, str], bool]) -> tuple[str, str, str] | None:
        """Choose a relation that holds: (subject id, name, object id).

        The name is chosen first, so that rare relations occur.
        """
        triples = [triple for triple in sorted(self.scene_index.relations) if wanted(*triple)]
        if not triples:
            return None
        name = self.choose(sorted({relation for _, relation, _ in triples}))
        return self.choose([triple for triple in triples if triple[1] == name])

    def make_reference(
        self,
        object_id: str,
        *,
        hide: Iterable[str] = (),
        avoid: Iterable[str] = (),
        depth: int | None = None,
        plain: bool = False,
        category: float = 0.15,
    ) -> Reference | None:
        """Make an unambiguous reference with at most one relation, sometimes two (see
        `references.make_reference`).
        """
        depth = (2 if self.is_chosen(0.12) else 1) if depth is None else depth
        return make_reference(
            self.scene_index,
            self.rng,
            object_id,
            hide=hide,
            avoid=avoid,
            depth=depth,
            plain=plain,
            category=category,
        )

    def make_definite(self, object_id: str) -> Phrase:
        """Return the name of an object as in full answers: `the cup`."""
        return (("the", ""), *make_phrase(self.scene_index.get_name(object_id), object_id))

    def choose_wrong_value(self, object_id: str, kind: str) -> str | None:
        """Choose a wrong value of an attribute type; if possible, a value that the kind can have."""
        sort, true = (
            KIND_BY_NAME[self.scene_index.get_name(object_id)],
            self.scene_index.attributes[object_id][kind],
        )
        possible = {"color": sort.colors, "material": sort.materials, "pose": sort.poses}.get(kind) or ()
        if len(possible) < 2:
            possible = _VALUES.get(kind, ())
        others = [value for value in possible if value != true]
        return self.choose(others) if others else None

    def choose_absent_kind(self, suits: Callable[[ObjectKind], bool] = lambda _: True) -> str | None:
        """Choose a suitable kind that could be in this location but is not in this image."""
        there = {item.name for item in self.scene_index.scene.objects}
        names = [
            kind.name
            for kind in KINDS
            if self.scene_index.scene.location in kind.locations and kind.name not in there and suits(kind)
        ]
        return self.choose(names) if names else None

    def make_proposal(
        self,
        detailed: str,
        templates: Sequence[str],
        program: Program,
        answer: str,
        full: str,
        *,
        slots: Mapping[str, Phrase],
        local: str,
        topic: tuple[str, ...],
        asserts: Iterable[Fact],
        needs: Iterable[Iterable[Fact]],
        group: str = "",
        target: str = "",
        names: str = "",
    ) -> ProposedQuestion | None:
        """Make a proposal from one of the templates and the full answer.

        `names` is the id of the object that the answer names. Return None if the text of an open question
        contains the answer, or if two adjacent words do not sound natural ("Is the box that is red
        striped?").
        """
        question, full_answer = (
            fill_template(self.choose(templates) + " ?", self.rng, slots),
            fill_template(full, self.rng, slots),
        )
        text = to_sentence(question)
        if program[-1].operation == "query" and f" {answer} " in f" {text[:-1]} ".lower():
            return None
        if any(_has_clash(word, next_word) for word, next_word in pairwise(question)):
            return None
        span = "0" if " " not in answer else f"0:{len(answer.split())}"
        return ProposedQuestion(
            detailed=detailed,
            text=text,
            answer=answer,
            full_answer=to_sentence(full_answer) + ".",
            program=program,
            question_marks=to_annotations(question),
            full_marks=to_annotations(full_answer),
            answer_marks={span: names} if names else {},
            group_global=group,
            group_local=local,
            asserted_facts=frozenset(asserts),
            required_facts=tuple(frozenset(facts) for facts in needs),
            target=target,
            topic=topic,
        )


def _has_clash(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Return whether two adjacent words are equal, or are both attributes without a noun next to them."""
    said = first[0].lower(), second[0].strip("?,")
    loose = not first[1] and not second[1] and said[0] in ATTRIBUTE_TYPES and said[1] in ATTRIBUTE_TYPES
    return loose or said[0] == said[1]
