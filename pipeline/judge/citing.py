"""The facts that bear on a question, with the questions that state them: what a judgement rests on, for people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pipeline.core.records import Record, Step
from pipeline.judge.believing import Stated, believe
from pipeline.judge.facts import Facts
from pipeline.judge.reconstruct import Reconstructed, stated_without, statements_of
from pipeline.judge.statements import Statement
from pipeline.programs.operations import SCENE, Operation, parse
from pipeline.words.lexicon import Lexicon
from pipeline.words.nouns import lemma


class Cited(Record):
    """A fact in words, `sweater (11): color blue`, and the ids of the questions that state it."""

    fact: str
    questions: tuple[str, ...]


def cite(
    program: Sequence[Step], graph: Reconstructed, lexicon: Lexicon, without: Collection[str] = frozenset()
) -> list[Cited]:
    """The facts of a partial graph that concern what a program speaks of, without those that only the questions
    `without` state; sorted. [] when there is no program."""
    if not program:
        return []
    stated = stated_without(statements_of(graph), without)
    facts = believe(stated, lexicon)[0]
    labels = {thing.object_id: thing.label or next(iter(thing.names), "thing") for thing in facts.things}
    concerns = _Concern(parse(program), stated, facts)
    rows = [
        Cited(fact=_in_words(s, labels), questions=tuple(ids)) for s, ids in stated.items() if concerns(s)
    ]
    return sorted(rows, key=lambda row: row.fact)


class _Concern:
    """Tells which statements concern what a program speaks of."""

    def __init__(self, program: Sequence[Operation], stated: Stated, facts: Facts) -> None:
        lexicon = facts.lexicon
        names = {operation.name for operation in program} - {"", SCENE}
        kinds = {name: kinds for name in names if (kinds := lexicon.kinds(name))}
        things = [thing for name in kinds for s in [facts.named(name)] for thing in (*s.sure, *s.maybe)]
        spoken_of = {thing.object_id for thing in things}
        pairs = [{s.subject, s.other} for s in stated if s.kind == "relation"]
        # "What is on the table?": things of any name
        self.touching = (
            set[str]().union(*(pair for pair in pairs if pair & spoken_of))
            if len(kinds) < len(names)
            else set()
        )
        self.ids = spoken_of | self.touching
        self.kinds = frozenset[str]().union(*kinds.values())
        self.lemmas = set(map(lemma, kinds))
        self.groups = self.lemmas.union(*map(lexicon.groups, self.lemmas))
        self.types = {operation.type for operation in program} - {""}
        self.values = {value for operation in program for value in operation.values}
        self.scene = any(operation.name == SCENE for operation in program)

    def __call__(self, statement: Statement) -> bool:
        subject, value = statement.subject, statement.value
        called = "name" in self.types or subject in self.touching or lemma(value) in self.kinds
        return {
            "name": subject in self.ids and bool(value) and called,
            "attribute": subject in self.ids and (value in self.values or statement.type in self.types),
            "relation": {subject, statement.other} <= self.ids,
            "none": subject in self.ids and value.split(",")[0] in self.groups,
            "scene": self.scene,
            "absent": value in self.groups,
            "alone": value in (self.groups if statement.type == "kind" else self.lemmas),
        }[statement.kind]


def _in_words(statement: Statement, labels: Mapping[str, str]) -> str:
    subject, value, other = statement.subject, statement.value, statement.other
    denied = "" if statement.holds else "not "
    about = f"{labels.get(subject, 'thing')} ({subject})"
    name, relation, role = (*value.split(","), "", "")[:3]  # of nothing that is in a relation to it
    return {
        "name": f"{subject} is called {value}",
        "attribute": f"{about}: {denied}{statement.type} {value}".replace("  ", " "),
        "relation": f"{about}: {denied}{value} {labels.get(other, 'thing')} ({other})",
        "none": f"no {name} {relation} {about}" if role == "s" else f"{about}: {relation} no {name}",
        "scene": f"{statement.type}: {denied}{value}",
        "absent": f"no {value} in the picture",
        "alone": f"the {value}, said as of the only {'one of its kind' if statement.type else 'one'}",
    }[statement.kind]
