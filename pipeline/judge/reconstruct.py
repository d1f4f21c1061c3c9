"""What a picture's answered questions say of it: evidence where there is no scene graph (GQA's testdev).

An answered question tells more than its answer: all that it presupposes holds, too. "What color is the cup on
the table?" red -> there is a table, and no second one is meant; there is a cup on it; it is red.
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.core.records import Question
from pipeline.judge.facts import POSITIONS, Facts, Thing, Triple, deny, relate
from pipeline.judge.names import ANYTHING, PRONOUNS, Lexicon, same_answer, singular, spoken
from pipeline.judge.programs import FINDS, SCENE, TRUTHS, Operation, parse

_ELSEWHERE = {"indoors": "outdoors", "outdoors": "indoors"}
Ids = tuple[str, ...]
Program = tuple[Operation, ...]


def reconstruct(questions: Iterable[Question], lexicon: Lexicon) -> Facts:
    """The facts that answered questions about one picture state. Leave out the question under test."""
    notes = Notes(lexicon)
    for question in questions:
        notes.read(parse(question.program, question.question_id), question.answer.strip())
    return notes.facts()


class Notes:
    """Facts as they are collected, question by question."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.things: dict[str, Thing] = {}
        self.labels: dict[str, str] = {}  # singular name -> as written
        self.related: set[Triple] = set()
        self.denied: set[Triple] = set()
        self.none: list[tuple[Operation, Ids]] = []  # "no cup on table 21"
        self.absent: set[str] = set()
        self.used_alone: set[str] = set()  # names said without more: "the cup"
        self.scene: dict[str, str] = {}

    def read(self, program: Program, answer: str) -> None:
        """Note what a question with this answer states."""
        truths, ids = _truths(program, answer), _referents(program)
        for index, operation in enumerate(program):
            if operation.verb == "select":
                self._selected(program, index)
            elif operation.verb in FINDS:
                truth = _truth_of_phrase(program, index, truths) if operation.asserted else True
                self._said(operation, operation.values[0], ids[index], ids[operation.inputs[0]], truth)
            elif operation.verb in ("verify", "query", "choose"):
                source = operation.inputs[0]
                for value, truth in _values(operation, answer, truths[index]):
                    if program[source].name == SCENE:
                        self._said_of_scene(operation, value, truth)
                    else:
                        self._said(operation, value, ids[source], ids[source], truth)

    def name(self, name: str, ids: Ids) -> None:
        """Note that the things of these ids exist and go by a name."""
        words = () if name in ANYTHING else ("person",) if name in PRONOUNS else (singular(name),)
        for word in words:
            self.labels.setdefault(word, name)
        for object_id in ids:
            thing = self.things.setdefault(object_id, Thing(object_id, (), ""))
            thing.names += tuple(word for word in words if word not in thing.names)

    def _selected(self, program: Program, index: int) -> None:
        operation = program[index]
        self.name(operation.name, operation.object_ids)
        if operation.absent:
            self.absent.add(singular(operation.name))
        elif operation.object_ids and not operation.asserted and _said_alone(program, index):
            self.used_alone.add(singular(operation.name))

    def _said_of_scene(self, operation: Operation, value: str, truth: bool | None) -> None:
        if truth is False:  # not indoors is outdoors; not sunny may be anything else
            value = _ELSEWHERE.get(value, "")
        if truth is not None and value:
            self.scene["place" if operation.type in ("", "room") else operation.type] = value

    def _said(self, operation: Operation, value: str, ids: Ids, anchors: Ids, truth: bool | None) -> None:
        """Note a value of things, or how the operation's things relate to the anchors; None says nothing."""
        related = operation.verb == "relate" or operation.type == "rel"
        if related:
            self.name(operation.name, operation.object_ids)
        if truth is None:
            return
        if operation.negated:
            truth = not truth
        if related:
            if operation.absent and not truth:
                self.none.append((operation, anchors))
            self._relation(operation, value, operation.object_ids, anchors, truth)
        elif operation.type == "name":
            self.name(value, ids if truth else ())
        else:
            self.name("_", ids)
            for object_id in ids:
                self._attribute(self.things[object_id], value, operation.type, truth)

    def _attribute(self, thing: Thing, value: str, type_: str, truth: bool) -> None:
        if type_ in POSITIONS:
            possible = thing.positions.get(type_, frozenset(POSITIONS[type_]))
            thing.positions[type_] = frozenset((value,)) if truth else possible - {value}
        elif truth:
            thing.attributes[value] = type_ or self.lexicon.type_of(value)
        else:
            thing.denied.add(value)

    def _relation(self, operation: Operation, name: str, ids: Ids, anchors: Ids, truth: bool) -> None:
        if name.startswith("same "):
            return
        for mine in ids:
            for theirs in anchors:
                subject, other = (mine, theirs) if operation.subject else (theirs, mine)
                if truth:
                    relate(self.related, self.denied, subject, name, other)
                else:
                    deny(self.denied, subject, name, other)

    def facts(self) -> Facts:
        """All that was noted."""
        for thing in self.things.values():
            general = [name for name in thing.names if name in self.lexicon.categories]
            particular = [name for name in thing.names if name not in general]
            thing.names = (*particular, *general)
            thing.label = self.labels[particular[0]] if particular else ""
        for operation, anchors in self.none:
            kinds = self.lexicon.kinds(operation.name)
            such = (i for i, thing in self.things.items() if not kinds or not kinds.isdisjoint(thing.names))
            self._relation(operation, operation.values[0], tuple(such), anchors, False)
        return Facts(
            source="other questions", complete=False, lexicon=self.lexicon,
            things=[self.things[object_id] for object_id in sorted(self.things)],
            related=self.related, denied=self.denied - self.related, scene=self.scene,
            absent=self.absent, closed=frozenset(self.used_alone))


def _truths(program: Program, answer: str) -> list[bool | None]:
    """Which yes-no steps are known to be true or false, from the final answer down."""
    truths: list[bool | None] = [None] * len(program)
    if program[-1].verb in TRUTHS:
        truths[-1] = {"yes": True, "no": False}.get(answer)
    for index in range(len(program) - 1, -1, -1):
        if (program[index].verb, truths[index]) in (("and", True), ("or", False)):
            for i in program[index].inputs:
                truths[i] = truths[index]
    return truths


def _referents(program: Program) -> list[Ids]:
    """The ids of the things each step speaks of."""
    ids: list[Ids] = []
    for operation in program:
        ids.append(ids[operation.inputs[0]] if operation.verb == "filter" else operation.object_ids)
    return ids


def _values(operation: Operation, answer: str, truth: bool | None) -> list[tuple[str, bool | None]]:
    """What the answer says of each value: of `verify` and `query` one, of `choose` the options."""
    if operation.verb == "verify":
        return [(operation.values[0], truth)]
    if operation.verb == "query":
        return [(answer, True)]
    meant = [option for option in operation.values if same_answer(option, answer) or spoken(option) == answer]
    return [(option, option == meant[0]) for option in operation.values] if len(meant) == 1 else []


def _truth_of_phrase(program: Program, index: int, truths: list[bool | None]) -> bool | None:
    """What the answer says of a step of a phrase that is asked for; "no" to several at once tells of none."""
    phrase = [index]
    while program[phrase[0]].verb == "filter":
        phrase.insert(0, program[phrase[0]].inputs[0])
    while program[phrase[-1]].verb != "exist":
        phrase.append(next(i for i in range(phrase[-1] + 1, len(program)) if phrase[-1] in program[i].inputs))
    truth = truths[phrase[-1]]
    claims = sum(program[i].verb in ("filter", "relate") for i in phrase)
    return truth if truth or claims == 1 else None


def _said_alone(program: Program, index: int) -> bool:
    """Whether "the cup" was said without more: then there is one cup, or all are alike."""
    users = [operation for operation in program if index in operation.inputs]
    among = [user for user in users if user.verb in ("same", "different") and len(user.inputs) == 1]
    return not among and all(user.verb != "filter" for user in users)
