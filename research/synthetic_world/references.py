"""Make references (definite noun phrases): words, and steps of a program, that identify one object of a
scene.

A reference must be unambiguous: exactly one object of the image fits, and no other object almost fits. (For
example, an object that is only just not "on the left" could also be meant.) References often say more than
needed, as people do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pipeline.core.records import Step
from research.synthetic_world.ontology import ATTRIBUTE_TYPES, CATEGORIES, KIND_BY_NAME
from research.synthetic_world.phrasing import (
    CATEGORY_NOUNS,
    VERBS,
    Phrase,
    get_category,
    is_plural,
    make_phrase,
    to_adjective,
    to_predicate,
)
from research.synthetic_world.program_builder import add_filter, add_step, start_program
from research.synthetic_world.random_choice import choose_key, choose_uniform
from research.synthetic_world.scene_index import VAGUE_RELATIONS, SceneIndex

# ("name", id, noun), ("attr", id, value), ("rel", id, name, other id), ...
Fact = tuple[str, ...]
# English order of adjectives, by attribute type. "on" and "off" are not included, because they cannot stand
# before a noun.
_ADJECTIVE_ORDER = ("size", "age", "openness", "fullness", "pose", "color", "pattern", "material")
# What a phrase contains in addition to the noun -> probability with which this is tried.
_SHAPE_RATES = {"bare": 0.12, "attributes": 0.40, "relation": 0.40, "position": 0.05, "negation": 0.03}
_SHAPE_RATES_WITHOUT_RELATION = {shape: share for shape, share in _SHAPE_RATES.items() if shape != "relation"}
_MAX_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Reference:
    """A definite noun phrase for one object.

    Attributes:
        noun: The kind or category in the phrase.
        words: The phrase without its article.
        program: A program whose last step selects the object.
        facts: All facts that the phrase presupposes.
        mentioned_types: Attribute types of the object itself that the phrase mentions.
        has_tail: Whether words follow the noun.
    """

    object_id: str
    noun: str
    words: Phrase
    program: tuple[Step, ...]
    facts: frozenset[Fact]
    mentioned_types: frozenset[str] = frozenset()
    has_tail: bool = False

    @property
    def is_plural(self) -> bool:
        return is_plural(self.noun)

    @property
    def ends_clearly(self) -> bool:
        """Return whether a question may continue with a position after the phrase.

        "Is the bench to the right of the couch behind the girl?" is ambiguous. With "that is to the right",
        it is not ambiguous.
        """
        named = [place for place, word in enumerate(self.words) if word[1] == self.object_id]
        following = self.words[named[-1] + 1 :][:1]
        return not following or following[0][0] in ("that", "who", "the")

    @property
    def the(self) -> Phrase:
        return (("the", ""), *self.words)


def get_name_facts(view: SceneIndex, object_id: str, noun: str) -> set[Fact]:
    """Return the facts stated by a noun: the object's name, and its category if the noun is the kind's name."""
    facts = {("name", object_id, noun)}
    return (
        facts | {("name", object_id, KIND_BY_NAME[noun].category)}
        if noun == view.get_name(object_id)
        else facts
    )


def make_reference(
    view: SceneIndex,
    rng: np.random.Generator,
    object_id: str,
    *,
    hide: Iterable[str] = (),
    avoid: Iterable[str] = (),
    depth: int = 1,
    category: float = 0.15,
    plain: bool = False,
) -> Reference | None:
    """Make an unambiguous reference to an object. Return None if a few attempts find none.

    Args:
        view: The scene.
        rng: Random generator.
        object_id: Id of the object.
        hide: Attribute types (also "hposition" and "name") that must not be mentioned.
        avoid: Ids of objects that must not be mentioned.
        depth: Maximum number of relations in a chain.
        category: Probability of using the category ("animal" for "dog").
        plain: Whether to use only the name of the kind, which must be unambiguous.
    """
    hidden, avoided = frozenset(hide), frozenset(avoid) | {object_id}
    for _ in range(_MAX_ATTEMPTS):
        shape = "bare" if plain else choose_key(rng, _SHAPE_RATES if depth else _SHAPE_RATES_WITHOUT_RELATION)
        name = view.get_name(object_id)
        by_category = "name" in hidden or (not plain and shape != "bare" and rng.random() < category)
        noun = get_category(name) if by_category else name
        if noun:
            reference = _attempt(view, rng, _bare(view, rng, object_id, noun), shape, hidden, avoided, depth)
            if reference is not None:
                return reference
    return None


def _bare(view: SceneIndex, rng: np.random.Generator, object_id: str, noun: str) -> Reference:
    said = choose_uniform(rng, CATEGORY_NOUNS[noun]) if noun in CATEGORY_NOUNS else noun
    return Reference(
        object_id=object_id,
        noun=noun,
        words=make_phrase(said, object_id),
        program=start_program(f"{noun} ({object_id})"),
        facts=frozenset(get_name_facts(view, object_id, noun)),
    )


def _attempt(
    view: SceneIndex,
    rng: np.random.Generator,
    base: Reference,
    shape: str,
    hidden: frozenset[str],
    avoided: frozenset[str],
    depth: int,
) -> Reference | None:
    rivals = [j for j in view.find_by_name(base.noun, strict=False) if j != base.object_id]
    match shape:
        case "attributes":
            return _with_attributes(view, rng, base, rivals, hidden)
        case "position":
            return _with_position(view, rng, base, rivals, hidden)
        case "negation":
            return _with_negation(view, rng, base, rivals, hidden)
        case "relation":
            found = _with_relation(view, rng, base, rivals, avoided, depth)
            if found is None or rng.random() < 0.3:
                return found and _with_attributes(view, rng, *found, hidden)
            base, rivals = found
    return None if rivals else base


def _with_attributes(
    view: SceneIndex, rng: np.random.Generator, base: Reference, rivals: list[str], hidden: frozenset[str]
) -> Reference | None:
    """Add one attribute, sometimes two, before the noun, or after it if nothing else follows."""
    hidden |= base.mentioned_types
    # The age of children is not listed, so "the young person" could also be a child.
    if base.noun == "person":
        hidden |= {"age"}
    values = [value for kind, value in view.attributes[base.object_id].items() if kind not in hidden]
    if not values:
        return None
    count = min(len(values), 2 if rng.random() < 0.25 else 1)
    chosen = [values[k] for k in sorted(rng.choice(len(values), count, replace=False))]
    if any(set(chosen) <= set(view.attributes[j].values()) for j in rivals):
        return None
    front = [v for kind in _ADJECTIVE_ORDER for v in chosen if ATTRIBUTE_TYPES[v] == kind]
    last = [v for v in chosen if v not in front]
    often = 0.6 if front and ATTRIBUTE_TYPES[front[-1]] == "pose" else 0.25
    if front and not last and not base.has_tail and rng.random() < often:
        last = [front.pop()]
    if last and base.has_tail:
        return None
    said = make_phrase(" ".join(to_adjective(v, rng) for v in front), base.object_id)
    program = base.program
    for value in front + last:
        program = add_filter(program, value)
    return replace(
        base,
        words=(*said, *base.words, *(_clause(rng, base, last[0]) if last else ())),
        program=program,
        mentioned_types=base.mentioned_types | {ATTRIBUTE_TYPES[v] for v in chosen},
        has_tail=base.has_tail or bool(last),
        facts=base.facts | {("attr", base.object_id, v) for v in chosen},
    )


def _clause(rng: np.random.Generator, base: Reference, value: str) -> Phrase:
    """Return a clause: `that is red`, `that looks red`, `made of wood`."""
    be, look = ("are", "look") if base.is_plural else ("is", "looks")
    kind, said = ATTRIBUTE_TYPES[value], to_predicate(value, rng)
    starts = ("", f"that {be} ") if kind == "material" else (f"that {be} ",)
    if kind in ("color", "pattern"):
        starts += (*starts, f"that {look} ")
    return make_phrase(choose_uniform(rng, starts) + said)


def _with_negation(
    view: SceneIndex, rng: np.random.Generator, base: Reference, rivals: list[str], hidden: frozenset[str]
) -> Reference | None:
    """Add a negation: `the chair that is not red`, if all others are red."""
    own = view.attributes[base.object_id]
    kinds = [kind for kind in ("color", "material", "pose", "pattern") if kind in own and kind not in hidden]
    options = []
    for kind in kinds:
        value, *different = {view.attributes[j].get(kind) for j in rivals} or {None}
        if not different and value is not None and value != own[kind]:
            options.append((kind, value))
    if not options:
        return None
    kind, value = choose_uniform(rng, options)
    said = make_phrase(f"that {'are' if base.is_plural else 'is'} not {to_predicate(value)}")
    return replace(
        base,
        words=(*base.words, *said),
        program=add_filter(base.program, value, negated=True),
        mentioned_types=frozenset({kind}),
        has_tail=True,
        facts=base.facts | {("not", base.object_id, value)},
    )


def _with_position(
    view: SceneIndex, rng: np.random.Generator, base: Reference, rivals: list[str], hidden: frozenset[str]
) -> Reference | None:
    """Add a position: `the dog on the left of the image`."""
    where = view.get_position(base.object_id, "hposition")
    unclear = any(view.get_position(j, "hposition") in (where, None) for j in rivals)
    if where is None or "hposition" in hidden or unclear:
        return None
    of = choose_uniform(rng, ("", "", "of the image", "of the picture", "of the photo"))
    start = choose_uniform(rng, ("", f"that {'are' if base.is_plural else 'is'}"))
    side = "in the middle" if where == "middle" else f"on the {where} {choose_uniform(rng, ('', 'side'))}"
    return replace(
        base,
        words=(*base.words, *make_phrase(f"{start} {side} {of}")),
        has_tail=True,
        mentioned_types=frozenset({"hposition"}),
        program=add_step(base.program, "filter hposition", where),
        facts=base.facts | {("position", base.object_id, where)},
    )


def _with_relation(
    view: SceneIndex,
    rng: np.random.Generator,
    base: Reference,
    rivals: list[str],
    avoided: frozenset[str],
    depth: int,
) -> tuple[Reference, list[str]] | None:
    """Add a relation: `the cup on the red table`, `the hat the man is wearing`.

    Return the reference and the remaining rivals.
    """
    i = base.object_id
    around = [
        (relation, b, role)
        for relation, b, role in view.relations_by_object[i]
        if b not in avoided and (relation in VERBS or not view.is_held_together(i, b))
    ]
    if not around:
        return None
    # The relation is chosen before the landmark, because there are many more left/right relations than on/in
    # relations.
    name = choose_uniform(rng, sorted({relation for relation, _, _ in around}))
    relation, landmark, role = choose_uniform(rng, [entry for entry in around if entry[0] == name])
    posed = ("pose",) if relation == "sitting on" else ()
    mark = make_reference(view, rng, landmark, avoid=avoided, depth=depth - 1, hide=posed)
    # "the table that the cup is on" is used only sometimes. With a longer description of the cup, it would be
    # hard to read.
    if mark is None or (role == "o" and relation not in VERBS and (mark.has_tail or rng.random() < 0.88)):
        return None
    if relation not in VAGUE_RELATIONS:
        rivals = [j for j in view.find_related(base.noun, relation, landmark, role, strict=False) if j != i]
    triple = (i, relation, landmark) if role == "s" else (landmark, relation, i)
    return replace(
        base,
        words=(*base.words, *_relative_clause(rng, relation, mark, role, base)),
        has_tail=True,
        program=add_step(mark.program, "relate", f"{base.noun},{relation},{role} ({i})"),
        mentioned_types=frozenset(posed),
        facts=base.facts | mark.facts | {("rel", *triple)},
    ), rivals


def _relative_clause(
    rng: np.random.Generator, relation: str, mark: Reference, role: str, head: Reference
) -> Phrase:
    """Return the words after the noun that state the relation to the landmark."""
    # Example: the hat (that) the man is wearing.
    if role == "o":
        said = f"{'are' if mark.is_plural else 'is'} {VERBS.get(relation, (relation,))[0]}"
        return (*make_phrase(choose_uniform(rng, ("", "that"))), *mark.the, *make_phrase(said))
    be = "are" if head.is_plural else "is"
    options: tuple[str, ...] = (relation, relation, relation, f"that {be} {relation}")
    if relation in VERBS:
        ing, third, bare = VERBS[relation]
        who = "who" if head.noun in ("person", *CATEGORIES["person"]) else "that"
        options = (
            ing,
            ing,
            f"that {be} {ing}",
            f"{who} {be} {ing}",
            f"that {bare if head.is_plural else third}",
        )
    return (*make_phrase(choose_uniform(rng, options)), *mark.the)
