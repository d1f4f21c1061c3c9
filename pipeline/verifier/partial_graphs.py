"""Build a partial scene graph of an image from its answered questions.

Partial graphs are the evidence for images without a published scene graph, such as GQA's testdev. A graph
keeps with every fact the ids of the questions that state it, so that the facts of a question can be excluded
later. Facts that contradict each other are listed, and neither of them is used as evidence. The facts that
concern a question can be cited to annotators.
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
    """A stated fact with its sources.

    Attributes:
        value: a name, an attribute, a relation or a scene value.
        type: the type of an attribute or a scene value.
        object_id: the id of a relation's object.
        holds: False if the questions state that it is not true.
        question_ids: the questions that state it.
    """

    value: str
    type: str = ""
    object_id: str = ""
    holds: bool = True
    question_ids: tuple[str, ...] = ()


class PartialGraphObject(Record):
    """An object of a partial graph.

    Attributes:
        object_id: its id in GQA.
        names: its names, with "" for the fact that it exists.
        attributes: its attributes and positions.
        relations: its relations to other objects.
        absent_relations: relations in which no object is to it, as GQA writes them. "cup,on,s" of a table
            says that no cup is on the table.
    """

    object_id: str
    names: tuple[Fact, ...] = ()
    attributes: tuple[Fact, ...] = ()
    relations: tuple[Fact, ...] = ()
    absent_relations: tuple[Fact, ...] = ()


# The fields of `PartialGraphObject` that hold facts, each with the kind of its statements.
STATEMENT_KIND_BY_FIELD: dict[str, StatementKind] = {
    "names": "name",
    "attributes": "attribute",
    "relations": "relation",
    "absent_relations": "absent_relation",
}
# The kinds of statements about the whole image. Each is also a field of `PartialGraph`.
_IMAGE_STATEMENT_KINDS: tuple[StatementKind, ...] = ("scene", "absent", "unique")


class PartialGraph(Record):
    """A partial scene graph. It lists only what questions mention.

    Attributes:
        image_id: the image.
        split: the image's split.
        num_questions: the number of questions that it is built from.
        objects: the objects, sorted by id.
        reconstructed: always true, to distinguish the file from published graphs.
        scene: the scene's place, weather and location.
        absent: names of which the image has no object.
        unique: names that a question uses without further description ("the cup"). There is one such object,
            or all of them are alike.
        contradictions: the facts that contradict each other.
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
    """Build the partial graph of one image from its questions.

    Args:
        questions: questions about the same image. Those without a program or an answer are ignored.
        lexicon: the categories and attribute types of the data set.

    Returns:
        The graph, or None if no question has both a program and an answer.

    Raises:
        UserError: a program is malformed.
    """
    answered = [question for question in questions if question.program and question.answer.strip()]
    if not answered:
        return None
    sources: defaultdict[Statement, list[str]] = defaultdict(list)
    for question in sorted(answered, key=lambda question: question.question_id):
        program = parse_program(question.program, question.question_id)
        statements = [
            *extract_program_statements(program, question.answer.strip()),
            *extract_full_answer_statements(question, program),
        ]
        for statement in dict.fromkeys(statements):
            sources[statement].append(question.question_id)
    facts: defaultdict[tuple[StatementKind, str], list[Fact]] = defaultdict(list)
    for s, ids in sorted(sources.items()):
        fact = Fact(value=s.value, type=s.type, object_id=s.other, holds=s.holds, question_ids=tuple(ids))
        facts[s.kind, s.subject].append(fact)
    object_ids = {object_id for s in sources for object_id in (s.subject, s.other)} - {""}
    return PartialGraph(
        image_id=answered[0].image_id,
        split=answered[0].split,
        num_questions=len(answered),
        objects=tuple(
            PartialGraphObject(
                object_id=key,
                **{field: tuple(facts[kind, key]) for field, kind in STATEMENT_KIND_BY_FIELD.items()},
            )
            for key in sorted(object_ids)
        ),
        scene=tuple(facts["scene", ""]),
        absent=tuple(facts["absent", ""]),
        unique=tuple(facts["unique", ""]),
        contradictions=tuple(merge_statements(sources, lexicon)[1]),
    )


def list_statements(graph: PartialGraph) -> dict[Statement, tuple[str, ...]]:
    """Return the facts of a graph as statements, each with the ids of the questions that state it."""
    groups: list[tuple[StatementKind, str, tuple[Fact, ...]]] = [
        (kind, "", getattr(graph, kind)) for kind in _IMAGE_STATEMENT_KINDS
    ]
    for obj in graph.objects:
        groups.extend(
            (kind, obj.object_id, getattr(obj, field)) for field, kind in STATEMENT_KIND_BY_FIELD.items()
        )
    return {
        Statement(kind, subject, fact.type, fact.value, fact.object_id, fact.holds): fact.question_ids
        for kind, subject, facts in groups
        for fact in facts
    }


def build_question_evidence(
    graph: PartialGraph,
    lexicon: Lexicon,
    is_complete: bool = False,
    excluded_question_ids: Collection[str] = (),
) -> Evidence:
    """Index the facts of a partial graph for the verifier.

    Args:
        graph: the partial graph.
        lexicon: the categories and attribute types of the data set.
        is_complete: whether to treat the graph as complete, as a rehearsal without annotators does.
        excluded_question_ids: the questions whose facts to ignore.
    """
    return merge_statements(
        exclude_questions(list_statements(graph), excluded_question_ids), lexicon, is_complete
    )[0]


def exclude_questions(sources: StatementSources, excluded_question_ids: Collection[str]) -> StatementSources:
    """Return the statements that other questions than the excluded ones make."""
    if not excluded_question_ids:
        return sources
    rest = {
        statement: [key for key in keys if key not in excluded_question_ids]
        for statement, keys in sources.items()
    }
    return {statement: keys for statement, keys in rest.items() if keys}


class CitedFact(Record):
    """A fact in words, with the ids of the questions that state it.

    Attributes:
        fact: the fact, such as `sweater (11): color blue`.
        question_ids: the questions that state it.
    """

    fact: str
    question_ids: tuple[str, ...]


def cite_facts(
    program: Sequence[Step],
    graph: PartialGraph,
    lexicon: Lexicon,
    excluded_question_ids: Collection[str] = frozenset(),
) -> list[CitedFact]:
    """Return the facts of a partial graph that concern a question, sorted by their words.

    Args:
        program: the question's program. Without a program no fact is cited.
        graph: the partial graph of the image.
        lexicon: the categories and attribute types of the data set.
        excluded_question_ids: the questions whose facts to ignore.

    Raises:
        UserError: the program is malformed.
    """
    if not program:
        return []
    sources = exclude_questions(list_statements(graph), excluded_question_ids)
    evidence = merge_statements(sources, lexicon)[0]
    labels = {obj.object_id: obj.label or next(iter(obj.names), "object") for obj in evidence.objects}
    is_relevant = _make_relevance_filter(parse_program(program), sources, evidence)
    cited = {_format_statement(s, labels): tuple(ids) for s, ids in sources.items() if is_relevant(s)}
    return [CitedFact(fact=fact, question_ids=ids) for fact, ids in sorted(cited.items())]


def _make_relevance_filter(
    program: Program, sources: StatementSources, evidence: Evidence
) -> Callable[[Statement], bool]:
    """Return a function that decides whether a statement concerns what a program mentions."""
    names = {operation.name for operation in program} - {"", SCENE}
    closures = {name: closure for name in names if (closure := evidence.lexicon.get_hyponym_closure(name))}
    mentioned = {
        obj.object_id
        for selection in map(evidence.select_objects, closures)
        for obj in (*selection.certain, *(obj for obj, _ in selection.possible))
    }
    neighbours: set[str] = set()
    # "What is on the table?" asks for an object of any name.
    if len(closures) < len(names):
        pairs = [{s.subject, s.other} for s in sources if s.kind == "relation"]
        neighbours = neighbours.union(*(pair for pair in pairs if pair & mentioned))
    ids = mentioned | neighbours
    hyponyms = frozenset[str]().union(*closures.values())
    lemmas = set(map(lemmatize, closures))
    hypernyms = lemmas.union(*map(evidence.lexicon.get_hypernyms, lemmas))
    types = {operation.type for operation in program} - {""}
    values = {value for operation in program for value in operation.values}

    def is_relevant(statement: Statement) -> bool:
        subject, value = statement.subject, statement.value
        is_named = "name" in types or subject in neighbours or lemmatize(value) in hyponyms
        return {
            "name": subject in ids and bool(value) and is_named,
            "attribute": subject in ids and (value in values or statement.type in types),
            "relation": {subject, statement.other} <= ids,
            "absent_relation": subject in ids and value.split(",")[0] in hypernyms,
            "scene": any(operation.name == SCENE for operation in program),
            "absent": value in hypernyms,
            "unique": value in lemmas,
        }[statement.kind]

    return is_relevant


def _format_statement(statement: Statement, labels: Mapping[str, str]) -> str:
    subject, value, other = statement.subject, statement.value, statement.other
    negation = "" if statement.holds else "not "
    about = f"{labels.get(subject, 'object')} ({subject})"
    # An absent relation is written "cup,on,s".
    name, relation, role = (*value.split(","), "", "")[:3]
    return {
        "name": f"{subject} is called {value}",
        "attribute": f"{about}: {negation}{statement.type} {value}".replace("  ", " "),
        "relation": f"{about}: {negation}{value} {labels.get(other, 'object')} ({other})",
        "absent_relation": f"no {name} {relation} {about}"
        if role == "s"
        else f"{about}: {relation} no {name}",
        "scene": f"{statement.type}: {negation}{value}",
        "absent": f"no {value} in the image",
        "unique": f"the {value}, mentioned as the only one",
    }[statement.kind]
