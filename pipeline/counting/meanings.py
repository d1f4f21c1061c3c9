"""What the programs of questions tell of words: types of attributes, categories of things, what is asked for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from pipeline.core.records import Question
from pipeline.programs.attribute_types import NO_LOOK, POSITIONS
from pipeline.programs.operations import SCENE, parse, root
from pipeline.programs.saying import Program
from pipeline.words.frames import PRONOUNS

# What `query`, `choose` and `filter` speak of that is not a look of one thing.
_NO_ATTRIBUTE = NO_LOOK | POSITIONS | {""}


class Meanings:
    """Counts what programs tell; questions without a program are passed over.

    Args:
        names: (picture id, object id) -> the scene graph's name.

    Attributes:
        programs: how many questions have one.
        asked: name -> how many questions take such a thing for granted.
        described: attribute, position or relation -> how many take it for granted of something.
    """

    def __init__(self, names: Mapping[tuple[str, str], str]) -> None:
        self._names = names
        self._types: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._choices: defaultdict[str, set[str]] = defaultdict(set)
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        self.programs = 0
        self.asked: Counter[str] = Counter()
        self.described: Counter[str] = Counter()

    def add(self, question: Question) -> None:
        """Count a question.

        Raises:
            UserError: its program is malformed.
        """
        if not question.program:
            return
        program = parse(question.program, question.question_id)
        self.programs += 1
        self._add_attributes(program, question.answer)
        self._add_members(program, question)
        granted = [step for step in program if not step.asserted]
        self.asked.update({step.name for step in granted} - PRONOUNS - {""})
        looks = (step for step in granted if step.verb in ("filter", "relate") and not step.negated)
        self.described.update({step.values[0] for step in looks})

    def _add_attributes(self, program: Program, answer: str) -> None:
        for step in program:
            values = (answer,) if step.verb == "query" else step.values
            if (
                step.verb not in ("filter", "verify", "choose", "query")
                or program[step.inputs[0]].name == SCENE
            ):
                continue
            for value in values:
                if step.type not in _NO_ATTRIBUTE:
                    self._types[value][step.type] += 1
                elif step.verb == "choose" and not step.type:
                    self._choices[value].update(values)

    def _add_members(self, program: Program, question: Question) -> None:
        """Who says "furniture" of a thing that its graph, or the answer, calls a couch, tells what furniture is."""
        for step in program:
            keys = [(question.picture_id, object_id) for object_id in step.object_ids]
            self._members[step.name].update(self._names[key] for key in keys if key in self._names)
        last = program[-1]
        if last.type == "name" and last.inputs:
            called = (question.answer,) if last.verb == "query" else last.values
            self._members[program[root(program, last.inputs[0])].name].update(called)

    def attribute_types(self) -> dict[str, str]:
        """Attribute -> its commonest GQA type."""
        types = sorted(self._types.items())
        return {value: min(counts, key=lambda type_: (-counts[type_], type_)) for value, counts in types}

    def alternatives(self) -> dict[str, tuple[str, ...]]:
        """Attributes without a type -> what else they are offered with."""
        return {value: tuple(sorted(others - {value})) for value, others in sorted(self._choices.items())}

    def categories(self, min_members: int) -> dict[str, tuple[str, ...]]:
        """Category -> its members, from so many different ones on."""
        named = sorted(self._members.keys() - PRONOUNS - {""})
        members = {name: sorted(self._members[name] - {name, ""}) for name in named}
        return {name: tuple(others) for name, others in members.items() if len(others) >= min_members}
