"""What a picture's answered questions say of it: evidence where there is no scene graph (GQA's testdev).

An answered question tells more than its answer: everything it presupposes holds, too. "What color is the cup on the
table?" red -> there is a table, and only one is meant; a cup on it; it is red.
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.core.records import Question
from pipeline.judge.facts import POSITIONS, Facts, Thing, deny, relate
from pipeline.judge.names import ANYTHING, PRONOUNS, Lexicon, same_answer, singular, spoken
from pipeline.judge.programs import FINDS, SCENE, TRUTHS, Operation, parse


def reconstruct(questions: Iterable[Question], lexicon: Lexicon) -> Facts:
    """The facts that answered questions about one picture state. Leave out the question under test."""
    notes = Notes(lexicon)
    for question in questions:
        if question.program and question.answer:
            notes.read(parse(question.program, question.question_id), question.answer.strip())
    return notes.facts()


_ELSEWHERE = {"indoors": "outdoors", "outdoors": "indoors"}


class Notes:
    """Facts as they are collected, question by question."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.things: dict[str, Thing] = {}
        self.labels: dict[str, str] = {}  # singular name -> as written
        self.related: set[tuple[str, str, str]] = set()
        self.denied: set[tuple[str, str, str]] = set()
        self.none: list[tuple[Operation, tuple[str, ...]]] = []  # "no cup on table 21"
        self.absent: set[str] = set()
        self.used_alone: set[str] = set()
        self.scene: dict[str, str] = {}

    def read(self, program: tuple[Operation, ...], answer: str) -> None:
        """Note what a question with this answer states."""
        truths = _truths(program, answer)
        ids = _referents(program)
        for index, operation in enumerate(program):
            if operation.verb in FINDS:
                self._presupposed(program, index, ids, truths)
            elif operation.verb == "verify":
                self._verified(operation, ids[operation.inputs[0]], truths[index], _on_scene(program, operation))
            elif operation.verb in ("query", "choose"):
                self._answered(operation, ids[operation.inputs[0]], answer, _on_scene(program, operation))

    def _presupposed(self, program: tuple[Operation, ...], index: int, ids: list[tuple[str, ...]], truths: list[bool | None]) -> None:
        operation = program[index]
        if operation.verb == "select" and operation.absent:
            self.absent.add(singular(operation.name))
        if operation.verb != "filter":
            self.name(operation.name, ids[index])
        truth = _truth_of_phrase(program, index, truths) if operation.asserted else True
        if operation.verb == "select":
            if not operation.asserted and ids[index] and _used_alone(program, index):
                self.used_alone.add(singular(operation.name))
        elif operation.verb == "filter":
            self._attribute(ids[index], operation.values[0], operation.type, truth if not operation.negated or truth is None else not truth)
        else:
            self._relation(operation, operation.values[0], ids[index], ids[operation.inputs[0]], truth)

    def _verified(self, operation: Operation, ids: tuple[str, ...], truth: bool | None, on_scene: bool) -> None:
        if operation.type == "rel":
            self.name(operation.name, operation.object_ids)
            self._relation(operation, operation.values[0], operation.object_ids, ids, truth)
        elif on_scene:
            value = operation.values[0]
            if truth is False and value in _ELSEWHERE:
                truth, value = True, _ELSEWHERE[value]
            if truth:
                self._scene(operation.type, value)
        else:
            self._attribute(ids, operation.values[0], operation.type, truth if not operation.negated or truth is None else not truth)

    def _answered(self, operation: Operation, ids: tuple[str, ...], answer: str, on_scene: bool) -> None:
        if operation.verb == "choose":
            chosen = [option for option in operation.values if _means(option, answer)]
            if len(chosen) != 1:
                return
            others = [option for option in operation.values if option != chosen[0]]
            answer = chosen[0]
        else:
            others = []
        if on_scene:
            self._scene(operation.type, answer)
        elif operation.type == "rel":
            self.name(operation.name, operation.object_ids)
            self._relation(operation, answer, operation.object_ids, ids, True)
            for option in others:
                self._relation(operation, option, operation.object_ids, ids, False)
        elif operation.type == "name":
            self.name(answer, ids)
        else:
            self._attribute(ids, answer, operation.type, True)
            for option in others:
                self._attribute(ids, option, operation.type, False)

    def name(self, name: str, ids: tuple[str, ...]) -> None:
        """Note that the things of these ids exist and go by a name."""
        if name in ANYTHING or name == SCENE:
            names = ()
        else:
            names = ("person",) if name in PRONOUNS else (singular(name),)
            self.labels.setdefault(names[0], name)
        for object_id in ids:
            thing = self.things.setdefault(object_id, Thing(object_id, (), ""))
            thing.names += tuple(name for name in names if name not in thing.names)

    def _scene(self, type_: str, value: str) -> None:
        self.scene["place" if type_ in ("", "room") else type_] = value

    def _attribute(self, ids: tuple[str, ...], value: str, type_: str, truth: bool | None) -> None:
        if truth is None:
            return
        for object_id in ids:
            thing = self.things.setdefault(object_id, Thing(object_id, (), ""))
            if type_ in POSITIONS:
                possible = thing.positions.get(type_, frozenset(POSITIONS[type_]))
                thing.positions[type_] = frozenset((value,)) if truth else possible - {value}
            elif truth:
                thing.attributes[value] = type_ or self.lexicon.type_of(value)
            else:
                thing.denied.add(value)

    def _relation(self, operation: Operation, name: str, ids: tuple[str, ...], inputs: tuple[str, ...], truth: bool | None) -> None:
        if truth is None:
            return
        if not truth and operation.absent:
            self.none.append((operation, inputs))
        for mine in ids:
            for theirs in inputs:
                subject, other = (mine, theirs) if operation.subject else (theirs, mine)
                if not truth:
                    deny(self.denied, subject, name, other)
                elif not name.startswith("same "):
                    relate(self.related, self.denied, subject, name, other)

    def facts(self) -> Facts:
        """All that was noted."""
        for thing in self.things.values():
            particular = [name for name in thing.names if name not in self.lexicon.categories]
            general = [name for name in thing.names if name in self.lexicon.categories]
            thing.names = (*particular, *general)
            thing.label = self.labels[particular[0]] if particular else ""
        for operation, inputs in self.none:
            kinds = self.lexicon.kinds(operation.name)
            for thing in self.things.values():
                if kinds is None or not kinds.isdisjoint(thing.names):
                    for theirs in inputs:
                        pair = (thing.object_id, theirs) if operation.subject else (theirs, thing.object_id)
                        deny(self.denied, pair[0], operation.values[0], pair[1])
        return Facts(
            source="other questions", complete=False, lexicon=self.lexicon,
            things=[self.things[object_id] for object_id in sorted(self.things)], related=self.related,
            denied=self.denied - self.related, absent=self.absent, closed=frozenset(self.used_alone), scene=self.scene,
        )


def _truths(program: tuple[Operation, ...], answer: str) -> list[bool | None]:
    """Which yes-no steps are known to be true or false, from the final answer down."""
    truths: list[bool | None] = [None] * len(program)
    if program[-1].verb in TRUTHS:
        truths[-1] = {"yes": True, "no": False}.get(answer)
    for index in range(len(program) - 1, -1, -1):
        operation = program[index]
        if operation.verb == "and" and truths[index] is True or operation.verb == "or" and truths[index] is False:
            for i in operation.inputs:
                truths[i] = truths[index]
    return truths


def _referents(program: tuple[Operation, ...]) -> list[tuple[str, ...]]:
    """The ids of the things each step speaks of."""
    ids: list[tuple[str, ...]] = []
    for operation in program:
        ids.append(ids[operation.inputs[0]] if operation.verb == "filter" else operation.object_ids)
    return ids


def _truth_of_phrase(program: tuple[Operation, ...], index: int, truths: list[bool | None]) -> bool | None:
    """What the answer says of one asserted step: a denied phrase with several parts does not tell which one fails."""
    start = index
    while program[start].verb == "filter":
        start = program[start].inputs[0]
    end, parts = start, int(program[start].verb == "relate")
    while program[end].verb != "exist":
        end = next(i for i, operation in enumerate(program) if end in operation.inputs and i > end)
        parts += program[end].verb == "filter"
    truth = truths[end]
    return truth if truth or parts == 1 else None


def _used_alone(program: tuple[Operation, ...], index: int) -> bool:
    """Whether "the cup" was said without more: then there is one cup, or all are alike."""
    users = [operation for operation in program if index in operation.inputs]
    return all(user.verb != "filter" and (user.verb not in ("same", "different") or len(user.inputs) == 2) for user in users)


def _on_scene(program: tuple[Operation, ...], operation: Operation) -> bool:
    return program[operation.inputs[0]].name == SCENE


def _means(option: str, answer: str) -> bool:
    return same_answer(option, answer) or spoken(option) == answer
