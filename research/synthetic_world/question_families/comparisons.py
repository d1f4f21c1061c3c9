"""Questions that set two objects side by side: alike or not, both so, what they share."""

from __future__ import annotations

from research.synthetic_world.phrasing import predicate, words
from research.synthetic_world.program_builder import combine, then, typed
from research.synthetic_world.question_proposals import Asker, ProposedQuestion
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


def verify_both(ask: Asker) -> ProposedQuestion | None:
    """Are both the cup and the large plate blue?"""
    kind = "color" if ask.chance(0.7) else "material"
    pair = _two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    true = [ask.view.values[r.object_id][kind] for r in pair]
    yes, value = true[0] == true[1], ask.pick(true)
    templates = ("Are both {x} and {y} {p}", "Are {x} and {y} both {p}", "Are {x} and {y} {p}")
    if kind == "color":
        templates += ("Do both {x} and {y} look {p}", "Do {x} and {y} both have {p} color")
    facts = [("attr", r.object_id, v) for r, v in zip(pair, true, strict=True)]
    odd = 0 if true[0] != value else 1
    return ask.propose(
        "verifyAttrAnd" + "C" * (not yes),
        templates,
        combine("and", *(then(r.program, typed("verify", value), value) for r in pair)),
        "yes" if yes else "no",
        "Yes, both {m} and {n} are {p}" if yes else f"No, {{{'mn'[odd]}}} [is|are] {predicate(true[odd])}",
        slots={
            "x": x.the,
            "y": y.the,
            "p": words(predicate(value)),
            "m": ask.named(x.object_id),
            "n": ask.named(y.object_id),
        },
        local=f"05-{_names(pair)}_{value}",
        asserts={*x.facts, *y.facts, *(facts if yes else ())},
        needs=[facts] if yes else [[facts[odd]]],
        target=x.object_id,
        topic=("both", *sorted(r.object_id for r in pair), value),
    )


def compare(ask: Asker) -> ProposedQuestion | None:
    """Do the cup and the plate have the same color? Are the chair and the table made of the same material?"""
    kind = "color" if ask.chance(0.65) else "material"
    pair = _two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    first, second = (ask.view.values[r.object_id][kind] for r in pair)
    differ = kind == "color" and ask.chance(0.35)
    yes = (first == second) != differ
    detailed, templates = (
        ("twoSameMaterial", _SAME_MATERIAL)
        if kind == "material"
        else (("twoDifferent", _DIFFERENT_COLOR) if differ else ("twoSame", _SAME_COLOR))
    )
    full = (
        f"both {{m}} and {{n}} are {predicate(first)}"
        if first == second
        else (f"{{m}} [is|are] {predicate(first)} and {{n}} [is|are] {predicate(second)}")
    )
    return ask.propose(
        detailed + "C" * (not yes),
        templates,
        combine(f"{'different' if differ else 'same'} {kind}", x.program, y.program),
        "yes" if yes else "no",
        f"{'Yes' if yes else 'No'}, {full}",
        slots={"x": x.the, "y": y.the, "m": ask.named(x.object_id), "n": ask.named(y.object_id)},
        local=f"{'09diff' if differ else '09same'}-{_names(pair)}",
        asserts=x.facts | y.facts,
        needs=[{("attr", x.object_id, first), ("attr", y.object_id, second)}],
        target=x.object_id,
        topic=("compare", str(differ), kind, *sorted((x.object_id, y.object_id))),
    )


def query_common(ask: Asker) -> ProposedQuestion | None:
    """What do the cup and the plate have in common?"""
    kind = ask.pick(("color", "color", "material", "size", "pattern"))
    pair = _two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    first, second = (ask.view.values[r.object_id] for r in pair)
    if [k for k in first if first[k] == second.get(k)] != [kind]:
        return None
    return ask.propose(
        "twoCommon",
        _COMMON,
        combine("common", x.program, y.program),
        kind,
        "The {a} is common to {m} and {n}",
        slots={
            "x": x.the,
            "y": y.the,
            "a": words(kind),
            "m": ask.named(x.object_id),
            "n": ask.named(y.object_id),
        },
        group="attribute",
        local=f"09common-{_names(pair)}",
        asserts=x.facts | y.facts,
        needs=(),
        target=x.object_id,
        topic=("common", *sorted((x.object_id, y.object_id))),
    )


def _two(ask: Asker, kind: str) -> tuple[Reference, Reference] | None:
    """Clear references to two objects of different names that have the attribute; often, the same value.
    Neither phrase tells the attribute or speaks of the other object; only the second may have a relation."""
    i = ask.some(lambda j: kind in ask.view.values[j])
    if i is None:
        return None
    rest = [
        j for j, values in ask.view.values.items() if kind in values and ask.view.name(j) != ask.view.name(i)
    ]
    if not rest:
        return None
    same = [j for j in rest if ask.view.values[j][kind] == ask.view.values[i][kind]]
    j = ask.pick(same if same and ask.chance(0.5) else rest)
    x = ask.refer(i, hide=(kind,), avoid=(j,), category=0.0, depth=0)
    y = ask.refer(j, hide=(kind,), avoid=(i,), category=0.0, depth=1)
    return (x, y) if x and y else None


def _names(pair: tuple[Reference, Reference]) -> str:
    return "_".join(sorted(r.noun for r in pair))
