"""Propose questions about the side or part of the image that one object is in."""

from __future__ import annotations

from research.synthetic_world.phrasing import IMAGE_NOUNS, make_phrase
from research.synthetic_world.program_builder import add_step
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator
from research.synthetic_world.references import Reference

_SIDES = {"hposition": ("left", "right"), "vposition": ("top", "bottom")}
_QUERY = (
    "On which side [is|are] {x}",
    "Which side [is|are] {x} on",
    f"On which side of the {IMAGE_NOUNS} [is|are] {{x}}",
    f"Which side of the {IMAGE_NOUNS} [is|are] {{x}} on",
    f"{{x}} [is|are] on which side of the {IMAGE_NOUNS}",
)
_VERIFY = {
    "hposition": (
        f"[Is|Are] {{x}} on the {{v}} of the {IMAGE_NOUNS}",
        "[Is|Are] {x} on the {v} side",
        f"[Is|Are] {{x}} on the {{v}} side of the {IMAGE_NOUNS}",
        "[Is|Are] {x} on the {v}",
    ),
    "vposition": (
        f"[Is|Are] {{x}} in the {{v}} part of the {IMAGE_NOUNS}",
        f"[Is|Are] {{x}} at the {{v}} of the {IMAGE_NOUNS}",
    ),
}
_CHOOSE = {
    "hposition": (
        f"[Is|Are] {{x}} on the {{u}} or on the {{v}} side of the {IMAGE_NOUNS}",
        "[Is|Are] {x} on the {u} or on the {v}",
        "Which side [is|are] {x} on, the {u} or the {v}",
        f"On which side of the {IMAGE_NOUNS} [is|are] {{x}}, the {{u}} or the {{v}}",
        f"Where in the {IMAGE_NOUNS} [is|are] {{x}}, on the {{u}} or on the {{v}}",
    ),
    "vposition": (
        f"In which part of the {IMAGE_NOUNS} [is|are] {{x}}, the {{u}} or the {{v}}",
        f"[Is|Are] {{x}} in the {{u}} or in the {{v}} part of the {IMAGE_NOUNS}",
    ),
}
_FULL = {
    "hposition": "{n} [is|are] on the {t} of the image",
    "vposition": "{n} [is|are] in the {t} of the image",
}


def query_position(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "On which side of the image is the red chair?"."""
    x, axis, true = _choose_positioned(ask, 1.0)
    if x is None:
        return None
    i, fact = x.object_id, ("position", x.object_id, true)
    return ask.make_proposal(
        "positionQuery",
        _QUERY,
        add_step(x.program, "query", axis),
        true,
        _FULL[axis],
        slots={"x": x.the, "n": ask.make_definite(i), "t": make_phrase(true)},
        local=f"10q-{ask.scene_index.get_name(i)}_{axis}",
        asserts={*x.facts, fact},
        needs=[{fact}],
        target=i,
        topic=("query", axis, i),
    )


def verify_position(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Is the blue chair on the left side of the photo?"."""
    x, axis, true = _choose_positioned(ask, 0.75)
    if x is None or not x.ends_clearly:
        return None
    i, yes = x.object_id, ask.is_chosen(0.5)
    value = true if yes else next(side for side in _SIDES[axis] if side != true)
    fact, other = ("position", i, true), ("not at", i, value)
    return ask.make_proposal(
        "positionVerify" + "C" * (not yes),
        _VERIFY[axis],
        add_step(x.program, f"verify {axis}", value),
        "yes" if yes else "no",
        f"{'Yes' if yes else 'No'}, {_FULL[axis]}",
        slots={"x": x.the, "n": ask.make_definite(i), "v": make_phrase(value), "t": make_phrase(true)},
        local=f"06-{ask.scene_index.get_name(i)}_{value}",
        asserts={*x.facts, fact if yes else other},
        needs=[{fact}] if yes else [{fact}, {other}],
        target=i,
        topic=("verify", i, value),
    )


def choose_position(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Is the dog on the left or on the right side of the image?"."""
    x, axis, true = _choose_positioned(ask, 0.7)
    if x is None or not x.ends_clearly:
        return None
    i, fact = x.object_id, ("position", x.object_id, true)
    first, second = _SIDES[axis] if ask.is_chosen(0.5) else _SIDES[axis][::-1]
    program = add_step(x.program, f"choose {axis}", f"{first}|{second}")
    return ask.make_proposal(
        "positionChoose",
        _CHOOSE[axis],
        program,
        true,
        _FULL[axis],
        slots={
            "x": x.the,
            "n": ask.make_definite(i),
            "u": make_phrase(first),
            "v": make_phrase(second),
            "t": make_phrase(true),
        },
        local=f"10c-{ask.scene_index.get_name(i)}_{axis}",
        asserts={*x.facts, fact},
        needs=[{fact}],
        target=i,
        topic=("choose", axis, i),
    )


def _choose_positioned(ask: QuestionGenerator, horizontal: float) -> tuple[Reference | None, str, str]:
    """Choose an object that is clearly on one side of the image. Return a reference, the axis and the side.

    `horizontal` is the probability of the horizontal axis.
    """
    axis = "hposition" if ask.is_chosen(horizontal) else "vposition"
    i = ask.choose_object(lambda j: ask.scene_index.get_position(j, axis) in _SIDES[axis])
    if i is None:
        return None, axis, ""
    return ask.make_reference(i, hide=(axis,)), axis, ask.scene_index.get_position(i, axis) or ""
