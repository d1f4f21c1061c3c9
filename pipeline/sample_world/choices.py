"""Choices between two options, logical questions (and, or) and comparisons of two objects."""

from __future__ import annotations

from pipeline.sample_world.checks import any_attribute
from pipeline.sample_world.ontology import ATTRIBUTE_TYPES, BY_NAME, CATEGORIES, INDOORS, OUTDOORS, WEATHERS
from pipeline.sample_world.phrasing import (
    CATEGORY_KINDS, IMAGE, PHOTO, THERE, VERBS, Phrase, adjective, category_of, is_plural, marked, plural_of, predicate,
    with_article, words,
)
from pipeline.sample_world.proposals import Asker, Proposal, plural_name
from pipeline.sample_world.references import ANTONYMS, FUZZY, Reference, after, noun_facts, step, then, typed

_ANSWERS = {"to the left of": "left", "to the right of": "right", "in front of": "front"}  # as GQA shortens them


def choose_attribute(ask: Asker) -> Proposal | None:
    """Is the cup on the table red or blue? What is the large chair made of, wood or metal?"""
    chosen = any_attribute(ask, ("color", "material", "size", "pattern", "openness", "light", "fullness", "pose", "age"))
    if chosen is None:
        return None
    i, kind = chosen
    true, other = ask.view.values[i][kind], ask.wrong(i, kind)
    x = ask.refer(i, hide=(kind,))
    if x is None or other is None:
        return None
    one, two = (true, other) if ask.chance(0.5) else (other, true)
    detailed, full = "chooseAttr", "{n} [is|are] {t}"
    if kind == "material":
        detailed = "materialChoose"
        templates = ("[Is|Are] {x} made of {u} or {v}", "[Is|Are] {x} made of {u} or {v}", "What [is|are] {x} made of, {u} or {v}",
                     "Which material [is|are] {x} made of, {u} or {v}", "What material [is|are] {x} made of, {u} or {v}")
    elif kind == "pose":
        detailed = "activityChoose"
        templates = ("What [is|are] {x} doing, {u} or {v}", "[Is|Are] {x} {u} or {v}")
    elif kind == "light":
        templates = ("[Is|Are] {x} turned {u} or {v}", "[Is|Are] {x} {u} or {v}")
    else:
        templates = ("[Is|Are] {x} {u} or {v}", "[Is|Are] {x} {u} or {v}", "Do you think {x} [is|are] {u} or {v}")
        if kind != "openness":
            templates += ("[Does|Do] {x} look {u} or {v}", "How [does|do] {x} look, {u} or {v}")
        if kind == "color":
            templates += ("Which color [is|are] {x}, {u} or {v}", "What color [is|are] {x}, {u} or {v}")
    fact = ("attr", i, true)
    return ask.propose(detailed, templates, then(x.program, typed("choose", true), f"{one}|{two}"), true, full,
                       slots={"x": x.the, "n": ask.named(i), "u": words(one), "v": words(two), "t": words(predicate(true))},
                       plural=x.plural, full_plural=plural_name(ask.view, i), group=kind,
                       local=f"10c-{ask.view.name(i)}_{kind}", asserts={*x.facts, fact}, needs=[{fact}], target=i,
                       topic=("choose", kind, i))


def choose_position(ask: Asker) -> Proposal | None:
    """Is the dog on the left or on the right side of the picture?"""
    axis, sides = ("hposition", ("left", "right")) if ask.chance(0.7) else ("vposition", ("top", "bottom"))
    i = ask.some(lambda j: ask.view.position(j, axis) in sides)
    x = ask.refer(i, hide=(axis,)) if i else None
    if x is None:
        return None
    true = ask.view.position(i, axis)
    one, two = sides if ask.chance(0.5) else sides[::-1]
    if axis == "hposition":
        templates = (f"[Is|Are] {{x}} on the {{u}} or on the {{v}} side of the {IMAGE}", "[Is|Are] {x} on the {u} or on the {v}",
                     f"On which side of the {IMAGE} [is|are] {{x}}, the {{u}} or the {{v}}",
                     "Which side [is|are] {x} on, the {u} or the {v}",
                     f"Where in the {IMAGE} [is|are] {{x}}, on the {{u}} or on the {{v}}")
    else:
        templates = (f"In which part of the {IMAGE} [is|are] {{x}}, the {{u}} or the {{v}}",
                     f"[Is|Are] {{x}} in the {{u}} or in the {{v}} part of the {IMAGE}")
    fact = ("position", i, true)
    return ask.propose("positionChoose", templates, then(x.program, f"choose {axis}", f"{one}|{two}"), true,
                       f"{{n}} [is|are] {'on' if axis == 'hposition' else 'in'} the {{t}} of the image",
                       slots={"x": x.the, "n": ask.named(i), "u": words(one), "v": words(two), "t": words(true)},
                       plural=x.plural, full_plural=plural_name(ask.view, i), local=f"10c-{ask.view.name(i)}_{axis}",
                       asserts={*x.facts, fact}, needs=[{fact}], target=i, topic=("choose", axis, i))


def choose_relation(ask: Asker) -> Proposal | None:
    """Is the bag to the left or to the right of the woman in the red shirt?"""
    found = [t for t in sorted(ask.view.relations) if t[1] in ANTONYMS and not ask.view.together(t[0], t[2])]
    if not found:
        return None
    relation = ask.pick(sorted({r for _, r, _ in found}))
    a, relation, b = ask.pick([t for t in found if t[1] == relation])
    p, y = ask.refer(a, plain=True), ask.refer(b, avoid=(a,))
    if p is None or y is None:
        return None
    options = (relation, ANTONYMS[relation]) if ask.chance(0.5) else (ANTONYMS[relation], relation)
    templates = ("[Is|Are] {x} {u} or {v} {y}", "[Is|Are] {x} {u} or {v} {y}", "Do you think {x} [is|are] {u} or {v} {y}")
    # "to the left or to the right of the woman": what both options end with is said once.
    u, v = options
    if u.endswith(" of") and v.endswith(" of"):
        u = u.removesuffix(" of")
    fact = ("rel", a, relation, b)
    return ask.propose("relChooser", templates, then(y.program, "choose rel", f"{p.noun},{options[0]}|{options[1]},s ({a})"),
                       _ANSWERS.get(relation, relation), f"{{n}} [is|are] {relation} {{m}}",
                       slots={"x": p.the, "y": y.the, "u": words(u), "v": words(v), "n": ask.named(a), "m": ask.named(b)},
                       plural=p.plural, full_plural=plural_name(ask.view, a), local=f"13-{ask.view.name(b)}_{ask.view.name(a)}",
                       asserts={*y.facts, *p.facts, fact}, needs=[{fact}], target=a, topic=("which", a, b))


def choose_kind(ask: Asker) -> Proposal | None:
    """Which kind of furniture is red, a chair or a couch? What animal is behind the tree, a dog or a cat?"""
    i = ask.some(lambda j: category_of(ask.view.name(j)) in CATEGORY_KINDS)
    if i is None:
        return None
    name, chosen = ask.view.name(i), category_of(ask.view.name(i))
    other = ask.pick([k for k in CATEGORIES[chosen] if k != name])
    around = [(r, b, role) for r, b, role in ask.view.around[i] if r not in FUZZY
              and (r in VERBS or role == "s" and not ask.view.together(i, b))]
    values = sorted(ask.view.values[i].values())
    form = ask.pick(("this", *("that",) * 2 * bool(values), *("rel",) * 3 * bool(around)))
    facts: set = set(noun_facts(ask.view, i, name))
    slots: dict[str, Phrase] = {"k": words(ask.pick(CATEGORY_KINDS[chosen]), i)}
    plural, full = False, "The {c} is {a}"
    if form == "this":
        if ask.view.called(chosen, strict=False) != [i]:
            return None
        program, detailed, ask_so, full = (step("select", f"{chosen} ({i})"),), "categoryThisChoose", "is <this/that/it>", "This is {a}"
        local = f"11c-{chosen}"
    elif form == "that":
        value = ask.pick(values)
        if [j for j in ask.view.called(chosen, strict=False) if value in ask.view.values[j].values()] != [i]:
            return None
        program = then((step("select", f"{chosen} ({i})"),), typed("filter", value), value)
        detailed, ask_so, local = "categoryThatChoose", f"is {predicate(value, ask.rng)}", f"12c-{chosen}_{value}"
        facts.add(("attr", i, value))
    else:
        relation, b, role = ask.pick(around)
        y = ask.refer(b, avoid=(i,))
        if y is None or ask.view.related(chosen, relation, b, role, strict=False) != [i]:
            return None
        said = VERBS.get(relation, (relation,))[0]
        detailed = "categoryRelSChoose" if role == "s" else "categoryRelOChoose"
        ask_so = f"is {said} {{y}}" if role == "s" else f"[is|are] {{y}} {said}"
        plural, local = role == "o" and y.plural, f"15-{ask.view.name(b)}_{relation},{role}"
        program = then(y.program, "relate", f"{chosen},{relation},{role} ({i})")
        facts |= {*y.facts, ("rel", i, relation, b) if role == "s" else ("rel", b, relation, i)}
        slots["y"] = y.the
    one, two = (name, other) if ask.chance(0.5) else (other, name)
    slots |= {"u": words(with_article(one)), "v": words(with_article(two)), "a": marked(with_article(name), i),
              "c": words({"furniture": "piece of furniture", "dishes": "dish"}.get(chosen, chosen), i)}
    return ask.propose(detailed, (f"<What/Which> {{k}} {ask_so}, {{u}} or {{v}}",), then(program, "choose name", f"{one}|{two}"),
                       name, full, slots=slots, plural=plural, full_plural=False, group=chosen, local=local, asserts=facts,
                       needs=[facts], target=i, answer_id=i, topic=("name", i, detailed))


def choose_scene(ask: Asker) -> Proposal | None:
    """Is it indoors or outdoors? Is this a park or a farm? Is it sunny or rainy?"""
    here = ask.view.scene.location
    indoors = here in INDOORS
    form = ask.pick(("location", "place") if indoors else ("location", "place", "weather"))
    if form == "location":
        true, other = ("indoors", "outdoors") if indoors else ("outdoors", "indoors")
        templates = ("Is <it/this> {u} or {v}", f"Was the {PHOTO} taken {{u}} or {{v}}", f"Is the {PHOTO} showing something {{u}} or {{v}}")
    elif form == "weather":
        true = ask.view.scene.weather
        other = ask.pick([w for w in WEATHERS if w != true])
        templates = ("Is it {u} or {v}", "How is the weather, {u} or {v}", "What is the weather like, {u} or {v}",
                     "Is the weather {u} or {v}", "How is the weather today, {u} or {v}")
    else:
        true, other = here, ask.pick([p for p in (INDOORS if indoors else OUTDOORS) if p != here])
        templates = (f"Is this <a/a/a/an>? {{u}}",)
        templates = ("Is <it/this> {u} or {v}", f"Is this a {PHOTO} of {{u}} or {{v}}", "Which place is <it/this>, {u} or {v}",
                     f"What place is shown in the {PHOTO}, {{u}} or {{v}}")
    one, two = (true, other) if ask.chance(0.5) else (other, true)
    said = with_article if form == "place" else str
    fact = (form, true)
    return ask.propose(f"{form}Choose", templates, (step("select", "scene"), step(f"choose {form}", f"{one}|{two}", 0)), true,
                       "It is {t}", slots={"u": words(said(one)), "v": words(said(two)), "t": words(said(true))},
                       group=form, local=f"02c-{form}", asserts={fact}, needs=[{fact}], topic=("choose", form))


def exists_two(ask: Asker) -> Proposal | None:
    """Are there both a cup and a plate in the picture? Do you see any cats or dogs?"""
    both, yes = ask.chance(0.5), ask.chance(0.5)
    here = sorted({item.name for item in ask.view.scene.objects})
    first = ask.pick(here) if both or yes else ask.absent_kind()
    rest = [name for name in here if name != first]
    second = ask.pick(rest) if both and yes and rest else ask.absent_kind((first,))
    if first is None or second is None or is_plural(first) or is_plural(second):
        return None
    if ask.chance(0.5):
        first, second = second, first
    ids = {name: ask.view.called(name) for name in (first, second)}
    program: tuple = ()
    for name in (first, second):
        program = after(program, (step("select", f"{name} ({','.join(ids[name]) or '-'})"), step("exist", "?", 0)))
    program = (*program, step("and" if both else "or", "", 1, 3))
    if both:
        templates = (f"Are there both {{u}} and {{v}} {THERE}", f"Are there both {{s}} and {{t}} {THERE}",
                     f"Do you see both {{u}} and {{v}} {THERE}", f"Is there both {{u}} and {{v}} {THERE}")
    else:
        templates = (f"Are there any {{s}} or {{t}} {THERE}", f"Are there either any {{s}} or {{t}} {THERE}",
                     f"Do you see any {{s}} or {{t}} {THERE}", f"Is there {{u}} or {{v}} {THERE}", f"Do you see {{u}} or {{v}} {THERE}")
    there = [name for name in (first, second) if ids[name]]
    missing = [name for name in (first, second) if not ids[name]]
    if yes:
        full = f"Yes, there are both {with_article(first)} and {with_article(second)}" if both else f"Yes, there is {with_article(there[0])}"
        needs = [{("some", n) for n in there}]
    elif there:
        full, needs = f"No, there is {with_article(there[0])} but no {plural_of(missing[0])}", [{("none", missing[0])}]
    else:
        full, needs = f"No, there are no {plural_of(first)} or {plural_of(second)}", [{("none", n) for n in missing}]
    mark = {name: ids[name][0] if ids[name] else "" for name in ids}
    return ask.propose(("existAnd" if both else "existOr") + ("" if yes else "C"), templates, program, "yes" if yes else "no", full,
                       slots={"u": marked(with_article(first), mark[first]), "v": marked(with_article(second), mark[second]),
                              "s": words(plural_of(first), mark[first]), "t": words(plural_of(second), mark[second])},
                       local=f"09{'existAnd' if both else 'existOr'}-{'_'.join(sorted(ids))}", needs=needs,
                       asserts=needs[0] if both == yes else set(), topic=("both" if both else "either", *sorted(ids)))


def exists_either(ask: Asker) -> Proposal | None:
    """Are there any red chairs or tables? Do you see any cups or plates that are blue?"""
    chosen = any_attribute(ask, ("color", "material", "pattern", "size"))
    if chosen is None:
        return None
    i, kind = chosen
    name, yes, front = ask.view.name(i), ask.chance(0.5), ask.chance(0.5)
    value = ask.view.values[i][kind] if yes else ask.wrong(i, kind)
    other = ask.absent_kind((name,))
    ids = ask.view.called(name)
    fits = [j for j in ids if ask.view.values[j].get(kind) == value]
    if value is None or other is None or yes != bool(fits) or is_plural(name) or is_plural(other):
        return None
    # "red chairs or tables" can be heard as "red chairs, or tables"; with no table there both readings agree.
    program = after(
        (step("select", f"{name} ({','.join(ids)})"), step(typed("filter", value), value, 0), step("exist", "?", 1)),
        (step("select", f"{other} (-)"), step(typed("filter", value), value, 0), step("exist", "?", 1)))
    program = (*program, step("or", "", 2, 5))
    first, second = (words(plural_of(n), m) for n, m in ((name, (fits or ids)[0]), (other, "")))
    if ask.chance(0.5):
        first, second = second, first
    if front:
        said = words(adjective(value, ask.rng))
        templates = tuple(f"{start} {{p}} {{s}} or {{t}} {THERE}" for start in ("Are there any", "Do you see any", "Are there"))
    else:
        said = words(predicate(value))
        templates = tuple(f"{start} {{s}} or {{t}} that are {{p}}" for start in ("Are there any", "Do you see any", "Are there"))
    full = f"Yes, there is {{o}} that is {predicate(value)}" if yes else (
        f"No, there is {{o}} but it is {predicate(ask.view.values[i][kind])}")
    needs = [{("name", j, name), ("attr", j, value)} for j in fits] if yes else [{("none", name, value), ("none", other)}]
    return ask.propose(("existAttrOr" if front else "existThatOr") + ("" if yes else "C"), templates, program,
                       "yes" if yes else "no", full, slots={"s": first, "t": second, "p": said,
                                                            "o": marked(with_article(name), (fits or ids)[0])},
                       local=f"04-{name}_{value}", asserts=set() if yes else {("none", name, value)}, needs=needs, target=i,
                       topic=("either", name, other, value))


def verify_attributes(ask: Asker) -> Proposal | None:
    """Is the chair to the left of the table red and made of wood?"""
    kinds = ("size", "age", "openness", "fullness", "color", "pattern", "material")
    i = ask.some(lambda j: len(set(kinds) & set(ask.view.values[j])) > 1)
    if i is None:
        return None
    true = [ask.view.values[i][k] for k in kinds if k in ask.view.values[i]]
    one, two = (true[k] for k in sorted(ask.rng.choice(len(true), 2, replace=False)))
    x = ask.refer(i, hide=(ATTRIBUTE_TYPES[one], ATTRIBUTE_TYPES[two]))
    if x is None:
        return None
    yes, full = ask.chance(0.5), "Yes, {n} [is|are] {u} and {v}"
    said, needs = [one, two], {("attr", i, one), ("attr", i, two)}
    if not yes:
        k = int(ask.chance(0.5))
        false = ask.wrong(i, ATTRIBUTE_TYPES[said[k]])
        if false is None:
            return None
        full = f"No, {{n}} [is|are] {predicate(said[1 - k])} but {predicate(said[k])}"
        needs, said[k] = {("attr", i, said[k])}, false
    if ATTRIBUTE_TYPES[said[1]] != "material" and ask.chance(0.5):
        said.reverse()
    templates = ("[Is|Are] {x} {u} and {v}", "[Is|Are] {x} {u} and {v}", "[Is|Are] {x} both {u} and {v}",
                 "Do you think {x} [is|are] {u} and {v}")
    if not {"material", "openness"} & {ATTRIBUTE_TYPES[v] for v in said}:
        templates += ("[Does|Do] {x} look {u} and {v}",)
    program = x.program
    last = len(program) - 1
    program = (*program, step(typed("verify", said[0]), said[0], last), step(typed("verify", said[1]), said[1], last),
               step("and", "", last + 1, last + 2))
    return ask.propose("verifyAttrs" + ("" if yes else "C"), templates, program, "yes" if yes else "no", full,
                       slots={"x": x.the, "n": ask.named(i), "u": words(predicate(said[0])), "v": words(predicate(said[1]))},
                       plural=x.plural, full_plural=plural_name(ask.view, i), local=f"05-{'_'.join(sorted(said))}",
                       asserts={*x.facts, *(needs if yes else ())}, needs=[needs], target=i, topic=("verify", i, *sorted(said)))


def _two(ask: Asker, kind: str) -> tuple[Reference, Reference] | None:
    """Clear references to two objects of different names that both have the attribute; neither tells it."""
    i = ask.some(lambda j: kind in ask.view.values[j])
    if i is None:
        return None
    rest = [j for j, values in ask.view.values.items() if kind in values and ask.view.name(j) != ask.view.name(i)]
    if not rest:
        return None
    same = [j for j in rest if ask.view.values[j][kind] == ask.view.values[i][kind]]
    j = ask.pick(same if same and ask.chance(0.5) else rest)
    x = ask.refer(i, hide=(kind,), avoid=(j,), category=0.0)
    y = ask.refer(j, hide=(kind,), avoid=(i,), category=0.0, depth=0 if x and x.tail else 1)
    return (x, y) if x and y else None


def verify_both(ask: Asker) -> Proposal | None:
    """Are both the cup and the large plate blue?"""
    kind = "color" if ask.chance(0.7) else "material"
    pair = _two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    true = [ask.view.values[r.object_id][kind] for r in pair]
    value = ask.pick(true)
    yes = true[0] == true[1]
    templates = ("Are both {x} and {y} {p}", "Are {x} and {y} both {p}", "Are {x} and {y} {p}")
    if kind == "color":
        templates += ("Do both {x} and {y} look {p}", f"Do {{x}} and {{y}} both have {value} color")
    program = then(x.program, typed("verify", value), value)
    first = len(program) - 1
    program = after(program, then(y.program, typed("verify", value), value))
    program = (*program, step("and", "", first, len(program) - 1))
    wrong = x if true[0] != value else y
    facts = [("attr", r.object_id, v) for r, v in zip(pair, true, strict=True)]
    return ask.propose("verifyAttrAnd" + ("" if yes else "C"), templates, program, "yes" if yes else "no",
                       "Yes, both {m} and {n} are {p}" if yes else
                       f"No, {{w}} [is|are] {predicate(ask.view.values[wrong.object_id][kind])}",
                       slots={"x": x.the, "y": y.the, "p": words(predicate(value)), "m": ask.named(x.object_id),
                              "n": ask.named(y.object_id), "w": ask.named(wrong.object_id)}, plural=True,
                       full_plural=plural_name(ask.view, wrong.object_id),
                       local=f"05and-{'_'.join(sorted((x.noun, y.noun)))}_{value}",
                       asserts={*x.facts, *y.facts, *(facts if yes else ())},
                       needs=[facts] if yes else [[f for f in facts if f[1] == wrong.object_id]], target=x.object_id,
                       topic=("verify both", *sorted((x.object_id, y.object_id)), value))


def compare(ask: Asker) -> Proposal | None:
    """Do the cup and the plate have the same color? Are the chair and the table made of different materials?"""
    kind = "color" if ask.chance(0.65) else "material"
    pair = _two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    one, two = (ask.view.values[r.object_id][kind] for r in pair)
    differ = ask.chance(0.35) and kind == "color"
    yes = (one == two) != differ
    if kind == "material":
        detailed = "twoSameMaterial"
        templates = ("Are {x} and {y} made of the same material", "Do {x} and {y} have the same material",
                     "[Is|Are] {x} made of the same material as {y}")
    elif differ:
        detailed = "twoDifferent"
        templates = ("Do {x} and {y} have different colors", "Are {x} and {y} different in color",
                     "[Does|Do] {x} have a different color than {y}", "Is the color of {x} different than the color of {y}")
    else:
        detailed = "twoSame"
        templates = ("Do {x} and {y} have the same color", "Are {x} and {y} the same color", "Is the color of {x} the same as the color of {y}",
                     "[Is|Are] {x} the same color as {y}", "[Does|Do] {x} have the same color as {y}", "Are both {x} and {y} the same color")
    program = after(x.program, y.program)
    program = (*program, step(f"{'different' if differ else 'same'} {kind}", "", len(x.program) - 1, len(program) - 1))
    made = "made of " if kind == "material" else ""
    start = "Yes" if yes else "No"
    full = f"{start}, both {{m}} and {{n}} are {made}{one}" if one == two else (
        f"{start}, {{m}} {'are' if plural_name(ask.view, x.object_id) else 'is'} {made}{one} and {{n}} "
        f"{'are' if plural_name(ask.view, y.object_id) else 'is'} {made}{two}")
    alike = ("same" if one == two else "differ", kind, *sorted((x.object_id, y.object_id)))
    return ask.propose(detailed + ("" if yes else "C"), templates, program, "yes" if yes else "no", full,
                       slots={"x": x.the, "y": y.the, "m": ask.named(x.object_id), "n": ask.named(y.object_id)}, plural=x.plural,
                       local=f"{'09diff' if differ else '09same'}-{'_'.join(sorted((x.noun, y.noun)))}",
                       asserts={*x.facts, *y.facts, alike},
                       needs=[{alike}, {("attr", x.object_id, one), ("attr", y.object_id, two)}], target=x.object_id,
                       topic=("compare", kind, *sorted((x.object_id, y.object_id)), str(differ)))


def common(ask: Asker) -> Proposal | None:
    """What do the cup and the plate have in common?"""
    kind = ask.pick(("color", "color", "material", "size", "pattern"))
    pair = _two(ask, kind)
    if pair is None:
        return None
    x, y = pair
    one, two = (ask.view.values[r.object_id] for r in pair)
    shared = [k for k in one if one[k] == two.get(k)]
    if shared != [kind] or x.told & y.told:
        return None
    templates = ("What do {x} and {y} have in common", "What do both {x} and {y} have in common",
                 "What is common to {x} and {y}", "What do {x} and {y} share")
    program = after(x.program, y.program)
    fact = ("same", kind, *sorted((x.object_id, y.object_id)))
    return ask.propose("twoCommon", templates, (*program, step("common", "", len(x.program) - 1, len(program) - 1)), kind,
                       "The {a} is common to {m} and {n}", slots={"x": x.the, "y": y.the, "a": words(kind),
                                                                  "m": ask.named(x.object_id), "n": ask.named(y.object_id)},
                       group="attribute", local=f"09common-{'_'.join(sorted((x.noun, y.noun)))}",
                       asserts={*x.facts, *y.facts, fact}, needs=[{fact}], target=x.object_id,
                       topic=("common", *sorted((x.object_id, y.object_id))))
