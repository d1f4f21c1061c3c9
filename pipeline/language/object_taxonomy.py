"""The kinds of everyday things that common sense speaks of: people, what is worn, what one sits on, what the ground is."""

from __future__ import annotations

from functools import lru_cache

from pipeline.language.lexicon import compute_closure, get_hypernyms, invert_mapping
from pipeline.language.nouns import lemmatize
from pipeline.language.word_lists import PRONOUN_REFERENTS, parse_groups, parse_headed_groups

# kind: what is of it, by our own judgement where WordNet's kinds do not tell. A thing's main kind is the first one.
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
image: painting, poster, photo, photograph, frame, artwork, drawing, calendar; sign: banner, flag, billboard
marking: number, writing, word, logo, sticker, stripe, spot, star, text, graffiti, symbol, design, label, arrow
instrument: drum; paddle: bat, racket, baseball bat, golf club, hockey stick, ski pole, oar
ball: basketball, football, frisbee, kite, balloon
board: surfboard, skateboard, snowboard, ski, boogie board, wakeboard, a skateboard
tool: pen, pencil, scissors, rope, stick, broom, hose, leash, whip, toothbrush, hair dryer, brush, weapon, umbrella, parasol, lighter, cigarette, wand
bike: bicycle, motorcycle, scooter; watercraft: raft; aircraft: plane; train: locomotive, train car, trolley, tram, subway
car: truck, bus, van, tractor, ambulance, wagon, pickup; vehicle: cart, luggage cart, trailer, stroller, wheelchair
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
# A list of things: words that are in, words that are out ("bag, -suitcase").
NameFilter = tuple[frozenset[str], frozenset[str]]


@lru_cache(maxsize=1 << 16)
def get_kinds(name: str) -> frozenset[str]:
    """The name itself, its kinds here and in WordNet, and what these are of.

    >>> sorted(classes("sneakers") & {"sneaker", "shoe", "footwear", "garment", "person"})
    ['footwear', 'garment', 'shoe', 'sneaker']
    """
    meant = PRONOUN_REFERENTS.get(name) or (lemmatize(name),)
    return compute_closure(meant[0], lambda one: _KINDS_BY_NAME.get(one, frozenset()) | get_hypernyms(one))


@lru_cache(maxsize=1 << 16)
def get_main_kind(name: str) -> str:
    """The first kind of the table to which a thing belongs, "" for none.

    >>> main_kind("zebras"), main_kind("street"), main_kind("gizmo")
    ('animal', 'surface', '')
    """
    return next((kind for kind in _TAXONOMY if kind in get_kinds(name)), "")


@lru_cache(maxsize=1 << 12)
def parse_name_filter(text: str) -> NameFilter:
    """A list as the tables write it: names or kinds, "-x" takes x out again, "*" or nothing is anything."""
    words = [word for group in parse_groups(text) for word in group]
    inside = frozenset(word for word in words if word[0] != "-")
    return inside or frozenset("*"), frozenset(word[1:] for word in words if word[0] == "-")


@lru_cache(maxsize=1 << 18)
def is_selected(name: str, name_filter: NameFilter) -> bool:
    """Whether a name is on a list.

    >>> is_among("mug", listed("dish, -plate")), is_among("plate", listed("dish, -plate"))
    (True, False)
    """
    known, (inside, outside) = get_kinds(name), name_filter
    return ("*" in inside or not known.isdisjoint(inside)) and known.isdisjoint(outside)
