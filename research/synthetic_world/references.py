"""Definite noun phrases: which words, and which steps of a program, single out one object of a scene.

A reference is used only when it is clear: exactly one object of the picture fits, and nothing else comes
close (an object that lies half to the left is no rival ruled out by a pixel). It often says more than is
needed, as people do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pipeline.core.records import Step
from research.synthetic_world.ontology import ATTRIBUTE_TYPES, BY_NAME, CATEGORIES
from research.synthetic_world.phrasing import (
    CATEGORY_NOUNS,
    VERBS,
    Phrase,
    adjective,
    category_of,
    is_plural,
    predicate,
    words,
)
from research.synthetic_world.program_builder import chain, filter_by, then
from research.synthetic_world.random_choice import by_share, pick
from research.synthetic_world.scene_index import FUZZY, View

Fact = tuple[str, ...]  # ("name", id, noun), ("attr", id, value), ("rel", id, name, other id), ...
# English order of adjectives. "on" and "off" are not among them: they cannot stand before a noun.
_ORDER = ("size", "age", "openness", "fullness", "pose", "color", "pattern", "material")
# What a phrase says besides the noun, and how often it is tried.
_SHAPES = {"bare": 0.12, "attributes": 0.40, "relation": 0.40, "position": 0.05, "negation": 0.03}
_WITHOUT_RELATION = {shape: share for shape, share in _SHAPES.items() if shape != "relation"}
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Reference:
    """A definite noun phrase for one object.

    Attributes:
        noun: the kind or category said. words: without the article. program: its last step yields the object.
        told: attribute types that the phrase tells of the object itself. facts: all that it presupposes.
        tail: whether words follow the noun.
    """

    object_id: str
    noun: str
    words: Phrase
    program: tuple[Step, ...]
    facts: frozenset[Fact]
    told: frozenset[str] = frozenset()
    tail: bool = False

    @property
    def plural(self) -> bool:
        return is_plural(self.noun)

    @property
    def ends_clearly(self) -> bool:
        """Whether a question may go on with a place. "Is the bench to the right of the couch behind the girl?"
        can be read in two ways; with "that is to the right" it cannot."""
        named = [place for place, word in enumerate(self.words) if word[1] == self.object_id]
        following = self.words[named[-1] + 1 :][:1]
        return not following or following[0][0] in ("that", "who", "the")

    @property
    def the(self) -> Phrase:
        return (("the", ""), *self.words)


def name_facts(view: View, object_id: str, noun: str) -> set[Fact]:
    """What calling the object so says: its name, and with a kind's name its category."""
    facts = {("name", object_id, noun)}
    return facts | {("name", object_id, BY_NAME[noun].category)} if noun == view.name(object_id) else facts


def describe(
    view: View,
    rng: np.random.Generator,
    object_id: str,
    *,
    hide: Iterable[str] = (),
    avoid: Iterable[str] = (),
    depth: int = 1,
    category: float = 0.15,
    plain: bool = False,
) -> Reference | None:
    """Draw a clear reference to an object, or None when a few attempts find none.

    Args:
        hide: attribute types (also "hposition" and "name") that must not be told of it.
        avoid: ids of objects that must not be mentioned.
        depth: how many relations the phrase may chain. category: how often to say "animal" for "dog".
        plain: the kind's name and nothing else (still clear).
    """
    hidden, avoided = frozenset(hide), frozenset(avoid) | {object_id}
    for _ in range(_ATTEMPTS):
        shape = "bare" if plain else by_share(rng, _SHAPES if depth else _WITHOUT_RELATION)
        name = view.name(object_id)
        by_category = "name" in hidden or (not plain and shape != "bare" and rng.random() < category)
        noun = category_of(name) if by_category else name
        if noun:
            reference = _attempt(view, rng, _bare(view, rng, object_id, noun), shape, hidden, avoided, depth)
            if reference is not None:
                return reference
    return None


def _bare(view: View, rng: np.random.Generator, object_id: str, noun: str) -> Reference:
    said = pick(rng, CATEGORY_NOUNS[noun]) if noun in CATEGORY_NOUNS else noun
    return Reference(
        object_id=object_id,
        noun=noun,
        words=words(said, object_id),
        program=chain(f"{noun} ({object_id})"),
        facts=frozenset(name_facts(view, object_id, noun)),
    )


def _attempt(
    view: View,
    rng: np.random.Generator,
    base: Reference,
    shape: str,
    hidden: frozenset[str],
    avoided: frozenset[str],
    depth: int,
) -> Reference | None:
    rivals = [j for j in view.called(base.noun, strict=False) if j != base.object_id]
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
    view: View, rng: np.random.Generator, base: Reference, rivals: list[str], hidden: frozenset[str]
) -> Reference | None:
    """One attribute, now and then two; before the noun, or after it when nothing else follows."""
    hidden |= base.told
    if base.noun == "person":
        hidden |= {"age"}  # of children no age is told, so "the young person" may be one of them
    values = [value for kind, value in view.values[base.object_id].items() if kind not in hidden]
    if not values:
        return None
    count = min(len(values), 2 if rng.random() < 0.25 else 1)
    chosen = [values[k] for k in sorted(rng.choice(len(values), count, replace=False))]
    if any(set(chosen) <= set(view.values[j].values()) for j in rivals):
        return None
    front = [v for kind in _ORDER for v in chosen if ATTRIBUTE_TYPES[v] == kind]
    last = [v for v in chosen if v not in front]
    often = 0.6 if front and ATTRIBUTE_TYPES[front[-1]] == "pose" else 0.25
    if front and not last and not base.tail and rng.random() < often:
        last = [front.pop()]
    if last and base.tail:
        return None
    said = words(" ".join(adjective(v, rng) for v in front), base.object_id)
    program = base.program
    for value in front + last:
        program = filter_by(program, value)
    return replace(
        base,
        words=(*said, *base.words, *(_clause(rng, base, last[0]) if last else ())),
        program=program,
        told=base.told | {ATTRIBUTE_TYPES[v] for v in chosen},
        tail=base.tail or bool(last),
        facts=base.facts | {("attr", base.object_id, v) for v in chosen},
    )


def _clause(rng: np.random.Generator, base: Reference, value: str) -> Phrase:
    """`that is red`, `that looks red`, `made of wood`."""
    be, look = ("are", "look") if base.plural else ("is", "looks")
    kind, said = ATTRIBUTE_TYPES[value], predicate(value, rng)
    starts = ("", f"that {be} ") if kind == "material" else (f"that {be} ",)
    if kind in ("color", "pattern"):
        starts += (*starts, f"that {look} ")
    return words(pick(rng, starts) + said)


def _with_negation(
    view: View, rng: np.random.Generator, base: Reference, rivals: list[str], hidden: frozenset[str]
) -> Reference | None:
    """`the chair that is not red`: all others are red."""
    own = view.values[base.object_id]
    kinds = [kind for kind in ("color", "material", "pose", "pattern") if kind in own and kind not in hidden]
    options = []
    for kind in kinds:
        value, *different = {view.values[j].get(kind) for j in rivals} or {None}
        if not different and value is not None and value != own[kind]:
            options.append((kind, value))
    if not options:
        return None
    kind, value = pick(rng, options)
    said = words(f"that {'are' if base.plural else 'is'} not {predicate(value)}")
    return replace(
        base,
        words=(*base.words, *said),
        program=filter_by(base.program, value, negated=True),
        told=frozenset({kind}),
        tail=True,
        facts=base.facts | {("not", base.object_id, value)},
    )


def _with_position(
    view: View, rng: np.random.Generator, base: Reference, rivals: list[str], hidden: frozenset[str]
) -> Reference | None:
    """`the dog on the left of the picture`."""
    where = view.position(base.object_id, "hposition")
    unclear = any(view.position(j, "hposition") in (where, None) for j in rivals)
    if where is None or "hposition" in hidden or unclear:
        return None
    of = pick(rng, ("", "", "of the image", "of the picture", "of the photo"))
    start = pick(rng, ("", f"that {'are' if base.plural else 'is'}"))
    side = "in the middle" if where == "middle" else f"on the {where} {pick(rng, ('', 'side'))}"
    return replace(
        base,
        words=(*base.words, *words(f"{start} {side} {of}")),
        tail=True,
        told=frozenset({"hposition"}),
        program=then(base.program, "filter hposition", where),
        facts=base.facts | {("position", base.object_id, where)},
    )


def _with_relation(
    view: View,
    rng: np.random.Generator,
    base: Reference,
    rivals: list[str],
    avoided: frozenset[str],
    depth: int,
) -> tuple[Reference, list[str]] | None:
    """`the cup on the red table`, `the hat the man is wearing`; and the rivals that are left."""
    i = base.object_id
    around = [
        (relation, b, role)
        for relation, b, role in view.around[i]
        if b not in avoided and (relation in VERBS or not view.together(i, b))
    ]
    if not around:
        return None
    # The relation is drawn before the landmark: there are many more left and right than on and in.
    name = pick(rng, sorted({relation for relation, _, _ in around}))
    relation, landmark, role = pick(rng, [entry for entry in around if entry[0] == name])
    posed = ("pose",) if relation == "sitting on" else ()
    mark = describe(view, rng, landmark, avoid=avoided, depth=depth - 1, hide=posed)
    # "the table that the cup is on" is heard now and then, with a longer cup it is hard to read.
    if mark is None or (role == "o" and relation not in VERBS and (mark.tail or rng.random() < 0.88)):
        return None
    if relation not in FUZZY:
        rivals = [j for j in view.related(base.noun, relation, landmark, role, strict=False) if j != i]
    triple = (i, relation, landmark) if role == "s" else (landmark, relation, i)
    return replace(
        base,
        words=(*base.words, *_relative_clause(rng, relation, mark, role, base)),
        tail=True,
        program=then(mark.program, "relate", f"{base.noun},{relation},{role} ({i})"),
        told=frozenset(posed),
        facts=base.facts | mark.facts | {("rel", *triple)},
    ), rivals


def _relative_clause(
    rng: np.random.Generator, relation: str, mark: Reference, role: str, head: Reference
) -> Phrase:
    """What follows the noun to say its relation to the landmark."""
    if role == "o":  # the hat (that) the man is wearing
        said = f"{'are' if mark.plural else 'is'} {VERBS.get(relation, (relation,))[0]}"
        return (*words(pick(rng, ("", "that"))), *mark.the, *words(said))
    be = "are" if head.plural else "is"
    options: tuple[str, ...] = (relation, relation, relation, f"that {be} {relation}")
    if relation in VERBS:
        ing, third, bare = VERBS[relation]
        who = "who" if head.noun in ("person", *CATEGORIES["person"]) else "that"
        options = (
            ing,
            ing,
            f"that {be} {ing}",
            f"{who} {be} {ing}",
            f"that {bare if head.plural else third}",
        )
    return (*words(pick(rng, options)), *mark.the)
