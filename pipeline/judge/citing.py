"""The facts that bear on a question, with the questions that state them: what a judgement rests on, for people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pipeline.core.records import Record, Step
from pipeline.judge.facts import Facts
from pipeline.judge.reconstruct import Reconstructed, believe, left, statements_of
from pipeline.judge.statements import Statement
from pipeline.programs.operations import SCENE, Operation, parse
from pipeline.words.lexicon import Lexicon, singular


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
    said = left(dict(statements_of(graph)), without)
    return cited(parse(program), believe(said, lexicon)[0], said)


def cited(program: Sequence[Operation], facts: Facts, said: Mapping[Statement, Sequence[str]]) -> list[Cited]:
    """The same of facts that are at hand.

    Args:
        facts: what is believed of the picture. said: what was stated, with the ids of the questions.
    """
    names = {operation.name for operation in program if operation.name not in ("", SCENE)}
    named = {name: facts.lexicon.kinds(name) for name in names}
    words = {singular(name) for name, kinds in named.items() if kinds}
    groups = words.union(*(facts.lexicon.groups(word) for word in words))
    spoken_of = {
        thing.object_id
        for name, kinds in named.items()
        if kinds
        for thing in (*facts.named(name).sure, *facts.named(name).maybe)
    }
    anything = len(words) < len(names)  # "What is on the table?": things of any name
    touching = (
        {
            end
            for one in said
            if one.kind == "relation" and spoken_of & {one.subject, one.other}
            for end in (one.subject, one.other)
        }
        if anything
        else set()
    )
    types = {operation.type for operation in program} - {""}
    values = {value for operation in program for value in operation.values}
    called = {thing.object_id: thing.label or next(iter(thing.names), "thing") for thing in facts.things}
    ids, kinds = spoken_of | touching, frozenset().union(*filter(None, named.values()))

    def bears(one: Statement) -> bool:
        if one.kind == "name":
            asked = "name" in types or one.subject in touching
            return one.subject in ids and bool(one.value) and (asked or singular(one.value) in kinds)
        if one.kind == "attribute":
            return one.subject in ids and (one.value in values or one.type in types)
        if one.kind == "relation":
            return {one.subject, one.other} <= ids
        if one.kind == "none":
            return one.subject in ids and one.value.rsplit(",", 2)[0] in groups
        if one.kind == "scene":
            return any(operation.name == SCENE for operation in program)
        return one.value in (groups if one.kind == "absent" or one.type == "kind" else words)

    found = [
        Cited(fact=_in_words(one, called), questions=tuple(questions))
        for one, questions in said.items()
        if bears(one)
    ]
    return sorted(found, key=lambda row: row.fact)


def _in_words(one: Statement, called: Mapping[str, str]) -> str:
    denied = "" if one.holds else "not "
    about = f"{called.get(one.subject, 'thing')} ({one.subject})"
    if one.kind == "name":
        return f"{one.subject} is called {one.value}"
    if one.kind == "attribute":
        return f"{about}: {denied}{one.type} {one.value}".replace("  ", " ")
    if one.kind == "relation":
        return f"{about}: {denied}{one.value} {called.get(one.other, 'thing')} ({one.other})"
    if one.kind == "none":
        name, relation, role = one.value.rsplit(",", 2)
        return f"no {name} {relation} {about}" if role == "s" else f"{about}: {relation} no {name}"
    if one.kind == "scene":
        return f"{one.type}: {denied}{one.value}"
    if one.kind == "absent":
        return f"no {one.value} in the picture"
    return f"the {one.value}, said as of the only {'one of its kind' if one.type else 'one'}"
