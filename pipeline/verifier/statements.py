"""What one answered question states of its picture, fact by fact.

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
from pipeline.language.functional_programs import FINDS, SCENE, TRUTHS, Operation, Program, noun_phrase, root
from pipeline.language.nouns import lemma
from pipeline.language.relations import ANTONYMS, plain_relation
from pipeline.language.sentence import annotated_words
from pipeline.language.similarity import same_answer, spoken
from pipeline.language.word_lists import ANYTHING, PERSONS

_ELSEWHERE = {"indoors": "outdoors", "outdoors": "indoors"}

# Full answers in GQA's manner, with `#id` for each marked object.
_A = r"(?:the |an? |some )?"
_THING = _A + r"#(\S+)"
_NOT_BOTH = re.compile(rf"no {_THING} (?:is|are) ([^#]+) but ([^#]+)")
_BUT_IT = re.compile(rf"no there (?:is|are) {_THING} but (?:it|he|she|they) (?:is|are) ([^#]+)")
_INSTEAD = re.compile(rf"no {_THING} (?:is|are) ([^#]+)")
_RELATED = re.compile(rf"no (?:there (?:is|are) )?{_THING} (?:is |are )?([^#]+?) {_THING}")
_EACH = re.compile(rf"(?:yes|no) {_THING} (?:is|are) ([^#]+) and {_THING} (?:is|are) ([^#]+)")
_BOTH = re.compile(rf"(?:yes|no) both {_THING} and {_THING} are ([^#]+)")
_ALL = re.compile(r"yes all the [^#]+ are ([^#]+)")
_IT_IS = re.compile(rf"no (?:it|this) is (?:showing )?{_A}([^#]+)")
# GQA's "piece of furniture", "food items"
_WORDING = re.compile(r"^(?:pieces?|items?|types?|kinds?) of | items?$")
_TRIMMED = re.compile(r"^(?:made (?:out )?of|made from|(?:on|in|at) the) |(?: side| part)? of the \w+$")
Ids = tuple[str, ...]
Kind = Literal["name", "attribute", "relation", "none", "scene", "absent", "alone"]


class Statement(msgspec.Struct, frozen=True, order=True):
    """One fact.

    Attributes:
        kind: name        the object goes by the name `value` ("" for an object of which no name is told)
              attribute   it has (`holds`), or has not, the attribute or position `value` of `type`
              relation    it is, or is not, in the relation `value` to the object `other`
              none        nothing is in a relation to it: `value` is GQA's spelling, "cup,on,s"
              scene       the scene's place, weather ... (`type`) is, or is not, `value`
              absent      the picture has no `value`
              alone       something was asked of "the cup" without more: there is one, or all are alike. Who speaks of
                          "the furniture" and means a cupboard has not said that there is no chair
        subject: the object's id; "" for scene, absent and alone.
    """

    kind: Kind
    subject: str = ""
    type: str = ""
    value: str = ""
    other: str = ""
    holds: bool = True


def of_program(program: Program, answer: str) -> Iterator[Statement]:
    """What a program with this answer states."""
    truths = _truths(program, answer)
    ids = [program[root(program, index)].object_ids for index in range(len(program))]
    if program[-1].verb == "query" and program[-1].type == "name":  # first: it is what the object is called
        yield from named(answer, ids[program[-1].inputs[0]])
    for index, operation in enumerate(program):
        if operation.verb == "select":
            yield from _selected(program, index)
        elif operation.verb in ("filter", "relate", "verify", "query", "choose"):
            source = operation.inputs[0]
            of_scene = program[source].name == SCENE and operation.verb not in FINDS
            for value, truth in _values(operation, answer, truths[index]):
                if of_scene:
                    yield from _of_scene(operation, value, truth)
                else:
                    yield from _said(operation, value, ids[source], truth)


def named(name: str, ids: Ids) -> Iterator[Statement]:
    """The things of these ids exist and go by a name."""
    word = "" if name in ANYTHING or name == SCENE else "person" if name in PERSONS else name
    for object_id in ids:
        yield Statement("name", object_id, value=word)


def scene_is(type_: str, value: str, holds: bool = True) -> Statement:
    return Statement("scene", type="place" if type_ in ("", "room") else type_, value=value, holds=holds)


def _selected(program: Program, index: int) -> Iterator[Statement]:
    operation = program[index]
    yield from named(operation.name, operation.object_ids)
    users = [user for user in program if index in user.inputs]
    directly = users and all(map(_asks_directly, users)) and operation.name not in ANYTHING
    word = lemma(operation.name)
    if operation.absent:  # also before a filter: "red windows" has an id where there are others
        yield Statement("absent", value=word)
    elif operation.object_ids and directly:
        yield Statement("alone", value=word)


def _asks_directly(user: Operation) -> bool:
    """Whether a step asks something of "the cup", so that only one can be meant. "Who is wearing a hat?" does not,
    nor does "Are all the cups red?"."""
    compares = user.verb in ("same", "different", "common") and len(user.inputs) == 2
    return compares or user.verb in ("query", "verify", "choose")


def _of_scene(operation: Operation, value: str, truth: bool | None) -> Iterator[Statement]:
    if truth is False and value in _ELSEWHERE:
        value, truth = _ELSEWHERE[value], True
    if truth is not None:
        yield scene_is(operation.type, value, truth is not operation.negated)


def _said(operation: Operation, value: str, ids: Ids, truth: bool | None) -> Iterator[Statement]:
    """A value of things, or how the operation's things relate to them; None says nothing."""
    holds = truth is not operation.negated
    if operation.verb == "relate" or operation.type == "rel":
        yield from named(operation.name, operation.object_ids)
        if truth is not None and not value.startswith("same "):
            yield from _related(operation, value, ids, holds)
    elif operation.type == "name":
        yield from named(value, ids) if truth is not None and holds else ()
    elif truth is not None:
        for object_id in ids:
            yield Statement("name", object_id)
            yield Statement("attribute", object_id, operation.type, value, holds=holds)


def _related(operation: Operation, relation: str, anchors: Ids, holds: bool) -> Iterator[Statement]:
    for anchor in anchors:
        if operation.absent and not holds:
            role = "s" if operation.subject else "o"
            yield Statement("none", anchor, value=f"{lemma(operation.name)},{relation},{role}")
        for object_id in operation.object_ids:
            subject, other = (object_id, anchor) if operation.subject else (anchor, object_id)
            if subject != other:  # GQA: "the car behind the other car", with one id for both
                yield Statement("relation", subject, value=relation, other=other, holds=holds)


def _truths(program: Program, answer: str) -> list[bool | None]:
    """Which steps are known to be true or false, from the final answer down; what is presupposed is true."""
    truths: list[bool | None] = [True if operation.verb in FINDS else None for operation in program]
    if program[-1].verb in TRUTHS:
        truths[-1] = {"yes": True, "no": False}.get(answer)
    for operation, truth in zip(reversed(program), reversed(truths), strict=True):
        if (operation.verb, truth) in (("and", True), ("or", False)):
            for i in operation.inputs:
                truths[i] = truth
        elif operation.verb == "exist":
            phrase = noun_phrase(program, operation.inputs[0])
            claims = sum(program[i].verb in ("filter", "relate") for i in phrase)
            for i in phrase:  # "no" to several claims at once tells of none
                truths[i] = truth if truth or claims == 1 else None
    return truths


def _values(operation: Operation, answer: str, truth: bool | None) -> list[tuple[str, bool | None]]:
    """What is said of each value: of `query` the answer, of `choose` each option, else the one there is."""
    if operation.verb == "query":
        return [(answer, True)]
    if operation.verb != "choose":
        return [(operation.values[0], truth)]
    meant = [option for option in operation.values if same_answer(option, answer) or spoken(option) == answer]
    return [(option, option == meant[0]) for option in operation.values] if len(meant) == 1 else []


def told_besides(question: Question, program: Program) -> Iterator[Statement]:
    """What the full answer of a question tells; sentences of another form than GQA's tell nothing but names."""
    sentence, names = _marked(question)
    yield from names
    if program[-1].verb in ("same", "different"):
        yield from _compared(sentence, program)
    elif sentence.startswith("no "):
        yield from _denied(sentence, program)


def _marked(question: Question) -> tuple[str, list[Statement]]:
    """The sentence with `#id` for each marked object, and by which names it calls them."""
    words = question.full_answer.lower().replace(",", "").replace("#", "").rstrip(". ").split()
    names: list[Statement] = []
    marks = question.full_answer_annotations
    spans = [(*found, marks[position]) for position in marks if (found := annotated_words(position))]
    for start, stop, object_id in sorted(spans, key=lambda span: span[0]):
        name = _WORDING.sub("", " ".join(words[start:stop]).removesuffix("'s"))
        if name and "#" not in name and "," not in object_id:
            names += named(name, (object_id,))
            words[start:stop] = [f"#{object_id}", *[""] * (stop - start - 1)]
    return " ".join(filter(None, words)), names


def _denied(sentence: str, program: Program) -> Iterator[Statement]:
    """ "No, ...": what is so instead."""
    asked = program[-1]
    if match := _BUT_IT.fullmatch(sentence):
        types = {op.type for op in program if op.verb == "filter" and op.asserted and not op.negated}
        if len(types) == 1:
            yield _attribute(match[1], types.pop(), match[2])
    elif match := _NOT_BOTH.fullmatch(sentence):
        yield from _one_of_two(match[1], _trimmed(match[2]), match[3], program)
    elif match := _INSTEAD.fullmatch(sentence):
        if asked.verb == "verify" and asked.type not in ("rel", "name") and not asked.negated:
            yield _attribute(match[1], asked.type, match[2])
    elif match := _RELATED.fullmatch(sentence):
        names = {plain_relation(op.values[0]) for op in program if op.verb == "relate" or op.type == "rel"}
        if plain_relation(match[2]) in names | {ANTONYMS.get(name) for name in names}:
            yield Statement("relation", match[1], value=match[2], other=match[3])
    elif (match := _IT_IS.fullmatch(sentence)) and asked.verb == "verify" and program[0].name == SCENE:
        yield scene_is(asked.type, match[1])


def _one_of_two(object_id: str, right: str, instead: str, program: Program) -> Iterator[Statement]:
    """ "No, the knives are metallic but silver." to "black and metallic": they are metal, and silver in colour."""
    asked = [op for op in program if op.verb == "verify" and op.type != "rel" and not op.negated]
    confirmed = [op for op in asked if same_answer(op.values[0], right)]
    if (len(asked), len(confirmed)) == (2, 1):
        (wrong,) = (op for op in asked if op is not confirmed[0])
        yield Statement("attribute", object_id, confirmed[0].type, confirmed[0].values[0])
        yield _attribute(object_id, wrong.type, instead)


def _compared(sentence: str, program: Program) -> Iterator[Statement]:
    """ "Yes, the jacket is blue and the hat is white.", "Yes, all the animals are horses." """
    asked = program[-1]
    values: list[tuple[str, str]] = []
    if match := _EACH.fullmatch(sentence):
        values = [(match[1], match[2]), (match[3], match[4])]
    elif match := _BOTH.fullmatch(sentence):
        values = [(match[1], match[3]), (match[2], match[3])]
    elif (match := _ALL.fullmatch(sentence)) and len(asked.inputs) == 1:
        values = [(object_id, match[1]) for object_id in program[asked.inputs[0]].object_ids]
    for object_id, value in values:
        if asked.type in ("type", "name", "species"):
            yield from named(value, (object_id,))
        else:
            yield _attribute(object_id, asked.type, value)


def _attribute(object_id: str, type_: str, value: str) -> Statement:
    return Statement("attribute", object_id, type_, _trimmed(value))


def _trimmed(value: str) -> str:
    return _TRIMMED.sub("", value)
