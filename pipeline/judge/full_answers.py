"""What an answer in a full sentence tells besides the answer.

GQA marks in it which words are which object: "No, the hat is red." tells that this hat is red, "The woman is
sleeping." that she whom the question called `she` is a woman.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipeline.core.records import Question
from pipeline.programs.operations import SCENE, Operation
from pipeline.words.lexicon import ANTONYMS, relation, same_answer

Program = tuple[Operation, ...]

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


@dataclass(slots=True)
class Said:
    """What a sentence tells.

    Attributes:
        names: (object's id, name). attributes: (object's id, type, value); type "" when it is not known.
        relations: (subject's id, relation, object's id). scene: (type, value).
    """

    names: list[tuple[str, str]] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    relations: list[tuple[str, str, str]] = field(default_factory=list)
    scene: list[tuple[str, str]] = field(default_factory=list)


def read(question: Question, program: Program) -> Said:
    """Read the full answer of a question; sentences of another form than GQA's tell nothing but names."""
    said = Said()
    sentence, ids = _marked(question, said)
    if program[-1].verb in ("same", "different"):
        _comparison(sentence, ids, program, said)
    elif sentence.startswith("no "):
        _denial(sentence, ids, program, said)
    return said


def _marked(question: Question, said: Said) -> tuple[str, list[str]]:
    """The sentence with `#0`, `#1` ... for the marked objects, and their ids; notes their names."""
    words = question.full_answer.lower().replace(",", "").rstrip(". ").split()
    ids: list[str] = []
    for span, object_id in sorted(question.full_answer_annotations.items(), key=lambda item: _start(item[0])):
        first, _, end = span.partition(":")
        if not (first.isdigit() and (end or "0").isdigit()):
            continue
        start, stop = int(first), int(end) if end else int(first) + 1
        name = _WORDING.sub("", " ".join(words[start:stop]).removesuffix("'s"))
        if name and "#" not in name and "," not in object_id:
            said.names.append((object_id, name))
            words[start:stop] = [f"#{len(ids)}", *[""] * (stop - start - 1)]
            ids.append(object_id)
    return " ".join(filter(None, words)), ids


def _start(span: str) -> int:
    first = span.partition(":")[0]
    return int(first) if first.isdigit() else -1


def _denial(sentence: str, ids: list[str], program: Program, said: Said) -> None:
    """ "No, ...": what is so instead."""
    if match := _PLACED.fullmatch(sentence):
        said.attributes.append((ids[int(match[1])], _SIDES[match[2]], match[2]))
    elif match := _BUT_IT.fullmatch(sentence):
        filters = [op for op in program if op.verb == "filter" and op.asserted and not op.negated]
        if filters and len({op.type for op in filters}) == 1:
            said.attributes.append((ids[int(match[1])], filters[0].type, _trimmed(match[2])))
    elif match := _NOT_BOTH.fullmatch(sentence):
        _one_of_two(ids[int(match[1])], _trimmed(match[2]), _trimmed(match[3]), program, said)
    elif match := _INSTEAD.fullmatch(sentence):
        asked = program[-1]
        if asked.verb == "verify" and asked.type not in ("rel", "name") and not asked.negated:
            said.attributes.append((ids[int(match[1])], asked.type, _trimmed(match[2])))
    elif match := _RELATED.fullmatch(sentence):
        named = [op.values[0] for op in program if op.verb == "relate" or op.type == "rel"]
        asked = {relation(name) for name in named} | {ANTONYMS.get(relation(name), "") for name in named}
        if relation(match[2]) in asked:
            said.relations.append((ids[int(match[1])], match[2], ids[int(match[3])]))
    elif (match := _IT_IS.fullmatch(sentence)) and program[-1].verb == "verify" and program[0].name == SCENE:
        said.scene.append((program[-1].type, match[1]))


def _one_of_two(object_id: str, right: str, instead: str, program: Program, said: Said) -> None:
    """ "No, the knives are metallic but silver." to "black and metallic": they are metal, and silver in colour."""
    asked = [op for op in program if op.verb == "verify" and op.type != "rel" and not op.negated]
    if len(asked) != 2:
        return
    confirmed = [op for op in asked if same_answer(op.values[0], right)]
    if len(confirmed) == 1:
        (wrong,) = (op for op in asked if op is not confirmed[0])
        said.attributes.append((object_id, confirmed[0].type, confirmed[0].values[0]))
        said.attributes.append((object_id, wrong.type, instead))


def _comparison(sentence: str, ids: list[str], program: Program, said: Said) -> None:
    """ "Yes, the jacket is blue and the hat is white.", "Yes, all the animals are horses." """
    type_ = program[-1].type
    told: list[tuple[str, str]] = []
    if match := _EACH.fullmatch(sentence):
        told = [(ids[int(match[1])], match[2]), (ids[int(match[3])], match[4])]
    elif match := _BOTH.fullmatch(sentence):
        told = [(ids[int(match[1])], match[3]), (ids[int(match[2])], match[3])]
    elif (match := _ALL.fullmatch(sentence)) and len(program[-1].inputs) == 1:
        told = [(object_id, match[1]) for object_id in program[program[-1].inputs[0]].object_ids]
    for object_id, value in told:
        if type_ in ("type", "name", "species"):
            said.names.append((object_id, value))
        else:
            said.attributes.append((object_id, type_, _trimmed(value)))


def _trimmed(value: str) -> str:
    return _TRIMMED.sub("", value)
