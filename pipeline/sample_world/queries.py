"""Open questions: of attributes, kinds, relations and the place. Each function draws one, or None if the scene has none."""

from __future__ import annotations

from pipeline.core.records import Step
from pipeline.sample_world.ontology import ATTRIBUTE_TYPES, BY_NAME, OUTDOORS
from pipeline.sample_world.phrasing import (
    CATEGORY_KINDS, CATEGORY_NOUNS, IMAGE, PHOTO, VERBS, category_of, marked, predicate, with_article, words,
)
from pipeline.sample_world.proposals import Asker, Proposal, plural_name
from pipeline.sample_world.references import FUZZY, noun_facts, step, then, typed

_COLOR_OF = ("What color [is|are] {x}", "What color [is|are] {x}", "What is the color of {x}", "Of what color [is|are] {x}",
             "{x} [is|are] of what color", "{x} [has|have] what color", "What color [does|do] {x} have",
             "What color do you think {x} [is|are]")
_COLOR_WHICH = ("Which color [is|are] {x}", "Which color [is|are] {x}", "Which color [does|do] {x} have",
                "{x} [has|have] which color", "Of which color [is|are] {x}", "Which color do you think {x} [is|are]")
_ATTRIBUTES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {  # type -> (detailed type, templates)
    "color": (("directOf", _COLOR_OF), ("directWhich", _COLOR_WHICH)),
    "pattern": (("directOf", ("What is the pattern of {x}", "What pattern [does|do] {x} have", "{x} [has|have] what pattern")),
                ("directWhich", ("Which pattern [does|do] {x} have", "Which pattern [is|are] on {x}"))),
    "size": (("how", ("How big [is|are] {x}", "How large [is|are] {x}", "How big do you think {x} [is|are]")),
             ("directOf", ("What size [is|are] {x}", "What is the size of {x}"))),
    "age": (("how", ("How old [is|are] {x}", "How old do you think {x} [is|are]")),),
    "pose": (("activity", ("What [is|are] {x} doing", "What do you think {x} [is|are] doing")),),
    "material": (("material", ("What [is|are] {x} made of", "What [is|are] {x} made of", "What material [is|are] {x} made of",
                               "Which material [is|are] {x} made of", "What is the material of {x}",
                               "What <kind/type> of material [is|are] {x} made of", "What material makes up {x}",
                               "Which <kind/type> of material is used to make {x}", "What is used to make {x}",
                               "What do you think {x} [is|are] made of", "{x} [is|are] made of what material")),),
}
_ATTRIBUTE_SHARES = {"color": 0.48, "material": 0.22, "size": 0.12, "pose": 0.10, "pattern": 0.05, "age": 0.03}
_POSITIONS = ("On which side [is|are] {x}", "Which side [is|are] {x} on", f"On which side of the {IMAGE} [is|are] {{x}}",
              f"Which side of the {IMAGE} [is|are] {{x}} on", f"{{x}} [is|are] on which side of the {IMAGE}")
_LATERAL = ("to the left of", "to the right of", "above", "below")


def attribute(ask: Asker) -> Proposal | None:
    """What color is the cup on the table?"""
    present = sorted({kind for values in ask.view.values.values() for kind in values} & set(_ATTRIBUTES))
    if not present:
        return None
    shares = [_ATTRIBUTE_SHARES[kind] for kind in present]
    kind = present[int(ask.rng.choice(len(present), p=[share / sum(shares) for share in shares]))]
    i = ask.some(lambda j: kind in ask.view.values[j])
    x = ask.refer(i, hide=(kind,))
    if x is None:
        return None
    value = ask.view.values[i][kind]
    detailed, templates = ask.pick(_ATTRIBUTES[kind])
    full = "{n} [is|are] made of {a}" if kind == "material" else "{n} [is|are] {a}"
    fact = ("attr", i, value)
    return ask.propose(detailed, templates, then(x.program, "query", kind), value, full,
                       slots={"x": x.the, "n": ask.named(i), "a": words(value)}, plural=x.plural,
                       full_plural=plural_name(ask.view, i), group=kind, local=f"10q-{ask.view.name(i)}_{kind}",
                       asserts={*x.facts, fact}, needs=[{fact}], target=i, topic=("query", kind, i))


def position(ask: Asker) -> Proposal | None:
    """On which side of the picture is the red chair?"""
    i = ask.some(lambda j: ask.view.position(j, "hposition") in ("left", "right"))
    x = ask.refer(i, hide=("hposition",)) if i else None
    if x is None:
        return None
    side = ask.view.position(i, "hposition")
    fact = ("position", i, side)
    return ask.propose("positionQuery", _POSITIONS, then(x.program, "query", "hposition"), side,
                       "{n} [is|are] on the {a} of the image", slots={"x": x.the, "n": ask.named(i), "a": words(side)},
                       plural=x.plural, full_plural=plural_name(ask.view, i), local=f"10q-{ask.view.name(i)}_hposition",
                       asserts={*x.facts, fact}, needs=[{fact}], target=i, topic=("query", "hposition", i))


def _name(ask: Asker, detailed: str, templates: tuple[str, ...], program: tuple[Step, ...], i: str, *, slots, facts, local,
          category: str = "", plural: bool = False, full: str = "", full_plural: bool | None = None,
          topic: tuple[str, ...] = ()) -> Proposal:
    """A question whose answer is the name of object i."""
    name = ask.view.name(i)
    noun = CATEGORY_NOUNS[category][0] if category else ""
    slots = slots | {"a": marked(with_article(name), i), "n": ask.named(i),
                     "k": words(ask.pick(CATEGORY_KINDS[category]), i) if category in CATEGORY_KINDS else (),
                     "c": words(noun, i)}
    known = noun_facts(ask.view, i, name)
    return ask.propose(detailed, templates, then(program, "query", "name"), name, full or "The {c} is {a}", slots=slots,
                       plural=plural, full_plural=full_plural, group=BY_NAME[name].category, local=local,
                       asserts={*facts, *known}, needs=[{*known, *facts}], target=i, answer_id=i, topic=topic)


def category(ask: Asker) -> Proposal | None:
    """What kind of furniture is shown in the picture?"""
    options = [c for c in CATEGORY_KINDS if len(ask.view.called(c, strict=False)) == 1 and ask.view.called(c)]
    if not options:
        return None
    chosen = ask.pick(options)
    (i,) = ask.view.called(chosen)
    program = (step("select", f"{chosen} ({i})"),)
    this = ask.chance(0.2)
    templates = ("<What/Which> {k} is this", "What is this {c} called", "What is the name of this {c}") if this else (
        "<What/Which> {k} is it", f"<What/Which> {{k}} is in the {IMAGE}", f"<What/Which> {{k}} is shown in the {IMAGE}",
        "<What/Which> {k} is <shown/pictured/there>", f"What is the {{c}} in the {IMAGE} called")
    return _name(ask, "categoryThis" if this else "category", templates, program, i, slots={}, facts=(), category=chosen,
                 full="This is {a}" if this else "", local=f"11q-{chosen}", topic=("name", chosen))


def category_that(ask: Asker) -> Proposal | None:
    """Which kind of furniture is red?"""
    i = ask.some(lambda j: category_of(ask.view.name(j)) in CATEGORY_KINDS and ask.view.values[j])
    if i is None:
        return None
    chosen = category_of(ask.view.name(i))
    value = ask.pick(sorted(ask.view.values[i].values()))
    if [j for j in ask.view.called(chosen, strict=False) if value in ask.view.values[j].values()] != [i]:
        return None
    program = then((step("select", f"{chosen} ({i})"),), typed("filter", value), value)
    templates = ("<What/Which> {k} is {p}", "<What/Which> {k} is {p}", f"<What/Which> {{k}} in the {IMAGE} is {{p}}")
    if ATTRIBUTE_TYPES[value] in ("color", "pattern", "size"):
        templates += ("<What/Which> {k} looks {p}",)
    return _name(ask, "categoryThat", templates, program, i, slots={"p": words(predicate(value, ask.rng))},
                 facts={("attr", i, value)}, category=chosen, local=f"12q-{chosen}_{value}", topic=("name", chosen, value))


def category_called(ask: Asker) -> Proposal | None:
    """What is the wooden piece of furniture to the left of the man called?"""
    i = ask.some(lambda j: category_of(ask.view.name(j)) in CATEGORY_KINDS)
    x = ask.refer(i, hide=("name",)) if i else None
    if x is None or not (x.tail or x.told):
        return None
    detailed = "categoryRelS" if "relate" in {s.operation for s in x.program} else "categoryAttr"
    chosen = category_of(ask.view.name(i))
    *_, last = x.program
    local = f"15-{chosen}" if detailed == "categoryRelS" else f"12q-{chosen}_{last.argument}"
    return _name(ask, detailed, ("What is {x}", "What is {x} called", "What is the name of {x}", "What do you call {x}"),
                 x.program, i, slots={"x": x.the}, facts=x.facts, category=chosen, local=local, topic=("name", i))


def who_is(ask: Asker) -> Proposal | None:
    """Who is sitting?"""
    i = ask.some(lambda j: BY_NAME[ask.view.name(j)].category == "person" and "pose" in ask.view.values[j])
    if i is None:
        return None
    pose = ask.view.values[i]["pose"]
    if [j for j in ask.view.called("person") if ask.view.values[j].get("pose") == pose] != [i]:
        return None
    program = then((step("select", f"person ({i})"),), "filter pose", pose)
    return _name(ask, "activityWho", ("Who is {p}", "Who is {p}", f"Who is {{p}} in the {IMAGE}", "Who do you think is {p}"),
                 program, i, slots={"p": words(pose)}, facts={("attr", i, pose)}, full="{n} is {p}", local=pose,
                 topic=("name", "person", pose))


def related_subject(ask: Asker) -> Proposal | None:
    """Who is wearing the striped shirt? What is on the wooden table?"""
    keys = [(r, b) for r, b in sorted(ask.view.subjects) if r not in FUZZY]
    if not keys:
        return None
    relation = ask.pick(sorted({r for r, _ in keys}))
    relation, landmark = ask.pick([key for key in keys if key[0] == relation])
    i = ask.pick(ask.view.subjects[relation, landmark])
    person = BY_NAME[ask.view.name(i)].category == "person"
    noun = "person" if person else "_"
    if ask.view.related(noun, relation, landmark, "s", strict=False) != [i] or ask.view.together(i, landmark) and relation not in VERBS:
        return None
    y = ask.refer(landmark, avoid=(i,), hide=("relation",) if ask.chance(0.5) else ())
    if y is None:
        return None
    who = "Who" if person else "What"
    if relation in VERBS:
        ing, third, _ = VERBS[relation]
        templates = (f"{who} is {ing} {{y}}", f"{who} is {ing} {{y}}", f"{who} {third} {{y}}", f"{who} do you think is {ing} {{y}}")
    else:
        templates = (f"{who} is {relation} {{y}}", f"{who} is {relation} {{y}}", f"{who} do you think is {relation} {{y}}",
                     f"{who} can be seen {relation} {{y}}")
    full = f"{{n}} [is|are] {relation} {{m}}"
    return _name(ask, "relS", templates, then(y.program, "relate", f"{noun},{relation},s ({i})"), i,
                 slots={"y": y.the, "m": ask.named(landmark)}, facts={*y.facts, ("rel", i, relation, landmark)}, full=full,
                 full_plural=plural_name(ask.view, i), local=f"14-{ask.view.name(landmark)}_{relation},s",
                 topic=("subject", relation, landmark))


def related_object(ask: Asker) -> Proposal | None:
    """What is the boy holding? What is the cat on?"""
    keys = [(a, r) for a, r in sorted(ask.view.targets) if r not in FUZZY and r not in _LATERAL]
    if not keys:
        return None
    relation = ask.pick(sorted({r for _, r in keys}))
    subject, relation = ask.pick([key for key in keys if key[1] == relation])
    i = ask.pick(ask.view.targets[subject, relation])
    person = BY_NAME[ask.view.name(i)].category == "person"
    noun = "person" if person else "_"
    if ask.view.related(noun, relation, subject, "o", strict=False) != [i]:
        return None
    x = ask.refer(subject, avoid=(i,))
    if x is None:
        return None
    who = "Who" if person else "What"
    said = VERBS[relation][0] if relation in VERBS else relation
    templates = (f"{who} [is|are] {{x}} {said}", f"{who} [is|are] {{x}} {said}", f"{who} do you think {{x}} [is|are] {said}",
                 f"{{x}} [is|are] {said} {who.lower()}")
    if relation in VERBS:
        templates += (f"{who} [does|do] {{x}} {VERBS[relation][2]}",)
    return _name(ask, "relO", templates, then(x.program, "relate", f"{noun},{relation},o ({i})"), i, plural=x.plural,
                 slots={"x": x.the, "m": ask.named(subject)}, facts={*x.facts, ("rel", subject, relation, i)},
                 full=f"{{m}} [is|are] {said} {{n}}", full_plural=plural_name(ask.view, subject),
                 local=f"14-{ask.view.name(subject)}_{relation},o", topic=("object", relation, subject))


def category_related(ask: Asker) -> Proposal | None:
    """What kind of furniture is to the right of the plant? What fruit is the girl holding?"""
    role = "s" if ask.chance(0.6) else "o"
    entries = [(i, r, b) for i in ask.view.objects for r, b, side in ask.view.around[i] if side == role and r not in FUZZY
               and category_of(ask.view.name(i)) in CATEGORY_KINDS and (role == "s" or r not in _LATERAL)]
    if not entries:
        return None
    relation = ask.pick(sorted({r for _, r, _ in entries}))
    i, relation, other = ask.pick([entry for entry in entries if entry[1] == relation])
    chosen = category_of(ask.view.name(i))
    if ask.view.related(chosen, relation, other, role, strict=False) != [i] or ask.view.together(i, other) and relation not in VERBS:
        return None
    y = ask.refer(other, avoid=(i,))
    if y is None:
        return None
    said = VERBS[relation][0] if relation in VERBS else relation
    if role == "s":
        templates = (f"<What/Which> {{k}} is {said} {{y}}", f"<What/Which> {{k}} is {said} {{y}}",
                     f"What is the {{c}} {said} {{y}} called", f"What is the {{c}} that is {said} {{y}}")
        pair = (i, relation, other)
        full, full_plural = "", None
    else:
        templates = (f"<What/Which> {{k}} [is|are] {{y}} {said}", f"<What/Which> {{k}} [is|are] {{y}} {said}",
                     f"What is the {{c}} that {{y}} [is|are] {said}", f"What is the {{c}} {{y}} [is|are] {said} called")
        pair = (other, relation, i)
        full, full_plural = f"{{m}} [is|are] {said} {{n}}", plural_name(ask.view, other)
    return _name(ask, "categoryRelS" if role == "s" else "categoryRelO", templates,
                 then(y.program, "relate", f"{chosen},{relation},{role} ({i})"), i, plural=y.plural if role == "o" else False,
                 slots={"y": y.the, "m": ask.named(other)}, facts={*y.facts, ("rel", *pair), ("name", i, chosen)},
                 category=chosen, full=full, full_plural=full_plural,
                 local=f"15-{ask.view.name(other)}_{relation},{role}", topic=("category", role, relation, other, chosen))


def place(ask: Asker) -> Proposal | None:
    """What place is this?"""
    here = ask.view.scene.location
    templates = ("<Which/What> place is <it/this/shown/pictured>", f"<Which/What> place is shown in the {IMAGE}",
                 "Where is <it/this>", f"Where was the {PHOTO} taken", f"What place was the {PHOTO} taken at",
                 f"What kind of place is shown in the {IMAGE}", f"What kind of place is <this/it>",
                 f"Where do you think the {PHOTO} was taken")
    return ask.propose("place", templates, (step("select", "scene"), step("query", "place", 0)), here, "It is {a}",
                       slots={"a": words(with_article(here))}, group="place", local="02q-place", asserts={("place", here)},
                       needs=[{("place", here)}], topic=("place",))


def weather(ask: Asker) -> Proposal | None:
    """How is the weather?"""
    sky = ask.view.scene.weather
    if not sky or ask.view.scene.location not in OUTDOORS:
        return None
    templates = ("How is the weather", f"How is the weather in the {IMAGE}", "How is the weather <today/on this day>",
                 "What is the weather like", f"What is the weather like in the {IMAGE}", "Which kind of weather is it")
    return ask.propose("weather", templates, (step("select", "scene"), step("query", "weather", 0)), sky, "It is {a}",
                       slots={"a": words(sky)}, group="weather", local="02q-weather", asserts={("weather", sky)},
                       needs=[{("weather", sky)}], topic=("weather",))
