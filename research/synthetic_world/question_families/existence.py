"""Propose questions about existence: of a name, of an attribute, in relation to another object, of two names
at once.

The answer is "no" if no object fits. Only the other object of a relation is presupposed.
"""

from __future__ import annotations

from research.synthetic_world.phrasing import (
    THERE_PHRASES,
    VERBS,
    Phrase,
    add_article,
    is_plural,
    make_marked_phrase,
    make_phrase,
    make_plural,
    to_adjective,
    to_predicate,
)
from research.synthetic_world.program_builder import (
    add_filter,
    add_step,
    combine_programs,
    start_program,
    typed_operation,
)
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator
from research.synthetic_world.scene_index import ANTONYMS, VAGUE_RELATIONS

# The placement that a relation requires of its subject (ontology.ObjectKind.placements).
_RESTS = {"on": "top", "in": "inside", "inside": "inside", "under": "floor"}
# Slots of the templates: {one} and {all} are the asked name in the singular and the plural, {o} is the name in
# the full answer. {y} is the described other object of a relation. {n}, {m} and {w} are objects in the full
# answer. For two names, {u} and {v} are the singulars ("a cup"), and {s} and {t} the plurals. The argument
# `local` is GQA's local group: the number of the template and the words that the questions of the group share.
_ATTRIBUTE_ODDS = {"color": 4, "material": 2, "size": 1, "pattern": 1, "openness": 1, "fullness": 1}


def _templates(
    name: str, tail: str = "", tail_of_many: str = "", where: str = THERE_PHRASES
) -> tuple[str, ...]:
    """Return templates that ask for the existence of {one} or {all}. The tail follows the noun."""
    many = tail_of_many or tail
    several = (f"Are there any {{all}} {many} {where}", f"Do you see any {{all}} {many} {where}")
    if is_plural(name):
        return (*several, f"Are there {{all}} {many} {where}")
    one = f"Is there {{one}} {tail} {where}"
    return (one, one, f"Do you see {{one}} {tail} {where}", *several)


def _slots(name: str, object_id: str = "", front: str = "") -> dict[str, Phrase]:
    """Return the slots {one} and {all} with an adjective in front, and {o}, the name with its article."""
    return {
        "one": make_marked_phrase(add_article(f"{front} {name}".strip()), object_id),
        "all": make_phrase(f"{front} {make_plural(name)}", object_id),
        "o": make_marked_phrase(add_article(name), object_id),
    }


def _ids(ids: list[str]) -> str:
    return ",".join(ids) or "-"


def exists_name(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Is there a cup in the image?"."""
    object_id = ask.choose_object() if ask.is_chosen(0.5) else None
    name = ask.scene_index.get_name(object_id) if object_id else ask.choose_absent_kind()
    if name is None:
        return None
    members = ask.scene_index.find_by_name(name)
    fact = ("some" if object_id else "none", name)
    full = "Yes, there [is|are] {o}" if object_id else f"No, there are no {make_plural(name)}"
    return ask.make_proposal(
        "exist" if object_id else "existC",
        _templates(name),
        start_program(f"{name} ({_ids(members)})", ("exist", "?")),
        "yes" if object_id else "no",
        full,
        slots=_slots(name, object_id or ""),
        local=f"03-{name}",
        needs=[{fact}],
        target=object_id or "",
        asserts=_asserted_facts(name, members, set()) if object_id else {fact},
        topic=("exist", name),
    )


def exists_attribute(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Do you see any red chairs?" or "Is there a table that is not made of
    wood?".
    """
    attribute = ask.choose_attribute(_ATTRIBUTE_ODDS)
    if attribute is None:
        return None
    (object_id, kind), form, yes = (
        attribute,
        ask.choose(("front", "front", "that", "not")),
        ask.is_chosen(0.5),
    )
    name, negated = ask.scene_index.get_name(object_id), form == "not"
    values = {j: ask.scene_index.attributes[j].get(kind) for j in ask.scene_index.find_by_name(name)}
    value = (
        ask.scene_index.attributes[object_id][kind]
        if yes != negated
        else ask.choose_wrong_value(object_id, kind)
    )
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
    tail = f"{'not ' if negated else ''}{to_predicate(value)}"
    templates = _templates(name, *(() if form == "front" else (f"that is {tail}", f"that are {tail}")))
    program = add_filter(start_program(f"{name} ({_ids(list(values))})"), value, negated)
    sign = "not" if negated else "attr"
    nothing = ("none", name, sign, value)
    needs = [{("name", j, name), (sign, j, value)} for j in fits] if yes else [{nothing}]
    it_is = "they are" if is_plural(name) else "it is"
    return ask.make_proposal(
        detailed + "C" * (not yes),
        templates,
        add_step(program, "exist", "?"),
        "yes" if yes else "no",
        f"Yes, there [is|are] {{o}} that {it_is.split()[1]} {tail}"
        if yes
        else f"No, there [is|are] {{o}} but {it_is} {to_predicate(ask.scene_index.attributes[object_id][kind])}",
        slots=_slots(
            name, fits[0] if yes else object_id, to_adjective(value, ask.rng) if form == "front" else ""
        ),
        local=f"04-{name}_{'n#' if negated else ''}{value}",
        needs=needs,
        target=object_id,
        asserts=_asserted_facts(name, fits, {(sign, *fits[:1], value)}) if yes else {nothing},
        topic=("exist", name, sign, value),
    )


def exists_relation(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Do you see any cats to the left of the wooden table?"."""
    triple = ask.choose_relation(
        lambda a, name, b: (
            name not in (*VAGUE_RELATIONS, *VERBS) and not ask.scene_index.is_held_together(a, b)
        )
    )
    if triple is None:
        return None
    a, true, b = triple
    relation, name, detailed = true, ask.scene_index.get_name(a), "existRelS"
    if ask.is_chosen(0.5):
        if true in ANTONYMS and ask.is_chosen(0.6):
            relation, detailed = ANTONYMS[true], "existRelSRC"
        else:
            rest = _RESTS.get(true, "")
            name, detailed = (
                ask.choose_absent_kind(lambda kind: not rest or rest in kind.placements) or "",
                "existRelSC",
            )
        if not name or ask.scene_index.find_related(name, relation, b, "s", strict=False):
            return None
    y = ask.make_reference(b, avoid=(a,))
    if y is None:
        return None
    yes, known = detailed == "existRelS", {("name", a, name), ("rel", a, relation, b)}
    alone = ask.scene_index.find_related(name, relation, b, "s") == [a]
    full = {
        "existRelS": f"Yes, there [is|are] {{o}} {true} {{m}}",
        "existRelSRC": f"No, {{n}} [is|are] {true} {{m}}",
        "existRelSC": f"No, there [is|are] {{w}} {true} {{m}}",
    }[detailed]
    nothing = ("none", name, relation, b)
    needs = [known] if yes else [{nothing}, *([{("none", name)}] if detailed == "existRelSC" else [])]
    named = a if detailed != "existRelSC" else ""
    program = add_step(add_step(y.program, "relate", f"{name},{relation},s ({named or '-'})"), "exist", "?")
    return ask.make_proposal(
        detailed,
        _templates(name, f"{relation} {{y}}", where=""),
        program,
        "yes" if yes else "no",
        full,
        slots=_slots(name, named)
        | {
            "y": y.the,
            "n": ask.make_definite(a),
            "m": ask.make_definite(b),
            "w": make_marked_phrase(add_article(ask.scene_index.get_name(a)), a),
        },
        local=f"13-{ask.scene_index.get_name(b)}_{name}",
        needs=needs,
        target=a,
        topic=("exist", name, relation, b),
        asserts={*y.facts, ("some", name) if yes else nothing, *(known if yes and alone else ())},
    )


def exists_two(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Are there both a cup and a plate in the image?" or "Do you see any cats or
    dogs?".
    """
    both, yes = ask.is_chosen(0.5), ask.is_chosen(0.5)
    here = sorted({item.name for item in ask.scene_index.scene.objects if not is_plural(item.name)})
    first = ask.choose(here) if both or yes else ask.choose_absent_kind()
    rest = [name for name in here if name != first]
    second = (
        ask.choose(rest) if both and yes and rest else ask.choose_absent_kind(lambda kind: kind.name != first)
    )
    if first is None or second is None or is_plural(first) or is_plural(second):
        return None
    names = [first, second] if ask.is_chosen(0.5) else [second, first]
    ids = [ask.scene_index.find_by_name(name) for name in names]
    there = [name for name, members in zip(names, ids, strict=True) if members]
    missing = [name for name in names if name not in there]
    if both:
        templates = (
            f"Are there both {{u}} and {{v}} {THERE_PHRASES}",
            f"Are there both {{s}} and {{t}} {THERE_PHRASES}",
            f"Do you see both {{u}} and {{v}} {THERE_PHRASES}",
            f"Is there both {{u}} and {{v}} {THERE_PHRASES}",
        )
    else:
        templates = (
            f"Are there any {{s}} or {{t}} {THERE_PHRASES}",
            f"Are there either any {{s}} or {{t}} {THERE_PHRASES}",
            f"Do you see any {{s}} or {{t}} {THERE_PHRASES}",
            f"Is there {{u}} or {{v}} {THERE_PHRASES}",
            f"Do you see {{u}} or {{v}} {THERE_PHRASES}",
        )
    if not there:
        full = f"No, there are no {make_plural(names[0])} or {make_plural(names[1])}"
    elif yes:
        one_slot = "uv"[names.index(there[0])]
        full = "Yes, there are both {u} and {v}" if both else f"Yes, there is {{{one_slot}}}"
    else:
        full = f"No, there is {{{'uv'[names.index(there[0])]}}} but no {make_plural(missing[0])}"
    facts = {("some", name) for name in there} if yes else {("none", name) for name in missing}
    slots, programs = {}, []
    for one_slot, all_slot, name, members in zip("uv", "st", names, ids, strict=True):
        mark = members[0] if members else ""
        slots |= {
            one_slot: make_marked_phrase(add_article(name), mark),
            all_slot: make_phrase(make_plural(name), mark),
        }
        programs.append(start_program(f"{name} ({_ids(members)})", ("exist", "?")))
    form = "existAnd" if both else "existOr"
    return ask.make_proposal(
        form + "C" * (not yes),
        templates,
        combine_programs("and" if both else "or", *programs),
        "yes" if yes else "no",
        full,
        slots=slots,
        local=f"09{form}-{'_'.join(sorted(names))}",
        needs=[facts],
        asserts=facts if both == yes else (),
        topic=(form, *sorted(names)),
    )


def exists_attribute_of_either(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as:

    Are there any red chairs or tables?
    Do you see any cups or plates that are blue?
    """
    found = ask.choose_attribute(
        {kind: _ATTRIBUTE_ODDS[kind] for kind in ("color", "material", "size", "pattern")}
    )
    if found is None:
        return None
    (object_id, kind), yes, front = found, ask.is_chosen(0.5), ask.is_chosen(0.5)
    name, value = (
        ask.scene_index.get_name(object_id),
        ask.scene_index.attributes[object_id][kind] if yes else ask.choose_wrong_value(object_id, kind),
    )
    members = ask.scene_index.find_by_name(name)
    fits = [j for j in members if ask.scene_index.attributes[j].get(kind) == value]
    # "red chairs or tables" may be understood as "red chairs, or any tables". If there is no table, both have
    # the same meaning.
    has = {"color": "colors", "material": "materials", "size": "has_size", "pattern": "is_patternable"}[kind]
    other = ask.choose_absent_kind(lambda sort: bool(getattr(sort, has)))
    if value is None or other is None or yes != bool(fits) or is_plural(name) or is_plural(other):
        return None
    starts = ("Are there any", "Do you see any", "Are there")
    if front:
        templates = tuple(
            f"{start} {to_adjective(value, ask.rng)} {{s}} or {{t}} {THERE_PHRASES}" for start in starts
        )
    else:
        templates = tuple(f"{start} {{s}} or {{t}} that are {to_predicate(value)}" for start in starts)
    mark = fits[0] if yes else object_id
    slots = {
        "s": make_phrase(make_plural(name), mark),
        "t": make_phrase(make_plural(other)),
        "o": make_marked_phrase(add_article(name), mark),
    }
    if ask.is_chosen(0.5):
        slots |= {"s": slots["t"], "t": slots["s"]}
    programs = [
        start_program(f"{noun} ({_ids(found)})", (typed_operation("filter", value), value), ("exist", "?"))
        for noun, found in ((name, members), (other, []))
    ]
    needs = (
        [{("name", j, name), ("attr", j, value)} for j in fits]
        if yes
        else [{("none", name, "attr", value), ("none", other)}]
    )
    full = (
        f"Yes, there is {{o}} that is {to_predicate(value)}"
        if yes
        else (f"No, there is {{o}} but it is {to_predicate(ask.scene_index.attributes[object_id][kind])}")
    )
    return ask.make_proposal(
        ("existAttrOr" if front else "existThatOr") + "C" * (not yes),
        templates,
        combine_programs("or", *programs),
        "yes" if yes else "no",
        full,
        slots=slots,
        needs=needs,
        asserts=() if yes else needs[0],
        local=f"04-{name}_{value}",
        target=object_id,
        topic=("either", name, other, value),
    )


def _asserted_facts(name: str, fits: list[str], facts: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return the facts that "yes" implies: existence and, if only one object fits, the facts about this
    object.
    """
    return {("some", name)} | ({("name", fits[0], name), *facts} if len(fits) == 1 else set())
