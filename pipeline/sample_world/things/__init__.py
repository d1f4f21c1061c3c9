"""One drawing for every kind of thing: a function from its Look to SVG in the frame of its natural size."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.sample_world.things import (animals, appliances, furniture, outdoors, people, tableware, toys, vehicles,
                                          wall, wearables)
from pipeline.sample_world.things.ink import Look

DRAWINGS: dict[str, Callable[[Look], str]] = {
    function.__name__.replace("_", " "): function for function in (
        people.man, people.woman, people.boy, people.girl,
        animals.dog, animals.cat, animals.bird, animals.horse, animals.cow, animals.sheep, animals.duck,
        furniture.table, furniture.chair, furniture.couch, furniture.bed, furniture.shelf, furniture.cabinet, furniture.bench,
        appliances.refrigerator, appliances.stove, appliances.lamp, appliances.television, appliances.laptop, appliances.clock,
        appliances.telephone,
        tableware.cup, tableware.plate, tableware.bowl, tableware.bottle, tableware.vase, tableware.basket, tableware.box,
        tableware.backpack, tableware.apple, tableware.banana, tableware.pear, tableware.pizza, tableware.cake, tableware.sandwich,
        wearables.hat, wearables.shirt, wearables.jeans,
        vehicles.car, vehicles.bus, vehicles.bicycle, vehicles.boat, vehicles.tractor,
        toys.ball, toys.kite, toys.teddy_bear, toys.umbrella, toys.book,
        outdoors.tree, outdoors.flower, outdoors.bush, outdoors.traffic_light, outdoors.fire_hydrant, outdoors.trash_can,
        wall.painting, wall.mirror, wall.window, wall.curtain,
    )
}
