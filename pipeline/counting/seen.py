"""How often things, their attributes and their relations are seen: in scene graphs, or in what questions
say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.core.records import Scene
from pipeline.judge.reconstruct import Reconstructed, facts_known
from pipeline.words.lexicon import Lexicon


@dataclass(slots=True)
class Entry:
    """Counts for one object name."""

    count: int = 0
    attributes: Counter[str] = field(default_factory=Counter)
    subject_of: Counter[str] = field(default_factory=Counter)
    object_of: Counter[str] = field(default_factory=Counter)


def from_graphs(scenes: Iterable[Scene]) -> tuple[dict[str, Entry], Counter[str], Counter[str]]:
    """Object entries, places and weathers as counted in scene graphs."""
    entries: dict[str, Entry] = defaultdict(Entry)
    places: Counter[str] = Counter()
    weathers: Counter[str] = Counter()
    for scene in scenes:
        called = {thing.object_id: thing.name for thing in scene.objects}
        places.update(filter(None, (scene.location,)))
        weathers.update(filter(None, (scene.weather,)))
        for thing in scene.objects:
            entry = entries[thing.name]
            entry.count += 1
            entry.attributes.update(thing.attributes)
            for relation in thing.relations:
                entry.subject_of[relation.name] += 1
                entries[called[relation.object_id]].object_of[relation.name] += 1
    return entries, places, weathers


def from_questions(
    graphs: Iterable[Reconstructed], lexicon: Lexicon
) -> tuple[dict[str, Entry], Counter[str], Counter[str]]:
    """The same, from what the answered questions about each picture say together."""
    entries: dict[str, Entry] = defaultdict(Entry)
    places: Counter[str] = Counter()
    weathers: Counter[str] = Counter()
    for graph in graphs:
        facts = facts_known(graph, lexicon)
        places.update(filter(None, (facts.scene.get("place"),)))
        weathers.update(filter(None, (facts.scene.get("weather"),)))
        called = {thing.object_id: thing.label or (thing.names or ("",))[0] for thing in facts.things}
        for thing in facts.things:
            if called[thing.object_id]:
                entries[called[thing.object_id]].count += 1
                entries[called[thing.object_id]].attributes.update(list(thing.attributes))
        for subject, relation, other in sorted(facts.related):
            if called.get(subject) and called.get(other):
                entries[called[subject]].subject_of[relation] += 1
                entries[called[other]].object_of[relation] += 1
    return entries, places, weathers
