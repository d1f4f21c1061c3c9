"""A partial scene graph of an image, put together from its answered questions: evidence where no graph was
published (GQA's testdev).

The graph keeps with every fact the questions that state it, so that any of them can be left out again. Facts
that contradict each other are listed, and neither is believed. Those that bear on a question can be cited to people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from pipeline.core.records import Question, Record, Split, Step
from pipeline.language.functional_programs import SCENE, Program, parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemmatize
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.statement_merging import Contradiction, StatementSources, merge_statements
from pipeline.verifier.statements import (
    Statement,
    StatementKind,
    extract_full_answer_statements,
    extract_program_statements,
)


class Fact(Record):
    """Something said: a name, an attribute of a `type`, a relation to `object_id`. `holds` is false when it was
    said not to be so. `questions` are the ids of those that state it."""

    value: str
    type: str = ""
    object_id: str = ""
    holds: bool = True
    question_ids: tuple[str, ...] = ()


class PartialGraphObject(Record):
    """An object as far as known. `none` are things that do not exist, in GQA's spelling: "cup,on,s" of a table
    says that no cup is on it."""

    object_id: str
    names: tuple[Fact, ...] = ()
    attributes: tuple[Fact, ...] = ()
    relations: tuple[Fact, ...] = ()
    absent_relations: tuple[Fact, ...] = ()


STATEMENT_KIND_BY_FIELD: dict[str, StatementKind] = {  # part of an object -> the kind of its facts
    "names": "name",
    "attributes": "attribute",
    "relations": "relation",
    "none": "none",
}


class PartialGraph(Record):
    """A partial graph. It is no published graph: what is missing in it was just not asked.

    Attributes:
        reconstructed: always true. questions: how many questions it rests on.
        scene: place, weather, location. absent: names of which the image has none. alone: names said without
            more ("the cup"): only one is called so, or all that are called so are alike.
    """

    image_id: str
    split: Split
    num_questions: int
    objects: tuple[PartialGraphObject, ...]
    reconstructed: bool = True
    scene: tuple[Fact, ...] = ()
    absent: tuple[Fact, ...] = ()
    unique: tuple[Fact, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()


def build_partial_graph(questions: Iterable[Question], lexicon: Lexicon) -> PartialGraph | None:
    """The partial graph of the one image that all these questions are about; None when none of them has a
    program and an answer.

    Raises:
        UserError: a program is malformed.
    """
    answered = [question for question in questions if question.program and question.answer.strip()]
    if not answered:
        return None
    stated: defaultdict[Statement, list[str]] = defaultdict(list)
    for question in sorted(answered, key=lambda question: question.question_id):
        program = parse_program(question.program, question.question_id)
        statements = [
            *extract_program_statements(program, question.answer.strip()),
            *extract_full_answer_statements(question, program),
        ]
        for statement in dict.fromkeys(statements):
            stated[statement].append(question.question_id)
    facts: defaultdict[tuple[StatementKind, str], list[Fact]] = defaultdict(list)
    for s, ids in sorted(stated.items()):
        fact = Fact(value=s.value, type=s.type, object_id=s.other, holds=s.holds, question_ids=tuple(ids))
        facts[s.kind, s.subject].append(fact)
    object_ids = {object_id for s in stated for object_id in (s.subject, s.other)} - {""}
    return PartialGraph(
        image_id=answered[0].image_id,
        split=answered[0].split,
        num_questions=len(answered),
        objects=tuple(
            PartialGraphObject(
                object_id=key,
                **{part: tuple(facts[kind, key]) for part, kind in STATEMENT_KIND_BY_FIELD.items()},
            )
            for key in sorted(object_ids)
        ),
        scene=tuple(facts["scene", ""]),
        absent=tuple(facts["absent", ""]),
        unique=tuple(facts["alone", ""]),
        contradictions=tuple(merge_statements(stated, lexicon)[1]),
    )


def list_statements(graph: PartialGraph) -> dict[Statement, tuple[str, ...]]:
    """The facts of a graph one by one, with the questions that state them."""
    of_image: tuple[StatementKind, ...] = ("scene", "absent", "alone")
    parts: list[tuple[StatementKind, str, tuple[Fact, ...]]] = [
        (kind, "", getattr(graph, kind)) for kind in of_image
    ]
    for thing in graph.objects:
        parts.extend(
            (kind, thing.object_id, getattr(thing, part)) for part, kind in STATEMENT_KIND_BY_FIELD.items()
        )
    return {
        Statement(kind, subject, fact.type, fact.value, fact.object_id, fact.holds): fact.question_ids
        for kind, subject, facts in parts
        for fact in facts
    }


def build_question_evidence(
    graph: PartialGraph,
    lexicon: Lexicon,
    is_complete: bool = False,
    excluded_question_ids: Collection[str] = (),
) -> Evidence:
    """The facts of a partial graph, for the judge.

    Args:
        complete: as if the graph told everything there is: only for rehearsing without people.
        without: ids of questions that tell nothing here.
    """
    return merge_statements(
        exclude_questions(list_statements(graph), excluded_question_ids), lexicon, is_complete
    )[0]


def exclude_questions(sources: StatementSources, excluded_question_ids: Collection[str]) -> StatementSources:
    """What other questions than these state."""
    if not excluded_question_ids:
        return sources
    rest = {
        statement: [key for key in keys if key not in excluded_question_ids]
        for statement, keys in sources.items()
    }
    return {statement: keys for statement, keys in rest.items() if keys}


class CitedFact(Record):
    """A fact in words, `sweater (11): color blue`, and the ids of the questions that state it."""

    fact: str
    question_ids: tuple[str, ...]


def cite_facts(
    program: Sequence[Step],
    graph: PartialGraph,
    lexicon: Lexicon,
    excluded_question_ids: Collection[str] = frozenset(),
) -> list[CitedFact]:
    """The facts of a partial graph that concern what a program speaks of, without those that only the questions
    `without` state; sorted. [] when there is no program."""
    if not program:
        return []
    stated = exclude_questions(list_statements(graph), excluded_question_ids)
    facts = merge_statements(stated, lexicon)[0]
    labels = {thing.object_id: thing.label or next(iter(thing.names), "thing") for thing in facts.objects}
    concerns = _make_relevance_filter(parse_program(program), stated, facts)
    cited = {_format_statement(s, labels): tuple(ids) for s, ids in stated.items() if concerns(s)}
    return [CitedFact(fact=fact, question_ids=ids) for fact, ids in sorted(cited.items())]


def _make_relevance_filter(
    program: Program, sources: StatementSources, evidence: Evidence
) -> Callable[[Statement], bool]:
    """Tells which statements concern what a program speaks of."""
    names = {operation.name for operation in program} - {"", SCENE}
    kinds = {name: kinds for name in names if (kinds := evidence.lexicon.get_hyponym_closure(name))}
    spoken_of = {
        thing.object_id
        for s in map(evidence.select_objects, kinds)
        for thing in (*s.certain, *(thing for thing, _ in s.possible))
    }
    touching: set[str] = set()
    if len(kinds) < len(names):  # "What is on the table?": things of any name
        pairs = [{s.subject, s.other} for s in sources if s.kind == "relation"]
        touching = touching.union(*(pair for pair in pairs if pair & spoken_of))
    ids = spoken_of | touching
    called = frozenset[str]().union(*kinds.values())
    lemmas = set(map(lemmatize, kinds))
    groups = lemmas.union(*map(evidence.lexicon.get_hypernyms, lemmas))
    types = {operation.type for operation in program} - {""}
    values = {value for operation in program for value in operation.values}

    def concerns(statement: Statement) -> bool:
        subject, value = statement.subject, statement.value
        named = "name" in types or subject in touching or lemmatize(value) in called
        return {
            "name": subject in ids and bool(value) and named,
            "attribute": subject in ids and (value in values or statement.type in types),
            "relation": {subject, statement.other} <= ids,
            "none": subject in ids and value.split(",")[0] in groups,
            "scene": any(operation.name == SCENE for operation in program),
            "absent": value in groups,
            "alone": value in lemmas,
        }[statement.kind]

    return concerns


def _format_statement(statement: Statement, labels: Mapping[str, str]) -> str:
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
        "absent": f"no {value} in the image",
        "alone": f"the {value}, said as of the only one",
    }[statement.kind]
