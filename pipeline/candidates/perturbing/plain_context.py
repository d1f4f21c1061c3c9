"""Describe what a plain question and its image say of the objects that the question names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.object_edits import collect_constraints
from pipeline.candidates.perturbing.object_table import GENERIC_NAMES
from pipeline.language.functional_programs import find_root_step
from pipeline.language.nouns import get_grammatical_number
from pipeline.language.object_taxonomy import get_main_kind
from pipeline.language.presuppositions import Presupposition
from pipeline.language.text_phrases import get_attribute_type, is_known_name
from pipeline.language.word_lists import DEFINITE_DETERMINERS, parse_headed_groups, parse_words

CLOTHING_KINDS = frozenset(("headwear", "eyewear", "jewelry", "garment"))
PART_KINDS = frozenset(("bodypart", "carpart"))
# "The man WITH a hat", "the man IN a hat".
POSSESSIVE_RELATIONS = frozenset(("with", "in", "wearing", "has", "have"))
# Objects that are there in nearly every image, or that no other word replaces.
IRREPLACEABLE_NAMES = GENERIC_NAMES | parse_words(
    "sky, distance, horizon, corner, world, name, say, tin, wall, brim, rim, camera, viewer, photographer, model, machine, country, thing, object, item, fabric, inside, outside, face, stripe, line, collar, visor, sleeve, pocket, button, ring, zipper, strap, trim, edge, frame"
)
GROUND_KINDS = frozenset(("surface", "landform", "water", "sky", "place"))
# An image often shows several objects of these kinds, also if its questions mention only one.
NUMEROUS_KINDS = (
    CLOTHING_KINDS
    | PART_KINDS
    | parse_words(
        "person, building, opening, upright, post, tree, flora, greens, surface, landform, light, sky, water, rock, vehicle, car, bike, sign"
    )
)
FURNITURE_KINDS = parse_words("tabletop, seat, storage, furniture, appliance")
CONSUMABLE_KINDS = frozenset(("drinkable", "edible", "stuffing"))
SMALL_KINDS = parse_words("dish, cutlery, handheld, ball, tool, plush, drinkable, edible")
# Colors that stand out, and the colors that people may confuse with them.
BRIGHT_COLORS = parse_headed_groups("""
red: orange, pink, maroon, burgundy, crimson, scarlet, rust, brown, copper
orange: red, yellow, brown, gold, golden, peach, tan, rust, copper, blond, blonde, ginger, pink
yellow: orange, gold, golden, beige, cream, blond, blonde, tan, khaki, green, lime
green: olive, teal, turquoise, khaki, lime, aqua, yellow
blue: navy, teal, turquoise, aqua, purple, violet, denim, indigo
purple: blue, violet, lavender, magenta, pink, maroon, burgundy, indigo, navy
pink: red, purple, magenta, peach, salmon, rose, lavender
""")
COAT_COLORS = parse_headed_groups("""
black: navy, gray, charcoal
white: cream, beige, gray, golden, blond, blonde, tan
gray: grey, silver, black, white, blond
brown: tan, golden, orange, red, beige, brunette, ginger, blond
""")
HAIR_COLORS = parse_headed_groups("red: orange, ginger, brown, auburn, brunette; gray: grey, silver, white")
COLOR_NAMES = frozenset(
    chain(
        *(
            (one, *near)
            for colors in (BRIGHT_COLORS, COAT_COLORS, HAIR_COLORS)
            for one, near in colors.items()
        )
    )
) - {"rose", "rust"}
# Materials that nobody confuses, and patterns.
MATERIALS = parse_headed_groups("""
wood: wooden, bamboo, wicker, hardwood, paper, cardboard, plastic, leather
leather: suede, vinyl, fabric, cloth, upholstered, wood, wooden, metal, glass, plastic
wicker: rattan, bamboo, cane, straw, woven, wood, wooden
metal: steel, iron, metallic, chrome, aluminum, wire, plastic, brass, leather
glass: plastic, crystal, porcelain, ceramic
brick: stone, concrete, tile, cement, marble
""")
# Parts of the scenery. There may be others, even if a text speaks of "the shop".
SCENERY_KINDS = (
    parse_words("building, opening, upright, post, tree, flora, greens, rock, light, sign") | GROUND_KINDS
)


def may_show_others(case: EditCase, name: str, numerous_kinds: Collection[str] = NUMEROUS_KINDS) -> bool:
    """Return whether the image may show several objects of a name."""
    if get_grammatical_number(name) != "singular" or case.mentions.may_be_several(name):
        return True
    kind = get_main_kind(name)
    return kind in numerous_kinds and (kind in SCENERY_KINDS or not case.mentions.is_unique(name))


def describe(case: EditCase, slot: Presupposition) -> tuple[set[str], set[str]]:
    """Return the attributes of an object, and the names of the objects to which it is related, such as its clothes."""
    constraints = collect_constraints(case, slot, ())
    return (
        {word for group in constraints.attributes for word in group},
        {name for relation, role, name in constraints.relations if relation != "of" and role == "s" and name},
    )


def measure_distances(case: EditCase) -> dict[int, int]:
    """Return for each step that names an object how many relations lie between it and what the question asks for.

    Owners count like their parts.
    """
    program = case.program
    if not program:
        return {}
    last = len(program) - 1
    steps = [last] if program[last].name else [find_root_step(program, i) for i in program[last].inputs]
    distances = dict.fromkeys(steps, 0)
    for step in steps:
        for index in program[step].inputs:
            root = find_root_step(program, index)
            if root not in distances:
                distances[root] = distances[step] + (program[step].values[:1] != ("of",))
                steps.append(root)
    return distances


def is_option(case: EditCase, first: int, end: int) -> bool:
    """Return whether tokens belong to an option of a choice: "the BUS or the car", "on the LEFT or the right"."""
    tokens = case.sentence.tokens
    if "or" not in tokens:
        return False
    place = tokens.index("or")
    comma = max((i for i, token in enumerate(tokens[:place]) if token == ","), default=-1)
    if comma >= 0:
        return first > comma
    # "To the left or to the right OF THE CUP": the object after both options.
    if first > place:
        return not {"of", "than"} & {*tokens[place:first]}
    # "What is taller, the car or ...", "Is the CAR or the bus ...": the phrase right before "or".
    return end == place or (
        all(token not in DEFINITE_DETERMINERS for token in tokens[end:place])
        and (end + 2 >= place and tokens[end] not in ("wearing", "facing"))
        and tokens[0] in ("which", "what", "is", "are")
        and _starts_option(tokens, first, place)
    )


def _starts_option(tokens: Sequence[str], first: int, place: int) -> bool:
    """Return whether the phrase before "or" is an option itself and not the subject of two options."""
    after = tokens[place + 1 : place + 2]
    starts_alike = after and after[0] in DEFINITE_DETERMINERS | {"a", "an"}
    return bool(starts_alike) and tokens[max(first - 1, 0)] in DEFINITE_DETERMINERS


def list_mentioned_names(case: EditCase) -> Collection[str]:
    """Return the names of objects that the questions of the image mention."""
    return {word for word in case.mentions.find_all_phrases() if is_known_name(word)}


def iter_words(case: EditCase) -> Iterator[str]:
    return chain.from_iterable(case.mentions.texts)


def find_attributes_of(case: EditCase, name: str) -> list[str]:
    """Return the attributes that the program gives to objects of a name."""
    program = case.program
    return [
        value
        for index, operation in enumerate(program)
        if operation.verb == "filter" and program[find_root_step(program, index)].name == name
        for value in operation.values
    ]


def is_attribute_word(token: str) -> bool:
    return bool(get_attribute_type(token)) or token in COLOR_NAMES
