"""Try to make a scene: choose objects, the objects that hold or support them (hosts), and their boxes.

First, an object of the kind that the scene features is added, with its host. Then large objects, people, and
objects that stand on other objects are added. After that, any object that fits is added, until the scene has
the planned number of objects.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from research.synthetic_world import layout, placement, scene_statistics
from research.synthetic_world.ontology import INDOORS, KIND_BY_NAME, KINDS, ObjectKind
from research.synthetic_world.placement import Box
from research.synthetic_world.random_choice import choose_by_odds, choose_skewed, choose_uniform
from research.synthetic_world.scene_statistics import SampledAppearance
from research.synthetic_world.scene_types import HORIZON, SURFACES, PlacedObject

# Range of the planned number of objects.
_MIN_OBJECTS, _MAX_OBJECTS = 8, 12
# Probability that an object may cover another object or be covered.
_CROWDED_RATE = 0.25
_BODY_PARTS = ("head", "body", "legs")


class ScenePlanner:
    """An attempt at a scene. Objects are added as long as they fit.

    Methods that add an object return the object, or None if it does not fit.
    """

    def __init__(self, rng: np.random.Generator, featured: ObjectKind) -> None:
        self.rng = rng
        self.featured = featured
        self.location = str(rng.choice(sorted(featured.locations)))
        self.weather = "" if self.location in INDOORS else _choose_weather(rng, self.location)
        self.target_count = int(rng.integers(_MIN_OBJECTS, _MAX_OBJECTS + 1))
        self.objects: list[PlacedObject] = []

    def fill(self) -> None:
        """Add objects until the scene is full."""
        rng = self.rng
        self._add(self.featured)
        for _ in range(int(rng.integers(1, 4))):
            self._add_on_floor(self._choose_kind("floor", lambda kind: kind.size[0] >= 70))
        if self.location in INDOORS and not self._find_hosts(("table", "cabinet", "shelf", "bed")):
            self._add_on_floor(KIND_BY_NAME["bed" if self.location == "bedroom" else "table"])
        for _ in range(choose_by_odds(rng, (0, 1, 2), (0.3, 0.5, 0.2))):
            self._add_person(KIND_BY_NAME[choose_skewed(rng, ("man", "woman", "boy", "girl"), 0.75)])
        for _ in range(int(rng.integers(1, 5))):
            self._add_on_top(self._choose_kind("top"))
        if rng.random() < 0.6:
            self._add_inside_container(self._choose_content())
        actions: tuple[Callable[[], PlacedObject | None], ...] = (
            lambda: self._add_on_top(self._choose_kind("top")),
            self._add_same_kind,
            lambda: self._add_on_floor(self._choose_kind("floor", lambda kind: kind.category != "person")),
            lambda: self._add_on_background(self._choose_kind("wall" if self.location in INDOORS else "sky")),
            lambda: self._add_inside_container(self._choose_content()),
            self._add_under_table,
        )
        for _ in range(60):
            if len(self.objects) >= self.target_count:
                break
            choose_by_odds(rng, actions, (0.34, 0.2, 0.18, 0.13, 0.08, 0.07))()

    # --- Choose kinds and hosts.

    def _choose_kind(
        self, placement_name: str, condition: Callable[[ObjectKind], bool] = lambda kind: True
    ) -> ObjectKind | None:
        """Choose a kind that may have this placement in the location of the scene.

        Return None if there is none.
        """
        kinds = [
            kind
            for kind in KINDS
            if placement_name in kind.placements
            and self.location in kind.locations
            and condition(kind)
            and (placement_name != "floor" or scene_statistics.get_depth_range(kind, self.location))
        ]
        if not kinds:
            return None
        return choose_by_odds(self.rng, kinds, [scene_statistics.get_popularity(kind) for kind in kinds])

    def _choose_content(self) -> ObjectKind | None:
        """Choose a kind that may be inside an existing object. Return None if there is none."""
        names = [
            name for name, containers in scene_statistics.CONTAINERS.items() if self._find_hosts(containers)
        ]
        return KIND_BY_NAME[str(self.rng.choice(names))] if names else None

    def _find_hosts(self, kinds: tuple[str, ...]) -> list[PlacedObject]:
        return [placed for placed in self.objects if placed.kind in kinds]

    # --- Add objects.

    def _add(self, kind: ObjectKind) -> PlacedObject | None:
        """Add an object of this kind in any of its placements, with the host that it needs.

        Return the object, except if it is put on top of an existing host: then None is returned, although the
        object was added.
        """
        if kind.category == "person":
            return self._add_person(kind)
        placements = (
            kind.placements if self.location in INDOORS else tuple(r for r in kind.placements if r != "wall")
        )
        chosen_placement = str(self.rng.choice(placements))
        if chosen_placement in ("wall", "sky"):
            return self._add_on_background(kind)
        if chosen_placement == "floor":
            return self._add_on_floor(kind)
        if chosen_placement in ("hand", "head", "body"):
            person = self._add_person(
                KIND_BY_NAME[choose_skewed(self.rng, ("man", "woman", "boy", "girl"), 0.8)]
            )
            if person and chosen_placement == "hand":
                return self._add_held(kind, person)
            return self._add_worn(kind, person) if person else None
        if chosen_placement == "inside":
            containers = [
                name
                for name in scene_statistics.CONTAINERS[kind.name]
                if self.location in KIND_BY_NAME[name].locations
            ]
            # `_add` returns None if the container was put on top of an existing host (as most bowls and vases are). Nothing is
            # put into such a container here. Changing this would change the scenes of the published sample.
            return (
                self._add_inside_container(kind)
                if containers and self._add(KIND_BY_NAME[containers[0]])
                else None
            )
        if not self._add_on_top(kind):
            supporters = [
                name
                for name in scene_statistics.SUPPORTERS[kind.name]
                if self.location in KIND_BY_NAME[name].locations and "floor" in KIND_BY_NAME[name].placements
            ]
            if supporters and self._add_on_floor(KIND_BY_NAME[choose_skewed(self.rng, supporters, 0.6)]):
                return self._add_on_top(kind)
        return None

    def _add_on_floor(self, kind: ObjectKind | None, pose: str | None = None) -> PlacedObject | None:
        if kind is None:
            return None
        depths = scene_statistics.get_depth_range(kind, self.location)
        if depths is None:
            return None
        return self._try_placement(
            kind,
            "floor",
            None,
            lambda appearance: placement.place_on_floor(self.rng, appearance, depths),
            pose,
        )

    def _add_on_background(self, kind: ObjectKind | None) -> PlacedObject | None:
        if kind is None:
            return None
        placement_name, lowest = ("wall", HORIZON - 14) if self.location in INDOORS else ("sky", 118)
        if sum(placed.placement == "sky" for placed in self.objects) == 2:
            return None
        return self._try_placement(
            kind,
            placement_name,
            None,
            lambda appearance: placement.place_on_wall(self.rng, appearance, lowest),
        )

    def _add_on_top(self, kind: ObjectKind | None) -> PlacedObject | None:
        if kind is None:
            return None
        hosts = [
            host
            for host in self._find_hosts(scene_statistics.SUPPORTERS[kind.name])
            if host.placement in ("floor", "top")
            and (host.kind, host.state) != ("box", "open")
            and not (host.kind == "chair" and self._is_loaded(host))
        ]
        if not hosts:
            return None
        host = choose_uniform(self.rng, hosts)
        board = int(self.rng.integers(len(SURFACES[host.kind])))
        scale = self._get_scale(host)
        return self._try_placement(
            kind,
            "top",
            host,
            lambda appearance: placement.place_on_top(self.rng, appearance, host, scale, board),
        )

    def _add_inside_container(self, kind: ObjectKind | None) -> PlacedObject | None:
        if kind is None or kind.name not in scene_statistics.CONTAINERS:
            return None
        hosts = [
            host
            for host in self._find_hosts(scene_statistics.CONTAINERS[kind.name])
            if not self._is_loaded(host) and host.state not in ("closed", "empty")
        ]
        if not hosts:
            return None
        host = choose_uniform(self.rng, hosts)
        scale = self._get_scale(host)
        return self._try_placement(
            kind, "inside", host, lambda appearance: placement.place_inside(self.rng, appearance, host, scale)
        )

    def _add_under_table(self) -> PlacedObject | None:
        hosts = [
            host
            for host in self._find_hosts(("table",))
            if not any(
                placed.host == host.object_id and placed.placement == "floor" for placed in self.objects
            )
        ]
        kinds = [
            name for name in scene_statistics.UNDER_TABLES if self.location in KIND_BY_NAME[name].locations
        ]
        if not hosts:
            return None
        kind = KIND_BY_NAME[choose_skewed(self.rng, kinds, 0.8)]
        return self._try_placement(
            kind,
            "floor",
            hosts[0],
            lambda appearance: placement.place_under(
                self.rng, appearance, hosts[0], self._get_scale(hosts[0])
            ),
        )

    def _add_person(self, kind: ObjectKind) -> PlacedObject | None:
        """Add a person with clothes.

        The person sits on a seat, or stands or sits on the floor, and may hold an object.
        """
        rng = self.rng
        seats = [host for host in self._find_hosts(scene_statistics.SEATS) if host.placement == "floor"]
        if seats and rng.random() < 0.7:
            seat = choose_uniform(rng, seats)
            person = self._try_placement(
                kind,
                "top",
                seat,
                lambda appearance: placement.place_on_seat(rng, appearance, seat, self._get_scale(seat)),
                pose="sitting",
            )
        else:
            pose = "sitting" if rng.random() < 0.15 else "standing"
            person = self._add_on_floor(kind, pose)
        if person is None:
            return None
        if self._add_worn(KIND_BY_NAME["shirt"], person) is None:
            self.objects.remove(person)
            return None
        if rng.random() < 0.65:
            self._add_worn(KIND_BY_NAME["jeans"], person)
        if rng.random() < 0.35:
            self._add_worn(KIND_BY_NAME["hat"], person)
        if rng.random() < 0.55:
            held = self._choose_kind("hand")
            if held:
                self._add_held(held, person)
        return person

    def _add_worn(self, kind: ObjectKind, person: PlacedObject) -> PlacedObject | None:
        placement_name, part = {"hat": ("head", "hat"), "shirt": ("body", "body"), "jeans": ("legs", "legs")}[
            kind.name
        ]
        for worn in self.objects:
            if worn.host == person.object_id and worn.kind == kind.name:
                return worn
        return self._try_placement(
            kind, placement_name, person, lambda appearance: placement.place_on_body(part, person)
        )

    def _add_held(self, kind: ObjectKind, person: PlacedObject) -> PlacedObject | None:
        if any(placed.host == person.object_id and placed.placement == "hand" for placed in self.objects):
            return None
        scale = self._get_scale(person) * (1.15 if kind.name == "umbrella" else 1.0)

        def box(appearance: SampledAppearance) -> Box:
            return placement.place_in_hand(
                appearance, kind.name, person, str(self.rng.choice(["left", "right"])), scale
            )

        return self._try_placement(kind, "hand", person, box)

    def _add_same_kind(self) -> PlacedObject | None:
        """Add a second object of an existing kind, with other attributes."""
        single = [
            placed
            for placed in self.objects
            if placed.placement not in (*_BODY_PARTS, "hand")
            and sum(other.kind == placed.kind for other in self.objects) == 1
        ]
        if not single:
            return None
        first = choose_uniform(self.rng, single)
        kind = KIND_BY_NAME[first.kind]
        if kind.category == "person":
            return self._add_person(kind)
        if first.placement in ("wall", "sky"):
            return self._add_on_background(kind)
        if first.placement == "top":
            return self._add_on_top(kind)
        return self._add_on_floor(kind) if first.placement == "floor" and not first.host else None

    # --- Place one object.

    def _get_scale(self, host: PlacedObject) -> float:
        return layout.get_scale({placed.object_id: placed for placed in self.objects}, host)

    def _is_loaded(self, host: PlacedObject) -> bool:
        return any(placed.host == host.object_id for placed in self.objects)

    def _try_placement(
        self,
        kind: ObjectKind,
        placement_name: str,
        host: PlacedObject | None,
        make_box: Callable[[SampledAppearance], Box | None],
        pose: str | None = None,
    ) -> PlacedObject | None:
        """Try several appearances and boxes. Add and return the first object that fits."""
        if kind.name in scene_statistics.UNIQUE_KINDS and self._find_hosts((kind.name,)):
            return None
        for _ in range(12):
            appearance = scene_statistics.sample_appearance(self.rng, kind, placement_name, pose)
            box = make_box(appearance)
            if box is None or (
                placement_name not in _BODY_PARTS
                and not scene_statistics.is_distinguishable(kind, appearance, self.objects)
            ):
                continue
            if (
                placement_name == "sky"
                and self.weather == "sunny"
                and placement.compute_overlap(box, placement.SUN_BOX)
            ):
                continue
            if (
                host is None
                and self.rng.random() > _CROWDED_RATE
                and any(placement.compute_overlap(box, other.box) for other in self.objects)
            ):
                continue
            placed = PlacedObject(
                f"{len(self.objects):02d}",
                kind.name,
                box,
                placement_name,
                appearance.color,
                appearance.material,
                appearance.pattern,
                appearance.size,
                appearance.state,
                appearance.pose,
                appearance.age,
                host=host.object_id if host else None,
                is_mirrored=bool(self.rng.random() < 0.5),
            )
            if layout.is_valid_layout([*self.objects, placed]):
                self.objects.append(placed)
                return placed
        return None


def _choose_weather(rng: np.random.Generator, location: str) -> str:
    if location == "beach":
        return choose_skewed(rng, ("sunny", "cloudy", "rainy"), 0.5)
    return choose_skewed(rng, ("sunny", "cloudy", "rainy", "snowy"), 0.7)
