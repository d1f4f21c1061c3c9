"""Definite noun phrases: which words, and which steps of a program, single out one object of a scene.

A reference is used only when it is clear: exactly one object of the picture fits, and nothing else comes close
(an object half to the left is no rival ruled out by a pixel). It often says more than is needed, as people do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.core.records import Scene, SceneObject, Step
from pipeline.sample_world.ontology import ATTRIBUTE_TYPES, BY_NAME, CATEGORIES
from pipeline.sample_world.phrasing import (
    ADJECTIVE_ORDER, CATEGORY_NOUNS, UNTYPED, VERBS, Phrase, adjective, category_of, is_plural, pick, predicate, words,
)

Fact = tuple[str, ...]  # ("name", id, noun) ("attr", id, value) ("not", id, value) ("rel", a, relation, b) ...
ANTONYMS = {"to the left of": "to the right of", "above": "below", "in front of": "behind"}
ANTONYMS |= {right: left for left, right in ANTONYMS.items()}
FUZZY = ("near", "next to")  # how near is near? such a relation adds to a clear reference, it does not make one
WIDER = {"food": ("fruit",), "fruit": ("food",), "device": ("appliance",), "appliance": ("device",),
         "dishes": ("container",), "container": ("dishes", "bag")}  # people may count these as the same category
BORDER = 0.04  # of the picture's side: nothing is said of a centre so near the border of left, middle and right


class View:
    """A complete scene, indexed: who has which name, look and relation."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.objects = {item.object_id: item for item in scene.objects}
        self.values = {i: {ATTRIBUTE_TYPES[value]: value for value in item.attributes if value in ATTRIBUTE_TYPES}
                       for i, item in self.objects.items()}
        self.relations = {(item.object_id, relation.name, relation.object_id)
                          for item in scene.objects for relation in item.relations}
        self.subjects: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.targets: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.around: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for a, relation, b in sorted(self.relations):
            self.subjects[relation, b].append(a)
            self.targets[a, relation].append(b)
            self.around[a].append((relation, b, "s"))
            self.around[b].append((relation, a, "o"))
        self.owner = {b: a for a, relation, b in self.relations if relation in ("wearing", "holding")}

    def name(self, object_id: str) -> str:
        return self.objects[object_id].name

    def called(self, noun: str, strict: bool = True) -> list[str]:
        """Ids of the objects that a kind or category names ("_": all). Not strict: also what people might so call."""
        categories = (noun,) if strict else (noun, *WIDER.get(noun, ()))
        members = {noun}.union(*(CATEGORIES.get(category, ()) for category in categories))
        return [i for i, item in self.objects.items() if noun == "_" or item.name in members]

    def position(self, object_id: str, axis: str) -> str | None:
        """"left", "middle" or "right" ("top" or "bottom"); None near a border, or between top and bottom."""
        item = self.objects[object_id]
        if axis == "hposition":
            centre, names = (item.x + item.w / 2) / self.scene.width, ("left", "middle", "right")
        else:
            centre, names = (item.y + item.h / 2) / self.scene.height, ("top", None, "bottom")
        if min(abs(centre - 0.4), abs(centre - 0.6)) < BORDER:
            return None
        return names[0] if centre < 0.4 else names[1] if centre < 0.6 else names[2]

    def loosely(self, a: str, relation: str, b: str) -> bool:
        """Whether someone might say that the relation holds: it does, or the centres lie that way."""
        if (a, relation, b) in self.relations:
            return True
        one, two = self.objects[a], self.objects[b]
        dx = (one.x + one.w / 2) - (two.x + two.w / 2)
        dy = (one.y + one.h / 2) - (two.y + two.h / 2)
        return {"to the left of": dx < 0, "to the right of": dx > 0, "above": dy < 0, "below": dy > 0}.get(relation, False)

    def together(self, a: str, b: str) -> bool:
        """Whether one holds or wears the other, or a third holds or wears both: where they are says nothing."""
        return self.owner.get(a, a) == self.owner.get(b, b)

    def related(self, noun: str, relation: str, landmark: str, role: str, strict: bool = True) -> list[str]:
        """Objects called `noun` that stand in the relation to the landmark; as its subject (role "s") or object ("o")."""
        def holds(i: str) -> bool:
            pair = (i, relation, landmark) if role == "s" else (landmark, relation, i)
            return pair in self.relations if strict else self.loosely(*pair)
        return [i for i in self.called(noun, strict) if i != landmark and holds(i)]


@dataclass(frozen=True, slots=True)
class Reference:
    """A definite noun phrase for one object.

    Attributes:
        noun: kind or category said. words: without the article. program: its last step yields the object.
        told: attribute types that the phrase tells of the object itself. facts: all it presupposes.
        mentions: ids of all objects it names. tail: whether words follow the noun.
    """

    object_id: str
    noun: str
    words: Phrase
    program: tuple[Step, ...]
    told: frozenset[str]
    facts: frozenset[Fact]
    mentions: frozenset[str]
    plural: bool
    tail: bool = False

    @property
    def the(self) -> Phrase:
        return (("the", ""), *self.words)


def step(operation: str, argument: str, *dependencies: int) -> Step:
    return Step(operation=operation, argument=argument, dependencies=dependencies)


def typed(operation: str, value: str) -> str:
    """`filter color` for "red", `filter` for "open": GQA's name of an operation on an attribute."""
    kind = ATTRIBUTE_TYPES[value]
    return operation if kind in UNTYPED else f"{operation} {kind}"


def then(program: tuple[Step, ...], operation: str, argument: str) -> tuple[Step, ...]:
    """The program with one more step, which takes what the last one yields."""
    return (*program, step(operation, argument, len(program) - 1))


def after(first: tuple[Step, ...], second: tuple[Step, ...]) -> tuple[Step, ...]:
    """Both programs in one, the second one's dependencies moved along."""
    shift = len(first)
    return first + tuple(step(s.operation, s.argument, *(d + shift for d in s.dependencies)) for s in second)


def noun_facts(view: View, object_id: str, noun: str) -> set[Fact]:
    """What calling the object so says: its name, and with a name its category."""
    name = view.name(object_id)
    facts = {("name", object_id, noun)}
    return facts | {("name", object_id, BY_NAME[name].category)} if noun == name else facts


def describe(view: View, rng: np.random.Generator, object_id: str, *, hide: Iterable[str] = (), avoid: Iterable[str] = (),
             depth: int = 1, category: float = 0.15, plain: bool = False) -> Reference | None:
    """Draw a clear reference to an object, or None when a few attempts find none.

    Args:
        hide: attribute types (and "hposition", "vposition", "relation", "name") that must not be told of it.
        avoid: ids of objects that must not be mentioned.
        depth: how many relations the phrase may chain. category: how often to say "animal" for "dog".
        plain: only the name, without attributes or relations (still clear).
    """
    hidden, avoided = set(hide), {*avoid, object_id}
    shapes = ("bare", "attribute", "relation", "position", "not")
    weights = np.array([0.12, 0.40 if not plain else 0, 0.40 * (depth > 0), 0.05, 0.03])
    for _ in range(10):
        shape = "bare" if plain else shapes[int(rng.choice(5, p=weights / weights.sum()))]
        name = view.name(object_id)
        noun = category_of(name) if "name" in hidden or (shape != "bare" and rng.random() < category) else name
        if not noun:
            continue
        found = _attempt(view, rng, object_id, noun, shape, hidden, avoided, depth)
        if found is not None:
            return found
    return None


def _attempt(view: View, rng: np.random.Generator, i: str, noun: str, shape: str, hidden: set[str], avoided: set[str],
             depth: int) -> Reference | None:
    said = pick(rng, CATEGORY_NOUNS[noun]) if noun in CATEGORY_NOUNS else noun
    base = Reference(object_id=i, noun=noun, words=words(said, i), program=(step("select", f"{noun} ({i})"),),
                     told=frozenset(), facts=frozenset(noun_facts(view, i, noun)), mentions=frozenset({i}),
                     plural=is_plural(noun))
    rivals = [j for j in view.called(noun, strict=False) if j != i]
    if shape == "relation":
        found = _with_relation(view, rng, base, hidden, avoided, depth)
        if found is None:
            return None
        base, rivals = found
        if rng.random() < 0.7:
            return base if not rivals else None
    if shape == "position":
        return _with_position(view, rng, base, rivals, hidden)
    values = [v for t, v in view.values[i].items() if t not in hidden]
    if shape == "not":
        return _with_negation(view, rng, base, rivals, hidden)
    if shape in ("attribute", "relation") and values:
        return _with_attributes(view, rng, base, rivals, values)
    return base if not rivals and shape == "bare" else None


def _with_attributes(view: View, rng: np.random.Generator, base: Reference, rivals: list[str], values: list[str]) -> Reference | None:
    """One attribute, now and then two; before the noun, or after it when nothing else follows."""
    count = min(len(values), 2 if rng.random() < 0.25 else 1)
    chosen = [values[k] for k in sorted(rng.choice(len(values), count, replace=False))]
    if any(all(value in view.values[j].values() for value in chosen) for j in rivals):
        return None
    front = [v for v in chosen if ATTRIBUTE_TYPES[v] in ADJECTIVE_ORDER]
    tail = [v for v in chosen if v not in front]
    if front and not base.tail and not tail and rng.random() < (0.6 if ATTRIBUTE_TYPES[front[-1]] == "pose" else 0.25):
        tail = [front.pop()]
    if tail and base.tail:
        return None
    front.sort(key=lambda v: ADJECTIVE_ORDER.index(ATTRIBUTE_TYPES[v]))
    phrase = (*words(" ".join(adjective(v, rng) for v in front), base.object_id), *base.words)
    if tail:
        be = "are" if base.plural else "is"
        said = predicate(tail[0], rng)
        if ATTRIBUTE_TYPES[tail[0]] == "material":
            said = pick(rng, (said, f"that {be} {said}"))
        elif ATTRIBUTE_TYPES[tail[0]] in ("color", "pattern"):
            said = f"that {pick(rng, (be, be, 'look' if base.plural else 'looks'))} {said}"
        else:
            said = f"that {be} {said}"
        phrase = (*phrase, *words(said))
    program = base.program
    for value in front + tail:
        program = then(program, typed("filter", value), value)
    return replace(base, words=phrase, program=program, tail=base.tail or bool(tail),
                   told=base.told | {ATTRIBUTE_TYPES[v] for v in chosen},
                   facts=base.facts | {("attr", base.object_id, v) for v in chosen})


def _with_negation(view: View, rng: np.random.Generator, base: Reference, rivals: list[str], hidden: set[str]) -> Reference | None:
    """`the chair that is not red`: there is a red one, and every one has a colour."""
    types = [t for t in ("color", "material", "pose", "pattern") if t in view.values[base.object_id] and t not in hidden]
    options = [(t, view.values[j].get(t)) for t in types for j in rivals]
    options = [(t, v) for t, v in options if v is not None and v != view.values[base.object_id][t]
               and all(view.values[j].get(t) == v for j in rivals)]
    if not options:
        return None
    kind, value = pick(rng, options)
    phrase = (*base.words, *words(f"that {'are' if base.plural else 'is'} not {predicate(value)}"))
    return replace(base, words=phrase, program=then(base.program, typed("filter", value), f"not({value})"), tail=True,
                   told=frozenset({kind}), facts=base.facts | {("not", base.object_id, value)})


def _with_position(view: View, rng: np.random.Generator, base: Reference, rivals: list[str], hidden: set[str]) -> Reference | None:
    where = view.position(base.object_id, "hposition")
    if where is None or "hposition" in hidden or any(view.position(j, "hposition") in (where, None) for j in rivals):
        return None
    of = pick(rng, ("", "", "of the image", "of the picture", "of the photo"))
    if where == "middle":
        said = f"in the middle {of}"
    else:
        said = f"{pick(rng, ('on', 'that is on' if not base.plural else 'that are on'))} the {where}{pick(rng, ('', ' side'))} {of}"
    return replace(base, words=(*base.words, *words(said)), program=then(base.program, "filter hposition", where), tail=True,
                   told=frozenset({"hposition"}), facts=base.facts | {("position", base.object_id, where)})


def _with_relation(view: View, rng: np.random.Generator, base: Reference, hidden: set[str], avoided: set[str],
                   depth: int) -> tuple[Reference, list[str]] | None:
    """`the cup on the red table`, `the hat the man is wearing`; and the rivals that are left."""
    i = base.object_id
    around = [(r, b, role) for r, b, role in view.around[i] if b not in avoided
              and "relation" not in hidden and not (view.together(i, b) and r not in VERBS)
              and (role == "s" or r in VERBS or rng.random() < 0.15)]
    if not around or depth == 0:
        return None
    # A relation as such is drawn first, then the landmark: there are many more left and right than on and in.
    relation = pick(rng, sorted({r for r, _, _ in around}))
    relation, landmark, role = pick(rng, [entry for entry in around if entry[0] == relation])
    mark = describe(view, rng, landmark, avoid=avoided, depth=depth - 1)
    if mark is None:
        return None
    rivals = [j for j in view.related(base.noun, relation, landmark, role, strict=False) if j != i]
    if relation in FUZZY:
        rivals = [j for j in view.called(base.noun, strict=False) if j != i]
    phrase = (*base.words, *relative_clause(rng, relation, mark, role, base))
    program = then(mark.program, "relate", f"{base.noun},{relation},{role} ({i})")
    pair = (i, relation, landmark) if role == "s" else (landmark, relation, i)
    return replace(base, words=phrase, program=program, tail=True, facts=base.facts | mark.facts | {("rel", *pair)},
                   mentions=base.mentions | mark.mentions), rivals


def relative_clause(rng: np.random.Generator, relation: str, mark: Reference, role: str, head: Reference) -> Phrase:
    """What follows the noun to say its relation to the landmark."""
    be, who = "are" if head.plural else "is", "who" if head.noun in ("man", "woman", "boy", "girl", "person") else "that"
    if role == "o":  # the hat (that) the man is wearing; the table (that) the cup is on
        said = VERBS.get(relation, (relation,))[0]
        return (*words(pick(rng, ("", "that"))), *mark.the, *words(f"{'are' if mark.plural else 'is'} {said}"))
    if relation in VERBS:
        ing, third, bare = VERBS[relation]
        options = (ing, ing, f"that {be} {ing}", f"{who} {be} {ing}", f"that {bare if head.plural else third}")
    else:
        options = (relation, relation, relation, f"that {be} {relation}")
    return (*words(pick(rng, options)), *mark.the)
