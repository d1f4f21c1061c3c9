"""Extract the facts that an answered question states about its image.

An answered question states more than its answer, because everything that it presupposes holds, too. "What
color is the cup on the table?" with the answer "red" states that a table exists, that a cup is on the table
and that this cup is red. GQA also has a full answer for each question, and annotates which words of the full
answer denote which object. So the full answer "No, the hat is red." states that a hat with a known id is red.
The full answer "The woman is sleeping." states that the object that the question calls "she" is a woman.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from pipeline.core.records import Question
from pipeline.language.functional_programs import (
    BOOLEAN_VERBS,
    OBJECT_SET_VERBS,
    SCENE,
    Operation,
    Program,
    collect_noun_phrase,
    find_root_step,
)
from pipeline.language.nouns import lemmatize
from pipeline.language.relations import ANTONYMS, canonicalize_relation
from pipeline.language.sentence import parse_word_range
from pipeline.language.similarity import is_same_answer, option_to_answer
from pipeline.language.word_lists import PRONOUN_REFERENTS, WILDCARD_NAMES

_OPPOSITE_LOCATIONS = {"indoors": "outdoors", "outdoors": "indoors"}

# The formats of GQA's full answers. The answers are in lower case, without commas, and have `#id` in place of
# each annotated object.
_ARTICLE_PATTERN = r"(?:the |an? |some )?"
_OBJECT_PATTERN = _ARTICLE_PATTERN + r"#(\S+)"
_PARTIAL_CORRECTION_PATTERN = re.compile(rf"no {_OBJECT_PATTERN} (?:is|are) ([^#]+) but ([^#]+)")
_EXISTS_BUT_PATTERN = re.compile(
    rf"no there (?:is|are) {_OBJECT_PATTERN} but (?:it|he|she|they) (?:is|are) ([^#]+)"
)
_VALUE_CORRECTION_PATTERN = re.compile(rf"no {_OBJECT_PATTERN} (?:is|are) ([^#]+)")
_RELATION_CORRECTION_PATTERN = re.compile(
    rf"no (?:there (?:is|are) )?{_OBJECT_PATTERN} (?:is |are )?([^#]+?) {_OBJECT_PATTERN}"
)
_TWO_VALUES_PATTERN = re.compile(
    rf"(?:yes|no) {_OBJECT_PATTERN} (?:is|are) ([^#]+) and {_OBJECT_PATTERN} (?:is|are) ([^#]+)"
)
_SHARED_VALUE_PATTERN = re.compile(rf"(?:yes|no) both {_OBJECT_PATTERN} and {_OBJECT_PATTERN} are ([^#]+)")
_ALL_SAME_PATTERN = re.compile(r"yes all the [^#]+ are ([^#]+)")
_SCENE_CORRECTION_PATTERN = re.compile(rf"no (?:it|this) is (?:showing )?{_ARTICLE_PATTERN}([^#]+)")
# Words around a name: "piece of furniture", "food items".
_PARTITIVE_PATTERN = re.compile(r"^(?:pieces?|items?|types?|kinds?) of | items?$")
# Words around a value: "made of wood", "on the left side of the image".
_VALUE_AFFIX_PATTERN = re.compile(
    r"^(?:made (?:out )?of|made from|(?:on|in|at) the) |(?: side| part)? of the \w+$"
)
ObjectIds = tuple[str, ...]
StatementKind = Literal["name", "attribute", "relation", "absent_relation", "scene", "absent", "unique"]


class Statement(msgspec.Struct, frozen=True, order=True):
    """One fact about an image.

    Attributes:
        kind: What the fact says:

            - `name`: the object `subject` has the name `value`. If `value` is "", the object only exists.
            - `attribute`: the object `subject` has the attribute or position `value` of the type `type`.
            - `relation`: the object `subject` is in the relation `value` to the object `other`.
            - `absent_relation`: no object of a name has a relation to the object `subject`. `value` is
              written as in GQA: for a table, "cup,on,s" says that no cup is on the table.
            - `scene`: the scene's place, weather or location (`type`) is `value`.
            - `absent`: the image has no object of the name `value`.
            - `unique`: a question speaks of "the cup" without any further description. So the image has one
              object of the name `value`, or all objects of the name are alike. A category name is not unique
              in this sense: a question about "the furniture" may mean a cupboard although there are chairs.
        subject: The object's id, or "" for the kinds scene, absent and unique.
        type: The type of the value, or "" if the value has no type.
        value: The name, attribute, relation or scene value.
        other: For the kind relation, the id of the object to which the relation refers. Otherwise "".
        holds: False if the question states that the attribute, relation or scene value is not true.
    """

    kind: StatementKind
    subject: str = ""
    type: str = ""
    value: str = ""
    other: str = ""
    holds: bool = True


def extract_program_statements(program: Program, answer: str) -> Iterator[Statement]:
    """Yield the facts that a program with its answer states.

    Args:
        program: The parsed program.
        answer: The short answer.
    """
    truths = _infer_step_truths(program, answer)
    ids = [program[find_root_step(program, index)].object_ids for index in range(len(program))]
    # The answer to "What is it?" is the object's name. This name is yielded before the name in the program.
    if program[-1].verb == "query" and program[-1].type == "name":
        yield from make_name_statements(answer, ids[program[-1].inputs[0]])
    for index, operation in enumerate(program):
        if operation.verb == "select":
            yield from _extract_select_statements(program, index)
        elif operation.verb in ("filter", "relate", "verify", "query", "choose"):
            source = operation.inputs[0]
            is_of_scene = program[source].name == SCENE and operation.verb not in OBJECT_SET_VERBS
            for value, truth in _get_stated_values(operation, answer, truths[index]):
                if is_of_scene:
                    yield from _extract_scene_statements(operation, value, truth)
                else:
                    yield from _extract_object_statements(operation, value, ids[source], truth)


def make_name_statements(name: str, ids: ObjectIds) -> Iterator[Statement]:
    """Yield for each object id the statement that the object exists and has a name.

    The pronouns "he" and "she" give the name "person". Other pronouns, and names that match any object, give
    the name "", which states only that the object exists.

    >>> [statement.value for statement in make_name_statements("she", ("7",))]
    ['person']
    """
    value = "" if name in WILDCARD_NAMES or name == SCENE else "person" if name in PRONOUN_REFERENTS else name
    for object_id in ids:
        yield Statement("name", object_id, value=value)


def make_scene_statement(type_: str, value: str, holds: bool = True) -> Statement:
    """Return a statement about the scene. The types "" and "room" mean the scene's place."""
    return Statement("scene", type="place" if type_ in ("", "room") else type_, value=value, holds=holds)


def _extract_select_statements(program: Program, index: int) -> Iterator[Statement]:
    operation = program[index]
    yield from make_name_statements(operation.name, operation.object_ids)
    users = [user for user in program if index in user.inputs]
    is_asked_directly = users and all(map(_is_direct_query, users)) and operation.name not in WILDCARD_NAMES
    lemma = lemmatize(operation.name)
    # If a filter follows, the ids are those before the filter: in "Are there red windows?", the step that
    # selects windows has object ids if the image has any windows.
    if operation.is_absent:
        yield Statement("absent", value=lemma)
    elif operation.object_ids and is_asked_directly:
        yield Statement("unique", value=lemma)


def _is_direct_query(user: Operation) -> bool:
    """Return whether a step asks directly about "the cup", so that only one object can be meant.

    "Who is wearing a hat?" and "Are all the cups red?" do not ask about an object in this way.
    """
    compares = user.verb in ("same", "different", "common") and len(user.inputs) == 2
    return compares or user.verb in ("query", "verify", "choose")


def _extract_scene_statements(operation: Operation, value: str, truth: bool | None) -> Iterator[Statement]:
    if truth is False and value in _OPPOSITE_LOCATIONS:
        value, truth = _OPPOSITE_LOCATIONS[value], True
    if truth is not None:
        yield make_scene_statement(operation.type, value, truth is not operation.is_negated)


def _extract_object_statements(
    operation: Operation, value: str, ids: ObjectIds, truth: bool | None
) -> Iterator[Statement]:
    """Yield what an operation states of the objects `ids`.

    Args:
        operation: The operation.
        value: A value of the operation.
        ids: The ids of the objects.
        truth: Whether the value is true of the objects. If `truth` is None (not known), only the names in the
            program are stated.
    """
    holds = truth is not operation.is_negated
    if operation.verb == "relate" or operation.type == "rel":
        yield from make_name_statements(operation.name, operation.object_ids)
        if truth is not None and not value.startswith("same "):
            yield from _extract_relation_statements(operation, value, ids, holds)
    elif operation.type == "name":
        yield from make_name_statements(value, ids) if truth is not None and holds else ()
    elif truth is not None:
        for object_id in ids:
            yield Statement("name", object_id)
            yield Statement("attribute", object_id, operation.type, value, holds=holds)


def _extract_relation_statements(
    operation: Operation, relation: str, anchors: ObjectIds, holds: bool
) -> Iterator[Statement]:
    for anchor in anchors:
        if operation.is_absent and not holds:
            role = "s" if operation.is_subject else "o"
            yield Statement("absent_relation", anchor, value=f"{lemmatize(operation.name)},{relation},{role}")
        for object_id in operation.object_ids:
            subject, other = (object_id, anchor) if operation.is_subject else (anchor, object_id)
            # GQA gives one id to both cars of "the car behind the other car".
            if subject != other:
                yield Statement("relation", subject, value=relation, other=other, holds=holds)


def _infer_step_truths(program: Program, answer: str) -> list[bool | None]:
    """Return for each step whether its condition is known to be true or false, otherwise None.

    Conditions that are presupposed are true.
    """
    truths: list[bool | None] = [
        True if operation.verb in OBJECT_SET_VERBS else None for operation in program
    ]
    if program[-1].verb in BOOLEAN_VERBS:
        truths[-1] = {"yes": True, "no": False}.get(answer)
    for operation, truth in zip(reversed(program), reversed(truths), strict=True):
        if (operation.verb, truth) in (("and", True), ("or", False)):
            for i in operation.inputs:
                truths[i] = truth
        elif operation.verb == "exist":
            phrase = collect_noun_phrase(program, operation.inputs[0])
            claims = sum(program[i].verb in ("filter", "relate") for i in phrase)
            # A "no" to several claims at once does not say which of them is false.
            for i in phrase:
                truths[i] = truth if truth or claims == 1 else None
    return truths


def _get_stated_values(
    operation: Operation, answer: str, truth: bool | None
) -> list[tuple[str, bool | None]]:
    """Return each value of an operation, and whether the value is true.

    The value of `query` is the answer. The values of `choose` are its options. If the answer does not match
    exactly one option, `choose` states nothing.
    """
    if operation.verb == "query":
        return [(answer, True)]
    if operation.verb != "choose":
        return [(operation.values[0], truth)]
    chosen = [
        option
        for option in operation.values
        if is_same_answer(option, answer) or option_to_answer(option) == answer
    ]
    return [(option, option == chosen[0]) for option in operation.values] if len(chosen) == 1 else []


def extract_full_answer_statements(question: Question, program: Program) -> Iterator[Statement]:
    """Yield the facts that the full answer of a question states.

    A full answer that does not have one of GQA's formats states only the names of its annotated objects.

    Args:
        question: The question. Its full answer and the annotations of the full answer are used.
        program: The question's parsed program.
    """
    sentence, names = _mark_objects(question)
    yield from names
    if program[-1].verb in ("same", "different"):
        yield from _parse_comparison(sentence, program)
    elif sentence.startswith("no "):
        yield from _parse_correction(sentence, program)


def _mark_objects(question: Question) -> tuple[str, list[Statement]]:
    """Return the full answer with `#id` in place of each annotated object, and the names of these objects."""
    words = question.full_answer.lower().replace(",", "").replace("#", "").rstrip(". ").split()
    names: list[Statement] = []
    annotations = question.full_answer_annotations
    spans = [
        (*found, annotations[position]) for position in annotations if (found := parse_word_range(position))
    ]
    for start, stop, object_id in sorted(spans, key=lambda span: span[0]):
        name = _PARTITIVE_PATTERN.sub("", " ".join(words[start:stop]).removesuffix("'s"))
        if name and "#" not in name and "," not in object_id:
            names += make_name_statements(name, (object_id,))
            words[start:stop] = [f"#{object_id}", *[""] * (stop - start - 1)]
    return " ".join(filter(None, words)), names


def _parse_correction(sentence: str, program: Program) -> Iterator[Statement]:
    """Yield the facts that a full answer of the format "No, ..." states instead of what was asked."""
    asked = program[-1]
    if match := _EXISTS_BUT_PATTERN.fullmatch(sentence):
        types = {op.type for op in program if op.verb == "filter" and op.is_asserted and not op.is_negated}
        if len(types) == 1:
            yield _make_attribute_statement(match[1], types.pop(), match[2])
    elif match := _PARTIAL_CORRECTION_PATTERN.fullmatch(sentence):
        yield from _parse_partial_correction(match[1], _strip_affixes(match[2]), match[3], program)
    elif match := _VALUE_CORRECTION_PATTERN.fullmatch(sentence):
        if asked.verb == "verify" and asked.type not in ("rel", "name") and not asked.is_negated:
            yield _make_attribute_statement(match[1], asked.type, match[2])
    elif match := _RELATION_CORRECTION_PATTERN.fullmatch(sentence):
        relations = {
            canonicalize_relation(op.values[0]) for op in program if op.verb == "relate" or op.type == "rel"
        }
        if canonicalize_relation(match[2]) in relations | {ANTONYMS.get(name) for name in relations}:
            yield Statement("relation", match[1], value=match[2], other=match[3])
    elif (
        (match := _SCENE_CORRECTION_PATTERN.fullmatch(sentence))
        and asked.verb == "verify"
        and program[0].name == SCENE
    ):
        yield make_scene_statement(asked.type, match[1])


def _parse_partial_correction(
    object_id: str, confirmed_value: str, correct_value: str, program: Program
) -> Iterator[Statement]:
    """Parse "No, the knives are metallic but silver.", the answer to "Are the knives black and metallic?".

    This answer states that the material of the knives is metal and that their color is silver.
    """
    asked = [op for op in program if op.verb == "verify" and op.type != "rel" and not op.is_negated]
    confirmed = [op for op in asked if is_same_answer(op.values[0], confirmed_value)]
    if (len(asked), len(confirmed)) == (2, 1):
        (wrong,) = (op for op in asked if op is not confirmed[0])
        yield Statement("attribute", object_id, confirmed[0].type, confirmed[0].values[0])
        yield _make_attribute_statement(object_id, wrong.type, correct_value)


def _parse_comparison(sentence: str, program: Program) -> Iterator[Statement]:
    """Parse "Yes, the jacket is blue and the hat is white." and "Yes, all the animals are horses."."""
    asked = program[-1]
    values: list[tuple[str, str]] = []
    if match := _TWO_VALUES_PATTERN.fullmatch(sentence):
        values = [(match[1], match[2]), (match[3], match[4])]
    elif match := _SHARED_VALUE_PATTERN.fullmatch(sentence):
        values = [(match[1], match[3]), (match[2], match[3])]
    elif (match := _ALL_SAME_PATTERN.fullmatch(sentence)) and len(asked.inputs) == 1:
        values = [(object_id, match[1]) for object_id in program[asked.inputs[0]].object_ids]
    for object_id, value in values:
        if asked.type in ("type", "name", "species"):
            yield from make_name_statements(value, (object_id,))
        else:
            yield _make_attribute_statement(object_id, asked.type, value)


def _make_attribute_statement(object_id: str, type_: str, value: str) -> Statement:
    return Statement("attribute", object_id, type_, _strip_affixes(value))


def _strip_affixes(value: str) -> str:
    return _VALUE_AFFIX_PATTERN.sub("", value)
