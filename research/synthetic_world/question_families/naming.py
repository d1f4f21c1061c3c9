"""Questions whose answer is the kind of one object: which furniture is red, who is sitting, what this is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from research.synthetic_world.ontology import ATTRIBUTE_TYPES, BY_NAME, CATEGORIES
from research.synthetic_world.phrasing import (
    CATEGORY_KINDS,
    CATEGORY_NOUNS,
    IMAGE,
    VERBS,
    Phrase,
    category_of,
    marked,
    predicate,
    with_article,
    words,
)
from research.synthetic_world.program_builder import Program, chain, filter_by, then
from research.synthetic_world.question_proposals import Asker, ProposedQuestion
from research.synthetic_world.references import Fact, name_facts


def name_it(
    ask: Asker,
    detailed: str,
    templates: tuple[str, ...],
    program: Program,
    i: str,
    *,
    local: str,
    facts: Iterable[Fact],
    topic: tuple[str, ...],
    slots: Mapping[str, Phrase] | None = None,
    category: str = "",
    full: str = "The {c} is {a}",
) -> ProposedQuestion | None:
    """A question that is answered with the name of object i. Its templates may have the slots {k}, what asks
    for a kind of the category ("kind of furniture"), and {c}, what one of the category is called."""
    name = ask.view.name(i)
    known = {*name_facts(ask.view, i, name), *facts}
    filled = {"a": marked(with_article(name), i), "n": ask.named(i)}
    filled |= category_slots(ask, category, i) | dict(slots or {})
    return ask.propose(
        detailed,
        templates,
        then(program, "query", "name"),
        name,
        full,
        slots=filled,
        group=BY_NAME[name].category,
        local=local,
        asserts=known,
        needs=[known],
        target=i,
        topic=topic,
        names=i,
    )


def category_slots(ask: Asker, category: str, i: str) -> dict[str, Phrase]:
    if category not in CATEGORY_KINDS:
        return {}
    return {"k": words(ask.pick(CATEGORY_KINDS[category]), i), "c": words(CATEGORY_NOUNS[category][0], i)}


def _nameable(ask: Asker) -> str | None:
    """Id of an object that may be asked for by its category."""
    return ask.some(lambda j: category_of(ask.view.name(j)) in CATEGORY_KINDS)


def only_one(ask: Asker, category: str, i: str, value: str = "") -> bool:
    """Whether the object is the only one of its category, or the only one with the attribute."""
    members = ask.view.called(category, strict=False)
    return [j for j in members if not value or value in ask.view.values[j].values()] == [i]


def query_category(ask: Asker) -> ProposedQuestion | None:
    """What kind of furniture is shown in the picture? What is this animal called?"""
    i = _nameable(ask)
    category = category_of(ask.view.name(i)) if i else ""
    if i is None or not only_one(ask, category, i):
        return None
    if ask.chance(0.2):
        detailed, full = "categoryThis", "This is {a}"
        templates = ("<What/Which> {k} is this", "What is this {c} called", "What is the name of this {c}")
    else:
        detailed, full = "category", "The {c} is {a}"
        templates = (
            "<What/Which> {k} is it",
            "<What/Which> {k} is <shown/pictured/there>",
            f"<What/Which> {{k}} is in the {IMAGE}",
            f"<What/Which> {{k}} is shown in the {IMAGE}",
            f"What is the {{c}} in the {IMAGE} called",
        )
    return name_it(
        ask,
        detailed,
        templates,
        chain(f"{category} ({i})"),
        i,
        category=category,
        full=full,
        facts=(),
        local=f"11q-{category}",
        topic=("name", category),
    )


def query_category_with_look(ask: Asker) -> ProposedQuestion | None:
    """Which kind of furniture is red?"""
    i = _nameable(ask)
    if i is None or not ask.view.values[i]:
        return None
    category, value = category_of(ask.view.name(i)), ask.pick(sorted(ask.view.values[i].values()))
    if not only_one(ask, category, i, value):
        return None
    templates = (
        "<What/Which> {k} is {p}",
        "<What/Which> {k} is {p}",
        f"<What/Which> {{k}} in the {IMAGE} is {{p}}",
    )
    if ATTRIBUTE_TYPES[value] in ("color", "pattern", "size"):
        templates += ("<What/Which> {k} looks {p}",)
    return name_it(
        ask,
        "categoryThat",
        templates,
        filter_by(chain(f"{category} ({i})"), value),
        i,
        category=category,
        slots={"p": words(predicate(value, ask.rng))},
        facts={("attr", i, value)},
        local=f"12q-{category}_{value}",
        topic=("name", category, value),
    )


def query_called(ask: Asker) -> ProposedQuestion | None:
    """What is the wooden piece of furniture to the left of the man called?"""
    i = _nameable(ask)
    x = ask.refer(i, hide=("name",)) if i else None
    if i is None or x is None or not (x.tail or x.told):
        return None
    category, last = category_of(ask.view.name(i)), x.program[-1].argument
    related = any(step.operation == "relate" for step in x.program)
    return name_it(
        ask,
        "categoryRelS" if related else "categoryAttr",
        ("What is {x}", "What is {x} called", "What is the name of {x}", "What do you call {x}"),
        x.program,
        i,
        category=category,
        slots={"x": x.the},
        facts=x.facts,
        local=f"15-{category}" if related else f"12q-{category}_{last}",
        topic=("name", i),
    )


def query_who(ask: Asker) -> ProposedQuestion | None:
    """Who is sitting?"""
    i = ask.some(lambda j: BY_NAME[ask.view.name(j)].category == "person" and "pose" in ask.view.values[j])
    pose = ask.view.values[i]["pose"] if i else ""
    if i is None or not only_one(ask, "person", i, pose):
        return None
    return name_it(
        ask,
        "activityWho",
        ("Who is {p}", "Who is {p}", f"Who is {{p}} in the {IMAGE}", "Who do you think is {p}"),
        filter_by(chain(f"person ({i})"), pose),
        i,
        slots={"p": words(pose)},
        full="{n} is {p}",
        facts={("attr", i, pose)},
        local=pose,
        topic=("name", "person", pose),
    )


def choose_kind(ask: Asker) -> ProposedQuestion | None:
    """Which kind of furniture is red, a chair or a couch? What animal is behind the tree, a dog or a cat?"""
    i = _nameable(ask)
    if i is None:
        return None
    name, category = ask.view.name(i), category_of(ask.view.name(i))
    value = ask.pick(["", *sorted(ask.view.values[i].values()) * 2])
    if ask.chance(0.5):
        form = _by_relation(ask, i, category)
    elif not only_one(ask, category, i, value):
        return None
    elif value:
        form = (
            "categoryThatChoose",
            "is {p}",
            filter_by(chain(f"{category} ({i})"), value),
            {("attr", i, value)},
            f"12c-{category}_{value}",
            {"p": words(predicate(value, ask.rng))},
        )
    else:
        form = (
            "categoryThisChoose",
            "is <this/that/it>",
            chain(f"{category} ({i})"),
            set(),
            f"11c-{category}",
            {},
        )
    if form is None:
        return None
    detailed, said, program, facts, local, slots = form
    other = ask.pick([kind for kind in CATEGORIES[category] if kind != name])
    if {"name", other} <= {fact[2] for fact in facts if fact[0] == "name"}:
        return None
    first, second = (name, other) if ask.chance(0.5) else (other, name)
    known = {*facts, *name_facts(ask.view, i, name)}
    return ask.propose(
        detailed,
        (f"<What/Which> {{k}} {said}, {{u}} or {{v}}",),
        then(program, "choose name", f"{first}|{second}"),
        name,
        "The {c} is {a}",
        slots={
            **slots,
            **category_slots(ask, category, i),
            "a": marked(with_article(name), i),
            "u": words(with_article(first)),
            "v": words(with_article(second)),
        },
        group=category,
        local=local,
        asserts=known,
        needs=[known],
        target=i,
        names=i,
        topic=("choose name", i, local),
    )


def _by_relation(ask: Asker, i: str, category: str):
    """What singles the object out by a relation: type, words, program, facts, group and slots; or None."""
    around = [
        (relation, b, role)
        for relation, b, role in ask.view.around[i]
        if relation in VERBS or (role == "s" and not ask.view.together(i, b))
    ]
    relation, b, role = ask.pick(around) if around else ("", "", "")
    if not relation or ask.view.related(category, relation, b, role, strict=False) != [i]:
        return None
    y = ask.refer(b, avoid=(i,), hide=("pose",) if relation == "sitting on" else ())
    if y is None:
        return None
    said = VERBS.get(relation, (relation,))[0]
    text = f"is {said} {{y}}" if role == "s" else f"{'are' if y.plural else 'is'} {{y}} {said}"
    triple = (i, relation, b) if role == "s" else (b, relation, i)
    return (
        "categoryRelSChoose" if role == "s" else "categoryRelOChoose",
        text,
        then(y.program, "relate", f"{category},{relation},{role} ({i})"),
        {*y.facts, ("rel", *triple)},
        f"15-{ask.view.name(b)}_{relation},{role}",
        {"y": y.the},
    )
