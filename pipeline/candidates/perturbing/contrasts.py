"""Find objects that may stand in the place of an object, and that nobody takes for it.

Without annotations, an inserted object must differ from the object that it replaces so clearly that no viewer answers
the question anyway. A couch is too close to a bed, and a bowl to a cup. So this table groups names by the *place*
where such objects are found (a room, a table, a street), and within a place by *kin*: names that people may use for
the same object. An object is replaced by an object of the same place that is no kin of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from pipeline.language.lexicon import load_hyponyms, load_wordnet
from pipeline.language.nouns import lemmatize
from pipeline.language.object_taxonomy import get_kinds, get_main_kind
from pipeline.language.word_lists import parse_headed_groups, parse_words

# One place per line: "place: kin | kin". Names with "+" or "*" may be inserted there. "*" marks guests: they may be
# inserted, but are replaced by objects of their own place. Names without a mark are too general, or many images show
# them although no question mentions them. A name may be kin of several groups. "~" marks names that are found elsewhere.
_PLACES = """
animals: +dog, +puppy, wolf, fox, coyote, terrier | +cat, +kitten, lynx | bird, pigeon, dove, crow, sparrow, parrot, +owl, eagle, hawk, seagull | +duck, goose, swan, seagull, +penguin | chicken, rooster, hen, turkey | +horse, pony, foal, donkey, mule, +zebra, camel | +cow, calf, bull, cattle, ox, bison, buffalo | +sheep, lamb, +goat | +elephant, mammoth | +giraffe, ostrich | +bear, polar bear, panda | squirrel, chipmunk, rat, mouse, hamster, +rabbit, bunny | +monkey, ape, gorilla, chimpanzee | +pig, boar | deer, antelope, moose, elk, gazelle, reindeer | +lion, tiger, leopard, cheetah, panther | snake, lizard, crocodile, alligator, +turtle, +frog | fish, shark, whale, dolphin, seal | butterfly, bee, insect, bug, spider
roads: +car, suv, taxi, cab, sedan, station wagon, hatchback, jeep, van, minivan, limousine, pickup, pickup truck, truck, automobile, convertible, kart, race car, golf cart | +truck, fire truck, firetruck, trailer, van, lorry, ambulance, tow truck, pickup truck, garbage truck, dump truck, tow vehicle | +bus, truck, school bus, coach, minibus, van, trolley, tram, streetcar, double decker bus, rv, camper | +bicycle, bike, cycle, tricycle, rickshaw, kart | +motorcycle, motorbike, bike, scooter, moped, kart, rickshaw | +tractor, bulldozer, excavator, forklift, crane, digger, tow vehicle | +carriage, cart, wagon, rickshaw, wheelbarrow, buggy, auto rickshaw, stroller, wheelchair, golf cart, kart | *train, locomotive, ~train car, tram, trolley, streetcar
rails, water and air: +train, locomotive, train car, subway, tram, trolley, streetcar | +boat, ship, watercraft, canoe, kayak, sailboat, yacht, ferry, raft, barge, hovercraft, gondola, submarine | +airplane, plane, jet, aircraft, airliner, rocket, missile, space shuttle, spaceship, spacecraft | +helicopter, aircraft | *car | *truck | *bus | *motorcycle, motorbike, bike | *bicycle, bike | *tractor
room: bed, couch, sofa, mattress, armchair, loveseat, recliner, futon, ottoman, daybed, hammock, crib, bunk bed | chair, stool, bench, armchair, seat, rocking chair, bleachers | table, desk, counter, countertop, nightstand, stand, side table, end table, coffee table, workbench, bar, tv stand, bedside table, tabletop | cabinet, shelf, dresser, drawer, cupboard, closet, bookcase, bookshelf, rack, wardrobe, entertainment center, sideboard, chest, nightstand, locker, hutch, tv stand | +refrigerator, fridge, freezer | +oven, stove, range, microwave, dishwasher, washing machine, dryer | +bathtub, tub, shower, sink | toilet, urinal | +piano, organ | +fireplace, mantle, hearth | *aquarium, fish tank | television, tv, screen, monitor | ladder, stepladder
kitchen: faucet, tap, sink, basin, hose | +oven, stove, range, microwave, toaster oven | +toaster, blender, mixer, coffee maker, food processor | +refrigerator, fridge, freezer | dishwasher, washing machine, dryer | *teapot, kettle, coffee pot
vessels: cup, mug, glass, bowl, jar, pot, can, tin, +bucket, pail, vase, pitcher, jug, tumbler, wine glass, canister, ashtray, flower pot, goblet, planter, holder, drink, brown cup | +teapot, tea pot, kettle, coffee pot, coffee maker, pitcher, jug | +bottle, flask, thermos, jar, vase, glass, tumbler, wine glass, pitcher, jug | +frying pan, pan, skillet, wok, pot | +basket, hamper, crate, laundry basket, pot, planter, flower pot, holder, bowl, box, bucket | +box, carton, crate, package, case, parcel, chest, drawer, container | bag, sack, tote, purse, handbag, backpack, suitcase, luggage, briefcase
dishes: plate, saucer, dish, tray, platter, pan, bowl, lid, cutting board | ~napkin, tissue, paper towel, placemat, handkerchief | *book, magazine, notebook, newspaper, menu, paper | +basket, hamper, crate, tray, platter | box, carton, crate, package, tray | *frisbee | *laptop, computer, keyboard, tablet
utensils: spoon, fork, knife, spatula, ladle, utensil, cutlery, tongs, whisk, scoop, chopstick | *pencil, pen, marker, crayon, straw | *scissors, pliers | *toothbrush | *candle, lighter | *key | *napkin, tissue, paper towel
tabletop: book, magazine, notebook, newspaper, menu, paper, binder, envelope, letter, brochure, map, card, document | laptop, computer, monitor, television, tv, screen, tablet, keyboard, typewriter | camera, video camera | clock, +alarm clock, watch, timer | lamp, +candle, lantern, candlestick, torch, flashlight, candle holder | +radio, speaker, stereo | toaster, blender, mixer, coffee maker | +teddy bear, doll, stuffed animal, toy, figurine, puppet | scissors, pliers | printer, scanner, copier | telephone, phone, cell phone, calculator, remote control, controller | +fan, heater | *vase, jar, pitcher | *microwave, oven | *aquarium, fish tank | *guitar, violin | mouse, computer mouse, mouse pad | napkin, tissue, paper towel, placemat, handkerchief | *basket, hamper, crate | *teapot, kettle
inscribed: sign, banner, ~flag, billboard, poster, board, plaque, street sign, stop sign, traffic sign, label, sticker, menu board, placard, screen, cone | *umbrella, parasol | *balloon | *suitcase, bag, backpack, luggage, briefcase, box | *bus, coach | *tent, canopy, awning
aloft: flag, streamer, pennant, ~banner, ~sign | +kite | +balloon | *umbrella, parasol
street: pole, post, column, pillar, lamp post, street light, flag pole, utility pole, telephone pole, antenna, mast, ~tower, pipe, stop sign post, ~sign | fire hydrant, bollard | +parking meter | traffic light, traffic signal | cone, traffic cone, bollard, barrel, barricade, barrier | mailbox, newspaper box | +statue, sculpture, monument, figure | +fountain | bench, chair, seat | trash can, garbage can, bin, dumpster, trash bin | *tent, canopy, awning | *umbrella, parasol | *boat, ship, canoe | tree, bush, hedge, shrub, ~plant, forest, pine, palm tree | fence, wall, railing, gate, barrier, barricade, guardrail | *windmill, wind turbine, tower | *piano | *carriage, cart, wagon | *tractor, bulldozer, excavator
buildings: house, building, cabin, shed, hut, barn, store, shop, church, castle, temple, hotel, school, garage, apartment, skyscraper, warehouse, factory, restaurant, palace, mosque, station, home, cottage, chapel, stadium, rooftop, roof, tower, spire, white house, yellow house | tower, spire, steeple, lighthouse, chimney, crane, lattice tower, water tower, ~mast, ~pole, ~antenna, skyscraper, windmill, ~rocket, ~pillar, launch tower | +tent, teepee, canopy | +bridge, overpass, aqueduct, viaduct | *windmill, wind turbine | *boat, ship | +statue, sculpture, monument, figure | +fountain
ground: road, street, sidewalk, pavement, path, walkway, floor, ground, track, deck, platform, runway, courtyard, lane, driveway, parking lot, dirt, court, curb, roadside, highway, trail, tile, patio, porch, dock, pier, mound, crosswalk, bridge, gravel, asphalt, concrete, flight deck, launch pad | +snow, ice, snowbank | sand, +beach, desert, dune, shore, dirt, ground | grass, lawn, field, meadow, pasture, hill, hillside, yard, park, garden, ground | +river, +lake, pond, ocean, sea, water, pool, stream, canal, puddle, wave, harbor, swimming pool | mountain, hill, cliff, rock, volcano | stairs, staircase, step, escalator | carpet, rug, mat | +railroad, tracks, railway, train tracks
branches: leaf, foliage, petal, flower, blossom, bud, rose, tulip, ivy | *apple, *orange, *lemon, cherry, berry, tomato, pear, fruit | *bird, *owl, *parrot | *monkey | *snake | *lantern | *balloon
plants: tree, bush, shrub, hedge, palm tree, plant, forest, pine, ~leaf, ~foliage, ~flower, christmas tree, branch, trunk, log, stump, vine, ~grass, ~petal | *statue, sculpture, monument, figure | *tent, canopy | *umbrella, parasol | *fountain | *boat, ship | *windmill, wind turbine | *bridge | *piano
blossoms: flower, rose, tulip, blossom, bouquet, ~leaf, ~plant, petal, ~branch, twig, sunflower, orchid | *balloon | *candle, lantern | *banana, apple, pear, fruit | *umbrella, parasol
food: pizza, pie, quiche | +cake, cupcake, pie, dessert, pastry, croissant, cookie, +donut, muffin, bread, bun, roll, bagel, waffle, pancake | sandwich, +hamburger, burger, +hot dog, taco, wrap, burrito | salad, broccoli, lettuce, vegetable, cabbage, spinach, herb | +carrot, +cucumber | +banana | +apple, peach, pear, plum, tomato | +orange, grapefruit, lemon, lime, tangerine | +watermelon, melon | +strawberry, cherry, berry, raspberry | +egg, omelette | meat, steak, chicken, sausage, bacon, ham, beef, fish | rice, pasta, noodle | french fries, potato, chip, fry | ice cream, frosting, cream | soup, stew, sauce | nut, peanut, olive, grape
worn: shirt, jacket, coat, sweater, hoodie, vest, top, blouse, suit, uniform, jersey, t-shirt, sweatshirt, blazer, cardigan, spacesuit, wetsuit, costume, outfit, jumpsuit, tank top, polo shirt, raincoat, overalls, clothing, apron, space suit | pants, jeans, shorts, trousers, leggings, tights, trunks, overalls, slacks | +dress, gown, +skirt, robe, kimono, costume, outfit, uniform | +scarf, tie, bow tie, shawl, necklace, collar | shoe, boot, sneaker, sandal, slipper, heel, sock, flip flop, footwear | glove, mitten, mitt, baseball glove | hat, cap, helmet, beanie, hood, +crown, wig, headband, bandana, visor, +cowboy hat, baseball cap, turban | backpack, purse, handbag, bag, *suitcase, briefcase, luggage | *umbrella, parasol
play: ball, baseball, basketball, football, soccer ball, tennis ball, balloon, beach ball | +racket, tennis racket, paddle, badminton racket | baseball bat, bat, golf club, hockey stick, stick, broom, cricket bat, oar | +surfboard, boogie board, paddle board | +skateboard, longboard, scooter | +snowboard, ski | +kite | +frisbee, disc | *umbrella, parasol | +guitar, violin, banjo, cello, ukulele | drum | +trumpet, horn, saxophone, flute | *suitcase, bag, backpack, luggage, briefcase | *teddy bear, doll, stuffed animal, toy
linen: tablecloth, napkin, placemat, cloth, towel, curtain, sheet | blanket, quilt, comforter, bedspread, bedding, sheet, duvet, throw, towel, cloth | pillow, cushion | rug, carpet, mat, bath mat, placemat | curtain, drape, blind, shade, shower curtain | *umbrella, parasol | *hammock | *tent | *suitcase, luggage | *surfboard | *teddy bear, stuffed animal
hung: picture, painting, photo, photograph, poster, frame, drawing, artwork, calendar, map, ~sign, picture frame, television, screen, mirror | +clock, wall clock | ~flag, ~banner | *guitar, violin | *bicycle, bike | *surfboard, skateboard | *umbrella, parasol | *piano | shelf, cabinet | lamp, light
lit: lamp, light, chandelier, light fixture, lantern, bulb, sconce, candle, spotlight, street light, light bulb, headlight, candle holder | *fan, ceiling fan | *balloon | *umbrella, parasol | *bell | *kite | *clock
"""
# Where nothing is known of an object, one of these replaces it.
_INDOORS = "piano, bathtub, refrigerator, bicycle, guitar, fireplace, aquarium, teddy bear, suitcase, umbrella, stroller"
_OUTDOORS = "statue, fountain, tent, boat, tractor, umbrella, helicopter, windmill, piano, surfboard, bicycle"
_EVERYWHERE = "umbrella, bicycle, statue, piano, teddy bear, suitcase, guitar"
# Names that are not inserted in photographs taken elsewhere.
_ONLY_INDOORS = parse_words("bathtub, refrigerator, oven, fireplace, toaster, microwave, aquarium, alarm clock, pillow, frying pan, radio, fan, candle, napkin, pencil, toothbrush, printer, telephone, chef, key")  # fmt: skip
_ONLY_OUTDOORS = parse_words("tent, boat, statue, windmill, train, tractor, fountain, airplane, helicopter, bus, truck, car, carriage, parking meter, bridge, river, lake, railroad, elephant, giraffe, zebra, cow, sheep, bear, motorcycle, skateboarder, surfer, jockey, umpire")  # fmt: skip
# Objects of these kinds are replaced by them. Others ("stripe", "corner") are parts, or no objects at all.
_CONCRETE_KINDS = parse_words("plush, baggage, receptacle, seat, tabletop, storage, bathware, appliance, light, furniture, handheld, device, linen, drapery, picture, sign, instrument, paddle, ball, board, tool, bike, watercraft, aircraft, train, car, vehicle, flora, dish, cutlery")  # fmt: skip
# Kinds of objects that show where a photograph was taken.
_INDOOR_KINDS = parse_words("bathware, appliance, drapery, storage, linen, tabletop")
_INDOOR_NAMES = parse_words("bed, couch, sofa, ceiling, room, lamp, chandelier, television, keyboard, laptop, monitor, pillow, stove, countertop, faucet, fireplace, dish rack, bedroom, kitchen, cafe, living room, window sill, wallpaper")  # fmt: skip
_OUTDOOR_KINDS = parse_words(
    "vehicle, car, train, aircraft, watercraft, building, landform, water, tree, post, sky"
)
_OUTDOOR_NAMES = parse_words("grass, field, road, street, sidewalk, snow, sand, beach, fence, crosswalk, runway, sun, hedge, lawn, park")  # fmt: skip
# The last word of a compound often means something else than the word alone: "menu board", "license plate".
_AMBIGUOUS_HEADS = parse_words("board, plate, bar, light, frame, case, stand, base, top, head, tip, pad, rack, holder, sheet, screen, bed, box, glass, cap, light, can, track, court, line, house, stick, chip, model, cover, bag, ball, fixture")  # fmt: skip


# Parts that few animals have, and the animals that are inserted with them.
_PARTS = parse_headed_groups("""
paw: dog, puppy, cat, kitten, rabbit, bear, lion; claw: cat, bear, lion, owl; wing: owl, duck, penguin; beak: owl, duck, penguin
feather: owl, duck, penguin; hoof: horse, zebra, cow, sheep, goat, pig, giraffe; horn: cow, goat, sheep; udder: cow, goat
trunk: elephant; tusk: elephant; mane: horse, zebra, lion; shell: turtle; snout: dog, puppy, pig, bear; antler: deer
whisker: dog, puppy, cat, kitten, rabbit, lion; fur: dog, puppy, cat, kitten, rabbit, bear, lion, monkey; wool: sheep; collar: dog, puppy, cat, kitten, goat, horse, pig; leash: dog, puppy, cat, kitten, goat, horse, pig; fin: fish
top: piano, train, bus, car, truck, tent, boat, bridge, statue, fountain, box, teapot; end: piano, train, bridge, boat
back: train, bus, car, truck, carriage, boat, piano, refrigerator, horse, cow, dog, cat, elephant, zebra, lion, bear, giraffe, sheep, goat, monkey
roof: bus, train, car, truck, carriage, boat; cab: crane, tractor, train; engine: train, truck, bus, airplane; headlight: car, bus, truck, train, motorcycle, tractor
license plate: bus, car, truck, motorcycle, tractor; license: bus, car, truck, motorcycle
windshield: bus, train, tractor, car, truck, boat, airplane; handle: teapot, frying pan, suitcase, umbrella, basket
center: strawberry; centre: strawberry; petal: sunflower; stem: sunflower
tail: dog, puppy, cat, kitten, horse, zebra, cow, lion, monkey, elephant, pig, goat
""")
# Verbs that belong to vehicles of one kind.
_VEHICLE_VERBS = {
    frozenset(("watercraft",)): parse_words(
        "docked, moored, anchored, sailing, sails, sail, rowing, rowed, floating, paddling"
    ),
    frozenset(("aircraft",)): parse_words("flying, hovering, landing, flight, lifting, launching"),
    frozenset(("vehicle", "car", "bike", "aircraft")): parse_words("parked"),
    frozenset(("vehicle", "car", "bike")): parse_words("driving, drives, drive, driven"),
}
_VEHICLE_KINDS = frozenset(("watercraft", "aircraft", "train", "vehicle", "car", "bike"))
# Nothing stands or lies on these.
_BARE_NAMES = parse_words("clock, wall clock, alarm clock, mirror, kite, balloon, ball, candle, lantern, fan, umbrella, parasol")  # fmt: skip
_HEAVY_NAMES = parse_words(
    "suitcase, luggage, briefcase, tent, bicycle, surfboard, bathtub, piano, refrigerator, oven, aquarium, fireplace"
)


class Place(NamedTuple):
    """Objects that are found in the same places.

    Attributes:
        kin: Groups of names that people may use for the same object.
        residents: The names that are replaced by other names of this place.
        insertable: The names that may be inserted.
    """

    kin: tuple[frozenset[str], ...]
    residents: frozenset[str]
    insertable: frozenset[str]


def _parse_places(table: str) -> list[Place]:
    places = []
    for row in table.strip().splitlines():
        groups = [parse_words(group) for group in row.partition(":")[2].split("|")]
        names = frozenset(name for group in groups for name in group)
        # The kin of guests are guests.
        guests = frozenset(
            name
            for group in groups
            if any(name[0] == "*" for name in group)
            for name in group
            if name[0] != "+"
        )
        places.append(
            Place(
                tuple(frozenset(name.lstrip("+*~") for name in group) for group in groups),
                frozenset(name.lstrip("+") for name in names - guests if name[0] != "~"),
                frozenset(name[1:] for name in names if name[0] in "+*"),
            )
        )
    return places


_PLACE_LIST = _parse_places(_PLACES)
_LISTED_NAMES = frozenset(name for place in _PLACE_LIST for group in place.kin for name in group)


@lru_cache(maxsize=1 << 14)
def find_listed_names(name: str) -> frozenset[str]:
    """Return the names of the table that stand for a name: the name itself, or else more general names.

    >>> find_listed_names("beds"), sorted(find_listed_names("bungalow"))
    (frozenset({'bed'}), ['building', 'house'])
    """
    lemma = lemmatize(name)
    for one in (name, lemma):
        if one in _LISTED_NAMES:
            return frozenset((one,))
    before, _, head = lemma.rpartition(" ")
    is_known_compound = lemma in load_wordnet() or lemma in load_hyponyms()
    if before and not is_known_compound:
        # A special head ("the recliner chair") may be known by another word.
        return frozenset() if head in _AMBIGUOUS_HEADS else find_listed_names(head)
    return get_kinds(name) & _LISTED_NAMES


@lru_cache(maxsize=1 << 14)
def find_kin(name: str) -> frozenset[str]:
    """Return the names that people may use for an object of a name.

    >>> {"couch", "mattress"} <= find_kin("bed"), "bathtub" in find_kin("bed")
    (True, False)
    """
    listed = find_listed_names(name)
    groups = (group for place in _PLACE_LIST for group in place.kin if listed & group)
    return frozenset((name, lemmatize(name))).union(listed, *groups)


@lru_cache(maxsize=1 << 14)
def find_contrasts(name: str) -> frozenset[str]:
    """Return the names that may be inserted for a name, as objects of the same places that are no kin of it.

    >>> contrasts = find_contrasts("bed")
    >>> "bathtub" in contrasts, "couch" in contrasts, "giraffe" in contrasts
    (True, False, False)
    """
    listed = find_listed_names(name)
    names = (place.insertable for place in _PLACE_LIST if listed & place.residents)
    return frozenset[str]().union(*names) - find_kin(name)


def infer_setting(names: Iterable[str]) -> str:
    """Return "indoors" or "outdoors" if more of the names are found there; "" if neither.

    >>> infer_setting(["bed", "pillow", "tree"]), infer_setting(["road", "car"]), infer_setting(["man"])
    ('indoors', 'outdoors', '')
    """
    score = 0
    for name in {lemmatize(name) for name in names}:
        kind = get_main_kind(name)
        score += (kind in _INDOOR_KINDS or name in _INDOOR_NAMES) - (
            kind in _OUTDOOR_KINDS or name in _OUTDOOR_NAMES
        )
    return "indoors" if score > 0 else "outdoors" if score < 0 else ""


def suits_setting(name: str, setting: str) -> bool:
    """Return whether a name may be inserted in a photograph of a setting.

    >>> [suits_setting("bathtub", setting) for setting in ("indoors", "outdoors", "")]
    [True, False, True]
    """
    return name not in {"indoors": _ONLY_OUTDOORS, "outdoors": _ONLY_INDOORS}.get(setting, frozenset())


def has_parts(name: str, parts: Iterable[str]) -> bool:
    """Return whether an animal may have parts.

    >>> [has_parts(name, ["paws"]) for name in ("horse", "cat")], has_parts("horse", ["head"])
    ([False, True], True)
    """
    return all(name in _PARTS.get(lemmatize(part), (name,)) for part in parts)


def is_listed_part(part: str) -> bool:
    """Return whether it is known what has such a part.

    >>> is_listed_part("paws"), is_listed_part("head")
    (True, False)
    """
    return lemmatize(part) in _PARTS


def suits_verbs(name: str, old: str, words: Collection[str]) -> bool:
    """Return whether a name may replace another one in a question with these words, by the verbs of their kind.

    >>> [suits_verbs(name, "ship", {"docked"}) for name in ("car", "boat")], suits_verbs("car", "ship", {"red"})
    ([False, True], True)
    """
    kind = get_main_kind(name)
    return get_main_kind(old) not in _VEHICLE_KINDS or all(
        kind in kinds or verbs.isdisjoint(words) for kinds, verbs in _VEHICLE_VERBS.items()
    )


def carries_nothing(name: str) -> bool:
    """Return whether nothing stands or lies on such an object.

    >>> carries_nothing("clock"), carries_nothing("bed")
    (True, False)
    """
    return name in _BARE_NAMES


def hangs_nowhere(name: str) -> bool:
    """Return whether such an object is never hung up.

    >>> hangs_nowhere("suitcase"), hangs_nowhere("umbrella")
    (True, False)
    """
    return name in _HEAVY_NAMES


def find_common_contrasts(name: str, setting: str) -> frozenset[str]:
    """Return the names that may be inserted for any concrete object of a setting ("indoors", "outdoors" or "").

    >>> "piano" in find_common_contrasts("lamp", "indoors"), find_common_contrasts("window", "indoors")
    (True, frozenset())
    """
    if get_main_kind(name) not in _CONCRETE_KINDS:
        return frozenset()
    names = {"indoors": _INDOORS, "outdoors": _OUTDOORS}.get(setting, _EVERYWHERE)
    return parse_words(names) - find_kin(name)
