"""What one answered question states of its image, fact by fact.

An answered question tells more than its answer: all that it presupposes holds, too. "What color is the cup on
the table?" red -> there is a table, and no second one is meant; there is a cup on it; it is red. An answer in a full
sentence tells more still. GQA marks in it which words are which object: "No, the hat is red." tells that this hat is
red, "The woman is sleeping." that she whom the question called `she` is a woman.
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

# Full answers in GQA's manner, with `#id` for each marked object.
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
# GQA's "piece of furniture", "food items"
_PARTITIVE_PATTERN = re.compile(r"^(?:pieces?|items?|types?|kinds?) of | items?$")
_VALUE_AFFIX_PATTERN = re.compile(
    r"^(?:made (?:out )?of|made from|(?:on|in|at) the) |(?: side| part)? of the \w+$"
)
ObjectIds = tuple[str, ...]
StatementKind = Literal["name", "attribute", "relation", "none", "scene", "absent", "alone"]


class Statement(msgspec.Struct, frozen=True, order=True):
    """One fact.

    Attributes:
        kind: name        the object goes by the name `value` ("" for an object of which no name is told)
              attribute   it has (`holds`), or has not, the attribute or position `value` of `type`
              relation    it is, or is not, in the relation `value` to the object `other`
              none        nothing is in a relation to it: `value` is GQA's spelling, "cup,on,s"
              scene       the scene's place, weather ... (`type`) is, or is not, `value`
              absent      the image has no `value`
              alone       something was asked of "the cup" without more: there is one, or all are alike. Who speaks of
                          "the furniture" and means a cupboard has not said that there is no chair
        subject: the object's id; "" for scene, absent and alone.
    """

    kind: StatementKind
    subject: str = ""
    type: str = ""
    value: str = ""
    other: str = ""
    holds: bool = True


def extract_program_statements(program: Program, answer: str) -> Iterator[Statement]:
    """What a program with this answer states."""
    truths = _infer_step_truths(program, answer)
    ids = [program[find_root_step(program, index)].object_ids for index in range(len(program))]
    if program[-1].verb == "query" and program[-1].type == "name":  # first: it is what the object is called
        yield from make_name_statements(answer, ids[program[-1].inputs[0]])
    for index, operation in enumerate(program):
        if operation.verb == "select":
            yield from _extract_select_statements(program, index)
        elif operation.verb in ("filter", "relate", "verify", "query", "choose"):
            source = operation.inputs[0]
            of_scene = program[source].name == SCENE and operation.verb not in OBJECT_SET_VERBS
            for value, truth in _get_stated_values(operation, answer, truths[index]):
                if of_scene:
                    yield from _extract_scene_statements(operation, value, truth)
                else:
                    yield from _extract_object_statements(operation, value, ids[source], truth)


def make_name_statements(name: str, ids: ObjectIds) -> Iterator[Statement]:
    """The things of these ids exist and go by a name."""
    word = "" if name in WILDCARD_NAMES or name == SCENE else "person" if name in PRONOUN_REFERENTS else name
    for object_id in ids:
        yield Statement("name", object_id, value=word)


def make_scene_statement(type_: str, value: str, holds: bool = True) -> Statement:
    return Statement("scene", type="place" if type_ in ("", "room") else type_, value=value, holds=holds)


def _extract_select_statements(program: Program, index: int) -> Iterator[Statement]:
    operation = program[index]
    yield from make_name_statements(operation.name, operation.object_ids)
    users = [user for user in program if index in user.inputs]
    directly = users and all(map(_is_direct_query, users)) and operation.name not in WILDCARD_NAMES
    word = lemmatize(operation.name)
    if operation.is_absent:  # also before a filter: "red windows" has an id where there are others
        yield Statement("absent", value=word)
    elif operation.object_ids and directly:
        yield Statement("alone", value=word)


def _is_direct_query(user: Operation) -> bool:
    """Whether a step asks something of "the cup", so that only one can be meant. "Who is wearing a hat?" does not,
    nor does "Are all the cups red?"."""
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
    """A value of things, or how the operation's things relate to them; None says nothing."""
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
            yield Statement("none", anchor, value=f"{lemmatize(operation.name)},{relation},{role}")
        for object_id in operation.object_ids:
            subject, other = (object_id, anchor) if operation.is_subject else (anchor, object_id)
            if subject != other:  # GQA: "the car behind the other car", with one id for both
                yield Statement("relation", subject, value=relation, other=other, holds=holds)


def _infer_step_truths(program: Program, answer: str) -> list[bool | None]:
    """Which steps are known to be true or false, from the final answer down; what is presupposed is true."""
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
            for i in phrase:  # "no" to several claims at once tells of none
                truths[i] = truth if truth or claims == 1 else None
    return truths


def _get_stated_values(
    operation: Operation, answer: str, truth: bool | None
) -> list[tuple[str, bool | None]]:
    """What is said of each value: of `query` the answer, of `choose` each option, else the one there is."""
    if operation.verb == "query":
        return [(answer, True)]
    if operation.verb != "choose":
        return [(operation.values[0], truth)]
    meant = [
        option
        for option in operation.values
        if is_same_answer(option, answer) or option_to_answer(option) == answer
    ]
    return [(option, option == meant[0]) for option in operation.values] if len(meant) == 1 else []


def extract_full_answer_statements(question: Question, program: Program) -> Iterator[Statement]:
    """What the full answer of a question tells; sentences of another form than GQA's tell nothing but names."""
    sentence, names = _mark_objects(question)
    yield from names
    if program[-1].verb in ("same", "different"):
        yield from _parse_comparison(sentence, program)
    elif sentence.startswith("no "):
        yield from _parse_correction(sentence, program)


def _mark_objects(question: Question) -> tuple[str, list[Statement]]:
    """The sentence with `#id` for each marked object, and by which names it calls them."""
    words = question.full_answer.lower().replace(",", "").replace("#", "").rstrip(". ").split()
    names: list[Statement] = []
    marks = question.full_answer_annotations
    spans = [(*found, marks[position]) for position in marks if (found := parse_word_range(position))]
    for start, stop, object_id in sorted(spans, key=lambda span: span[0]):
        name = _PARTITIVE_PATTERN.sub("", " ".join(words[start:stop]).removesuffix("'s"))
        if name and "#" not in name and "," not in object_id:
            names += make_name_statements(name, (object_id,))
            words[start:stop] = [f"#{object_id}", *[""] * (stop - start - 1)]
    return " ".join(filter(None, words)), names


def _parse_correction(sentence: str, program: Program) -> Iterator[Statement]:
    """ "No, ...": what is so instead."""
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
        names = {
            canonicalize_relation(op.values[0]) for op in program if op.verb == "relate" or op.type == "rel"
        }
        if canonicalize_relation(match[2]) in names | {ANTONYMS.get(name) for name in names}:
            yield Statement("relation", match[1], value=match[2], other=match[3])
    elif (
        (match := _SCENE_CORRECTION_PATTERN.fullmatch(sentence))
        and asked.verb == "verify"
        and program[0].name == SCENE
    ):
        yield make_scene_statement(asked.type, match[1])


def _parse_partial_correction(
    object_id: str, confirmed_value: str, instead: str, program: Program
) -> Iterator[Statement]:
    """ "No, the knives are metallic but silver." to "black and metallic": they are metal, and silver in colour."""
    asked = [op for op in program if op.verb == "verify" and op.type != "rel" and not op.is_negated]
    confirmed = [op for op in asked if is_same_answer(op.values[0], confirmed_value)]
    if (len(asked), len(confirmed)) == (2, 1):
        (wrong,) = (op for op in asked if op is not confirmed[0])
        yield Statement("attribute", object_id, confirmed[0].type, confirmed[0].values[0])
        yield _make_attribute_statement(object_id, wrong.type, instead)


def _parse_comparison(sentence: str, program: Program) -> Iterator[Statement]:
    """ "Yes, the jacket is blue and the hat is white.", "Yes, all the animals are horses." """
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
