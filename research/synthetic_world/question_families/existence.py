"""Questions whether there is such a thing: of a name, a look, beside another thing, of two names at once.

They are answered with "no" where nothing fits. Only the other thing of a relation is presupposed.
"""

from __future__ import annotations

from research.synthetic_world.phrasing import (
    THERE,
    VERBS,
    Phrase,
    adjective,
    is_plural,
    marked,
    plural_of,
    predicate,
    with_article,
    words,
)
from research.synthetic_world.program_builder import chain, combine, filter_by, then, typed
from research.synthetic_world.question_proposals import Asker, ProposedQuestion
from research.synthetic_world.scene_index import ANTONYMS, FUZZY

# What stands in a relation must be of a kind that may be there (ontology.Kind.rests).
_RESTS = {"on": "top", "in": "inside", "inside": "inside", "under": "floor"}
_LOOKS = {"color": 4, "material": 2, "size": 1, "pattern": 1, "openness": 1, "fullness": 1}


def _templates(name: str, tail: str = "", tail_of_many: str = "", where: str = THERE) -> tuple[str, ...]:
    """Ways to ask whether there is such a thing, {one} or {all}; the tail follows the noun."""
    many = tail_of_many or tail
    several = (f"Are there any {{all}} {many} {where}", f"Do you see any {{all}} {many} {where}")
    if is_plural(name):
        return (*several, f"Are there {{all}} {many} {where}")
    one = f"Is there {{one}} {tail} {where}"
    return (one, one, f"Do you see {{one}} {tail} {where}", *several)


def _slots(name: str, object_id: str = "", front: str = "") -> dict[str, Phrase]:
    """{one} and {all} with an adjective in front, and {o}, the bare name with its article."""
    return {
        "one": marked(with_article(f"{front} {name}".strip()), object_id),
        "all": words(f"{front} {plural_of(name)}", object_id),
        "o": marked(with_article(name), object_id),
    }


def _ids(ids: list[str]) -> str:
    return ",".join(ids) or "-"


def exists_name(ask: Asker) -> ProposedQuestion | None:
    """Is there a cup in the picture?"""
    i = ask.some() if ask.chance(0.5) else None
    name = ask.view.name(i) if i else ask.absent_kind()
    if name is None:
        return None
    members = ask.view.called(name)
    fact = ("some" if i else "none", name)
    full = "Yes, there [is|are] {o}" if i else f"No, there are no {plural_of(name)}"
    return ask.propose(
        "exist" if i else "existC",
        _templates(name),
        chain(f"{name} ({_ids(members)})", ("exist", "?")),
        "yes" if i else "no",
        full,
        slots=_slots(name, i or ""),
        local=f"03-{name}",
        needs=[{fact}],
        target=i or "",
        asserts=_known(name, members, set()) if i else {fact},
        topic=("exist", name),
    )


def exists_look(ask: Asker) -> ProposedQuestion | None:
    """Do you see any red chairs? Is there a table that is not made of wood?"""
    attribute = ask.attribute(_LOOKS)
    if attribute is None:
        return None
    (i, kind), form, yes = attribute, ask.pick(("front", "front", "that", "not")), ask.chance(0.5)
    name, negated = ask.view.name(i), form == "not"
    values = {j: ask.view.values[j].get(kind) for j in ask.view.called(name)}
    value = ask.view.values[i][kind] if yes != negated else ask.wrong(i, kind)
    fits = [j for j, v in values.items() if (v == value) != negated]
    if value is None or yes != bool(fits) or (negated and None in values.values()):
        return None
    detailed = (
        "existThatNot"
        if negated
        else "existMaterial"
        if kind == "material"
        else ("existAttr" if form == "front" else "existThat")
    )
    tail = f"{'not ' if negated else ''}{predicate(value)}"
    templates = _templates(name, *(() if form == "front" else (f"that is {tail}", f"that are {tail}")))
    program = filter_by(chain(f"{name} ({_ids(list(values))})"), value, negated)
    sign = "not" if negated else "attr"
    nothing = ("none", name, sign, value)
    needs = [{("name", j, name), (sign, j, value)} for j in fits] if yes else [{nothing}]
    it_is = "they are" if is_plural(name) else "it is"
    return ask.propose(
        detailed + "C" * (not yes),
        templates,
        then(program, "exist", "?"),
        "yes" if yes else "no",
        f"Yes, there [is|are] {{o}} that {it_is.split()[1]} {tail}"
        if yes
        else f"No, there [is|are] {{o}} but {it_is} {predicate(ask.view.values[i][kind])}",
        slots=_slots(name, fits[0] if yes else i, adjective(value, ask.rng) if form == "front" else ""),
        local=f"04-{name}_{'n#' if negated else ''}{value}",
        needs=needs,
        target=i,
        asserts=_known(name, fits, {(sign, *fits[:1], value)}) if yes else {nothing},
        topic=("exist", name, sign, value),
    )


def exists_beside(ask: Asker) -> ProposedQuestion | None:
    """Do you see any cats to the left of the wooden table?"""
    triple = ask.relation(lambda a, name, b: name not in (*FUZZY, *VERBS) and not ask.view.together(a, b))
    if triple is None:
        return None
    a, true, b = triple
    relation, name, detailed = true, ask.view.name(a), "existRelS"
    if ask.chance(0.5):
        if true in ANTONYMS and ask.chance(0.6):
            relation, detailed = ANTONYMS[true], "existRelSRC"
        else:
            rest = _RESTS.get(true, "")
            name, detailed = ask.absent_kind(lambda kind: not rest or rest in kind.rests) or "", "existRelSC"
        if not name or ask.view.related(name, relation, b, "s", strict=False):
            return None
    y = ask.refer(b, avoid=(a,))
    if y is None:
        return None
    yes, known = detailed == "existRelS", {("name", a, name), ("rel", a, relation, b)}
    alone = ask.view.related(name, relation, b, "s") == [a]
    full = {
        "existRelS": f"Yes, there [is|are] {{o}} {true} {{m}}",
        "existRelSRC": f"No, {{n}} [is|are] {true} {{m}}",
        "existRelSC": f"No, there [is|are] {{w}} {true} {{m}}",
    }[detailed]
    nothing = ("none", name, relation, b)
    needs = [known] if yes else [{nothing}, *([{("none", name)}] if detailed == "existRelSC" else [])]
    named = a if detailed != "existRelSC" else ""
    program = then(then(y.program, "relate", f"{name},{relation},s ({named or '-'})"), "exist", "?")
    return ask.propose(
        detailed,
        _templates(name, f"{relation} {{y}}", where=""),
        program,
        "yes" if yes else "no",
        full,
        slots=_slots(name, named)
        | {"y": y.the, "n": ask.named(a), "m": ask.named(b), "w": marked(with_article(ask.view.name(a)), a)},
        local=f"13-{ask.view.name(b)}_{name}",
        needs=needs,
        target=a,
        topic=("exist", name, relation, b),
        asserts={*y.facts, ("some", name) if yes else nothing, *(known if yes and alone else ())},
    )


def exists_two(ask: Asker) -> ProposedQuestion | None:
    """Are there both a cup and a plate in the picture? Do you see any cats or dogs?"""
    both, yes = ask.chance(0.5), ask.chance(0.5)
    here = sorted({item.name for item in ask.view.scene.objects if not is_plural(item.name)})
    first = ask.pick(here) if both or yes else ask.absent_kind()
    rest = [name for name in here if name != first]
    second = ask.pick(rest) if both and yes and rest else ask.absent_kind(lambda kind: kind.name != first)
    if first is None or second is None or is_plural(first) or is_plural(second):
        return None
    names = [first, second] if ask.chance(0.5) else [second, first]
    ids = [ask.view.called(name) for name in names]
    there = [name for name, members in zip(names, ids, strict=True) if members]
    missing = [name for name in names if name not in there]
    if both:
        templates = (
            f"Are there both {{u}} and {{v}} {THERE}",
            f"Are there both {{s}} and {{t}} {THERE}",
            f"Do you see both {{u}} and {{v}} {THERE}",
            f"Is there both {{u}} and {{v}} {THERE}",
        )
    else:
        templates = (
            f"Are there any {{s}} or {{t}} {THERE}",
            f"Are there either any {{s}} or {{t}} {THERE}",
            f"Do you see any {{s}} or {{t}} {THERE}",
            f"Is there {{u}} or {{v}} {THERE}",
            f"Do you see {{u}} or {{v}} {THERE}",
        )
    if not there:
        full = f"No, there are no {plural_of(names[0])} or {plural_of(names[1])}"
    elif yes:
        one_slot = "uv"[names.index(there[0])]
        full = "Yes, there are both {u} and {v}" if both else f"Yes, there is {{{one_slot}}}"
    else:
        full = f"No, there is {{{'uv'[names.index(there[0])]}}} but no {plural_of(missing[0])}"
    facts = {("some", name) for name in there} if yes else {("none", name) for name in missing}
    slots, programs = {}, []
    for one_slot, all_slot, name, members in zip("uv", "st", names, ids, strict=True):
        mark = members[0] if members else ""
        slots |= {one_slot: marked(with_article(name), mark), all_slot: words(plural_of(name), mark)}
        programs.append(chain(f"{name} ({_ids(members)})", ("exist", "?")))
    form = "existAnd" if both else "existOr"
    return ask.propose(
        form + "C" * (not yes),
        templates,
        combine("and" if both else "or", *programs),
        "yes" if yes else "no",
        full,
        slots=slots,
        local=f"09{form}-{'_'.join(sorted(names))}",
        needs=[facts],
        asserts=facts if both == yes else (),
        topic=(form, *sorted(names)),
    )


def exists_look_of_either(ask: Asker) -> ProposedQuestion | None:
    """Are there any red chairs or tables? Do you see any cups or plates that are blue?"""
    found = ask.attribute({kind: _LOOKS[kind] for kind in ("color", "material", "size", "pattern")})
    if found is None:
        return None
    (i, kind), yes, front = found, ask.chance(0.5), ask.chance(0.5)
    name, value = ask.view.name(i), ask.view.values[i][kind] if yes else ask.wrong(i, kind)
    members = ask.view.called(name)
    fits = [j for j in members if ask.view.values[j].get(kind) == value]
    # "red chairs or tables" can be heard as "red chairs, or any tables"; with no table both mean the same.
    has = {"color": "colors", "material": "materials", "size": "sized", "pattern": "patterned"}[kind]
    other = ask.absent_kind(lambda sort: bool(getattr(sort, has)))
    if value is None or other is None or yes != bool(fits) or is_plural(name) or is_plural(other):
        return None
    starts = ("Are there any", "Do you see any", "Are there")
    if front:
        templates = tuple(f"{start} {adjective(value, ask.rng)} {{s}} or {{t}} {THERE}" for start in starts)
    else:
        templates = tuple(f"{start} {{s}} or {{t}} that are {predicate(value)}" for start in starts)
    mark = fits[0] if yes else i
    slots = {
        "s": words(plural_of(name), mark),
        "t": words(plural_of(other)),
        "o": marked(with_article(name), mark),
    }
    if ask.chance(0.5):
        slots |= {"s": slots["t"], "t": slots["s"]}
    programs = [
        chain(f"{noun} ({_ids(found)})", (typed("filter", value), value), ("exist", "?"))
        for noun, found in ((name, members), (other, []))
    ]
    needs = (
        [{("name", j, name), ("attr", j, value)} for j in fits]
        if yes
        else [{("none", name, "attr", value), ("none", other)}]
    )
    full = (
        f"Yes, there is {{o}} that is {predicate(value)}"
        if yes
        else (f"No, there is {{o}} but it is {predicate(ask.view.values[i][kind])}")
    )
    return ask.propose(
        ("existAttrOr" if front else "existThatOr") + "C" * (not yes),
        templates,
        combine("or", *programs),
        "yes" if yes else "no",
        full,
        slots=slots,
        needs=needs,
        asserts=() if yes else needs[0],
        local=f"04-{name}_{value}",
        target=i,
        topic=("either", name, other, value),
    )


def _known(name: str, fits: list[str], facts: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """What "yes" tells: that there is one, and if just one fits, what was said of it."""
    return {("some", name)} | ({("name", fits[0], name), *facts} if len(fits) == 1 else set())
