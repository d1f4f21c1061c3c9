"""Check one question of the sample against the facts of its image.

- The answer is correct, and no other answer is correct.
- The object ids in the program exist. They belong to objects with the name that stands next to the id, and the step selects these objects.
  `-` occurs only where the step selects no object.
- Annotations point to words that name their object, and every object that the text names is annotated.
- Entailed and equivalent questions are about the same image, and their answers follow from the answer to this question.
- semanticStr matches the program, and the full answer contains the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product

import msgspec

from pipeline.core.errors import UserError
from pipeline.core.records import Step
from pipeline.language.functional_programs import OBJECT_SET_VERBS, SCENE, Operation, Program, parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemmatize
from pipeline.language.similarity import option_to_answer
from pipeline.verifier.evidence import Evidence, ObjectEvidence
from pipeline.verifier.verification import ExecutionResult, execute_program
from research.synthetic_world.entailment import explain_non_entailment
from research.synthetic_world.ontology import ATTRIBUTE_TYPES, CATEGORIES

LEXICON = Lexicon(CATEGORIES, ATTRIBUTE_TYPES)


class WordMarks(msgspec.Struct, frozen=True, rename="camel"):
    """GQA's annotations: position of words ("3", or "2:4" for words 2 and 3) -> object id."""

    question: dict[str, str]
    answer: dict[str, str]
    full_answer: dict[str, str]


class CheckedQuestion(msgspec.Struct, frozen=True, rename="camel"):
    """The checked fields of an entry of a question file."""

    image_id: str
    question: str
    answer: str
    full_answer: str
    semantic: tuple[Step, ...]
    semantic_str: str
    annotations: WordMarks
    entailed: tuple[str, ...]
    equivalent: tuple[str, ...]


def find_faults(
    question_id: str, entry: CheckedQuestion, entries: Mapping[str, CheckedQuestion], facts: Evidence
) -> Iterator[str]:
    """Yield the faults of a question.

    Args:
        question_id: Id of the question.
        entry: The question.
        entries: All questions of the same split.
        facts: The complete ground truth of the image.
    """
    try:
        program = parse_program(entry.semantic, question_id)
    except UserError as error:
        yield from error.problems[1:]
        return
    outcome = execute_program(program, facts)
    if outcome.answerability != "answerable":
        yield f"has no single answer: {outcome.category or outcome.answerability}: {outcome.detail}"
    elif outcome.answers != (entry.answer,):
        yield f"the answer is {' or '.join(outcome.answers or outcome.possible_answers)}, not {entry.answer}"
    yield from _check_ids(
        program, entry.answer, outcome, {thing.object_id: thing for thing in facts.objects}, facts
    )
    yield from _check_annotations(entry, program, {thing.object_id: thing for thing in facts.objects})
    yield from _check_entailed(question_id, entry, entries)
    yield from _check_spelling(entry)


def _check_ids(
    program: Program,
    answer: str,
    outcome: ExecutionResult,
    things: Mapping[str, ObjectEvidence],
    facts: Evidence,
) -> Iterator[str]:
    meant: list[tuple[str, ...]] = []
    for index, operation in enumerate(program):
        meant.append(meant[operation.inputs[0]] if operation.verb == "filter" else operation.object_ids)
        found = (
            {thing.object_id for thing in outcome.found_objects[index]}
            if index < len(outcome.found_objects)
            else set()
        )
        kinds = LEXICON.get_hyponym_closure(operation.name)
        for object_id in operation.object_ids:
            if object_id not in things:
                yield f"step {index}: {object_id} is not an object of the image"
            elif kinds is not None and kinds.isdisjoint(things[object_id].names):
                yield f"step {index}: {object_id} is a {things[object_id].label}, not a {operation.name}"
        names_things = operation.verb in ("select", "relate") or operation.type == "rel"
        if names_things and operation.name != SCENE and not operation.object_ids and not operation.is_absent:
            yield f"step {index}: {operation.name} has no object id"
        if operation.is_absent and (found or operation.verb not in OBJECT_SET_VERBS):
            yield f"step {index}: `-` for {operation.name}, of which there is one"
        if (
            operation.verb in OBJECT_SET_VERBS
            and not operation.is_asserted
            and index < len(outcome.found_objects)
        ):
            for object_id in meant[index]:
                if object_id not in found:
                    yield f"step {index}: {object_id} is not among the objects that {operation.verb} finds"
        last = index == len(program) - 1
        if (operation.verb == "relate" and not operation.is_asserted) or (operation.type == "rel" and last):
            for mine, theirs in product(operation.object_ids, meant[operation.inputs[0]]):
                known = mine in things and theirs in things
                if known and not _is_related(
                    operation, answer if last else "yes", things[mine], things[theirs], facts
                ):
                    yield f"step {index}: {mine} and {theirs} are not related as question and answer say"


def _is_related(
    operation: Operation, answer: str, thing: ObjectEvidence, anchor: ObjectEvidence, facts: Evidence
) -> bool:
    """Return whether two objects are related as the answer says."""
    pair = (thing, anchor) if operation.is_subject else (anchor, thing)
    held = [name for name in operation.values if facts.evaluate_relation(pair[0], name, pair[1])]
    if operation.verb == "choose":
        return [option_to_answer(name) for name in held] == [answer]
    return bool(held) is (answer != "no")


def _check_annotations(
    entry: CheckedQuestion, program: Program, things: Mapping[str, ObjectEvidence]
) -> Iterator[str]:
    in_program = {object_id for operation in program for object_id in operation.object_ids}
    marks = entry.annotations
    for kind, text, words in (
        ("question", entry.question, marks.question),
        ("answer", entry.answer, marks.answer),
        ("full answer", entry.full_answer, marks.full_answer),
    ):
        for position, object_id in words.items():
            start, _, end = position.partition(":")
            span = text.split()[int(start) : int(end or int(start) + 1)]
            if object_id not in things:
                yield f"the {kind} is annotated with {object_id}, which is not an object of the image"
            elif not _is_name_of(span, things[object_id]):
                said = " ".join(span)
                what = f"{object_id}, a {things[object_id].label}"
                yield f"words {position} of the {kind} ({said}) do not name {what}"
            elif kind != "full answer" and object_id not in in_program:
                yield f"the {kind} is annotated with {object_id}, which is not in its program"
    said = " ".join(lemmatize(word) for word in _plain(entry.question.split()))
    for operation in program:
        named = f" {lemmatize(operation.name)} " in f" {said} "
        if named and operation.object_ids and {*marks.question.values()}.isdisjoint(operation.object_ids):
            ids = " or ".join(operation.object_ids)
            yield f"it says {operation.name}, but no word is annotated with {ids}"


def _plain(words: list[str]) -> list[str]:
    return [word.lower().strip("?.,'") for word in words]


def _is_name_of(words: list[str], thing: ObjectEvidence) -> bool:
    """Return whether some consecutive words are a name or a category of the object."""
    plain = _plain(words)
    rows = (" ".join(plain[start:end]) for start, end in combinations(range(len(plain) + 1), 2))
    return any(
        kinds and not kinds.isdisjoint(thing.names) for kinds in map(LEXICON.get_hyponym_closure, rows)
    )


def _check_entailed(
    question_id: str, entry: CheckedQuestion, entries: Mapping[str, CheckedQuestion]
) -> Iterator[str]:
    if question_id not in entry.equivalent:
        yield "is not among its own equivalent questions"
    for kind, ids in (("entailed", entry.entailed), ("equivalent", entry.equivalent)):
        for other_id in ids:
            other = entries.get(other_id)
            if other is None or other.image_id != entry.image_id:
                yield f"{kind} {other_id}: not a question about this image"
            elif other_id != question_id:
                try:
                    known = (parse_program(entry.semantic), entry.answer)
                    doubt = explain_non_entailment(
                        known, (parse_program(other.semantic), other.answer), LEXICON
                    )
                except UserError:
                    doubt = "its program is malformed"
                if doubt:
                    yield f"{kind} {other_id} ({other.question} {other.answer}): does not follow: {doubt}"


def _check_spelling(entry: CheckedQuestion) -> Iterator[str]:
    steps = []
    for step in entry.semantic:
        built_on = f" [{', '.join(map(str, step.dependencies))}]" if step.dependencies else ""
        steps.append(f"{step.operation}: {step.argument}{built_on}")
    if "->".join(steps) != entry.semantic_str:
        yield f"semanticStr is not its program: {'->'.join(steps)}"
    said = entry.full_answer.lower()
    if not (said.startswith(entry.answer) if entry.answer in ("yes", "no") else entry.answer in said):
        yield f"the full answer ({entry.full_answer}) does not say {entry.answer}"
