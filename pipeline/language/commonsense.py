"""Rules for the attributes and relations that everyday objects can have.

The rules complement the counts of a vocabulary where the counts are too small
(`pipeline/candidates/perturbing/plausibility.py`). Types and values of attributes are those of GQA. The
authors of this project judged which attributes and relations are possible for which kinds of objects. Lists
of objects have the syntax of `object_taxonomy.parse_name_filter`. A combination that no rule allows may still
be possible according to the counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from pipeline.language.object_taxonomy import NameFilter, parse_name_filter
from pipeline.language.relations import canonicalize_relation
from pipeline.language.word_lists import parse_headed_groups, parse_words

# Lists that several rows share. INDOORS and OUTDOORS are objects inside and outside of buildings. LARGE
# objects can hide other objects. SOLID objects can have other objects beside them, unlike the ground or
# clothing.
_SHARED_LISTS = parse_headed_groups("""
WORN: garment, -collar, headwear, eyewear, jewelry, backpack, headphones, ski
INDOORS: bathware, appliance, drapery, storage, bed, couch, lamp, chandelier, television, computer, keyboard, monitor, pillow, blanket, coffee table, desk, nightstand, toilet paper, dish, cutlery, handheld, device, pen, pencil
OUTDOORS: tree, vehicle, post, building, rock, mountain, hill, elephant, giraffe, zebra, cow, horse, sheep, bear, surfboard, ski, snowboard, fence, umpire, batter, catcher, pitcher, skier, surfer, snowboarder
LARGE: person, animal, -bird, -insect, seat, tabletop, storage, bathware, appliance, fireplace, mirror, drapery, television, suitcase, luggage, sign, vehicle, building, opening, post, fence, net, rock, umbrella, statue, trash can, surfboard, plant, -grass, -flower
SOLID: person, plush, animal, baggage, edible, -stuffing, drinkable, dish, cutlery, receptacle, seat, tabletop, storage, bathware, appliance, light, furniture, handheld, device, linen, -rug, -carpet, -mat, drapery, paper, picture, sign, instrument, paddle, ball, board, tool, vehicle, building, opening, post, flora, -grass, -herb, -leaf, -sauce, -cheese, rock, helmet, hat, fence, mountain, -toilet paper, -rope, -wire, -power line
CARRIED: baggage, edible, -sauce, -stuffing, drinkable, dish, cutlery, receptacle, -trash can, handheld, laptop, paper, instrument, paddle, ball, board, tool, plush, bouquet, sign, -traffic sign, baby, puppy, kitten, cat, helmet, hat, pillow, blanket, towel, mouse, keyboard, plant, leaf, rock, headphones
SMALL: edible, dish, cutlery, receptacle, -trash can, handheld, device, light, paper, plush, tool, -umbrella, drinkable, ball, eyewear, jewelry, hat, plant, -tree, -grass, linen, -rug, -carpet, picture, sign, helmet, glove, cat
""")

# Columns: relation | subjects | objects. The row of a verb without a preposition restricts the subjects for
# every preposition. If a verb with a preposition has no row of its own, the rows of the preposition must
# allow the pair of subject and object as well.
_RELATION_TABLE = """
wearing | person, plush | WORN
wearing | dog | collar, hat, tie, scarf, harness, sweater, costume, bandana, vest; wearing | horse | saddle, harness
holding | person | CARRIED; holding | statue, teddy bear | flower, ball, sign, umbrella, sword, heart
carrying | person | CARRIED, surfboard; carrying | vehicle, horse, elephant | person, baggage
riding | person | bike, horse, elephant, board, wave, vehicle, -aircraft; driving | person | vehicle, -bike
eating | person, animal | edible; eating | animal | flora, hay, field; drinking | person | drinkable; drinking | animal | water
cutting, cooking, serving | person | edible; using | person | handheld, device, tool, cutlery, bathware, appliance
playing | person | instrument, frisbee, game, sport; playing with | person, animal | ball, plush, animal, handheld
throwing, catching, swinging | person | ball, paddle; reading | person | paper, sign; flying | person | kite
pulling, pushing | person, animal | vehicle, baggage; petting, feeding | person | animal; parked | vehicle |
filled with, full of, contain, containing | receptacle, dish, baggage | edible, drinkable, flower, ice
hitting, kicking, bouncing | person | ball, -kite, -frisbee, -balloon
watching, looking at, facing | person, animal | person, animal, television, screen, monitor, laptop, handheld, paper, aircraft, train, ball, board, picture, water, clock, edible, mirror
riding on | person, animal | bike, board, horse, elephant, train, bus, cart, truck, watercraft, wave
sitting, kneeling, resting, lying, sleeping, standing, walking, running, jumping, waiting, posing, crouching, leaning | person, animal, plush |
growing | flora |; floating on, floating in | watercraft, bird, board, log | water
sitting on, resting on | person, animal, plush | seat, surface, tabletop, board, bike, horse, elephant, watercraft, rug, blanket, rock, landform, fence, wall, log, suitcase, pillow, car, cushion
sitting on, resting on | dish, receptacle, device, light, edible, -sauce, paper, baggage | tabletop, storage, appliance, seat
driving on, parked on, traveling on, driving down | vehicle, -watercraft, -aircraft, -train | surface, -stairs, -floor, -hay, -tile, bridge
standing on | person, animal | board, surface, landform, seat, tabletop, rock, rug, bike, watercraft, roofing, fence, branch, wall, ladder
on | SMALL, -sauce, -stuffing, instrument, animal, -horse | tabletop, storage, -drawer, -closet, appliance, tray
on | vegetable, meat, herb, pepper | pizza; on | edible | dish, -mug, -glass, sandwich, burger, bread, salad, grill, tree, cutlery, stove
on | fruit, nut, chocolate, candle, number, decoration, flower | cake
on | stuffing, cheese, sauce | edible, -sauce, -soup, -broth, -drinkable, dish, -mug
on | cutlery | dish, napkin, place mat; above | dish, edible | napkin, place mat
on | person | seat, bike, horse, elephant, camel, donkey, board, watercraft, surface, -parking lot, landform, rug, train, bus, blanket, rock, toilet, wave, ski lift
on | animal, -giraffe, -zebra, -elephant | seat, car, laptop, linen, rock; on | animal | surface, landform, rock
on | bird, insect, monkey, squirrel | tree, fence, post, roofing, water, rock, wall, statue, sign, building, flower, bench
on | vehicle, -watercraft, -aircraft, -train | surface, -stairs, -mound, -base, -home plate, bridge, landform, -mountain
on | train | track, bridge, railroad, platform; on | watercraft, board, bird | water, beach, shore, sand
on | aircraft | runway, ground, grass, field, tarmac, pavement
on | picture, clock, light, mirror, shelf, sign, cabinet, fan, telephone, television, marking, drapery, towel, tile, vine, decoration, outlet, speaker, screen | wall
on | sign, light, traffic light, clock, bird, wire, sticker | post, building
on | marking, picture, flower, sign, zipper | garment, headwear, car, train, aircraft, watercraft, sign, building, board, ball, receptacle, paper, dish, wall, door, clock, baggage
on | window, door, roof, sign, chimney, balcony | building, train, car, aircraft, wall
on | linen, plush, baggage, laptop, paper, cat, dog, handheld | seat
on | WORN | person, seat, surface, -road, -field, plush, rack, tabletop, animal, shelf
on | snow, ice | surface, -snow, landform, tree, roofing, car, seat, fence, building, rock
on | leaf, fruit, flower | surface, flora
on | seat, tabletop, storage, furniture, light, appliance, receptacle, baggage, linen, board, device, plush, shoe, ball, rock, post | surface, -road, -grass, -field, -snow, -ice, rug, beach
on | baggage, person | vehicle, rack; in | WORN, person | mirror
in | person, animal | water, field, grass, snow, mud, sand, crowd, place, road, doorway, pasture, dirt, forest
in | person | garment, -sock, -shoe, -glove, -belt, -tie, -scarf, -taxi, seat, -stool, building, vehicle, -bike, opening, -gate
in | animal | basket, box, cage, sink, baggage, car, tree, barn, bathtub, bowl
in | edible, drinkable, stuffing, water | dish, -plate, receptacle, -trash can, refrigerator, oven, baggage, microwave
in | cutlery | dish, -plate, edible, drawer, receptacle
in | flora, -grass, -leaf | receptacle, -baggage, garden, field, yard, park, grass
in | tree, animal, fence, building, flower, rock, hay, car, hose | field, grass, pasture, park, yard, farm, snow
in | cloud, bird, aircraft, kite, balloon, sun, moon, smoke, rainbow | sky
in | watercraft, board, rock, animal, wave, person, log | water
in | paper, dish, receptacle, garment, linen, device, plush, decoration | storage, -rack, -dresser
in | vehicle, -watercraft, -aircraft, -train, animal, person | road, parking lot, garage, traffic
in | seat, tabletop, storage, bathware, appliance, furniture, device, light, picture, plush, person, rug, paper, opening | room, office, restaurant
under, below | person, animal | umbrella, tree, tent, bridge, roofing, blanket, light
under, below | dog, cat | tabletop, seat, car
under, below | baggage, receptacle, shoe, seat, rug, ball, cat, dog, drawer | tabletop, seat, window, sink, umbrella
under, below | dish, napkin, place mat | edible, dish; under, below | leaf, fruit, flower, grass, seat | tree
under, below | mirror, picture, clock, towel | shelf
under, below | SMALL, seat, storage, tabletop, bathware | picture, window, mirror, shelf, cabinet, clock, light, television, sign
above | picture, clock, light, mirror, shelf, cabinet, sign, window, television, drapery, fan, microwave, towel, roofing | seat, tabletop, bathware, appliance, opening, fireplace, person, storage, device, linen
above | kite, bird, aircraft, balloon, sky | water, building, tree, person, landform, surface, watercraft, car
above | umbrella, traffic light, tree, sign, bridge, roofing, ball, light | person, seat, car, tabletop, road, train, animal
hanging on, hanging from, hanging above | light, drapery, picture, sign, garment, headwear, baggage, towel, clock, leaf, fan, cutlery, plant, edible, bird, monkey | wall, roofing, tree, rack, hook, door, post, refrigerator, stove, cabinet, shelf, fence, building, rope, seat
hanging over | light, drapery, tree, towel, traffic light, sign | tabletop, seat, window, person, water, sink, road, fence
near, to the left of, to the right of, between, beside | SOLID, -INDOORS | SOLID, -INDOORS
near, to the left of, to the right of, between, beside | SOLID, -OUTDOORS | SOLID, -OUTDOORS
near | SOLID | water, road, grass, wall, landform, sidewalk, field, fence
in front of, behind | LARGE, -INDOORS | LARGE, -INDOORS, water, mountain, hill, railing
in front of, behind | LARGE, -OUTDOORS, dish, receptacle, light, device, plush, linen | LARGE, -OUTDOORS, dish, receptacle, laptop, light, plush, railing
in front of | LARGE | wall; behind | person, animal, car, tree, building | wall
in front of, behind | person, animal, -bird, -insect, tree, building, fence, car, train | field, court, beach, road, track, platform, stairs, bridge, mound, home plate
to the left of, to the right of | person, animal, -bird, -insect, car, bike, train, tree, building | field, court, road, river, water, sidewalk, path, track, platform, grass
in front of, behind | SMALL, receptacle | SMALL, receptacle
in front of, behind | sand, grass, road, field, water | building, tree, train, fence
behind | tree, mountain, hill, water, wall, sky | LARGE, -INDOORS
with | person, plush | WORN, CARRIED, bodypart
with | animal | bodypart, -hand, -arm, -finger, -hair, -beard, -mustache, collar, harness; with | vehicle | carpart, light, opening
of | bodypart, WORN, baggage | person, plush; of | bodypart, -hand, -arm, -finger, -hair, -beard, -mustache, -knee, -shoulder, -wrist, -chin, collar, harness | animal
of | carpart, light, opening, roofing | vehicle; of | opening, roofing, wall, sign, light | building
of | leaf, branch, tree trunk, flower, fruit | flora; of | pillow, blanket, sheet | bed
along, by, across, toward, through, around, down, up, past, over, into, onto, off | person, animal, car, bike, train | surface, landform, water, place, bridge, opening, tunnel
"""

# Columns: type of attributes or attribute | objects | values. "*" stands for all values.
_ATTRIBUTE_TABLE = """
color | garment, headwear, eyewear, baggage, seat, linen, drapery, -train, plush, ball, board, sign, paddle, dish, receptacle, paper, flower, cutlery, -straw, tool, vehicle, tent, instrument | *
color | window | white, brown, black, gray, dark, silver
color | building, wall, opening, -window, tabletop, storage, post, fence, railing, picture, light, furniture, barrier, handheld, jewelry, tile, roofing, appliance, device | black, white, brown, gray, red, blue, green, yellow, tan, beige, silver, gold, dark, light, dark brown, light brown, dark blue, light blue, cream colored, orange, pink
color | bathware | white, gray, black, silver, beige, pink, blue, tan, brown
color | animal, -bird, -fish, -insect, -cow, -zebra, -elephant, -giraffe, -bear | black, white, brown, gray, tan, orange, dark, light brown, dark brown, beige, yellow, light
color | bird, fish, insect | black, white, brown, gray, red, blue, green, yellow, orange, tan, dark
color | cow, bear | black, white, brown, tan, dark brown, light brown
color | zebra, elephant, giraffe, sheep, goat | black, white, brown, gray, tan, dark brown
color | hair, fur, beard, mustache, mane, tail | black, brown, blond, gray, white, red, dark, light brown, dark brown, brunette, tan, dirty blond
color | fruit | red, green, yellow, orange, brown, purple
color | edible, -greens, -fruit, stuffing, drinkable | red, green, yellow, brown, orange, white, dark brown, light brown, dark, tan, golden, beige
color | greens | green, light green, dark green, yellow
color | sky | blue, gray, white, light blue, orange, pink, dark, dark blue, black
color | field, lawn, pasture, flora, hill, mountain | green, brown, yellow, tan, dark green, light green, dry
color | flora | red, orange; color | water | blue, green, gray, brown, dark, light blue, dark blue, white, teal
color | ground, dirt, mud, sand, road, sidewalk, pavement, path, walkway, gravel, rock, parking lot, stairs, beach, crosswalk, runway, court, platform, deck, dock, patio, courtyard | gray, brown, tan, black, beige, dark, light brown, dark brown, dark gray, light gray
color | court, floor, carpet, tile, ceiling, roof | red, blue, green, brown, gray, white, tan, beige, black, yellow
color | snow, ice | white, gray; brunette, blond, dirty blond | hair, person |
material | seat, tabletop, storage, furniture | wood, metal, plastic, glass, wicker, iron, steel, leather
material | chair, couch, stool | leather, cloth, fabric, wicker; material | bench | stone, concrete
material | fence, gate, railing, barrier | wood, metal, wire, iron, chain link, stone, brick, wrought iron, steel, concrete, plastic, mesh
material | building, wall, pillar, column, fireplace, chimney | brick, stone, concrete, wood, glass, metal, cement, marble, tile, steel, iron
material | floor, tile, deck, stairs, dock, platform | wood, tile, concrete, brick, stone, hardwood, marble, cement, metal, granite
material | sidewalk, road, path, walkway, pavement, ground, patio, courtyard | concrete, brick, stone, asphalt, cobblestone, cement, gravel, dirt, tile
material | counter, countertop, table | granite, marble, stone, tile, wood, metal, glass, plastic
material | garment, headwear, -helmet | leather, denim, cloth, cotton, wool, knit, fabric, silk, lace, fur
material | boot, shoe, glove | rubber; material | track, railroad | iron, steel, metal; material | floor, tile | ceramic
material | hat | straw, cloth, leather, knit, wool, paper; material | helmet, eyewear | plastic, metal
material | baggage | leather, cloth, plastic, paper, fabric, canvas, denim
material | bottle, jar, vase | glass, plastic, metal, ceramic, porcelain
material | dish, receptacle, -bag, -bottle, -jar, -vase, cutlery | plastic, metal, glass, ceramic, porcelain, paper, wood, cardboard, steel, stainless steel, styrofoam, clay, wicker, silver
material | bathware | porcelain, metal, ceramic, marble, stainless steel, steel
material | appliance | metal, stainless steel, steel, plastic
material | light, picture, mirror, post, sign, tool, -umbrella, paddle, board, instrument, plush, opening, rack, clock | wood, metal, plastic, glass, steel, iron, brass, concrete, stone
material | picture, sign, lantern | paper; material | handheld, device | metal, plastic
material | vehicle | metal, steel, plastic, aluminum; material | watercraft, train, cart, carriage, wagon, trailer | wood
material | linen, drapery, rope, flag, banner, umbrella | cloth, cotton, fabric, wool, plastic, leather, paper, lace, silk, knit
material | roofing | metal, wood, tile, brick, glass, straw, thatch
pose | person | standing, sitting, walking, lying, crouching, jumping, kneeling, bending, resting, leaning, running, sleeping, posing, squatting, lying down, taking a picture, taking pictures
pose | animal, -fish, -bird | standing, sitting, walking, lying, resting, sleeping, running, jumping, bending, lying down
pose | plush | sitting, lying, standing
pose | bird | standing, sitting, flying, walking, perched, resting, swimming
activity, sport, sportActivity, face expression, race, gender | person | *
activity | animal, -insect | eating, drinking, playing, sleeping, walking, running, standing, resting, swimming, grazing, looking, staring, jumping, flying, waiting
surfing, swimming | dog, person |; flying | bird, aircraft, kite, insect |; parked, moving | vehicle |; age | person | young
age | person, -boy, -girl, -child | old, middle aged, adult; young, old, baby, adult | animal |
old, new, modern | building, vehicle, furniture, seat, tabletop, storage, appliance, device, fence, wall, shoe, baggage, sign, picture |
size | SOLID, garment, -person, -drinkable, -napkin, -curtain, hill, wave, ear, nose, wheel, cloud, garden, pond, island | large, small, little, huge, giant, tiny
little, small | boy, girl, child, animal |
height | person, building, post, giraffe, light, fence, bottle, vase, glass, mountain, hill, refrigerator, cabinet, bookcase, shelf, pillar, plant, wall, stool, horse | tall, short
short, long | hair, garment, -hat, -footwear, -glove, sleeve, drapery, tail, grass |
length, long | hair, tail, tabletop, bench, train, bus, neck, nose, rope, pole, dress, skirt, coat, bridge, pier, board, horn, trunk, drapery, scarf, tie, couch, hose, sausage, carrot, sandwich | long, short
thickness | tree, book, fur, rope, hair, pizza, crust, blanket, wire, pole, grass, board, slice | thick, thin
width | road, river, path, sidewalk, doorway, window, tie, walkway, hallway | wide, narrow
weight | baggage, receptacle, machine, equipment, coat, truck, traffic, blanket, curtain | heavy, light
fatness | person, animal | fat, thin, skinny
hardness | seat, -bench, -bed, -couch, linen, plush, bread, surface, cheese, hair, fur | soft, hard
hard | seat, helmet, shell, surface |
cleanliness | floor, garment, bathware, dish, tabletop, seat, linen, car, wall, opening, appliance, water, snow, animal, -fish, -insect, baggage, drapery, cutlery | clean, dirty, stained, neat
state, wet, dry | ground, floor, grass, sand, hair, dog, person, towel, road, sidewalk, pavement, garment, leaf, dirt, beach, sidewalk, field | wet, dry
weather | sky | clear, cloudless, cloudy, stormy, sunny, overcast, partly cloudy, blue
clear | water, glass, vase, bottle |; smiling, happy, sad, frowning, laughing, surprised, serious | person |
tone, dark, light | hair, floor, sky, wood, garment, wall, water, skin, tabletop, storage, car, building, rug, seat | dark, light
bright | sky, light, flower, garment, screen, sign |
shape | tabletop, dish, mirror, clock, sign, rug, picture, pillow, light, receptacle, opening, edible, building, eyewear, sink, watch, tile, rock | round, square, rectangular, octagonal, triangular, circular, oval, curved, rounded
shape | ball, wheel | round, oval, circular
pattern | garment, drapery, linen, seat, -bench, umbrella, wallpaper, headwear, dish, baggage, vase | striped, dotted, checkered, plaid, floral, patterned, plain
opaqness, company, event, texture, realism, brightness, flavor | * | *
sleeveless, long sleeved, short sleeved | shirt, dress, sweater, blouse, top, jacket, uniform |
open, closed, shut | door, window, umbrella, laptop, book, cabinet, drawer, drapery, box, toilet, mouth, gate, oven, refrigerator, jacket, baggage, bottle, eye |
on, off | light, device, headlight, appliance |
full, empty | dish, receptacle, seat, street, storage, field, baggage, tabletop, cart, bus, train, parking lot |
ripe, unripe, peeled, unpeeled | fruit, vegetable |
sliced, whole, cut, chopped | fruit, vegetable, bread, cake, pizza, meat, sandwich, cheese |
cooked, raw | edible, -fruit |; curly, straight, wavy, bald | hair, mane, fur, tail |
shirtless, bald, barefoot, bare | person, -woman, -girl, -lady, -daughter |
grassy, bare, lush | field, ground, land, landform, lawn, pasture, area |
leafy, leafless, bare, lush | tree |; folded, unfolded, wrinkled | napkin, linen, umbrella, clothing, paper |
folding | chair, table |; comfortable | seat, linen, shoe |
cracked, rough, smooth, uneven, flat | floor, wall, road, sidewalk, rock, tree, water, ground, hill |
calm, wavy, choppy, still | water |; crowded | beach, street, sidewalk, bus, train, place |
covered | tabletop, dish, seat, surface, landform |; uncovered | dish, head |
colorful, plain | plush, toy, garment, linen, drapery, wall, umbrella, kite, sign, flower, baggage, bird, seat |
hanging | drapery, light, picture, garment, towel, clock, sign, plant |
lit, unlit | light, fireplace, cigarette, sign |
painted, unpainted, shiny, dull, sturdy, broken | fence, wall, door, seat, tabletop, floor, car, building, receptacle |
framed, unframed | picture, mirror |; stacked, scattered | paper, dish, receptacle, log, suitcase |
messy, tidy, neat | room, hair, seat, tabletop |
spotted, hairy, furry, fluffy, shaggy | animal, -bird, -fish, plush |
hposition | SOLID, wall, railing, bodypart, landform, -beach, -shore | *
vposition | SOLID, wall, railing, bodypart, garment, headwear, landform, surface, -parking lot, water, -wave | *
"""

RuleTable = dict[str, list[tuple[NameFilter, NameFilter]]]


def _iter_rows(table: str) -> Iterator[tuple[list[str], str, str]]:
    """Yield the rows of a table: the relations, types or attributes of the row, and its two lists."""
    for row in re.split(r"[;\n]", table.strip()):
        heads, objects, others = row.split("|")
        yield [head.strip() for head in heads.split(",")], objects, others


def _parse_rules(table: str) -> RuleTable:
    for name, shared in _SHARED_LISTS.items():
        table = table.replace(f"-{name}", "-" + ", -".join(shared)).replace(name, ", ".join(shared))
    rows: RuleTable = {}
    for heads, objects, others in _iter_rows(table):
        for head in heads:
            rows.setdefault(head, []).append((parse_name_filter(objects), parse_name_filter(others)))
    return rows


def _group_objects_by_value(rows: RuleTable) -> dict[str, list[NameFilter]]:
    """Return for each attribute the filters for objects that may have the attribute, from the rows of all
    types.
    """
    objects_by_value: dict[str, list[NameFilter]] = {}
    for objects, (values, _) in chain.from_iterable(rows.values()):
        for value in values:
            objects_by_value.setdefault(value, []).append(objects)
    return objects_by_value


_RELATION_RULES, _ATTRIBUTE_RULES = _parse_rules(_RELATION_TABLE), _parse_rules(_ATTRIBUTE_TABLE)
_OBJECTS_BY_VALUE = _group_objects_by_value(_ATTRIBUTE_RULES)


def get_relation_rules(relation: str) -> list[list[tuple[NameFilter, NameFilter]]]:
    """Return the rules for a relation.

    Returns:
        A list of groups of pairs (filter for subjects, filter for objects). The relation is possible if in
        each group at least one pair applies. A verb with a preposition that has no row of its own has two
        groups, one for the verb and one for the preposition. The list is empty if no rule is known.

    >>> [len(get_relation_rules(relation)) for relation in ("wearing", "jumping on", "gizmoing")]
    [1, 2, 0]
    """
    relation = canonicalize_relation(relation)
    verb, _, preposition = relation.partition(" ")
    parts = (relation,) if relation in _RELATION_RULES else (verb, canonicalize_relation(preposition))
    return [_RELATION_RULES[part] for part in parts if part in _RELATION_RULES]


def get_attribute_rules(attribute: str, type_: str) -> list[NameFilter] | None:
    """Return filters for the objects that may have an attribute.

    Args:
        attribute: The attribute; "" for any attribute of the type.
        type_: The type of the attribute in GQA; "" if not known.

    Returns:
        The filters. An object may have the attribute if at least one filter selects the object. None if no
        rule is known for the attribute and its type.

    >>> from pipeline.language.object_taxonomy import is_selected
    >>> rules = get_attribute_rules("ripe", "") or ()
    >>> [any(is_selected(name, rule) for rule in rules) for name in ("apple", "car")]
    [True, False]
    """
    if {attribute, type_}.isdisjoint(_ATTRIBUTE_RULES) and attribute not in _OBJECTS_BY_VALUE:
        return None
    # For an attribute with rows of its own, the rows of its type are ignored: "blond" is a color, but not of
    # chairs.
    rows = _ATTRIBUTE_RULES.get(type_, ()) if not attribute or attribute not in _ATTRIBUTE_RULES else ()
    of_type = [objects for objects, (values, _) in rows if not attribute or "*" in values]
    return (
        of_type
        + [objects for objects, _ in _ATTRIBUTE_RULES.get(attribute, ())]
        + _OBJECTS_BY_VALUE.get(attribute, [])
    )


@cache
def get_type_by_value() -> dict[str, str]:
    """Return the GQA type of each attribute that the rules name, or "other" if they name no type."""
    types: dict[str, str] = {}
    for heads, _, values in _iter_rows(_ATTRIBUTE_TABLE):
        if named := parse_words(values) - {"*"}:
            types = dict.fromkeys(named, heads[0]) | types
        else:
            types = dict.fromkeys(heads, "other") | types
    # The rule of fields and lawns lists a state among colors.
    types["dry"] = types["wet"]
    return types
