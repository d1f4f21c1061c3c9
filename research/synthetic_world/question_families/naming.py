"""Propose questions whose answer is the kind of one object: which furniture is red, who is sitting, what this
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from research.synthetic_world.ontology import ATTRIBUTE_TYPES, CATEGORIES, KIND_BY_NAME
from research.synthetic_world.phrasing import (
    CATEGORY_KINDS,
    CATEGORY_NOUNS,
    IMAGE_NOUNS,
    VERBS,
    Phrase,
    add_article,
    get_category,
    make_marked_phrase,
    make_phrase,
    to_predicate,
)
from research.synthetic_world.program_builder import Program, add_filter, add_step, start_program
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator
from research.synthetic_world.references import Fact, get_name_facts


def propose_naming(
    ask: QuestionGenerator,
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
    """Propose a question whose answer is the name of object `i`.

    The templates may have the slots {k}, for a kind of the category ("kind of furniture"), and {c}, for a
    noun for an object of the category.
    """
    name = ask.scene_index.get_name(i)
    known = {*get_name_facts(ask.scene_index, i, name), *facts}
    filled = {"a": make_marked_phrase(add_article(name), i), "n": ask.make_definite(i)}
    filled |= category_slots(ask, category, i) | dict(slots or {})
    return ask.make_proposal(
        detailed,
        templates,
        add_step(program, "query", "name"),
        name,
        full,
        slots=filled,
        group=KIND_BY_NAME[name].category,
        local=local,
        asserts=known,
        needs=[known],
        target=i,
        topic=topic,
        names=i,
    )


def category_slots(ask: QuestionGenerator, category: str, i: str) -> dict[str, Phrase]:
    if category not in CATEGORY_KINDS:
        return {}
    return {
        "k": make_phrase(ask.choose(CATEGORY_KINDS[category]), i),
        "c": make_phrase(CATEGORY_NOUNS[category][0], i),
    }


def _choose_nameable(ask: QuestionGenerator) -> str | None:
    """Choose an object that a question may ask for by its category."""
    return ask.choose_object(lambda j: get_category(ask.scene_index.get_name(j)) in CATEGORY_KINDS)


def is_only_one(ask: QuestionGenerator, category: str, i: str, value: str = "") -> bool:
    """Return whether the object is the only object of the category or, if `value` is given, the only one with
    this attribute.
    """
    members = ask.scene_index.find_by_name(category, strict=False)
    return [j for j in members if not value or value in ask.scene_index.attributes[j].values()] == [i]


def query_category(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "What kind of furniture is shown in the image?" or "What is this animal
    called?".
    """
    i = _choose_nameable(ask)
    category = get_category(ask.scene_index.get_name(i)) if i else ""
    if i is None or not is_only_one(ask, category, i):
        return None
    if ask.is_chosen(0.2):
        detailed, full = "categoryThis", "This is {a}"
        templates = ("<What/Which> {k} is this", "What is this {c} called", "What is the name of this {c}")
    else:
        detailed, full = "category", "The {c} is {a}"
        templates = (
            "<What/Which> {k} is it",
            "<What/Which> {k} is <shown/pictured/there>",
            f"<What/Which> {{k}} is in the {IMAGE_NOUNS}",
            f"<What/Which> {{k}} is shown in the {IMAGE_NOUNS}",
            f"What is the {{c}} in the {IMAGE_NOUNS} called",
        )
    return propose_naming(
        ask,
        detailed,
        templates,
        start_program(f"{category} ({i})"),
        i,
        category=category,
        full=full,
        facts=(),
        local=f"11q-{category}",
        topic=("name", category),
    )


def query_category_with_attribute(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Which kind of furniture is red?"."""
    i = _choose_nameable(ask)
    if i is None or not ask.scene_index.attributes[i]:
        return None
    category, value = (
        get_category(ask.scene_index.get_name(i)),
        ask.choose(sorted(ask.scene_index.attributes[i].values())),
    )
    if not is_only_one(ask, category, i, value):
        return None
    templates = (
        "<What/Which> {k} is {p}",
        "<What/Which> {k} is {p}",
        f"<What/Which> {{k}} in the {IMAGE_NOUNS} is {{p}}",
    )
    if ATTRIBUTE_TYPES[value] in ("color", "pattern", "size"):
        templates += ("<What/Which> {k} looks {p}",)
    return propose_naming(
        ask,
        "categoryThat",
        templates,
        add_filter(start_program(f"{category} ({i})"), value),
        i,
        category=category,
        slots={"p": make_phrase(to_predicate(value, ask.rng))},
        facts={("attr", i, value)},
        local=f"12q-{category}_{value}",
        topic=("name", category, value),
    )


def query_name(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "What is the wooden piece of furniture to the left of the man called?"."""
    i = _choose_nameable(ask)
    x = ask.make_reference(i, hide=("name",)) if i else None
    if i is None or x is None or not (x.has_tail or x.mentioned_types):
        return None
    category, last = get_category(ask.scene_index.get_name(i)), x.program[-1].argument
    related = any(step.operation == "relate" for step in x.program)
    return propose_naming(
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


def query_who(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Who is sitting?"."""
    i = ask.choose_object(
        lambda j: (
            KIND_BY_NAME[ask.scene_index.get_name(j)].category == "person"
            and "pose" in ask.scene_index.attributes[j]
        )
    )
    pose = ask.scene_index.attributes[i]["pose"] if i else ""
    if i is None or not is_only_one(ask, "person", i, pose):
        return None
    return propose_naming(
        ask,
        "activityWho",
        ("Who is {p}", "Who is {p}", f"Who is {{p}} in the {IMAGE_NOUNS}", "Who do you think is {p}"),
        add_filter(start_program(f"person ({i})"), pose),
        i,
        slots={"p": make_phrase(pose)},
        full="{n} is {p}",
        facts={("attr", i, pose)},
        local=pose,
        topic=("name", "person", pose),
    )


def choose_kind(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as:

    Which kind of furniture is red, a chair or a couch?
    What animal is behind the tree, a dog or a cat?
    """
    i = _choose_nameable(ask)
    if i is None:
        return None
    name, category = ask.scene_index.get_name(i), get_category(ask.scene_index.get_name(i))
    value = ask.choose(["", *sorted(ask.scene_index.attributes[i].values()) * 2])
    if ask.is_chosen(0.5):
        form = _by_relation(ask, i, category)
    elif not is_only_one(ask, category, i, value):
        return None
    elif value:
        form = (
            "categoryThatChoose",
            "is {p}",
            add_filter(start_program(f"{category} ({i})"), value),
            {("attr", i, value)},
            f"12c-{category}_{value}",
            {"p": make_phrase(to_predicate(value, ask.rng))},
        )
    else:
        form = (
            "categoryThisChoose",
            "is <this/that/it>",
            start_program(f"{category} ({i})"),
            set(),
            f"11c-{category}",
            {},
        )
    if form is None:
        return None
    detailed, said, program, facts, local, slots = form
    other = ask.choose([kind for kind in CATEGORIES[category] if kind != name])
    if {"name", other} <= {fact[2] for fact in facts if fact[0] == "name"}:
        return None
    first, second = (name, other) if ask.is_chosen(0.5) else (other, name)
    known = {*facts, *get_name_facts(ask.scene_index, i, name)}
    return ask.make_proposal(
        detailed,
        (f"<What/Which> {{k}} {said}, {{u}} or {{v}}",),
        add_step(program, "choose name", f"{first}|{second}"),
        name,
        "The {c} is {a}",
        slots={
            **slots,
            **category_slots(ask, category, i),
            "a": make_marked_phrase(add_article(name), i),
            "u": make_phrase(add_article(first)),
            "v": make_phrase(add_article(second)),
        },
        group=category,
        local=local,
        asserts=known,
        needs=[known],
        target=i,
        names=i,
        topic=("choose name", i, local),
    )


def _by_relation(ask: QuestionGenerator, i: str, category: str):
    """Identify the object by a relation.

    Return type, words, program, facts, group and slots; None if this is impossible.
    """
    around = [
        (relation, b, role)
        for relation, b, role in ask.scene_index.relations_by_object[i]
        if relation in VERBS or (role == "s" and not ask.scene_index.is_held_together(i, b))
    ]
    relation, b, role = ask.choose(around) if around else ("", "", "")
    if not relation or ask.scene_index.find_related(category, relation, b, role, strict=False) != [i]:
        return None
    y = ask.make_reference(b, avoid=(i,), hide=("pose",) if relation == "sitting on" else ())
    if y is None:
        return None
    said = VERBS.get(relation, (relation,))[0]
    text = f"is {said} {{y}}" if role == "s" else f"{'are' if y.is_plural else 'is'} {{y}} {said}"
    triple = (i, relation, b) if role == "s" else (b, relation, i)
    return (
        "categoryRelSChoose" if role == "s" else "categoryRelOChoose",
        text,
        add_step(y.program, "relate", f"{category},{relation},{role} ({i})"),
        {*y.facts, ("rel", *triple)},
        f"15-{ask.scene_index.get_name(b)}_{relation},{role}",
        {"y": y.the},
    )
