"""The steps that answer: exist, and, or, verify, choose, query, same, different, common."""

from __future__ import annotations

from pipeline.judge.facts import POSITIONS, Facts, Found
from pipeline.judge.finding import called, existing, related
from pipeline.judge.names import spoken
from pipeline.judge.programs import SCENE, Operation
from pipeline.judge.values import NO, YES, YES_OR_NO, Answer, Truth, Void, agreed, any_of, one_option, one_value, unless
from pipeline.judge.wording import Program, clause, name_of, phrase


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
        truths, what = _verify_relation(operation, inputs[0], facts), clause(program, operation, value)
    elif program[operation.inputs[0]].name == SCENE:
        truths = [_scene_is(operation, value, facts)]
        if truths == [None] and operation.type == "weather" and facts.of_scene("location") != "outdoors":
            return Answer((), YES_OR_NO.possible, "whether this is outdoors is not known")
    else:
        truths = [facts.has(thing, value, operation.type) for thing in inputs[0].sure]
    return agreed([unless(operation.negated, truth) for truth in truths], f"{what}, {value}")


def _verify_relation(operation: Operation, anchors: Found, facts: Facts) -> list[Truth]:
    """One truth per definite thing. "Is the man wearing a hat?" (`o`) asks of the man whether he wears any; "Are the
    trees in front of the building?" (`s`) asks it of the trees."""
    others = existing(operation, facts)
    asked, rest = (others, anchors) if operation.subject else (anchors, others)
    return [
        any_of((
            *(
                related(operation, operation.values[0], *((thing, other) if operation.subject else (other, thing)), facts)
                for other in rest.sure
            ),
            None if rest.maybe or rest.open else False,
        ))
        for thing in asked.sure
    ]


def choose(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    options, things, what = operation.values, inputs[0].sure, phrase(program, operation.inputs[0])
    if operation.type == "rel":
        others = existing(operation, facts)
        if not others.sure:
            return Answer((), tuple(map(spoken, options)), f"whether there is {name_of(operation)} is not known")
        what = clause(program, operation, "and")
        cases = [
            {option: related(operation, option, other, thing, facts) for option in options}
            for thing in things for other in others.sure if other is not thing
        ]
    elif operation.type == "name":
        cases = [{option: any_of(called(thing, option, facts) for thing in things) for option in options}] if things else []
    elif program[operation.inputs[0]].name == SCENE:
        cases = [{option: _scene_is(operation, option, facts) for option in options}]
    else:
        cases = [{option: facts.has(thing, option, operation.type) for option in options} for thing in things]
    return one_option(cases, options, what)


def query(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    type_ = operation.type
    if program[operation.inputs[0]].name == SCENE:
        known = _scene_value(type_, facts)
        return Answer((known,), (known,)) if known else Answer((), (), f"the {type_} of the scene is not known")
    values = [facts.values(thing, type_) for thing in inputs[0].sure]
    return one_value(values, f"{type_} of {phrase(program, operation.inputs[0])}", closed=facts.complete and type_ not in POSITIONS)


def _scene_value(type_: str, facts: Facts) -> str:
    """The scene's place, weather or location, "" when not known. Indoors there is no weather to speak of."""
    known = facts.of_scene(type_)
    if not known and (facts.complete or type_ == "weather" and facts.of_scene("location") == "indoors"):
        raise Void("no valid answer", f"the scene has no {type_}")
    return known


def _scene_is(operation: Operation, value: str, facts: Facts) -> Truth:
    known = _scene_value(operation.type, facts)
    return known == value if known else None


def compare(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    """`same`, `different`: of two things, or (one input) among all of a kind."""
    type_, first = operation.type, inputs[0].sure
    if len(inputs) == 1:
        if len(first) < 2:
            if not facts.complete:  # one object of an incomplete graph may be a whole herd
                return Answer((), YES_OR_NO.possible, f"how many {phrase(program, operation.inputs[0])} there are is not known")
            raise Void("missing object", f"only one {phrase(program, operation.inputs[0])} to compare")
        pairs = [(first[0], thing) for thing in first[1:]]
    else:
        pairs = [(a, b) for a in first for b in inputs[1].sure if a is not b]
    truths: list[Truth] = []
    for pair in pairs:
        mine, theirs = (facts.values(thing, type_) for thing in pair)
        if mine and theirs:
            truths.append(mine.isdisjoint(theirs) is (operation.verb == "different"))
        elif facts.complete and type_ not in POSITIONS:
            raise Void("no valid answer", f"{(pair[1] if mine else pair[0]).label} has no {type_}")
        else:
            return Answer((), YES_OR_NO.possible, f"the {type_} of both is not known")
    if len(inputs) == 1:
        return YES if (all if operation.verb == "same" else any)(truths) else NO
    return agreed(truths, f"{operation.verb} {type_}")


def common(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Answer:
    """The type of attribute in which two things agree."""
    shared = [
        frozenset(a.attributes[word] for word in a.attributes.keys() & b.attributes.keys()) - {""}
        for a in inputs[0].sure for b in inputs[1].sure if a is not b
    ]
    names = " and ".join(phrase(program, i) for i in operation.inputs)
    return one_value(shared, f"thing in common of {names}", closed=facts.complete)
