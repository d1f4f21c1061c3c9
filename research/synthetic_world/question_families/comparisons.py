"""Propose questions that compare two objects: same or different, both with an attribute, what they have in
common.
"""

from __future__ import annotations

from research.synthetic_world.phrasing import make_phrase, to_predicate
from research.synthetic_world.program_builder import add_step, combine_programs, typed_operation
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator
from research.synthetic_world.references import Reference

_SAME_COLOR = (
    "Do {x} and {y} have the same color",
    "Are {x} and {y} the same color",
    "Is the color of {x} the same as the color of {y}",
    "[Is|Are] {x} the same color as {y}",
    "[Does|Do] {x} have the same color as {y}",
    "Are both {x} and {y} the same color",
)
_DIFFERENT_COLOR = (
    "Do {x} and {y} have different colors",
    "Are {x} and {y} different in color",
    "[Does|Do] {x} have a different color than {y}",
    "Is the color of {x} different than the color of {y}",
)
_SAME_MATERIAL = (
    "Are {x} and {y} made of the same material",
    "Do {x} and {y} have the same material",
    "[Is|Are] {x} made of the same material as {y}",
    "Are both {x} and {y} made of the same material",
)
_COMMON = (
    "What do {x} and {y} have in common",
    "What do both {x} and {y} have in common",
    "What is common to {x} and {y}",
    "What do {x} and {y} share",
)


def verify_both(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Are both the cup and the large plate blue?"."""
    kind = "color" if ask.is_chosen(0.7) else "material"
    pair = _choose_two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    true = [ask.scene_index.attributes[r.object_id][kind] for r in pair]
    yes, value = true[0] == true[1], ask.choose(true)
    templates = ("Are both {x} and {y} {p}", "Are {x} and {y} both {p}", "Are {x} and {y} {p}")
    if kind == "color":
        templates += ("Do both {x} and {y} look {p}", "Do {x} and {y} both have {p} color")
    facts = [("attr", r.object_id, v) for r, v in zip(pair, true, strict=True)]
    odd = 0 if true[0] != value else 1
    return ask.make_proposal(
        "verifyAttrAnd" + "C" * (not yes),
        templates,
        combine_programs(
            "and", *(add_step(r.program, typed_operation("verify", value), value) for r in pair)
        ),
        "yes" if yes else "no",
        "Yes, both {m} and {n} are {p}" if yes else f"No, {{{'mn'[odd]}}} [is|are] {to_predicate(true[odd])}",
        slots={
            "x": x.the,
            "y": y.the,
            "p": make_phrase(to_predicate(value)),
            "m": ask.make_definite(x.object_id),
            "n": ask.make_definite(y.object_id),
        },
        local=f"05-{_names(pair)}_{value}",
        asserts={*x.facts, *y.facts, *(facts if yes else ())},
        needs=[facts] if yes else [[facts[odd]]],
        target=x.object_id,
        topic=("both", *sorted(r.object_id for r in pair), value),
    )


def compare(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as:

    Do the cup and the plate have the same color?
    Are the chair and the table made of the same material?
    """
    kind = "color" if ask.is_chosen(0.65) else "material"
    pair = _choose_two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    first, second = (ask.scene_index.attributes[r.object_id][kind] for r in pair)
    differ = kind == "color" and ask.is_chosen(0.35)
    yes = (first == second) != differ
    detailed, templates = (
        ("twoSameMaterial", _SAME_MATERIAL)
        if kind == "material"
        else (("twoDifferent", _DIFFERENT_COLOR) if differ else ("twoSame", _SAME_COLOR))
    )
    full = (
        f"both {{m}} and {{n}} are {to_predicate(first)}"
        if first == second
        else (f"{{m}} [is|are] {to_predicate(first)} and {{n}} [is|are] {to_predicate(second)}")
    )
    return ask.make_proposal(
        detailed + "C" * (not yes),
        templates,
        combine_programs(f"{'different' if differ else 'same'} {kind}", x.program, y.program),
        "yes" if yes else "no",
        f"{'Yes' if yes else 'No'}, {full}",
        slots={
            "x": x.the,
            "y": y.the,
            "m": ask.make_definite(x.object_id),
            "n": ask.make_definite(y.object_id),
        },
        local=f"{'09diff' if differ else '09same'}-{_names(pair)}",
        asserts=x.facts | y.facts,
        needs=[{("attr", x.object_id, first), ("attr", y.object_id, second)}],
        target=x.object_id,
        topic=("compare", str(differ), kind, *sorted((x.object_id, y.object_id))),
    )


def query_common(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "What do the cup and the plate have in common?"."""
    kind = ask.choose(("color", "color", "material", "size", "pattern"))
    pair = _choose_two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    first, second = (ask.scene_index.attributes[r.object_id] for r in pair)
    if [k for k in first if first[k] == second.get(k)] != [kind]:
        return None
    return ask.make_proposal(
        "twoCommon",
        _COMMON,
        combine_programs("common", x.program, y.program),
        kind,
        "The {a} is common to {m} and {n}",
        slots={
            "x": x.the,
            "y": y.the,
            "a": make_phrase(kind),
            "m": ask.make_definite(x.object_id),
            "n": ask.make_definite(y.object_id),
        },
        group="attribute",
        local=f"09common-{_names(pair)}",
        asserts=x.facts | y.facts,
        needs=(),
        target=x.object_id,
        topic=("common", *sorted((x.object_id, y.object_id))),
    )


def _choose_two(ask: QuestionGenerator, kind: str) -> tuple[Reference, Reference] | None:
    """Choose references to two objects of different names that have the attribute, often with the same value.

    Neither phrase mentions the attribute or the other object. Only the second reference may contain a
    relation.
    """
    i = ask.choose_object(lambda j: kind in ask.scene_index.attributes[j])
    if i is None:
        return None
    rest = [
        j
        for j, values in ask.scene_index.attributes.items()
        if kind in values and ask.scene_index.get_name(j) != ask.scene_index.get_name(i)
    ]
    if not rest:
        return None
    same = [j for j in rest if ask.scene_index.attributes[j][kind] == ask.scene_index.attributes[i][kind]]
    j = ask.choose(same if same and ask.is_chosen(0.5) else rest)
    x = ask.make_reference(i, hide=(kind,), avoid=(j,), category=0.0, depth=0)
    y = ask.make_reference(j, hide=(kind,), avoid=(i,), category=0.0, depth=1)
    return (x, y) if x and y else None


def _names(pair: tuple[Reference, Reference]) -> str:
    return "_".join(sorted(r.noun for r in pair))
