"""What an answer in a full sentence tells besides the answer.

GQA marks in it which words are which object: "No, the hat is red." tells that this hat is red, "The woman is
sleeping." that she whom the question called `she` is a woman.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.core.records import Question
from pipeline.judge.statements import Statement, named, scene_is
from pipeline.programs.operations import SCENE
from pipeline.programs.saying import Program
from pipeline.words.relations import ANTONYMS, plain_relation
from pipeline.words.spoken_answers import same_answer

_SPAN = re.compile(r"(\d+)(?::(\d*))?")  # of words: "3", "2:4"
_A = r"(?:the |an? |some )?"
_THING = _A + r"#(\d+)"
_SIDES = {"left": "hposition", "right": "hposition", "top": "vposition", "bottom": "vposition"}
_PLACED = re.compile(
    rf"no {_THING} (?:is|are) (?:on|in|at) the (left|right|top|bottom)(?: side| part)? of the \w+"
)
_NOT_BOTH = re.compile(rf"no {_THING} (?:is|are) ([^#]+) but ([^#]+)")
_BUT_IT = re.compile(rf"no there (?:is|are) {_THING} but (?:it|he|she|they) (?:is|are) ([^#]+)")
_INSTEAD = re.compile(rf"no {_THING} (?:is|are) ([^#]+)")
_RELATED = re.compile(rf"no (?:there (?:is|are) )?{_THING} (?:is |are )?([^#]+?) {_THING}")
_EACH = re.compile(rf"(?:yes|no) {_THING} (?:is|are) ([^#]+) and {_THING} (?:is|are) ([^#]+)")
_BOTH = re.compile(rf"(?:yes|no) both {_THING} and {_THING} are ([^#]+)")
_ALL = re.compile(r"yes all the [^#]+ are ([^#]+)")
_IT_IS = re.compile(rf"no (?:it|this) is (?:showing )?{_A}([^#]+)")
_WORDING = re.compile(
    r"^(?:pieces?|items?|types?|kinds?) of | items?$"
)  # GQA's "piece of furniture", "food items"
_TRIMMED = re.compile(r"^(?:made (?:out )?of|made from) ")


def told_besides(question: Question, program: Program) -> Iterator[Statement]:
    """What the full answer of a question tells; sentences of another form than GQA's tell nothing but names."""
    sentence, ids, names = _marked(question)
    yield from names
    if program[-1].verb in ("same", "different"):
        yield from _compared(sentence, ids, program)
    elif sentence.startswith("no "):
        yield from _denied(sentence, ids, program)


def _marked(question: Question) -> tuple[str, list[str], list[Statement]]:
    """The sentence with `#0`, `#1` ... for the marked objects, their ids, and by which names it calls them."""
    words = question.full_answer.lower().replace(",", "").rstrip(". ").split()
    ids: list[str] = []
    names: list[Statement] = []
    spans = {key: span for key in question.full_answer_annotations if (span := _SPAN.fullmatch(key))}
    for key, span in sorted(spans.items(), key=lambda item: int(item[1][1])):
        object_id, start = question.full_answer_annotations[key], int(span[1])
        stop = int(span[2] or start + 1)
        name = _WORDING.sub("", " ".join(words[start:stop]).removesuffix("'s"))
        if name and "#" not in name and "," not in object_id:
            names += named(name, (object_id,))
            words[start:stop] = [f"#{len(ids)}", *[""] * (stop - start - 1)]
            ids.append(object_id)
    return " ".join(filter(None, words)), ids, names


def _denied(sentence: str, ids: list[str], program: Program) -> Iterator[Statement]:
    """ "No, ...": what is so instead."""
    asked = program[-1]
    if match := _PLACED.fullmatch(sentence):
        yield _attribute(ids[int(match[1])], _SIDES[match[2]], match[2])
    elif match := _BUT_IT.fullmatch(sentence):
        types = {op.type for op in program if op.verb == "filter" and op.asserted and not op.negated}
        if len(types) == 1:
            yield _attribute(ids[int(match[1])], types.pop(), match[2])
    elif match := _NOT_BOTH.fullmatch(sentence):
        yield from _one_of_two(ids[int(match[1])], _trimmed(match[2]), match[3], program)
    elif match := _INSTEAD.fullmatch(sentence):
        if asked.verb == "verify" and asked.type not in ("rel", "name") and not asked.negated:
            yield _attribute(ids[int(match[1])], asked.type, match[2])
    elif match := _RELATED.fullmatch(sentence):
        names = {plain_relation(op.values[0]) for op in program if op.verb == "relate" or op.type == "rel"}
        if plain_relation(match[2]) in names | {ANTONYMS.get(name) for name in names}:
            yield Statement("relation", ids[int(match[1])], value=match[2], other=ids[int(match[3])])
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


def _compared(sentence: str, ids: list[str], program: Program) -> Iterator[Statement]:
    """ "Yes, the jacket is blue and the hat is white.", "Yes, all the animals are horses." """
    asked = program[-1]
    values: list[tuple[str, str]] = []
    if match := _EACH.fullmatch(sentence):
        values = [(ids[int(match[1])], match[2]), (ids[int(match[3])], match[4])]
    elif match := _BOTH.fullmatch(sentence):
        values = [(ids[int(match[1])], match[3]), (ids[int(match[2])], match[3])]
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
