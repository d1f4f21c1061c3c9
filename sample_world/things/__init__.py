"""One drawing for every kind of thing: a function from its Look to SVG in the frame of its natural size."""

from __future__ import annotations

from collections.abc import Callable

from sample_world.things import (
    animals,
    appliances,
    containers,
    devices,
    dishes,
    farm_animals,
    food,
    furniture,
    outdoors,
    people,
    pets,
    toys,
    vehicles,
    wall,
    wearables,
)
from sample_world.things.look import Look

DRAWINGS: dict[str, Callable[[Look], str]] = {
    "man": people.man, "woman": people.woman, "boy": people.boy, "girl": people.girl,
    "dog": pets.dog, "cat": pets.cat, "bird": animals.bird, "duck": animals.duck,
    "horse": farm_animals.horse, "cow": farm_animals.cow, "sheep": farm_animals.sheep,
    "table": furniture.table, "chair": furniture.chair, "couch": furniture.couch, "bed": furniture.bed,
    "shelf": furniture.shelf, "cabinet": furniture.cabinet, "bench": furniture.bench,
    "refrigerator": appliances.refrigerator, "stove": appliances.stove, "lamp": appliances.lamp,
    "television": devices.television, "laptop": devices.laptop, "clock": devices.clock,
    "telephone": devices.telephone,
    "cup": dishes.cup, "plate": dishes.plate, "bowl": dishes.bowl, "bottle": dishes.bottle, "vase": dishes.vase,
    "basket": containers.basket, "box": containers.box, "backpack": containers.backpack,
    "trash can": containers.trash_can,
    "apple": food.apple, "banana": food.banana, "pear": food.pear, "pizza": food.pizza, "cake": food.cake,
    "sandwich": food.sandwich,
    "hat": wearables.hat, "shirt": wearables.shirt, "jeans": wearables.jeans,
    "car": vehicles.car, "bus": vehicles.bus, "bicycle": vehicles.bicycle, "boat": vehicles.boat,
    "tractor": vehicles.tractor,
    "ball": toys.ball, "kite": toys.kite, "teddy bear": toys.teddy_bear, "umbrella": toys.umbrella,
    "book": toys.book,
    "tree": outdoors.tree, "flower": outdoors.flower, "bush": outdoors.bush,
    "traffic light": outdoors.traffic_light, "fire hydrant": outdoors.fire_hydrant,
    "painting": wall.painting, "mirror": wall.mirror, "window": wall.window, "curtain": wall.curtain,
}
