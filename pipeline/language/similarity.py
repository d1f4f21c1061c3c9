"""Decide which names, attributes and answers are so similar that both may be true of the same object.

If an edit replaces a name by a similar name, the question may still be answerable. The tables contain
synonyms and names that people confuse in images. A group of similar words ends with the line or with `;`.
Names with the same last word ("table", "side table") are similar as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from pipeline.language.lexicon import canonicalize_name, invert_mapping
from pipeline.language.nouns import lemmatize, singularize
from pipeline.language.word_lists import parse_groups, parse_headed_groups, parse_words

_SIMILAR_NAMES = """
couch, sofa, loveseat, armchair, recliner; chair, stool, armchair, seat, folding chair; bench, seat, table
table, desk, counter, countertop, stand, nightstand, end table, side table, coffee table, tv stand
cabinet, cupboard, drawer, dresser, closet, wardrobe; shelf, bookshelf, bookcase, rack
television, tv, screen, monitor, display; computer, laptop, desktop, monitor, notebook
phone, telephone, cellphone, cell phone, smartphone, remote control; remote control, controller, wii controller, wii
refrigerator, fridge, freezer; stove, oven, range; cup, mug, glass, tumbler; bottle, jar, canister
plate, dish, tray, platter, saucer, bowl; vase, pot, jar, bottle; basket, bin, container
bag, backpack, purse, handbag, suitcase, luggage; box, carton, crate, package, container, case, gift
trash can, garbage can, trash bin, bin, bucket, container; bicycle, bike, cycle
motorcycle, motorbike, bike, scooter, moped; car, truck, van, suv, taxi, cab; bus, van, coach
train, locomotive, train car; airplane, plane, jet, aircraft; boat, ship, canoe, kayak, sailboat
pants, trousers, jeans, slacks, leggings, shorts, trunks
shirt, t-shirt, blouse, top, jersey, sweater, sweatshirt, undershirt, uniform
jacket, coat, blazer, hoodie, sweater, vest, suit, sweatshirt, uniform; hat, cap, helmet, beanie
shoe, sneaker, boot, sandal, slipper; glasses, sunglasses, goggles, eyeglasses; watch, bracelet, wristband
glove, mitt, mitten; clothing, clothes, outfit, uniform, costume; road, street, pavement, path, highway, asphalt, sidewalk
sidewalk, pavement, path, walkway; ground, floor, dirt, grass, field, land, road; grass, lawn, field, plant
sand, beach, ground; water, ocean, sea, lake, river, pond, pool, wave; hill, mountain; rock, stone, boulder
tree, bush, plant, palm, pine, forest; leaf, plant; flower, plant, rose, tulip; bush, plant, shrub, hedge
building, house, tower, skyscraper, store, shop, wall; window, glass, pane, door; curtain, drape, blind
rug, carpet, mat; blanket, quilt, comforter, sheet, bedspread, towel; pillow, cushion
painting, picture, poster, photo, frame, artwork, photograph; sign, poster, banner
lamp, light, light fixture, lantern; pole, post; fence, railing, gate, wall, barrier; cooking utensil, utensil, spoon, fork, knife
bird, pigeon, seagull, duck, goose, parrot; cow, bull, calf, cattle, ox; sheep, lamb, goat
horse, pony, foal, donkey; dog, puppy; cat, kitten; person, figure; teddy bear, stuffed animal, bear, toy, doll
ball, baseball, football, soccer ball, tennis ball; bat, stick; racket, paddle; umbrella, parasol
donut, pastry, doughnut; cake, pie, dessert, pastry, cupcake; sandwich, burger, hamburger; bread, bun, roll
food, fruit, vegetable, dessert, meat, fast food, baked good, plant; device, appliance, machine, gadget, furniture
dishes, container, bag, tableware, dishware, utensil, cooking utensil; vehicle, machine; toy, ball, doll, decoration
plant, flower, tree, bush; decoration, accessory, clothing; accessory, bag; weapon, tool; snow, ice; cloud, sky
sink, basin; faucet, tap; orange, grapefruit, tangerine, lemon; paper, book, notebook, magazine, napkin
food, plate, bowl
"""

_SIMILAR_ATTRIBUTES = """
large, big, huge, giant, enormous, tall, long, wide, thick; small, little, tiny, short, thin, narrow
gray, silver, white; gray, black, dark, charcoal; black, dark, navy, dark blue
white, light, cream, beige, ivory, cream colored, off white, blond; brown, tan, beige, khaki
brown, maroon, dark, dark brown; dark brown, black
blond, blonde, yellow, golden, gold, tan, light brown, dirty blond; brown, brunette, light brown, dark brown
red, maroon, burgundy; red, orange; red, pink; red, brown; orange, yellow, gold, peach; orange, brown
pink, purple, magenta; purple, blue, violet, lavender; blue, teal, turquoise, aqua; green, teal, olive
gold, yellow, brass, bronze; silver, metallic, gray; wood, wooden, hardwood, bamboo, wicker
metal, metallic, steel, iron, chrome, aluminum, copper, wire, mesh, stainless steel
stone, concrete, rock, brick, cement, marble, granite, tile, asphalt, gravel; glass, plastic; plastic, rubber
porcelain, ceramic, glass; cloth, cotton, fabric, knit, denim, wool, linen; leather, fabric, vinyl; paper, cardboard
sitting, resting, kneeling, crouching; standing, walking, waiting, posing; walking, running, jumping
lying, resting, sleeping; happy, smiling, laughing; round, rounded, circular, oval, curved; square, rectangular
clear, sunny, cloudless; cloudy, overcast, partly cloudy; young, little; old, adult, middle aged; young, adult; dotted, floral
striped, plaid, checkered; closed, shut; on, lit; dirty, stained; wet, rainy
"""

# Attributes that people use for the same appearance. These groups are narrower than the groups above, because
# the verifier must not make mistakes.
_SAME_VISUAL_CONCEPT = """
beige, blond, brown, cream, cream colored, gold, khaki, tan, yellow; gray, silver, white; blue, teal, turquoise
orange, red, maroon, pink; aluminum, brass, chrome, iron, metal, metallic, stainless steel, steel, wrought iron
brick, cement, cobblestone, concrete, granite, marble, rock, stone; ceramic, porcelain, tile
cloth, cotton, denim, fabric, wool; hardwood, wood, wooden
"""
# Attributes that may be true together with any other value of their type.
_VAGUE_ATTRIBUTES = parse_words("dark, light, bright, colorful, multi colored, multicolored")

_ANSWER_BY_OPTION = {"to the left of": "left", "to the right of": "right", "in front of": "front"}
_MATERIAL_NOUNS = {"wooden": "wood", "metallic": "metal"}
# Attribute as GQA's programs write it -> variants of the attribute in texts.
ATTRIBUTE_SYNONYMS = parse_headed_groups("""
wood: wooden; metal: metallic; blond: blonde; large: big; small: little; sitting: sitting-down, sitting down; color: colour
caucasian: white; middle: center, centre; gray: grey; on: turned on; off: turned off
""")

# Word -> indices of the groups that contain the word.
_NAME_GROUPS, _ATTRIBUTE_GROUPS, _VISUAL_CONCEPT_GROUPS = (
    invert_mapping(dict(enumerate(parse_groups(table))))
    for table in (_SIMILAR_NAMES, _SIMILAR_ATTRIBUTES, _SAME_VISUAL_CONCEPT)
)


@lru_cache(maxsize=1 << 16)
def get_similarity_keys(name: str) -> frozenset[str | int]:
    """Return the last word of a name and the indices of its groups.

    Two names are similar if they have a last word or a group in common.

    >>> get_similarity_keys("tables") & get_similarity_keys("side table") > set()
    True
    >>> get_similarity_keys("dog") & get_similarity_keys("cat")
    frozenset()
    """
    word = singularize(name)
    return frozenset((word.rpartition(" ")[2], *_NAME_GROUPS.get(word, ())))


def _share_word_or_group(a: str, b: str, index: Mapping[str, frozenset[int]]) -> bool:
    """Return whether two attributes share a word ("light blue", "blue") or a group.

    Args:
        a, b: The attributes.
        index: Attribute -> indices of the groups that contain the attribute.
    """
    return not {*a.split(), *index.get(a, ())}.isdisjoint({*b.split(), *index.get(b, ())})


@lru_cache(maxsize=1 << 16)
def is_similar_attribute(a: str, b: str) -> bool:
    """Return whether two attributes may describe the same appearance.

    >>> is_similar_attribute("gray", "silver"), is_similar_attribute("red", "blue")
    (True, False)
    """
    return _share_word_or_group(a, b, _ATTRIBUTE_GROUPS)


def is_same_visual_concept(a: str, b: str) -> bool:
    """Return whether an attribute does not contradict another one of the same type.

    >>> is_same_visual_concept("gold", "tan"), is_same_visual_concept("blue", "red")
    (True, False)
    """
    return (
        a in _VAGUE_ATTRIBUTES or b in _VAGUE_ATTRIBUTES or _share_word_or_group(a, b, _VISUAL_CONCEPT_GROUPS)
    )


def is_vague_attribute(word: str) -> bool:
    """Return whether an attribute may be true together with any other value of its type ("dark" of a color)."""
    return word in _VAGUE_ATTRIBUTES


def option_to_answer(option: str) -> str:
    """Return an option of a step `choose` as GQA writes the option in the answer.

    >>> option_to_answer("to the left of"), option_to_answer("red")
    ('left', 'red')
    """
    return _ANSWER_BY_OPTION.get(option, option)


def is_same_answer(a: str, b: str) -> bool:
    """Return whether two answers are equal up to synonyms, number and the form of adjectives.

    >>> is_same_answer("cows", "cow"), is_same_answer("wooden", "wood"), is_same_answer("cow", "sheep")
    (True, True, False)
    """
    one, other = (lemmatize(answer.strip().lower()) for answer in (a, b))
    return a == b or (_MATERIAL_NOUNS.get(one) or canonicalize_name(one)) == (
        _MATERIAL_NOUNS.get(other) or canonicalize_name(other)
    )
