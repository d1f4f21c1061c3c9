"""How often things, their attributes and their relations are seen: in scene graphs, or in what questions say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from pipeline.core.records import Scene
from pipeline.judge.facts import Facts


class Sightings:
    """Counts what pictures show.

    Attributes:
        names: how often things of each name are seen. attributes, subject_of, object_of: with which attributes, and
            on which side of which relations.
        places, weathers: of how many pictures.
    """

    def __init__(self) -> None:
        self.names, self.places, self.weathers = Counter[str](), Counter[str](), Counter[str]()
        self.attributes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.subject_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.object_of: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add_scene(self, scene: Scene) -> None:
        """Count a scene graph."""
        names = {thing.object_id: thing.name for thing in scene.objects}
        attributes = ((thing.object_id, thing.attributes) for thing in scene.objects)
        edges = ((thing.object_id, edge) for thing in scene.objects for edge in thing.relations)
        self._add(names, attributes, ((subject, edge.name, edge.object_id) for subject, edge in edges))
        self._add_scene(scene.location, scene.weather)

    def add_facts(self, facts: Facts) -> None:
        """Count what the answered questions about a picture say together, of things that have a name."""
        names = {thing.object_id: thing.label or next(iter(thing.names), "") for thing in facts.things}
        names = {object_id: name for object_id, name in names.items() if name}
        self._add(names, ((thing.object_id, thing.attributes) for thing in facts.things), facts.related)
        self._add_scene(facts.scene.get("place", ""), facts.scene.get("weather", ""))

    def _add(
        self,
        names: Mapping[str, str],
        attributes: Iterable[tuple[str, Iterable[str]]],
        relations: Iterable[tuple[str, str, str]],
    ) -> None:
        self.names.update(names.values())
        for object_id, looks in attributes:
            if object_id in names:
                self.attributes[names[object_id]].update(list(looks))
        for subject, relation, other in relations:
            if subject in names and other in names:
                self.subject_of[names[subject]][relation] += 1
                self.object_of[names[other]][relation] += 1

    def _add_scene(self, place: str, weather: str) -> None:
        self.places.update(filter(None, (place,)))
        self.weathers.update(filter(None, (weather,)))
