"""One attempt at a scene: which kinds come in, in which order, and what carries them.

First the kind that the scene features, with what it needs; then large things, people, and things on what is there;
then whatever fits until the scene is as full as planned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from research.synthetic_world import layout, placement, scene_statistics
from research.synthetic_world.ontology import BY_NAME, INDOORS, KINDS, Kind
from research.synthetic_world.placement import Box
from research.synthetic_world.random_choice import drawn, pick, weighted
from research.synthetic_world.scene_statistics import ChosenLook
from research.synthetic_world.scene_types import HORIZON, SURFACES, PlacedThing

_LEAST, _MOST = 8, 12  # things planned in a scene
_CROWDED = 0.25  # chance that a thing may cover another or be covered, where the picture allows it
_WORN = ("head", "body", "legs")


class ScenePlan:
    """One attempt at a scene: things are added as long as they fit."""

    def __init__(self, rng: np.random.Generator, featured: Kind) -> None:
        self.rng = rng
        self.featured = featured
        self.place = str(rng.choice(sorted(featured.places)))
        self.weather = "" if self.place in INDOORS else _weather(rng, self.place)
        self.wanted = int(rng.integers(_LEAST, _MOST + 1))
        self.things: list[PlacedThing] = []

    def fill(self) -> None:
        rng = self.rng
        self._add(self.featured)
        for _ in range(int(rng.integers(1, 4))):
            self._add_floor(self._kind("floor", lambda kind: kind.size[0] >= 70))
        if self.place in INDOORS and not self._hosts(("table", "cabinet", "shelf", "bed")):
            self._add_floor(BY_NAME["bed" if self.place == "bedroom" else "table"])
        for _ in range(drawn(rng, (0, 1, 2), (0.3, 0.5, 0.2))):
            self._add_person(BY_NAME[weighted(rng, ("man", "woman", "boy", "girl"), 0.75)])
        for _ in range(int(rng.integers(1, 5))):
            self._add_top(self._kind("top"))
        if rng.random() < 0.6:
            self._add_inside(self._content())
        actions: tuple[Callable[[], PlacedThing | None], ...] = (
            lambda: self._add_top(self._kind("top")),
            self._add_twin,
            lambda: self._add_floor(self._kind("floor", lambda kind: kind.category != "person")),
            lambda: self._add_far(self._kind("wall" if self.place in INDOORS else "sky")),
            lambda: self._add_inside(self._content()),
            self._add_under,
        )
        for _ in range(60):
            if len(self.things) >= self.wanted:
                break
            drawn(rng, actions, (0.34, 0.2, 0.18, 0.13, 0.08, 0.07))()

    # -- which kind and which host

    def _kind(self, rests: str, condition: Callable[[Kind], bool] = lambda kind: True) -> Kind | None:
        """A kind that may rest so in this place."""
        kinds = [
            kind
            for kind in KINDS
            if rests in kind.rests
            and self.place in kind.places
            and condition(kind)
            and (rests != "floor" or scene_statistics.depths(kind, self.place))
        ]
        if not kinds:
            return None
        return drawn(self.rng, kinds, [scene_statistics.popularity(kind) for kind in kinds])

    def _content(self) -> Kind | None:
        """A kind that may be inside something that is there."""
        names = [name for name, containers in scene_statistics.CONTAINERS.items() if self._hosts(containers)]
        return BY_NAME[str(self.rng.choice(names))] if names else None

    def _hosts(self, kinds: tuple[str, ...]) -> list[PlacedThing]:
        return [thing for thing in self.things if thing.kind in kinds]

    # -- adding

    def _add(self, kind: Kind) -> PlacedThing | None:
        """Add a thing of this kind wherever it may rest, with what it needs to rest on."""
        if kind.category == "person":
            return self._add_person(kind)
        rests = kind.rests if self.place in INDOORS else tuple(r for r in kind.rests if r != "wall")
        where = str(self.rng.choice(rests))
        if where in ("wall", "sky"):
            return self._add_far(kind)
        if where == "floor":
            return self._add_floor(kind)
        if where in ("hand", "head", "body"):
            person = self._add_person(BY_NAME[weighted(self.rng, ("man", "woman", "boy", "girl"), 0.8)])
            if person and where == "hand":
                return self._add_held(kind, person)
            return self._add_worn(kind, person) if person else None
        if where == "inside":
            containers = [
                name for name in scene_statistics.CONTAINERS[kind.name] if self.place in BY_NAME[name].places
            ]
            return self._add_inside(kind) if containers and self._add(BY_NAME[containers[0]]) else None
        if not self._add_top(kind):
            supporters = [
                name
                for name in scene_statistics.SUPPORTERS[kind.name]
                if self.place in BY_NAME[name].places and "floor" in BY_NAME[name].rests
            ]
            if supporters and self._add_floor(BY_NAME[weighted(self.rng, supporters, 0.6)]):
                return self._add_top(kind)
        return None

    def _add_floor(self, kind: Kind | None, pose: str | None = None) -> PlacedThing | None:
        if kind is None:
            return None
        depths = scene_statistics.depths(kind, self.place)
        if depths is None:
            return None
        return self._try(kind, "floor", None, lambda look: placement.floor_box(self.rng, look, depths), pose)

    def _add_far(self, kind: Kind | None) -> PlacedThing | None:
        if kind is None:
            return None
        rests, lowest = ("wall", HORIZON - 14) if self.place in INDOORS else ("sky", 118)
        if sum(thing.rests == "sky" for thing in self.things) == 2:
            return None
        return self._try(kind, rests, None, lambda look: placement.wall_box(self.rng, look, lowest))

    def _add_top(self, kind: Kind | None) -> PlacedThing | None:
        if kind is None:
            return None
        hosts = [
            host
            for host in self._hosts(scene_statistics.SUPPORTERS[kind.name])
            if host.rests in ("floor", "top")
            and (host.kind, host.state) != ("box", "open")
            and not (host.kind == "chair" and self._loaded(host))
        ]
        if not hosts:
            return None
        host = pick(self.rng, hosts)
        board = int(self.rng.integers(len(SURFACES[host.kind])))
        scale = self._scale(host)
        return self._try(
            kind, "top", host, lambda look: placement.top_box(self.rng, look, host, scale, board)
        )

    def _add_inside(self, kind: Kind | None) -> PlacedThing | None:
        if kind is None or kind.name not in scene_statistics.CONTAINERS:
            return None
        hosts = [
            host
            for host in self._hosts(scene_statistics.CONTAINERS[kind.name])
            if not self._loaded(host) and host.state not in ("closed", "empty")
        ]
        if not hosts:
            return None
        host = pick(self.rng, hosts)
        scale = self._scale(host)
        return self._try(kind, "inside", host, lambda look: placement.inside_box(self.rng, look, host, scale))

    def _add_under(self) -> PlacedThing | None:
        hosts = [
            host
            for host in self._hosts(("table",))
            if not any(thing.host == host.object_id and thing.rests == "floor" for thing in self.things)
        ]
        kinds = [name for name in scene_statistics.UNDER_TABLES if self.place in BY_NAME[name].places]
        if not hosts:
            return None
        kind = BY_NAME[weighted(self.rng, kinds, 0.8)]
        return self._try(
            kind,
            "floor",
            hosts[0],
            lambda look: placement.under_box(self.rng, look, hosts[0], self._scale(hosts[0])),
        )

    def _add_person(self, kind: Kind) -> PlacedThing | None:
        """A person with clothes, who sits on a seat, stands or sits on the floor, and may hold something."""
        rng = self.rng
        seats = [host for host in self._hosts(scene_statistics.SEATS) if host.rests == "floor"]
        if seats and rng.random() < 0.7:
            seat = pick(rng, seats)
            person = self._try(
                kind,
                "top",
                seat,
                lambda look: placement.seat_box(rng, look, seat, self._scale(seat)),
                pose="sitting",
            )
        else:
            pose = "sitting" if rng.random() < 0.15 else "standing"
            person = self._add_floor(kind, pose)
        if person is None:
            return None
        if self._add_worn(BY_NAME["shirt"], person) is None:
            self.things.remove(person)
            return None
        if rng.random() < 0.65:
            self._add_worn(BY_NAME["jeans"], person)
        if rng.random() < 0.35:
            self._add_worn(BY_NAME["hat"], person)
        if rng.random() < 0.55:
            held = self._kind("hand")
            if held:
                self._add_held(held, person)
        return person

    def _add_worn(self, kind: Kind, person: PlacedThing) -> PlacedThing | None:
        rests, part = {"hat": ("head", "hat"), "shirt": ("body", "body"), "jeans": ("legs", "legs")}[
            kind.name
        ]
        for worn in self.things:
            if worn.host == person.object_id and worn.kind == kind.name:
                return worn
        return self._try(kind, rests, person, lambda look: placement.worn_box(part, person))

    def _add_held(self, kind: Kind, person: PlacedThing) -> PlacedThing | None:
        if any(thing.host == person.object_id and thing.rests == "hand" for thing in self.things):
            return None
        scale = self._scale(person) * (1.15 if kind.name == "umbrella" else 1.0)

        def box(look: ChosenLook) -> Box:
            return placement.held_box(look, kind.name, person, str(self.rng.choice(["left", "right"])), scale)

        return self._try(kind, "hand", person, box)

    def _add_twin(self) -> PlacedThing | None:
        """A second thing of a kind that is there, with other looks."""
        single = [
            thing
            for thing in self.things
            if thing.rests not in (*_WORN, "hand")
            and sum(other.kind == thing.kind for other in self.things) == 1
        ]
        if not single:
            return None
        first = pick(self.rng, single)
        kind = BY_NAME[first.kind]
        if kind.category == "person":
            return self._add_person(kind)
        if first.rests in ("wall", "sky"):
            return self._add_far(kind)
        if first.rests == "top":
            return self._add_top(kind)
        return self._add_floor(kind) if first.rests == "floor" and not first.host else None

    # -- one thing

    def _scale(self, host: PlacedThing) -> float:
        return layout.scale({thing.object_id: thing for thing in self.things}, host)

    def _loaded(self, host: PlacedThing) -> bool:
        return any(thing.host == host.object_id for thing in self.things)

    def _try(
        self,
        kind: Kind,
        rests: str,
        host: PlacedThing | None,
        make_box: Callable[[ChosenLook], Box | None],
        pose: str | None = None,
    ) -> PlacedThing | None:
        """Try several looks and boxes; add and return the first thing that fits in with what is there."""
        if kind.name in scene_statistics.SINGLE and self._hosts((kind.name,)):
            return None
        for _ in range(12):
            looks = scene_statistics.look(self.rng, kind, rests, pose)
            box = make_box(looks)
            if box is None or (
                rests not in _WORN and not scene_statistics.distinguishable(kind, looks, self.things)
            ):
                continue
            if rests == "sky" and self.weather == "sunny" and placement.overlap(box, placement.SUN):
                continue
            if (
                host is None
                and self.rng.random() > _CROWDED
                and any(placement.overlap(box, other.box) for other in self.things)
            ):
                continue
            thing = PlacedThing(
                f"{len(self.things):02d}",
                kind.name,
                box,
                rests,
                looks.color,
                looks.material,
                looks.pattern,
                looks.size,
                looks.state,
                looks.pose,
                looks.age,
                host=host.object_id if host else None,
                mirrored=bool(self.rng.random() < 0.5),
            )
            if layout.fits([*self.things, thing]):
                self.things.append(thing)
                return thing
        return None


def _weather(rng: np.random.Generator, place: str) -> str:
    if place == "beach":
        return weighted(rng, ("sunny", "cloudy", "rainy"), 0.5)
    return weighted(rng, ("sunny", "cloudy", "rainy", "snowy"), 0.7)
