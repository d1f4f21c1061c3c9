"""Questions about the side or part of the picture that one object is in."""

from __future__ import annotations

from research.synthetic_world.phrasing import IMAGE, words
from research.synthetic_world.program_builder import then
from research.synthetic_world.question_proposals import Asker, ProposedQuestion
from research.synthetic_world.references import Reference

_SIDES = {"hposition": ("left", "right"), "vposition": ("top", "bottom")}
_QUERY = (
    "On which side [is|are] {x}",
    "Which side [is|are] {x} on",
    f"On which side of the {IMAGE} [is|are] {{x}}",
    f"Which side of the {IMAGE} [is|are] {{x}} on",
    f"{{x}} [is|are] on which side of the {IMAGE}",
)
_VERIFY = {
    "hposition": (
        f"[Is|Are] {{x}} on the {{v}} of the {IMAGE}",
        "[Is|Are] {x} on the {v} side",
        f"[Is|Are] {{x}} on the {{v}} side of the {IMAGE}",
        "[Is|Are] {x} on the {v}",
    ),
    "vposition": (
        f"[Is|Are] {{x}} in the {{v}} part of the {IMAGE}",
        f"[Is|Are] {{x}} at the {{v}} of the {IMAGE}",
    ),
}
_CHOOSE = {
    "hposition": (
        f"[Is|Are] {{x}} on the {{u}} or on the {{v}} side of the {IMAGE}",
        "[Is|Are] {x} on the {u} or on the {v}",
        "Which side [is|are] {x} on, the {u} or the {v}",
        f"On which side of the {IMAGE} [is|are] {{x}}, the {{u}} or the {{v}}",
        f"Where in the {IMAGE} [is|are] {{x}}, on the {{u}} or on the {{v}}",
    ),
    "vposition": (
        f"In which part of the {IMAGE} [is|are] {{x}}, the {{u}} or the {{v}}",
        f"[Is|Are] {{x}} in the {{u}} or in the {{v}} part of the {IMAGE}",
    ),
}
_FULL = {
    "hposition": "{n} [is|are] on the {t} of the image",
    "vposition": "{n} [is|are] in the {t} of the image",
}


def query_position(ask: Asker) -> ProposedQuestion | None:
    """On which side of the picture is the red chair?"""
    x, axis, true = _placed(ask, 1.0)
    if x is None:
        return None
    i, fact = x.object_id, ("position", x.object_id, true)
    return ask.propose(
        "positionQuery",
        _QUERY,
        then(x.program, "query", axis),
        true,
        _FULL[axis],
        slots={"x": x.the, "n": ask.named(i), "t": words(true)},
        local=f"10q-{ask.view.name(i)}_{axis}",
        asserts={*x.facts, fact},
        needs=[{fact}],
        target=i,
        topic=("query", axis, i),
    )


def verify_position(ask: Asker) -> ProposedQuestion | None:
    """Is the blue chair on the left side of the photo?"""
    x, axis, true = _placed(ask, 0.75)
    if x is None or not x.ends_clearly:
        return None
    i, yes = x.object_id, ask.chance(0.5)
    value = true if yes else next(side for side in _SIDES[axis] if side != true)
    fact, other = ("position", i, true), ("not at", i, value)
    return ask.propose(
        "positionVerify" + "C" * (not yes),
        _VERIFY[axis],
        then(x.program, f"verify {axis}", value),
        "yes" if yes else "no",
        f"{'Yes' if yes else 'No'}, {_FULL[axis]}",
        slots={"x": x.the, "n": ask.named(i), "v": words(value), "t": words(true)},
        local=f"06-{ask.view.name(i)}_{value}",
        asserts={*x.facts, fact if yes else other},
        needs=[{fact}] if yes else [{fact}, {other}],
        target=i,
        topic=("verify", i, value),
    )


def choose_position(ask: Asker) -> ProposedQuestion | None:
    """Is the dog on the left or on the right side of the picture?"""
    x, axis, true = _placed(ask, 0.7)
    if x is None or not x.ends_clearly:
        return None
    i, fact = x.object_id, ("position", x.object_id, true)
    first, second = _SIDES[axis] if ask.chance(0.5) else _SIDES[axis][::-1]
    program = then(x.program, f"choose {axis}", f"{first}|{second}")
    return ask.propose(
        "positionChoose",
        _CHOOSE[axis],
        program,
        true,
        _FULL[axis],
        slots={"x": x.the, "n": ask.named(i), "u": words(first), "v": words(second), "t": words(true)},
        local=f"10c-{ask.view.name(i)}_{axis}",
        asserts={*x.facts, fact},
        needs=[{fact}],
        target=i,
        topic=("choose", axis, i),
    )


def _placed(ask: Asker, horizontal: float) -> tuple[Reference | None, str, str]:
    """A reference to an object that is clearly on one side, the axis (so often horizontal), and the side."""
    axis = "hposition" if ask.chance(horizontal) else "vposition"
    i = ask.some(lambda j: ask.view.position(j, axis) in _SIDES[axis])
    if i is None:
        return None, axis, ""
    return ask.refer(i, hide=(axis,)), axis, ask.view.position(i, axis) or ""
