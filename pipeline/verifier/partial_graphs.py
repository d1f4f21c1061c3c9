"""Build a partial scene graph of an image from its answered questions.

Partial graphs are the evidence for images without a published scene graph, such as the images of GQA's split
testdev. A graph keeps with every fact the ids of the questions that state the fact, so that the facts of a
question can be excluded later. Facts that contradict each other are listed. They are not used as evidence,
except for several values of one attribute type (see `Contradiction.is_kept`). The facts that concern a
question can be cited to annotators.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from msgspec import UNSET, UnsetType

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
    """A stated fact, with the questions that state it.

    Attributes:
        value: A name, an attribute, a relation or a scene value.
        type: The type of an attribute or a scene value, or "".
        object_id: The id of the object to which a relation refers, or "" for other facts.
        holds: False if the questions state that the fact is not true.
        question_ids: The ids of the questions that state the fact.
    """

    value: str
    type: str = ""
    object_id: str = ""
    holds: bool = True
    question_ids: tuple[str, ...] = ()


class PartialGraphObject(Record):
    """An object of a partial graph.

    Attributes:
        object_id: The id of the object in GQA.
        names: The names of the object. The value "" states only that the object exists.
        attributes: The attributes and positions of the object.
        relations: The relations of the object to other objects.
        absent_relations: Relations that no object has to this object, as GQA writes them. For a table,
            "cup,on,s" says that no cup is on the table.
    """

    object_id: str
    names: tuple[Fact, ...] = ()
    attributes: tuple[Fact, ...] = ()
    relations: tuple[Fact, ...] = ()
    absent_relations: tuple[Fact, ...] = ()


# Field of `PartialGraphObject` -> the kind of the statements in that field.
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
        image_id: The id of the image.
        split: The split of the image in the source.
        num_questions: The number of questions from which the graph is built.
        objects: The objects, sorted by id.
        reconstructed: Always true, to distinguish the file from published graphs.
        scene: The scene's place, weather and location.
        absent: Names that apply to no object in the image.
        unique: Names that a question uses without further description ("the cup"). The image has one object
            of such a name, or all objects of the name are alike.
        contradictions: The facts that contradict each other.
        is_drafted: True if a model wrote any of the questions (`rgqa draft`). The field is missing otherwise.
        is_from_text: True if all programs were derived from the texts of the questions. Then the ids of the objects are phrases, and
            not the ids of a scene graph. The field is missing otherwise.
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
    is_drafted: bool | UnsetType = UNSET
    is_from_text: bool | UnsetType = UNSET


def build_partial_graph(questions: Iterable[Question], lexicon: Lexicon) -> PartialGraph | None:
    """Build the partial graph of one image from its questions.

    Args:
        questions: Questions about the same image. Questions without a program or an answer are ignored.
        lexicon: The categories and attribute types of the data set.

    Returns:
        The graph, or None if no question has both a program and an answer.

    Raises:
        UserError: A program is malformed.
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
        is_drafted=any(question.drafted_by is not UNSET for question in answered) or UNSET,
        is_from_text=all(question.program_from_text for question in answered) or UNSET,
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
        graph: The partial graph.
        lexicon: The categories and attribute types of the data set.
        is_complete: Whether to treat the graph as complete, as a rehearsal without annotators does.
        excluded_question_ids: The ids of the questions whose facts are ignored.
    """
    evidence = merge_statements(
        exclude_questions(list_statements(graph), excluded_question_ids), lexicon, is_complete
    )[0]
    return replace(evidence, is_drafted=True) if graph.is_drafted is True else evidence


def exclude_questions(sources: StatementSources, excluded_question_ids: Collection[str]) -> StatementSources:
    """Return the statements that questions other than the excluded questions make."""
    if not excluded_question_ids:
        return sources
    rest = {
        statement: [key for key in keys if key not in excluded_question_ids]
        for statement, keys in sources.items()
    }
    return {statement: keys for statement, keys in rest.items() if keys}


class CitedFact(Record):
    """A fact in words, with the questions that state it.

    Attributes:
        fact: The fact, such as `sweater (11): color blue`.
        question_ids: The ids of the questions that state the fact.
    """

    fact: str
    question_ids: tuple[str, ...]


def cite_facts(
    program: Sequence[Step],
    graph: PartialGraph,
    lexicon: Lexicon,
    excluded_question_ids: Collection[str] = frozenset(),
) -> list[CitedFact]:
    """Return the facts of a partial graph that concern a question, sorted alphabetically.

    Args:
        program: The question's program. If the program is empty, no fact is cited.
        graph: The partial graph of the image.
        lexicon: The categories and attribute types of the data set.
        excluded_question_ids: The ids of the questions whose facts are ignored.

    Raises:
        UserError: The program is malformed.
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
    # "What is on the table?" asks for an object of any name. So all objects that are in a relation to a
    # mentioned object are relevant, too.
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
