"""Questions answered with yes or no, and choices between two options, about one object or the whole picture."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.sample_world.ontology import INDOORS, OUTDOORS, WEATHERS
from pipeline.sample_world.phrasing import (
    IMAGE, PHOTO, VERBS, adjective, exist_nouns, exist_templates, is_plural, plural_of, predicate, with_article, words,
)
from pipeline.sample_world.proposals import Asker, Proposal, plural_name
from pipeline.sample_world.references import ANTONYMS, FUZZY, step, then, typed

# Attribute types that a thing may be said to look.
_LOOKS = ("color", "pattern", "size", "age", "fullness")


def any_attribute(ask: Asker, kinds: Sequence[str]) -> tuple[str, str] | None:
    """An object and one of its attribute types, each type equally likely but colour four times."""
    present = sorted({k for values in ask.view.values.values() for k in values} & set(kinds))
    if not present:
        return None
    kind = ask.pick([k for k in present for _ in range(4 if k == "color" else 2 if k == "material" else 1)])
    return ask.some(lambda j: kind in ask.view.values[j]), kind


def verify_attribute(ask: Asker) -> Proposal | None:
    """Does the shirt of ... look striped? Is the cabinet to the left of the stove open?"""
    chosen = any_attribute(ask, ("color", "material", "size", "pattern", "openness", "light", "fullness", "pose", "age"))
    if chosen is None:
        return None
    i, kind = chosen
    true, yes = ask.view.values[i][kind], ask.chance(0.5)
    value = true if yes else ask.wrong(i, kind)
    x = ask.refer(i, hide=(kind,))
    if x is None or value is None:
        return None
    if kind == "material":
        detailed = "materialVerify"
        templates: tuple[str, ...] = ("[Is|Are] {x} made of {v}", "[Is|Are] {x} made of {v}", "[Is|Are] {x} made out of {v}",
                                      "Do you think {x} [is|are] made of {v}")
    elif ask.chance(0.35):
        detailed = "verifyAttrK"
        templates = ("[Does|Do] {x} look {p}",) if kind in _LOOKS else ("[Does|Do] {x} appear to be {p}",)
        if kind in ("color", "pattern"):
            templates += (f"[Does|Do] {{x}} have {'a ' if kind == 'pattern' else ''}{{v}} {kind}",)
    else:
        detailed = "verifyAttr"
        templates = ("[Is|Are] {x} {p}", "[Is|Are] {x} {p}", "[Is|Are] {x} {p}", "Do you think {x} [is|are] {p}")
        if kind == "color":
            templates += ("Is the color of {x} {v}",)
    full = ("Yes, {n} [is|are] {q}" if yes else "No, {n} [is|are] {t}")
    slots = {"x": x.the, "n": ask.named(i), "v": words(value), "p": words(predicate(value, ask.rng)),
             "q": words(predicate(value)), "t": words(predicate(true))}
    fact = ("attr", i, true)
    return ask.propose(detailed + ("" if yes else "C"), templates, then(x.program, typed("verify", value), value),
                       "yes" if yes else "no", full, slots=slots, plural=x.plural, full_plural=plural_name(ask.view, i),
                       local=f"06-{ask.view.name(i)}_{value}", asserts={*x.facts, fact if yes else ("not", i, value)},
                       needs=[{fact}] if yes else [{fact}, {("not", i, value)}], target=i, topic=("verify", i, value))


def verify_position(ask: Asker) -> Proposal | None:
    """Is the blue chair on the left side of the photo?"""
    axis = "hposition" if ask.chance(0.75) else "vposition"
    sides = {"hposition": ("left", "right"), "vposition": ("top", "bottom")}[axis]
    i = ask.some(lambda j: ask.view.position(j, axis) in sides)
    x = ask.refer(i, hide=(axis,)) if i else None
    if x is None:
        return None
    true, yes = ask.view.position(i, axis), ask.chance(0.5)
    value = true if yes else sides[1 - sides.index(true)]
    if axis == "hposition":
        templates = (f"[Is|Are] {{x}} on the {{v}} of the {IMAGE}", f"[Is|Are] {{x}} on the {{v}} side of the {IMAGE}",
                     "[Is|Are] {x} on the {v} side", "[Is|Are] {x} on the {v}")
    else:
        templates = (f"[Is|Are] {{x}} in the {{v}} part of the {IMAGE}", f"[Is|Are] {{x}} at the {{v}} of the {IMAGE}")
    fact = ("position", i, true)
    return ask.propose("positionVerify" + ("" if yes else "C"), templates, then(x.program, f"verify {axis}", value),
                       "yes" if yes else "no", f"{'Yes' if yes else 'No'}, {{n}} [is|are] {'on' if axis == 'hposition' else 'in'}"
                       " the {t} of the image", slots={"x": x.the, "n": ask.named(i), "v": words(value), "t": words(true)},
                       plural=x.plural, full_plural=plural_name(ask.view, i), local=f"06-{ask.view.name(i)}_{value}",
                       asserts={*x.facts, fact}, needs=[{fact}], target=i, topic=("verify", i, value))


def _pair(ask: Asker, relations: Sequence[str]) -> tuple[str, str, str] | None:
    """A relation that holds: (subject, name, object). The name is drawn first, so that rare ones are heard of."""
    found = [(a, r, b) for a, r, b in sorted(ask.view.relations) if r in relations
             and (r not in ANTONYMS or not ask.view.together(a, b))]
    if not found:
        return None
    relation = ask.pick(sorted({r for _, r, _ in found}))
    return ask.pick([triple for triple in found if triple[1] == relation])


def verify_relation(ask: Asker) -> Proposal | None:
    """Is the person that is wearing the hat to the left of the red car? Is the woman holding the umbrella?"""
    found = _pair(ask, [r for r in {r for _, r, _ in ask.view.relations} if r not in FUZZY])
    if found is None:
        return None
    a, relation, b = found
    yes, said = ask.chance(0.5), relation
    if not yes and relation in ANTONYMS:
        said = ANTONYMS[relation]
    elif not yes:  # another object that could well stand in the relation, but does not
        b = ask.some(lambda j: j not in (a, found[2]) and (a, relation, j) not in ask.view.relations
                     and any(r == relation for r, _, side in ask.view.around[j] if side == "o"))
        if b is None:
            return None
    known = ("rel", a, relation, found[2])
    # One of the two is named plainly, since a program describes only the other.
    plain, rich, role = (a, b, "s") if ask.chance(0.5) else (b, a, "o")
    p, x = ask.refer(plain, plain=True), ask.refer(rich, avoid=(plain,))
    if p is None or x is None:
        return None
    subject, other = (p, x) if role == "s" else (x, p)
    if said in VERBS:
        ing, _, bare = VERBS[said]
        templates = (f"[Is|Are] {{a}} {ing} {{b}}", f"[Is|Are] {{a}} {ing} {{b}}", f"[Does|Do] {{a}} {bare} {{b}}")
    else:
        templates = (f"[Is|Are] {{a}} {said} {{b}}", f"[Is|Are] {{a}} {said} {{b}}", f"Do you think {{a}} [is|are] {said} {{b}}")
    detailed = "relVerify" if yes else "relVerifyCr" if relation in ANTONYMS else "relVerifyCop"
    facts = {*x.facts, *p.facts}
    return ask.propose(detailed, templates, then(x.program, "verify rel", f"{p.noun},{said},{role} ({plain})"),
                       "yes" if yes else "no", f"{'Yes' if yes else 'No'}, {{n}} [is|are] {relation} {{m}}",
                       slots={"a": subject.the, "b": other.the, "n": ask.named(a), "m": ask.named(found[2])},
                       plural=subject.plural, full_plural=plural_name(ask.view, a),
                       local=f"13-{ask.view.name(b)}_{ask.view.name(a)}",
                       asserts={*facts, known} if yes else facts | {("no rel", a, said, b)},
                       needs=[{known}] if yes or relation in ANTONYMS else [{("no rel", a, said, b)}], target=a,
                       topic=("rel", a, said, b))


def exists(ask: Asker) -> Proposal | None:
    """Is there a cup in the picture? Do you see any red chairs? Are there tables that are not made of wood?"""
    form, yes = ask.pick(("plain", "front", "front", "that", "not")), ask.chance(0.5)
    if form == "plain":
        return _exists_plain(ask, yes)
    chosen = any_attribute(ask, ("color", "material", "size", "pattern", "openness", "fullness"))
    if chosen is None:
        return None
    i, kind = chosen
    name = ask.view.name(i)
    values = {j: ask.view.values[j].get(kind) for j in ask.view.called(name)}
    value = ask.view.values[i][kind] if yes == (form != "not") else ask.wrong(i, kind)
    fits = [j for j, v in values.items() if (v == value) == (form != "not")]
    if value is None or yes != bool(fits) or (form == "not" and None in values.values()):
        return None
    argument, sign = (f"not({value})", "n#") if form == "not" else (value, "")
    detailed = "existThatNot" if sign else "existMaterial" if kind == "material" else "existThat" if form == "that" else "existAttr"
    tail = f"that [is|are] {'not ' if sign else ''}{predicate(value)}"
    fact = "not" if sign else "attr"
    needs = [{("name", j, name), (fact, j, value)} for j in fits] if yes else [
        {("none", name, argument)}, {("attr", j, v) for j, v in values.items() if v}]
    return ask.propose(
        detailed + ("" if yes else "C"), exist_templates(name, "" if form == "front" else tail),
        then(then((step("select", f"{name} ({','.join(values)})"),), typed("filter", value), argument), "exist", "?"),
        "yes" if yes else "no", f"Yes, there [is|are] {{o}} {tail}" if yes else
        f"No, there [is|are] {{o}} but [it is|they are] {predicate(values[i])}",
        slots=exist_nouns(name, adjective(value, ask.rng) if form == "front" else "", (fits or [i])[0]),
        plural=plural_name(ask.view, i), local=f"04-{name}_{sign}{value}", needs=needs, target=i,
        asserts={("some", name), *(needs[0] if len(fits) == 1 else ())} if yes else needs[0],
        topic=("exist", name, argument))


def _exists_plain(ask: Asker, yes: bool) -> Proposal | None:
    i = ask.some(lambda j: True) if yes else None
    name = ask.view.name(i) if i else ask.absent_kind()
    if name is None:
        return None
    members = ask.view.called(name)
    full = "Yes, there [is|are] {o}" if yes else f"No, there are no {plural_of(name)}"
    needs = [{("some", name)}, *({("name", j, name)} for j in members)] if yes else [{("none", name)}]
    return ask.propose("exist" + ("" if yes else "C"), exist_templates(name), then(
        (step("select", f"{name} ({','.join(members) or '-'})"),), "exist", "?"), "yes" if yes else "no", full,
        slots=exist_nouns(name, "", i or ""), plural=is_plural(name), local=f"03-{name}", needs=needs,
        asserts={*needs[0], *(needs[1] if len(members) == 1 else ())}, target=i or "", topic=("exist", name))


def exists_related(ask: Asker) -> Proposal | None:
    """Do you see any cats to the left of the wooden table?"""
    found = _pair(ask, [r for r in {r for _, r, _ in ask.view.relations} if r not in FUZZY and r not in VERBS])
    if found is None:
        return None
    a, relation, b = found
    y = ask.refer(b, avoid=(a,))
    if y is None:
        return None
    name, detailed, mark = ask.view.name(a), "existRelS", a
    fits = ask.view.related(name, relation, b, "s")
    if ask.chance(0.5):
        if relation in ANTONYMS and ask.chance(0.6):
            relation, detailed = ANTONYMS[relation], "existRelSRC"
        else:
            name, detailed, mark = ask.absent_kind() or name, "existRelSC", "-"
        if ask.view.related(name, relation, b, "s", strict=False):
            return None
    yes = detailed == "existRelS"
    known = ("rel", a, found[1], b)
    needs = [{("name", j, name), ("rel", j, relation, b)} for j in fits] if yes else [
        {("name", a, name), known} if detailed == "existRelSRC" else {("none", name)}]
    tail = f"{relation} {{y}}"
    full = f"Yes, there [is|are] {{o}} {relation} {{m}}" if yes else f"No, {{n}} [is|are] {found[1]} {{m}}"
    return ask.propose(detailed, exist_templates(name, tail, where=False), then(then(
        y.program, "relate", f"{name},{relation},s ({mark})"), "exist", "?"), "yes" if yes else "no", full,
        slots={"y": y.the, "n": ask.named(a), "m": ask.named(b)} | exist_nouns(name, "", mark if mark != "-" else ""),
        plural=is_plural(name), full_plural=plural_name(ask.view, a), local=f"13-{ask.view.name(b)}_{name}",
        asserts={*y.facts, *(needs[0] if len(fits) == 1 or detailed == "existRelSRC" else ())}, needs=needs,
        target=a, topic=("exist", name, relation, b))


def verify_scene(ask: Asker) -> Proposal | None:
    """Is it outdoors? Is this a park? Is it sunny?"""
    here, yes = ask.view.scene.location, ask.chance(0.5)
    form = ask.pick(("location", "place") if here in INDOORS else ("location", "place", "weather"))
    if form == "location":
        true = "indoors" if here in INDOORS else "outdoors"
        value = true if yes else {"indoors": "outdoors", "outdoors": "indoors"}[true]
        templates = ("Is <it/this> {v}", "Do you think <it/this> is {v}", f"Was the {PHOTO} taken {{v}}",
                     f"Is it an {value[:-1]} scene")
    elif form == "weather":
        true = ask.view.scene.weather
        value = true if yes else ask.pick([w for w in WEATHERS if w != true])
        templates = ("Is it {v}", "Is the weather {v}", "Is it {v} <today/outside>", "Does the weather look {v}")
    else:
        true = here
        value = true if yes else ask.pick([p for p in (INDOORS if here in INDOORS else OUTDOORS) if p != true])
        templates = ("Is <it/this> {o}", f"Is this {PHOTO} showing {{o}}", f"Is it a {PHOTO} of {{o}}")
    fact = (form, true)
    return ask.propose(f"{form}Verify" + ("" if yes else "C"), templates, (step("select", "scene"), step(f"verify {form}", value, 0)),
                       "yes" if yes else "no", f"{'Yes' if yes else 'No'}, it is {{t}}", local=f"01-{form}_{value}",
                       slots={"v": words(value), "o": words(with_article(value)),
                              "t": words(with_article(true) if form == "place" else true)},
                       asserts={fact} if yes or form == "location" else {("not", form, value)},
                       needs=[{fact}, {("not", form, value)}], topic=("verify", form, value))
