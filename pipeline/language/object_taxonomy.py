"""Classify everyday objects into kinds, such as people, clothing, seats and surfaces.

The rules in `commonsense.py` are written for these kinds.
"""

from __future__ import annotations

from functools import lru_cache

from pipeline.language.lexicon import compute_closure, get_hypernyms, invert_mapping
from pipeline.language.nouns import lemmatize
from pipeline.language.word_lists import PRONOUN_REFERENTS, parse_groups, parse_headed_groups

# Syntax: "kind: members". The members are those that WordNet does not list under the kind, as the authors of
# this project judged. The main kind of an object is the first kind in the table that applies to the object.
_TAXONOMY = parse_headed_groups("""
person: pitcher
plush: teddy bear, stuffed animal, stuffed bear, stuffed dog, doll, mannequin, statue, figurine, figure, rubber duck, snowman, action figure
animal: tiger
bodypart: hair, head, face, eye, ear, nose, mouth, hand, arm, leg, foot, finger, tail, horn, neck, beard, mustache, mane, fur, paw, wing, beak, feather, tusk, knee, shoulder, wrist, back, tooth, skin, hoof, chin, lip, tongue
headwear: hat, cap, helmet, headband, head band, bandana, hair band, visor, beanie, crown, wig, hood
eyewear: glasses, sunglasses, eye glass, eyeglasses, goggles
jewelry: ring, watch, wristband, wrist band, collar, name tag
garment: clothing, footwear, belt, mask, life jacket, mitt, hoodie; baggage: bag, suitcase, luggage, briefcase
greens: lettuce, broccoli, celery, cucumber, cabbage, parsley, herb, spinach; edible: food, chip, pepper, chicken
drinkable: drink, juice; stuffing: frosting, sprinkle, syrup, icing, cream, crust, topping
dish: plate, bowl, cup, mug, glass, saucer, tray, platter, tea pot, teapot
cutlery: utensil, knife, straw, spatula, tongs, napkin
receptacle: container, pot, can, pan, carton, barrel, cage, cooler, dispenser, soap dispenser, napkin dispenser
seat: chair, bench, couch, stool, sofa, bed, ottoman, bleachers
tabletop: table, desk, counter, nightstand, countertop, tv stand, stand
storage: cabinet, shelf, dresser, drawer, cupboard, closet, bookcase, rack, wardrobe, entertainment center
bathware: sink, toilet, bathtub, urinal, shower, faucet, tub, bidet, sconce; appliance: fan, air conditioner, heater
light: lamp, chandelier, light fixture; furniture: mattress, mirror, fireplace, mantle
handheld: phone, camera, remote control, controller, microphone, wii, ipod, calculator, tablet
device: clock, machine, cable
linen: blanket, pillow, towel, sheet, comforter, cushion, quilt, bedspread, tablecloth, rug, carpet, mat, place mat, washcloth
drapery: curtain, drape, blind, shade
paper: book, notebook, magazine, newspaper, letter, menu, card, binder, envelope, map, toilet paper, tissue, paper towel, document
picture: painting, poster, photo, photograph, frame, artwork, drawing, calendar; sign: banner, flag, billboard
marking: number, writing, word, logo, sticker, stripe, spot, star, text, graffiti, symbol, design, label, arrow
instrument: drum; paddle: bat, racket, baseball bat, golf club, hockey stick, ski pole, oar
ball: basketball, football, frisbee, kite, balloon
board: surfboard, skateboard, snowboard, ski, boogie board, wakeboard, a skateboard
tool: pen, pencil, scissors, rope, stick, broom, hose, leash, whip, toothbrush, hair dryer, brush, weapon, umbrella, parasol, lighter, cigarette, wand
bike: bicycle, motorcycle, scooter; watercraft: raft; aircraft: plane; train: locomotive, train car, trolley, tram, subway
car: truck, bus, van, tractor, ambulance, wagon, pickup; vehicle: kart, go-kart, cart, luggage cart, trailer, stroller, wheelchair
carpart: wheel, tire, headlight, windshield, bumper, pedal, steering wheel, engine, propeller, license plate
building: tower, store, shop, castle, tent, shed, hut, bridge, windmill
opening: door, window, doorway, gate, archway, entrance; upright: wall, fence, railing, barrier, net, pillar, column
post: pole, traffic light, fire hydrant, parking meter, street light, light post, cone, traffic cone, lamp post, flag pole, mailbox, power line, wire, barricade, telephone pole, antenna, chimney, fountain
roofing: awning, canopy, ceiling, roof, rooftop, balcony, porch
tree: christmas tree, bush, shrub, forest, branch, tree trunk, stump, log; flora: plant, leaf, rose, bouquet, herb
rock: stone, boulder, brick; water: ocean, lake, river, sea, pond, wave, pool, puddle, stream
sky: cloud, air, sun, moon, smoke, rainbow, fog
landform: mountain, hill, hilltop, cliff, mountain peak, island, shore, beach, coast, hillside
surface: ground, floor, grass, field, road, sidewalk, pavement, path, walkway, sand, snow, dirt, mud, curb, ramp, lawn, pasture, court, tennis court, crosswalk, platform, runway, parking lot, home plate, track, railroad, deck, dock, pier, patio, mound, base, gravel, ice, courtyard, stairs, step, staircase, hay, tile
place: room, zoo, farm, park, yard, garden, city, town, restaurant, background, scene, stadium, airport, station, office, harbor
""")


_KINDS_BY_NAME = invert_mapping(_TAXONOMY)
# The main kinds of what is alive and moves.
LIVING_KINDS = frozenset(("person", "animal"))
# The names and kinds to include, and the names and kinds to exclude. "bag, -suitcase" selects all bags except
# suitcases.
NameFilter = tuple[frozenset[str], frozenset[str]]


@lru_cache(maxsize=1 << 16)
def get_kinds(name: str) -> frozenset[str]:
    """Return a set with a name, its kinds in the table of this module, and its hypernyms in WordNet.

    >>> sorted(get_kinds("sneakers") & {"sneaker", "shoe", "footwear", "garment", "person"})
    ['footwear', 'garment', 'shoe', 'sneaker']
    """
    lemmas = PRONOUN_REFERENTS.get(name) or (lemmatize(name),)
    return compute_closure(lemmas[0], lambda one: _KINDS_BY_NAME.get(one, frozenset()) | get_hypernyms(one))


@lru_cache(maxsize=1 << 16)
def get_main_kind(name: str) -> str:
    """Return the first kind of the table that applies to a name; "" if no kind applies.

    >>> get_main_kind("zebras"), get_main_kind("street"), get_main_kind("gizmo")
    ('animal', 'surface', '')
    """
    return next((kind for kind in _TAXONOMY if kind in get_kinds(name)), "")


@lru_cache(maxsize=1 << 12)
def parse_name_filter(text: str) -> NameFilter:
    """Parse a list of names and kinds. "-x" excludes x, and "*" or an empty list selects everything.

    >>> parse_name_filter("dish, -cup")
    (frozenset({'dish'}), frozenset({'cup'}))
    """
    words = [word for group in parse_groups(text) for word in group]
    included = frozenset(word for word in words if word[0] != "-")
    return included or frozenset("*"), frozenset(word[1:] for word in words if word[0] == "-")


@lru_cache(maxsize=1 << 18)
def is_selected(name: str, name_filter: NameFilter) -> bool:
    """Return whether a filter selects a name.

    >>> dishes = parse_name_filter("dish, -plate")
    >>> is_selected("mug", dishes), is_selected("plate", dishes)
    (True, False)
    """
    kinds, (included, excluded) = get_kinds(name), name_filter
    return ("*" in included or not kinds.isdisjoint(included)) and kinds.isdisjoint(excluded)
