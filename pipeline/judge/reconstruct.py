"""A partial scene graph of a picture, put together from its answered questions: evidence where no graph was
published (GQA's testdev).

The graph keeps with every fact the questions that state it, so that any of them can be left out again. Facts
that contradict each other are listed, and neither is believed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pipeline.core.records import Question, Record, Split
from pipeline.judge.believing import Contradiction, Stated, believe
from pipeline.judge.facts import Facts
from pipeline.judge.full_answers import told_besides
from pipeline.judge.statements import Kind, Statement, of_program
from pipeline.programs.operations import parse
from pipeline.words.lexicon import Lexicon


class Fact(Record):
    """Something said: a name, an attribute of a `type`, a relation to `object_id`. `holds` is false when it was
    said not to be so. `questions` are the ids of those that state it."""

    value: str
    type: str = ""
    object_id: str = ""
    holds: bool = True
    questions: tuple[str, ...] = ()


class KnownObject(Record):
    """An object as far as known. `none` are things that do not exist, in GQA's spelling: "cup,on,s" of a table
    says that no cup is on it."""

    object_id: str
    names: tuple[Fact, ...] = ()
    attributes: tuple[Fact, ...] = ()
    relations: tuple[Fact, ...] = ()
    none: tuple[Fact, ...] = ()


class Reconstructed(Record):
    """A partial graph. It is no published graph: what is missing in it was just not asked.

    Attributes:
        reconstructed: always true. questions: how many questions it rests on.
        scene: place, weather, location. absent: names of which the picture has none. alone: names said without
            more ("the cup"): there is one of them, or all are alike.
    """

    picture_id: str
    split: Split
    questions: int
    objects: tuple[KnownObject, ...]
    reconstructed: bool = True
    scene: tuple[Fact, ...] = ()
    absent: tuple[Fact, ...] = ()
    alone: tuple[Fact, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()


def reconstruct(questions: Iterable[Question], lexicon: Lexicon) -> Reconstructed | None:
    """The partial graph of the one picture that all these questions are about; None when none of them has a
    program and an answer.

    Raises:
        UserError: a program is malformed.
    """
    answered = [question for question in questions if question.program and question.answer.strip()]
    if not answered:
        return None
    stated: dict[Statement, list[str]] = {}
    for question in sorted(answered, key=lambda question: question.question_id):
        program = parse(question.program, question.question_id)
        statements = [*of_program(program, question.answer.strip()), *told_besides(question, program)]
        for statement in dict.fromkeys(statements):
            stated.setdefault(statement, []).append(question.question_id)
    facts: dict[tuple[Kind, str], list[Fact]] = {}
    for statement, ids in sorted(stated.items()):
        fact = Fact(
            value=statement.value,
            type=statement.type,
            object_id=statement.other,
            holds=statement.holds,
            questions=tuple(ids),
        )
        facts.setdefault((statement.kind, statement.subject), []).append(fact)

    def of(kind: Kind, subject: str = "") -> tuple[Fact, ...]:
        return tuple(facts.get((kind, subject), ()))

    object_ids = {object_id for statement in stated for object_id in (statement.subject, statement.other)}
    return Reconstructed(
        picture_id=answered[0].picture_id,
        split=answered[0].split,
        questions=len(answered),
        objects=tuple(
            KnownObject(
                object_id=key,
                names=of("name", key),
                attributes=of("attribute", key),
                relations=of("relation", key),
                none=of("none", key),
            )
            for key in sorted(object_ids - {""})
        ),
        scene=of("scene"),
        absent=of("absent"),
        alone=of("alone"),
        contradictions=tuple(believe(stated, lexicon)[1]),
    )


def statements_of(graph: Reconstructed) -> dict[Statement, tuple[str, ...]]:
    """The facts of a graph one by one, with the questions that state them."""
    parts: list[tuple[Kind, str, tuple[Fact, ...]]] = [
        ("scene", "", graph.scene),
        ("absent", "", graph.absent),
        ("alone", "", graph.alone),
    ]
    for thing in graph.objects:
        key = thing.object_id
        parts.extend([("name", key, thing.names), ("attribute", key, thing.attributes)])
        parts.extend([("relation", key, thing.relations), ("none", key, thing.none)])
    return {
        Statement(kind, subject, fact.type, fact.value, fact.object_id, fact.holds): fact.questions
        for kind, subject, facts in parts
        for fact in facts
    }


def facts_known(
    graph: Reconstructed, lexicon: Lexicon, without: Collection[str] = frozenset(), complete: bool = False
) -> Facts:
    """The facts of a partial graph, for the judge.

    Args:
        without: ids of questions; what no other question states is left out.
        complete: as if the graph told everything there is: only for rehearsing without people.
    """
    return believe(stated_without(statements_of(graph), without), lexicon, complete)[0]


class FactsWithout:
    """A partial graph made ready to be asked for its facts again and again, each time without other questions."""

    def __init__(self, graph: Reconstructed, lexicon: Lexicon) -> None:
        self.stated, self.lexicon = statements_of(graph), lexicon
        self.things = {thing.object_id: thing for thing in believe(self.stated, lexicon)[0].things}
        self.about: dict[str, set[str]] = {}  # question -> the objects of which it states something
        for statement, questions in self.stated.items():
            for key in questions:
                self.about.setdefault(key, set()).update((statement.subject, statement.other))

    def __call__(self, without: Collection[str]) -> Facts:
        """What other questions than these state. Objects of which they state nothing are taken as they are."""
        touched = {object_id for key in without for object_id in self.about.get(key, ())}
        same = {key: thing for key, thing in self.things.items() if key not in touched}
        return believe(stated_without(self.stated, without), self.lexicon, same=same)[0]


def stated_without(stated: Stated, without: Collection[str]) -> Stated:
    """What other questions than these state."""
    if not without:
        return stated
    rest = {statement: [key for key in keys if key not in without] for statement, keys in stated.items()}
    return {statement: keys for statement, keys in rest.items() if keys}
