"""The committed sample is true, and the checker notices when it is not: 100 seeded corruptions, every one caught.

A corruption changes one thing in a copy of the sample: an answer, an id in a program or an annotation, or the true
scene graph under a question. It is chosen so that it matters: the question changed was right before, and speaks of
just the fact that is changed, as its program's text and ids say (read here by a regular expression of its own).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.randomness import make_generator
from pipeline.core.records import Relation, SceneGraph, SceneObject
from research.synthetic_world import verify
from research.synthetic_world.ontology import ATTRIBUTE_TYPES, CATEGORIES, KINDS
from research.synthetic_world.question_checks import CheckedQuestion

ROOT = Path(__file__).parents[3]
SEED, OF_EACH = 11, 10
OPPOSITE = {"to the left of": "to the right of", "above": "below", "in front of": "behind"}
OPPOSITE |= {other: name for name, other in OPPOSITE.items()}
RELATED = re.compile(r"relate: ([^,]+),([^,]+),([so]) \((\d+)\) \[(\d+)\]")
NAMED = re.compile(r"(?:select: |relate: |rel: )([^,(_]+?)(?:,[^(]*)? \((\d+)\)")
Corrupted = tuple[dict[str, CheckedQuestion], SceneGraph]
Corruption = Callable[[str, dict[str, CheckedQuestion], SceneGraph, np.random.Generator], Corrupted | None]


@pytest.fixture(scope="module")
def sample() -> tuple[dict, dict, dict]:
    return verify.load_sample(ROOT / "data/sample")


def test_every_answer_of_the_sample_is_right_and_every_published_fact_true(sample):
    entries, truths, published = sample
    assert [
        fault
        for split in verify.SPLITS
        for fault in verify.find_question_faults(entries[split], truths[split])
    ] == []
    assert list(verify.find_graph_faults(published, truths["train"] | truths["val"])) == []
    assert all(scene.is_complete for scenes in truths.values() for scene in scenes.values())
    assert len(entries["testdev"]) >= 1800


# --- corruptions: each takes a question, those of its image and the true scene, and returns them changed ----------


def other_answer(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """Another answer that could have been given: the other option, the other of yes and no, a value of the same type."""
    one = entries[key]
    options = [
        o
        for o in re.findall(r"[^|]+", one.semantic[-1].argument)
        if one.semantic[-1].operation.startswith("choose")
    ]
    if one.answer in ("yes", "no"):
        other = {"yes": "no", "no": "yes"}[one.answer]
    elif one.answer in options:
        other = next(option for option in options if option != one.answer)
    elif one.answer in ATTRIBUTE_TYPES:
        other = pick(
            rng,
            [
                a
                for a, kind in ATTRIBUTE_TYPES.items()
                if kind == ATTRIBUTE_TYPES[one.answer] and a != one.answer
            ],
        )
    elif one.answer in {kind.name for kind in KINDS}:
        other = pick(rng, [kind.name for kind in KINDS if kind.name != one.answer])
    else:
        return None
    full = one.full_answer.replace(one.answer, other).replace(one.answer.capitalize(), other.capitalize())
    return entries | {key: msgspec.structs.replace(one, answer=other, full_answer=full)}, scene


def swapped_id(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """The id in a program becomes that of another object of the image, with another name."""
    one = entries[key]
    named = NAMED.search(one.semantic_str)
    others = [
        o.object_id
        for o in scene.objects
        if named and o.name != object_of(scene, named[2]).name and o.name not in CATEGORIES.get(named[1], ())
    ]
    if not others:
        return None
    old, new = named[2], pick(rng, others)
    steps = tuple(
        msgspec.structs.replace(s, argument=s.argument.replace(f"({old})", f"({new})")) for s in one.semantic
    )
    text = one.semantic_str.replace(f"({old})", f"({new})")
    return entries | {key: msgspec.structs.replace(one, semantic=steps, semantic_str=text)}, scene


def swapped_annotation(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """A word of the question is annotated with an object of another category."""
    one = entries[key]
    if not one.annotations.question:
        return None
    place, object_id = pick(rng, sorted(one.annotations.question.items()))
    far = [
        o.object_id for o in scene.objects if category(o.name) != category(object_of(scene, object_id).name)
    ]
    if not far:
        return None
    words = msgspec.structs.replace(
        one.annotations, question=one.annotations.question | {place: pick(rng, far)}
    )
    return entries | {key: msgspec.structs.replace(one, annotations=words)}, scene


def foreign_entailment(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """A question is said to entail one of the same image about other things altogether."""
    one = entries[key]
    strange = [
        i
        for i, other in entries.items()
        if ids(other)
        and "select: scene" not in one.semantic_str
        and ids(one)
        and not ids(one) & ids(other)
        and other.answer not in ("yes", "no")
    ]
    return (
        (entries | {key: msgspec.structs.replace(one, entailed=(pick(rng, strange),))}, scene)
        if strange
        else None
    )


def renamed(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """An object that the program names is truly something of another category."""
    named = NAMED.search(entries[key].semantic_str)
    if not named:
        return None
    old = object_of(scene, named[2])
    new = pick(
        rng,
        [
            kind.name
            for kind in KINDS
            if kind.category != category(old.name) and kind.name not in {o.name for o in scene.objects}
        ],
    )
    return entries, with_object(scene, old, name=new)


def other_attribute(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """The attribute asked for has truly another value: `query: color` of an object that is blue, not red."""
    one = entries[key]
    last, object_id = one.semantic[-1], asked_of(one)
    if (
        not last.operation.startswith(("query", "choose"))
        or one.answer not in ATTRIBUTE_TYPES
        or object_id is None
    ):
        return None
    return entries, with_attribute(scene, object_id, one.answer, rng)


def other_filter(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """An attribute that tells an object apart ("the red cup") is truly another."""
    one = entries[key]
    step = next(
        (
            i
            for i, s in enumerate(one.semantic)
            if s.operation.startswith("filter") and s.argument in ATTRIBUTE_TYPES
        ),
        None,
    )
    if step is None or "exist" in one.semantic_str:
        return None
    source = one.semantic[one.semantic[step].dependencies[0]]
    found = re.search(r"\((\d+)\)", source.argument)
    return (entries, with_attribute(scene, found[1], one.semantic[step].argument, rng)) if found else None


def flipped(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """A presupposed relation is truly the opposite, in both directions."""
    triple = related(entries[key])
    if triple is None or triple[1] not in OPPOSITE:
        return None
    a, name, b = triple
    flip = {(a, name, b): OPPOSITE[name], (b, OPPOSITE[name], a): name}
    return entries, with_relations(scene, lambda s, r, o: flip.get((s, r, o), r))


def unrelated(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """A presupposed relation does not hold, nor do its synonyms."""
    triple = related(entries[key])
    if triple is None:
        return None
    a, name, b = triple
    words = {name, OPPOSITE.get(name, name)} | next(
        (same for same in ({"near", "next to"}, {"in", "inside"}) if name in same), set()
    )
    return entries, with_relations(scene, lambda s, r, o: None if {s, o} == {a, b} and r in words else r)


def removed(
    key: str, entries: dict[str, CheckedQuestion], scene: SceneGraph, rng: np.random.Generator
) -> Corrupted | None:
    """An object that the program names is truly not there."""
    named = NAMED.search(entries[key].semantic_str)
    if not named:
        return None
    rest = with_relations(scene, lambda s, r, o: None if o == named[2] else r)
    return entries, msgspec.structs.replace(
        rest, objects=tuple(o for o in rest.objects if o.object_id != named[2])
    )


CORRUPTIONS: tuple[Corruption, ...] = (
    other_answer,
    swapped_id,
    swapped_annotation,
    foreign_entailment,
    renamed,
    other_attribute,
    other_filter,
    flipped,
    unrelated,
    removed,
)


def test_all_of_100_seeded_corruptions_are_caught(sample):
    entries, truths, _ = sample
    table, missed = Counter(), []
    for corrupt in CORRUPTIONS:
        for key, (changed, scene) in corruptions(corrupt, entries["testdev"], truths["testdev"]):
            own = {question_id: entries["testdev"][question_id] for question_id in changed}
            before = set(
                verify.find_question_faults(own, {scene.image_id: truths["testdev"][scene.image_id]})
            )
            new = set(verify.find_question_faults(changed, {scene.image_id: scene})) - before
            table[corrupt.__name__] += bool(new)
            if not new:
                missed.append(
                    f"{corrupt.__name__}: {key} {changed[key].question} {changed[key].semantic_str}"
                )
    print("\n".join(f"{name:20s} {caught} of {OF_EACH} caught" for name, caught in table.items()))
    assert missed == []
    assert table == {corrupt.__name__: OF_EACH for corrupt in CORRUPTIONS}
    assert table.total() == 100


def corruptions(
    corrupt: Corruption, entries: dict[str, CheckedQuestion], truths: dict[str, SceneGraph]
) -> Iterator[tuple[str, Corrupted]]:
    """Ten corruptions of one kind, each of another image."""
    by_image: dict[str, dict[str, CheckedQuestion]] = defaultdict(dict)
    for key, entry in sorted(entries.items()):
        by_image[entry.image_id][key] = entry
    rng = make_generator(SEED, corrupt.__name__)
    made = 0
    for image_id in rng.permutation(sorted(by_image)).tolist():
        own = by_image[image_id]
        key = pick(rng, sorted(own))
        if made < OF_EACH and (changed := corrupt(key, own, truths[image_id], rng)):
            made += 1
            yield key, changed


# --- a published graph that says too much ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda o: msgspec.structs.replace(o, attributes=(*o.attributes, "invisible")),
        lambda o: msgspec.structs.replace(o, name="unicorn"),
        lambda o: msgspec.structs.replace(o, x=o.x + 1),
        lambda o: msgspec.structs.replace(
            o, relations=(*o.relations, Relation(name="eating", object_id=o.object_id))
        ),
        lambda o: msgspec.structs.replace(o, object_id="0"),
    ],
)
def test_a_wrong_published_fact_is_reported(sample, change):
    _, truths, published = sample
    image_id = min(published)
    scene = published[image_id]
    wrong = msgspec.structs.replace(scene, objects=(change(scene.objects[0]), *scene.objects[1:]))
    faults = list(verify.find_graph_faults({image_id: wrong}, truths["train"] | truths["val"]))
    assert len(faults) == 1
    assert image_id in faults[0][0]


def test_an_image_of_another_location_or_without_truth_is_reported(sample):
    _, truths, published = sample
    scene = published[min(published)]
    moved = msgspec.structs.replace(scene, location="moon")
    assert len(list(verify.find_graph_faults({scene.image_id: moved}, truths["train"] | truths["val"]))) == 1
    assert len(list(verify.find_graph_faults({"n0": scene}, truths["train"] | truths["val"]))) == 1


def test_the_command_lists_all_faults(sample, monkeypatch, tmp_path):
    entries, truths, published = sample
    key = next(key for key, entry in entries["val"].items() if entry.answer == "yes")
    wrong = entries["val"] | {key: msgspec.structs.replace(entries["val"][key], answer="no", equivalent=())}
    monkeypatch.setattr(verify, "load_sample", lambda home: (entries | {"val": wrong}, truths, published))
    with pytest.raises(UserError) as error:
        verify.verify_sample()
    told = [line for line in error.value.problems if key in line]
    assert any("the answer is yes, not no" in line for line in told)
    assert any("not among its own equivalent questions" in line for line in told)


# --- small parts ----------------------------------------------------------------------------------------------------


def pick(rng: np.random.Generator, options: list):
    return options[int(rng.integers(len(options)))]


def category(name: str) -> str:
    return next((group for group, members in CATEGORIES.items() if name in members), name)


def object_of(scene: SceneGraph, object_id: str) -> SceneObject:
    return next(o for o in scene.objects if o.object_id == object_id)


def ids(entry: CheckedQuestion) -> set[str]:
    return set(re.findall(r"\d+", " ".join(re.findall(r"\(([\d,]+)\)", entry.semantic_str))))


def asked_of(entry: CheckedQuestion) -> str | None:
    """Id of the one object that the last step asks about."""
    step = entry.semantic[entry.semantic[-1].dependencies[0]]
    while step.operation.startswith("filter"):
        step = entry.semantic[step.dependencies[0]]
    found = re.search(r"\((\d+)\)", step.argument)
    return found[1] if found else None


def related(entry: CheckedQuestion) -> tuple[str, str, str] | None:
    """Return the first presupposed relation between two objects as (subject, relation, object)."""
    for match in RELATED.finditer(entry.semantic_str):
        step = entry.semantic[int(match[5])]
        while step.operation.startswith("filter"):
            step = entry.semantic[step.dependencies[0]]
        other = re.search(r"\((\d+)\)", step.argument)
        if other and "exist" not in entry.semantic_str:
            return (match[4], match[2], other[1]) if match[3] == "s" else (other[1], match[2], match[4])
    return None


def with_object(scene: SceneGraph, old: SceneObject, **changes: object) -> SceneGraph:
    new = msgspec.structs.replace(old, **changes)
    return msgspec.structs.replace(scene, objects=tuple(new if o is old else o for o in scene.objects))


def with_attribute(scene: SceneGraph, object_id: str, value: str, rng: np.random.Generator) -> SceneGraph:
    """The scene with another value of the same type in place of one."""
    old = object_of(scene, object_id)
    assert value in old.attributes
    new = pick(
        rng, [a for a, kind in ATTRIBUTE_TYPES.items() if kind == ATTRIBUTE_TYPES[value] and a != value]
    )
    return with_object(scene, old, attributes=tuple(new if a == value else a for a in old.attributes))


def with_relations(scene: SceneGraph, rename: Callable[[str, str, str], str | None]) -> SceneGraph:
    """The scene with every relation (subject, name, object) renamed, or left out where the new name is None."""

    def edges(thing: SceneObject) -> tuple[Relation, ...]:
        named = (
            (rename(thing.object_id, edge.name, edge.object_id), edge.object_id) for edge in thing.relations
        )
        return tuple(Relation(name=name, object_id=other) for name, other in named if name)

    objects = tuple(msgspec.structs.replace(thing, relations=edges(thing)) for thing in scene.objects)
    return msgspec.structs.replace(scene, objects=objects)
