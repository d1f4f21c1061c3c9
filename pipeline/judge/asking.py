"""The steps that answer: exist, and, or, verify, choose, query, same, different, common."""

from __future__ import annotations

from pipeline.judge import values
from pipeline.judge.facts import POSITIONS, Facts, Found, Thing
from pipeline.judge.finding import called, existing, related
from pipeline.judge.values import NO, YES, YES_OR_NO, Answer, Truth, Void
from pipeline.programs.operations import SCENE, Operation
from pipeline.programs.saying import Program, clause, name_of, phrase


def exist(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    found = inputs[0]
    if found.sure:
        return YES
    return YES_OR_NO if found.maybe or found.open else NO


def connect(operation: Operation, inputs: list[Answer], program: Program, facts: Facts) -> Answer:
    """`and`, `or`: one false (true) decides, else one unknown leaves it unknown."""
    decisive = NO if operation.verb == "and" else YES
    if decisive in inputs:
        return decisive
    return next((value for value in inputs if not value.right), inputs[0])


def verify(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    value, what = operation.values[0], phrase(program, operation.inputs[0])
    if operation.type == "rel":
        others = existing(operation, facts)
        if not others.sure:
            return Answer((), YES_OR_NO.possible, _whether_there_is(operation))
        if operation.object_ids and operation.object_ids == program[operation.inputs[0]].object_ids:
            # GQA: "Is the man beside the boat?", with a program that asks if the man is beside the man.
            return Answer((), YES_OR_NO.possible, f"what {what} is {value} is not told")
        truths, what = _each_related(operation, inputs[0], others, facts), clause(program, operation, value)
    elif program[operation.inputs[0]].name == SCENE:
        truths = [_scene_is(operation.type, value, facts)]
        if truths == [None] and operation.type == "weather" and facts.of_scene("location") != "outdoors":
            return Answer((), YES_OR_NO.possible, "whether this is outdoors is not known")
    else:
        truths = [facts.has(thing, value, operation.type) for thing in inputs[0].sure]
    return values.agreed([values.unless(operation.negated, truth) for truth in truths], f"{what}, {value}")


def _each_related(operation: Operation, anchors: Found, others: Found, facts: Facts) -> list[Truth]:
    """One truth per definite thing. "Is the man wearing a hat?" (`o`) asks of the man whether he wears any;
    "Are the trees in front of the building?" (`s`) asks it of the trees."""
    relation = operation.values[0]

    def truth(asked: Thing, other: Thing) -> Truth:
        thing, anchor = (asked, other) if operation.subject else (other, asked)
        return related(operation, relation, thing, anchor, facts)

    asked, rest = (others, anchors) if operation.subject else (anchors, others)
    unlisted = None if rest.maybe or rest.open else False
    return [values.any_of((*(truth(one, other) for other in rest.sure), unlisted)) for one in asked.sure]


def choose(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    options, things, what = operation.values, inputs[0].sure, phrase(program, operation.inputs[0])
    if operation.type == "rel":
        others = existing(operation, facts)
        if not others.sure:
            return Answer((), (), _whether_there_is(operation))
        what = f"{name_of(operation)} and {what}"
        cases = [
            {option: related(operation, option, other, thing, facts) for option in options}
            for thing in things
            for other in others.sure
            if other is not thing
        ]
    elif operation.type == "name":
        cases = [{option: _any_called(inputs[0], option, facts) for option in options}]
    elif program[operation.inputs[0]].name == SCENE:
        cases = [{option: _scene_is(operation.type, option, facts) for option in options}]
    else:
        cases = [{option: facts.has(thing, option, operation.type) for option in options} for thing in things]
    return values.one_option(cases, options, what)


def _any_called(found: Found, name: str, facts: Facts) -> Truth:
    unlisted = None if found.maybe or found.open else False
    return values.any_of((*(called(thing, name, facts) for thing in found.sure), unlisted))


def query(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    type_ = operation.type
    if program[operation.inputs[0]].name == SCENE:
        known = _of_scene(type_, facts)
        return Answer((known,), (known,)) if known else Answer((), (), f"the scene's {type_} is not known")
    if (
        facts.partial and type_ == "name" and inputs[0].open
    ):  # "What is on the table?" asks for one thing; is it all?
        return Answer(
            (), (), f"whether there is only one {phrase(program, operation.inputs[0])} is not known"
        )
    found = [facts.values(thing, type_) for thing in inputs[0].sure]
    what = f"{type_} of {phrase(program, operation.inputs[0])}"
    return values.one_value(found, what, closed=facts.complete and type_ not in POSITIONS)


def rank(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    """Which of two things is older, larger, healthier: graphs do not tell."""
    return Answer((), (), f"which of the two is {operation.type} is not known")


def compare(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    """`same`, `different`: of two things, or (one input) among all of a kind."""
    type_, first, among = operation.type, inputs[0].sure, len(inputs) == 1
    if not among:
        pairs = [(a, b) for a in first for b in inputs[1].sure if a is not b]
    elif len(first) > 1:
        pairs = [(first[0], thing) for thing in first[1:]]
    elif facts.complete:
        raise Void("missing object", f"only one {phrase(program, operation.inputs[0])} to compare")
    else:  # one object of an incomplete graph may be a whole herd
        return Answer((), YES_OR_NO.possible, f"how many {phrase(program, operation.inputs[0])} is not known")
    truths: list[Truth] = []
    for pair in pairs:
        mine, theirs = (facts.values(thing, type_) for thing in pair)
        if mine and theirs:
            truths.append(mine.isdisjoint(theirs) is (operation.verb == "different"))
        elif facts.complete and type_ not in POSITIONS:
            raise Void("no valid answer", f"{(pair[1] if mine else pair[0]).label} has no {type_}")
        else:
            return Answer((), YES_OR_NO.possible, f"the {type_} of both is not known")
    if among:
        return YES if (all if operation.verb == "same" else any)(truths) else NO
    return values.agreed(truths, f"{operation.verb} {type_}")


def common(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    """The type of attribute in which two things agree."""
    shared = [
        frozenset(a.attributes[word] for word in a.attributes.keys() & b.attributes.keys()) - {""}
        for a in inputs[0].sure
        for b in inputs[1].sure
        if a is not b
    ]
    what = " and ".join(phrase(program, i) for i in operation.inputs)
    return values.one_value(shared, f"thing in common of {what}", closed=facts.complete)


def _of_scene(type_: str, facts: Facts) -> str:
    """The scene's place, weather or location, "" when not known. Indoors there is no weather to speak of."""
    known = facts.of_scene(type_)
    if not known and (facts.complete or (type_ == "weather" and facts.of_scene("location") == "indoors")):
        raise Void("no valid answer", f"the scene has no {type_}")
    return known


def _scene_is(type_: str, value: str, facts: Facts) -> Truth:
    known = _of_scene(type_, facts)
    return known == value if known else None


def _whether_there_is(operation: Operation) -> str:
    return f"whether there is any {name_of(operation)} is not known"
