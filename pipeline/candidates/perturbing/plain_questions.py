"""Edit plain questions: the question has no functional program, and its image has no scene graph.

Nothing is known of such an image but its own questions and answers. Therefore a plain question gets one edit, at the
words without which it asks for nothing. Rules, each against a way in which edited questions stayed answerable:

- The edit concerns what is asked about: the noun whose property is asked for, or the owner of a part or of clothes.
  Other objects are edited only where the question does not name what it asks for ("What is lying on the BED?").
- An inserted object stands in the same places, and nobody takes it for the replaced one (`contrasts`).
- Men replace women and the reverse, if no text of the image speaks of such a person. Pronouns follow.
- Where readers would answer "no" to a question about another person, the person's clothes are edited.
- People of unknown role become people whose clothes nobody mistakes (a firefighter).
- Colors are replaced by bright colors that no text of the image mentions. White, gray or brown objects are common.
- Positions ("on the left"), poses and states are edited if the image shows one such object only, or if the new state
  is rare (an overturned car).
- Options of a choice, counted objects and objects that need not exist are never edited.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np

from pipeline.candidates.perturbing.contrasts import (
    carries_nothing,
    find_common_contrasts,
    find_contrasts,
    find_kin,
    hangs_nowhere,
    has_parts,
    infer_setting,
    suits_setting,
    suits_verbs,
)
from pipeline.candidates.perturbing.edit_slots import (
    EditCase,
    is_fixed_expression,
)
from pipeline.candidates.perturbing.object_edits import collect_constraints
from pipeline.candidates.perturbing.object_table import FEMALE_NOUNS, GENERIC_NAMES, MALE_NOUNS
from pipeline.candidates.perturbing.plausibility import ObjectConstraints, extract_program_constraints
from pipeline.candidates.perturbing.surface_realization import (
    Swap,
    detect_number,
    find_possible_numbers,
    make_object_swap,
    swap_for_antonym,
)
from pipeline.core.records import Subset
from pipeline.language.functional_programs import POSITION_TYPES, find_root_step
from pipeline.language.noun_phrases import find_phrase_start
from pipeline.language.nouns import TokenEdit, get_grammatical_number, lemmatize, pluralize, singularize
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition, find_queried_step
from pipeline.language.relations import LEFT_RIGHT_RELATIONS, PREPOSITIONS, canonicalize_relation
from pipeline.language.tagger import get_present_participle
from pipeline.language.text_phrases import get_attribute_type, is_known_name
from pipeline.language.word_lists import (
    DEFINITE_DETERMINERS,
    DETERMINERS,
    FRAME_WORDS,
    parse_headed_groups,
    parse_words,
)

DENIABLE = "no or none is a true answer if something is absent"
# An object that an image shows with a higher probability is not inserted.
MAX_PRESENCE = 0.3
# Frequent objects are inserted more often than rare ones, but not by their frequency. Otherwise a few would replace most.
FREQUENCY_EXPONENT = 0.25
# Where so few texts speak of an image, they do not show that somebody is absent.
MIN_TEXTS = 3

_AUXILIARIES = parse_words("is, are, was, were, does, do, did, has, have, can")
_CLOTHING_KINDS = frozenset(("headwear", "eyewear", "jewelry", "garment"))
_PART_KINDS = frozenset(("bodypart", "carpart"))
_PREPOSITION_WORDS = frozenset(phrase.split()[0] for phrase in PREPOSITIONS)
# Relations that few objects have.
_STRICT_WORDS = parse_words(
    "in, on, of, inside, into, wearing, riding, holding, driving, filled, playing, sitting"
)
# "The man WITH a hat", "the man IN a hat".
_POSSESSIVE_RELATIONS = frozenset(("with", "in", "wearing", "has", "have"))
# Objects that are there in nearly every image, or that no other word replaces.
_IRREPLACEABLE_NAMES = GENERIC_NAMES | parse_words(
    "sky, distance, horizon, corner, world, name, say, tin, wall, brim, rim, camera, viewer, photographer, model, machine, country, thing, object, item, fabric, inside, outside, face, stripe, line, collar, visor, sleeve, pocket, button, ring, zipper, strap, trim, edge"
)
_GROUND_KINDS = frozenset(("surface", "landform", "water", "sky", "place"))
# An image often shows several objects of these kinds, also if its questions mention only one.
_NUMEROUS_KINDS = (
    _CLOTHING_KINDS
    | _PART_KINDS
    | parse_words(
        "person, building, opening, upright, post, tree, flora, greens, surface, landform, light, sky, water, rock, vehicle, car, bike, sign"
    )
)
_FURNITURE_KINDS = parse_words("tabletop, seat, storage, furniture, appliance")
_SMALL_KINDS = parse_words("dish, cutlery, handheld, ball, tool, plush, drinkable, edible")

_GENERIC_PEOPLE = parse_words(
    "people, person, persons, crowd, player, spectator, passenger, child, kid, family, group, couple, team, audience"
)
_WOMEN = parse_words(
    "woman, girl, lady, mother, mom, daughter, bride, female, grandmother, waitress, actress, she, her"
)
_MEN = parse_words(
    "man, boy, guy, gentleman, father, dad, son, groom, male, grandfather, waiter, he, his, him"
)
_OTHER_SEX = {"man": "woman", "woman": "man", "boy": "girl", "girl": "boy", "lady": "man", "guy": "woman"} | {
    "gentleman": "lady",
    "father": "mother",
    "mother": "father",
}
_PRONOUN_FORMS = {"woman": {"his": "her", "he": "she", "him": "her"}, "man": {"her": "his", "she": "he"}}
# People whom their looks distinguish from people of other roles, and those who may be called so.
_ROLES = parse_headed_groups("""
skateboarder: skater, surfer; surfer: swimmer, skateboarder; chef: cook, baker, waiter, waitress; cowboy: rider, horseman
soldier: officer, guard, policeman, police officer, pilot; jockey: rider, cyclist, horseman; umpire: referee, player
""")
# Roles whose clothes nobody mistakes. They replace people of whose role nothing is known.
_UNIFORMED_ROLES = parse_headed_groups("""
cowboy: rider, horseman, cowgirl; firefighter: fireman, deck; astronaut: spaceman, pilot; clown: jester; nun: sister
soldier: officer, guard, policeman, police officer, pilot, sailor, navy, army, military, uniform, camouflage, deck
""")
# Roles whose dress leaves nothing of other clothes to see: nobody asks for the shorts of an astronaut.
_COVERED_ROLES = frozenset(("astronaut", "nun"))
_BEARDS = parse_words("beard, bearded, mustache, moustache, bald, goatee")
# Colors that stand out, and the colors that people may confuse with them.
_BRIGHT_COLORS = parse_headed_groups("""
red: orange, pink, maroon, burgundy, crimson, scarlet, rust, brown, copper
orange: red, yellow, brown, gold, golden, peach, tan, rust, copper, blond, blonde, ginger, pink
yellow: orange, gold, golden, beige, cream, blond, blonde, tan, khaki, green, lime
green: olive, teal, turquoise, khaki, lime, aqua, yellow
blue: navy, teal, turquoise, aqua, purple, violet, denim, indigo
purple: blue, violet, lavender, magenta, pink, maroon, burgundy, indigo, navy
pink: red, purple, magenta, peach, salmon, rose, lavender
""")
_COAT_COLORS = parse_headed_groups("""
black: navy, gray, charcoal
white: cream, beige, gray, golden, blond, blonde, tan
gray: grey, silver, black, white, blond
brown: tan, golden, orange, red, beige, brunette, ginger, blond
""")
_HAIR_COLORS = parse_headed_groups("red: orange, ginger, brown, auburn, brunette; gray: grey, silver, white")
# Where others may have brown hair, nobody asks for red hair, because shades of brown look red.
_UNUSUAL_HAIR_COLORS = parse_headed_groups("""
gray: grey, silver, white, blond, blonde; blue: purple, teal, turquoise; green: teal, turquoise; pink: red, purple
""")
# What a shade or a pale color may be called.
_SHADE_COLORS = parse_headed_groups("""
dark: blue, purple, green, red, black, brown, gray; light: yellow, pink, white, gray; bright: yellow, orange, pink
pale: yellow, pink; beige: yellow, pink; cream: yellow, pink; white: yellow; gray: blue; grey: blue; silver: blue
""")
# Common colors of such objects, which the image may show although no text mentions them.
_COMMON_COLORS = {
    "car": parse_words("red, blue"),
    "vehicle": parse_words("red, blue"),
    "building": parse_words("red, yellow, blue"),
    "garment": parse_words("blue"),
    "sign": parse_words("red, blue, yellow, green"),
    "flora": parse_words("green, yellow, red"),
    "tree": parse_words("green, yellow, red"),
    "paper": parse_words("red, blue"),
    "board": parse_words("green"),
    "edible": parse_words("red, green, yellow, orange"),
}
_COLOR_NAMES = frozenset(
    chain(
        *(
            (one, *near)
            for colors in (_BRIGHT_COLORS, _COAT_COLORS, _HAIR_COLORS)
            for one, near in colors.items()
        )
    )
) - {"rose", "rust"}
_SHADES = frozenset(("dark", "light", "bright", "pale"))
# Materials that nobody confuses, and patterns.
_MATERIALS = parse_headed_groups("""
wood: wooden, bamboo, wicker, hardwood, paper, cardboard, plastic, leather
leather: suede, vinyl, fabric, cloth, upholstered, wood, wooden, metal, glass, plastic
wicker: rattan, bamboo, cane, straw, woven, wood, wooden
metal: steel, iron, metallic, chrome, aluminum, wire, plastic, brass, leather
glass: plastic, crystal, porcelain, ceramic
brick: stone, concrete, tile, cement, marble
""")
# Materials that few kinds of objects have.
_MATERIAL_KINDS = {
    "leather": ("seat",),
    "wicker": ("seat",),
    "brick": ("building", "upright", "surface", "opening"),
}
_PATTERNS = parse_headed_groups("""
striped: pinstriped, plaid, checkered, checked
floral: flowered, patterned
checkered: plaid, striped, pinstriped, checked
spotted: dotted, polka-dot, patterned, floral
""")
# Kinds of objects that have few colors by nature. All others may be painted.
_NATURAL_KINDS = parse_words(
    "flora, tree, greens, edible, drinkable, stuffing, water, sky, landform, surface, rock, animal, bodypart"
)
_OPPOSITE_STATES = {
    "open": "closed",
    "closed": "open",
    "empty": "full",
    "full": "empty",
    "lit": "unlit",
}
# States that few photographs show. Other such objects do not matter.
_RARE_STATES = {
    "person": {"smiling": "crying", "laughing": "crying"},
    "car": {"parked": "overturned"},
    "vehicle": {"parked": "overturned"},
}
_HANGING_WORDS = parse_words("hanging, hangs, hang, hung")
# What covers or lies on furniture, and may lie under it.
_LYING_WORDS = parse_words("lying, laid, spread, draped, folded, placed, resting, sitting, thrown")
_SIDES = {"on the left side of": "on the right side of", "on the right side of": "on the left side of"}
_PLACE_WORDS = parse_words("left, right, top, bottom, above, below, middle, center, centre")
_VEHICLE_KINDS = frozenset(("vehicle", "car"))
# Parts of the scenery. There may be others, even if a text speaks of "the shop".
_SCENERY_KINDS = (
    parse_words("building, opening, upright, post, tree, flora, greens, rock, light, sign") | _GROUND_KINDS
)
# What people do in many photographs, and poses that few photographs show and no other pose resembles.
_POSES = parse_words("standing, walking, sitting, leaning, running, waiting, posing")
_RARE_POSES = parse_words("kneeling, lying, jumping")


def edit_plain_question(subset: Subset, case: EditCase) -> tuple[list[Swap], str]:
    """Edit a plain question at one place.

    Returns:
        The swap, and the reason why there is none ("" if there is one).
    """
    if may_be_denied(case):
        return [], DENIABLE
    reason, editors = _EDITORS[subset]
    for edit in editors:
        if swap := edit(case):
            return [swap], ""
    presuppositions = case.presuppositions
    is_named = (
        presuppositions.objects
        if subset == "pt-easy"
        else presuppositions.attributes or presuppositions.relations
    )
    return [], reason if is_named else "names nothing of that kind as a presupposition"


def may_be_denied(case: EditCase) -> bool:
    """Return whether "no" or "none" is a true answer if something is absent: "How many cups are on the TABLE?".

    "How many sides does the SIGN have?" has no such answer.
    """
    tokens = case.sentence.tokens
    asks_of_something = any(
        verb in ("does", "do", "did", "has", "have", "is", "are") and determiner in DEFINITE_DETERMINERS
        for verb, determiner in pairwise(tokens)
    )
    return tokens[1:2] == ("there",) or (tokens[:2] == ("how", "many") and not asks_of_something)


def may_show_others(case: EditCase, name: str, numerous_kinds: Collection[str] = _NUMEROUS_KINDS) -> bool:
    """Return whether the image may show several objects of a name."""
    if get_grammatical_number(name) != "singular" or case.mentions.may_be_several(name):
        return True
    kind = get_main_kind(name)
    return kind in numerous_kinds and (kind in _SCENERY_KINDS or not case.mentions.is_unique(name))


# Objects (PT-Easy).


def replace_main_object(case: EditCase) -> Swap | None:
    """Swap the object about which the question asks, or an object that determines what is asked for."""
    slots = _order_object_slots(case)
    for slot in (*_list_clothes_of_subject(case, slots), *slots):
        if swap := _swap_object(case, slot):
            return swap
    return None


def _list_clothes_of_subject(case: EditCase, slots: Sequence[Presupposition]) -> list[Presupposition]:
    """Return the clothes by which a question for yes or no describes its person: "Is the man in the COAT sitting?".

    Readers answer "no" if only the person is replaced.
    """
    tokens = case.sentence.tokens
    is_polar = tokens[0] in _AUXILIARIES and "or" not in tokens
    if not (is_polar and slots and get_main_kind(slots[0].word) == "person"):
        return []
    end = slots[0].span.end_token
    is_described = tokens[end : end + 1] == ("in",) and tokens[end + 1] in DEFINITE_DETERMINERS
    # "Is the man in the SKIRT wearing shorts?" sounds odd.
    if not is_described or sum(get_main_kind(token) == "garment" for token in tokens) > 1:
        return []
    return [
        slot
        for slot in case.presuppositions.objects
        if slot.phrase_start == end + 1
        and get_main_kind(slot.word) == "garment"
        # A new word would begin like "T-shirt".
        and case.sentence.get_text(slot.span).islower()
    ]


def _order_object_slots(case: EditCase) -> list[Presupposition]:
    """Return the objects that may be replaced, the best first."""
    distances = _measure_distances(case)
    asked = find_queried_step(case.program)
    objects = sorted(
        (
            slot
            for slot in case.presuppositions.objects
            if slot.step != asked and not _is_optional(case, slot)
        ),
        key=lambda slot: (distances.get(slot.step, 9), slot.span.first_token),
    )
    # A question names what it asks about if its nearest object is not related to something unnamed.
    is_named = bool(objects) and distances.get(objects[0].step, 9) == 0
    ordered: list[Presupposition] = []
    for slot in objects:
        is_owner = any(_is_owned_by(case, part, slot) for part in objects if part is not slot)
        # If what is asked for has no name, the nearest object determines it, or the next one if that is the ground.
        nearer = [other for other in objects if distances.get(other.step, 9) < distances.get(slot.step, 9)]
        is_nearest = all(get_main_kind(other.word) in _GROUND_KINDS | _PART_KINDS for other in nearer)
        is_main = slot is objects[0] or is_owner or (not is_named and is_nearest)
        is_described_person = get_main_kind(slot.word) in LIVING_KINDS and any(_describe(case, slot))
        is_garment = get_main_kind(slot.word) in _CLOTHING_KINDS and distances.get(slot.step, 9) > 0
        if (is_main or is_described_person) and not is_garment and not _belongs_to_another(case, slot):
            ordered.append(slot)
    return [slot for slot in (_extend_compound(case, one) for one in ordered) if _is_replaceable(case, slot)]


def _is_optional(case: EditCase, slot: Presupposition) -> bool:
    """Return whether an object need not exist. The women of "What are the three women sitting on?" must."""
    follows_definite = case.sentence.get_previous_token(slot.phrase_start) in DEFINITE_DETERMINERS
    return slot.is_query_only and not follows_definite


def _describe(case: EditCase, slot: Presupposition) -> tuple[set[str], set[str]]:
    """Return the attributes of an object, and the names of the objects to which it is related, such as its clothes."""
    constraints = collect_constraints(case, slot, ())
    return (
        {word for group in constraints.attributes for word in group},
        {name for relation, role, name in constraints.relations if relation != "of" and role == "s" and name},
    )


def _measure_distances(case: EditCase) -> dict[int, int]:
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


def _is_owned_by(case: EditCase, part: Presupposition, owner: Presupposition) -> bool:
    """Return whether an object is a part, the clothes or the content of another one, directly or by steps."""
    program = case.program
    if part.step < 0 or owner.step < 0 or not program[part.step].inputs:
        return False
    operation = program[part.step]
    root = find_root_step(program, operation.inputs[0])
    is_part = operation.values[:1] == ("of",) or (
        operation.values[:1] == ("on",) and get_main_kind(operation.name) in _PART_KINDS | _CLOTHING_KINDS
    )
    if not (is_part and operation.is_subject):
        return False
    if root == owner.step:
        return True
    return any(
        slot.step == root and _is_owned_by(case, slot, owner)
        for slot in case.presuppositions.objects
        if slot is not part
    )


def _belongs_to_another(case: EditCase, slot: Presupposition) -> bool:
    """Return whether a slot names a part or the clothes of another object of the question.

    An inserted part ("the COLLAR of the dog") often exists although nobody has mentioned it. So the owner is
    replaced instead ("the nose of the CAT").
    """
    relations = extract_program_constraints(case.program, slot.step).relations
    kind = get_main_kind(slot.word)
    before = case.sentence.get_token(slot.phrase_start)
    is_part = any(relation == "of" and role == "s" for relation, role, _ in relations) or before in (
        "his",
        "her",
        "their",
        "its",
    )
    is_worn = kind in _CLOTHING_KINDS | _PART_KINDS | {"baggage"} and any(
        relation.split()[0] in _POSSESSIVE_RELATIONS and role == "o" for relation, role, _ in relations
    )
    is_worn |= kind in _CLOTHING_KINDS and any(
        relation == "on" and role == "s" and get_main_kind(other) in LIVING_KINDS
        for relation, role, other in relations
    )
    has_owner = before == "'s" and any(
        other.span.end_token <= slot.span.first_token
        for other in case.presuppositions.objects
        if other is not slot
    )
    return is_part or is_worn or has_owner or kind in _PART_KINDS


def _extend_compound(case: EditCase, slot: Presupposition) -> Presupposition:
    """Return a slot with the whole compound of its noun: "pickup TRUCK", "tin CAN"."""
    sentence = case.sentence
    first, end = slot.span.first_token, slot.span.end_token
    while first > 1 and _continues_compound(case, first - 1, slot.word):
        first -= 1
    after = sentence.tokens[end : end + 1]
    if after and is_known_name(f"{sentence.tokens[end - 1]} {after[0]}") and after[0] not in ("is", "are"):
        end += 1
    if (first, end) == (slot.span.first_token, slot.span.end_token):
        return slot
    span = sentence.make_span(first, end)
    return replace(
        slot, span=span, word=sentence.get_text(span).lower(), phrase_start=min(first, slot.phrase_start)
    )


def _continues_compound(case: EditCase, index: int, noun: str) -> bool:
    """Return whether the word at a token and a noun after it belong to one compound."""
    sentence, word = case.sentence, case.sentence.tokens[index]
    if (
        index + 1 < len(sentence.tokens)
        and not sentence.get_tag(index + 1)
        and sentence.tokens[index + 1].isalpha()
    ):
        # The next token belongs to a name of several words that begins earlier ("stop SIGN").
        return True
    if _is_attribute_word(word) or not word.isalpha() or word in DETERMINERS | (FRAME_WORDS - {"name"}):
        return False
    tag = sentence.get_tag(index)
    return (
        tag.startswith("NN")
        or not tag
        or is_known_name(f"{word} {noun}")
        or (tag == "JJ" and is_known_name(word))
    )


def _is_replaceable(case: EditCase, slot: Presupposition) -> bool:
    """Return whether another word makes sense in a slot.

    Counterexamples: "the GROUP of three", "the street's NAME", "What color is the traffic LIGHT showing?", "the OTHER
    man".
    """
    sentence, span, last = case.sentence, slot.span, case.sentence.num_content_tokens - 1
    head = lemmatize(slot.word.rpartition(" ")[2])
    ends_with_verb = sentence.get_tag(last) in ("VBG", "VBN") and not sentence.is_matched(last)
    does_something = ends_with_verb and get_main_kind(slot.word) not in LIVING_KINDS
    # "The THREE-WHEELED cart": few objects are three-wheeled.
    is_special = get_main_kind(slot.word) not in LIVING_KINDS and any(
        "-" in token for token in sentence.tokens[slot.phrase_start : span.first_token]
    )
    follows_other = "other" in sentence.tokens[slot.phrase_start : span.first_token + 1]
    is_asked = (
        sentence.get_token(slot.phrase_start - 1) in ("which", "what", "whose")
        and slot.phrase_start == span.first_token
    )
    is_modifier = (
        sentence.get_tag(span.end_token).startswith("NN") and sentence.get_token(span.end_token) != "'s"
    )
    return not (
        {slot.word, head} & _IRREPLACEABLE_NAMES
        or does_something
        or "mean" in sentence.tokens
        or follows_other
        or is_special
        or is_asked
        or is_modifier
        or _is_option(case, span.first_token, span.end_token)
        or is_fixed_expression(slot, case)
    )


def _is_option(case: EditCase, first: int, end: int) -> bool:
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


def _swap_object(case: EditCase, slot: Presupposition) -> Swap | None:
    """Swap an object for one that the image does not show; None if no object fits."""
    replacements, table = case.replacements, case.replacements.object_table
    constraints = collect_constraints(case, slot, ())
    is_plural = detect_number(case.sentence, slot) == "plural"
    absent = case.absence_probabilities
    absent = np.where(absent < 1 - MAX_PRESENCE, 0, absent)
    for names in _list_replacements(case, slot, constraints):
        if names & {*_ROLES, *_UNIFORMED_ROLES}:
            return _swap_for_role(case, slot, names, is_plural)
        numbers = find_possible_numbers(case.sentence, slot)
        is_person = get_main_kind(slot.word) == "person"
        frequency = (
            np.ones(len(table.names)) if is_person else (table.sampling_weights + 1e-6) ** FREQUENCY_EXPONENT
        )
        weights = frequency * table.match_listed(names)
        weights = weights * table.match_number(frozenset(numbers), None)
        if not is_person:
            known = {kin for name in _list_mentioned_names(case) for kin in find_kin(name)}
            weights = weights * absent * ~table.match_listed(frozenset(known))
            weights = weights * _match_facts(case, slot, constraints, weights)
        if is_plural:
            weights = weights * table.match_number(frozenset(("singular", "plural")), None)
        new = replacements.sample_weighted_object(
            slot.word, is_plural, constraints, weights, case.uniforms[0][1]
        )
        if new is None:
            continue
        swap = (
            Swap(slot, new, pluralize(singularize(new)))
            if is_plural and is_person
            else make_object_swap(case.sentence, slot, new, numbers, case.uniforms[0][1])
        )
        if (pronouns := _adapt_pronouns(case, slot, new)) is not None:
            return replace(swap, changes=(*swap.changes, *pronouns))
    return None


def _swap_for_role(
    case: EditCase, slot: Presupposition, roles: frozenset[str], is_plural: bool
) -> Swap | None:
    weights = dict.fromkeys(sorted(roles), 1.0)
    new = case.replacements.sample_from_weights(("object", "role"), slot.word, weights, case.uniforms[0][0])
    pronouns = _adapt_pronouns(case, slot, new) if new else None
    if not new or pronouns is None:
        return None
    swap = Swap(slot, new, pluralize(new) if is_plural else new)
    return replace(swap, changes=(*swap.changes, *pronouns))


def _match_facts(
    case: EditCase, slot: Presupposition, constraints: ObjectConstraints, weights: np.ndarray
) -> np.ndarray:
    """Return which rows of the object table fit what the question says of an object, bool [rows].

    What is said of living things counts less, because most animals can do what is said of one. Whose part something
    is must be known, except for animals.
    """
    plausibility = case.replacements.plausibility
    parts = tuple(row for row in constraints.relations if row[0] == "of" and row[1] == "o")
    is_living = get_main_kind(slot.word) in LIVING_KINDS
    fits = plausibility.score_objects(constraints) > 0
    if is_living:
        loosened = (replace(constraints, attributes=(), types=()), ObjectConstraints())
    elif parts:
        return fits & plausibility.match_unknown_facts(
            slot.word, replace(constraints, relations=parts, attributes=())
        )
    else:
        relations = tuple(
            row for row in constraints.relations if not _STRICT_WORDS.isdisjoint(row[0].split())
        )
        # Few attributes are known of most objects. But nobody asks of which wood a river is made.
        is_ground = get_main_kind(slot.word) in _GROUND_KINDS
        kept = constraints if is_ground else replace(constraints, types=(), attributes=())
        loosened = (replace(kept, relations=relations),)
    for looser in loosened:
        if not (weights * fits).any():
            fits = plausibility.score_objects(looser) > 0
    return fits


def _list_mentioned_names(case: EditCase) -> Collection[str]:
    """Return the names of objects that the questions of the image mention."""
    return {word for word in case.mentions.find_all_phrases() if is_known_name(word)}


def _list_replacements(
    case: EditCase, slot: Presupposition, constraints: ObjectConstraints
) -> Iterator[frozenset[str]]:
    """Yield sets of names that may replace an object, the better sets first."""
    name, kind = slot.word, get_main_kind(slot.word)
    setting = infer_setting(_list_mentioned_names(case))
    if kind == "person":
        yield from _list_other_people(case, slot, constraints, setting)
        return
    if kind in _GROUND_KINDS and setting == "indoors":
        return
    words = frozenset(case.sentence.tokens)
    carries = any(role == "o" and relation.split()[-1] == "on" for relation, role, _ in constraints.relations)
    parts = [other for relation, role, other in constraints.relations if (relation, role) == ("of", "o")]

    hangs = any(
        role == "s" and relation.split()[0] in _HANGING_WORDS for relation, role, _ in constraints.relations
    )
    is_worn = kind == "garment" and any(
        role == "o" and relation in ("in", "wearing") for relation, role, _ in constraints.relations
    )
    material_names = {*_MATERIALS, "wooden"}
    materials = {word for group in constraints.attributes for word in group} & material_names

    def suits(other: str) -> bool:
        return (
            suits_setting(other, setting)
            and has_parts(other, parts)
            and suits_verbs(other, name, words)
            and not (carries and carries_nothing(other))
            and not (hangs and hangs_nowhere(other))
            and not (is_worn and other not in ("dress", "skirt", "gown"))
            and all(
                case.replacements.plausibility.score_attribute(other, one, "material") for one in materials
            )
        )

    contrasts = frozenset(filter(suits, find_contrasts(name)))
    if kind in _FURNITURE_KINDS and any(
        canonicalize_relation(relation) in ("under", "below") and role == "s"
        for relation, role, _ in constraints.relations
    ):
        # Nobody asks for the bathtub under a saucer.
        contrasts &= {"piano"}
    holds_drink = any(get_main_kind(other) == "drinkable" for *_, other in constraints.relations)
    yield contrasts - {"basket", "box"} if holds_drink else contrasts
    if any(
        role == "o"
        for relation, role, _ in constraints.relations
        if relation == "of" or kind in _FURNITURE_KINDS
    ):
        return
    yield frozenset(filter(suits, find_common_contrasts(name, setting)))
    if not kind and not constraints.relations and not constraints.attributes:
        # "Where is the menu board?"
        yield frozenset(filter(suits, find_common_contrasts("window", setting)))


def _list_other_people(
    case: EditCase, slot: Presupposition, constraints: ObjectConstraints, setting: str
) -> Iterator[frozenset[str]]:
    """Yield the other sex if no such person is mentioned, and then people whom their looks distinguish."""
    name = lemmatize(slot.word)
    other = _OTHER_SEX.get(name, "")
    if other and _may_become(case, slot, other, constraints):
        yield frozenset((other,))
    lemmas = {lemmatize(word) for word in _iter_words(case)}
    roles = _UNIFORMED_ROLES if other or name in _GENERIC_PEOPLE - {"player"} else _ROLES
    if not {"occupation", "job", "profession"}.isdisjoint(case.sentence.tokens):
        return
    has_clothes = any(get_main_kind(word) in _CLOTHING_KINDS for word in case.sentence.tokens)
    avoided = _COVERED_ROLES if has_clothes else frozenset[str]()
    # Nobody takes a man for a nun.
    avoided |= {"nun"} if name not in FEMALE_NOUNS else frozenset()
    yield frozenset(
        role
        for role, names in roles.items()
        if role not in avoided and lemmas.isdisjoint((role, *names)) and suits_setting(role, setting)
    )


def _iter_words(case: EditCase) -> Iterator[str]:
    return chain.from_iterable(case.mentions.texts)


def _may_become(case: EditCase, slot: Presupposition, other: str, constraints: ObjectConstraints) -> bool:
    """Return whether the image probably shows no such person of the other sex."""
    same_sex = _WOMEN if other in FEMALE_NOUNS else _MEN
    words = {*_iter_words(case)}
    lemmas = {lemmatize(word) for word in words}
    attributes, related = _describe(case, slot)
    # What a person wears or holds tells people apart. Where they are does not.
    looks = {
        name
        for relation, role, name in constraints.relations
        if role == "s"
        and relation.split()[0] in _POSSESSIVE_RELATIONS | {"holding", "carrying", "riding"}
        and name
        # "Is the man wearing SHORTS?" asks for them.
        and name != case.program[-1].name
    }
    num_details = len(attributes) + sum(1 + bool(_find_attributes_of(case, name)) for name in looks)
    if other in FEMALE_NOUNS and not _BEARDS.isdisjoint(case.sentence.tokens):
        return False
    has_plural = any(lemmatize(word) in same_sex and word not in same_sex for word in words)
    has_generic = not lemmas.isdisjoint(_GENERIC_PEOPLE)
    if lemmas & same_sex:
        beside = frozenset[str]().union(
            *(case.mentions.find_words_beside(name) for name in same_sex & lemmas)
        )
        if get_grammatical_number(slot.word) != "singular":
            return False
        return num_details >= (2 if has_plural or has_generic else 1) and beside.isdisjoint(
            attributes | related
        )
    return num_details > 0 or (not has_generic and len(case.mentions.texts) >= MIN_TEXTS)


def _find_attributes_of(case: EditCase, name: str) -> list[str]:
    """Return the attributes that the program gives to objects of a name."""
    program = case.program
    return [
        value
        for index, operation in enumerate(program)
        if operation.verb == "filter" and program[find_root_step(program, index)].name == name
        for value in operation.values
    ]


def _adapt_pronouns(case: EditCase, slot: Presupposition, new: str) -> tuple[TokenEdit, ...] | None:
    """Return the changes of the pronouns that stand for a replaced person; None if a pronoun may stand for another."""
    sentence = case.sentence
    if get_main_kind(slot.word) not in LIVING_KINDS:
        return ()
    pronouns = [
        index
        for index, token in enumerate(sentence.tokens)
        if index >= slot.span.end_token and token in ("his", "her", "he", "she", "him")
    ]
    if not pronouns:
        return ()
    people = [other for other in case.presuppositions.objects if get_main_kind(other.word) == "person"]
    if len(people) > 1 or get_main_kind(new) != "person":
        return None
    sex = "woman" if new in FEMALE_NOUNS else "man" if new in MALE_NOUNS else ""
    forms = _PRONOUN_FORMS.get(sex, {})
    return tuple((i, forms[sentence.tokens[i]]) for i in pronouns if sentence.tokens[i] in forms)


# Colors, materials, positions and poses (PT-Hard).


def replace_color(case: EditCase) -> Swap | None:
    """Swap a color for another one that stands out and that no text of the image mentions."""
    plausibility = case.replacements.plausibility
    for slot, name in _iter_attribute_slots(case, "color"):
        kind, text = get_main_kind(name), case.sentence.get_text(slot.span).lower()
        is_hair = kind == "bodypart" or (kind == "person" and name != "clothing")
        colors = _COAT_COLORS if kind == "animal" else _HAIR_COLORS if is_hair else _BRIGHT_COLORS
        if is_hair and kind == "person" and may_show_others(case, name):
            colors = _UNUSUAL_HAIR_COLORS
        of_same = [other.word for other, its in _iter_attribute_slots(case, "color") if its == name]
        old = {part for word in (text, slot.word, *of_same) for part in word.replace("-", " ").split()}
        shaded = {color for word in old for color in _SHADE_COLORS.get(word, ()) if not is_hair}
        beside = case.mentions.find_words_beside(name) & _COLOR_NAMES
        everywhere = {*_iter_words(case)} & _COLOR_NAMES
        avoided = (
            _COMMON_COLORS.get(kind, frozenset[str]()) if may_show_others(case, name) else frozenset[str]()
        )
        distinct = [
            color
            for color, near in colors.items()
            if old.isdisjoint((color, *near))
            and beside.isdisjoint((color, *near))
            and color not in avoided | shaded
            and (kind not in _NATURAL_KINDS or is_hair or plausibility.score_attribute(name, color, "color"))
        ]
        unmentioned = [color for color in distinct if color not in everywhere]
        weights = dict.fromkeys(unmentioned or distinct, 1.0)
        color = case.replacements.sample_from_weights(
            ("attribute", "color"), slot.word, weights, case.uniforms[0][0]
        )
        if color:
            is_compound = kind == "person" and is_hair
            return Swap(slot, color, f"{color}-haired" if is_compound else color)
    return None


def _iter_attribute_slots(case: EditCase, type_: str) -> Iterator[tuple[Presupposition, str]]:
    """Yield the attributes of a type that stand in definite phrases, each with the name of its object."""
    sentence = case.sentence
    known = {slot.span.first_token: slot for slot in case.presuppositions.attributes}
    negated = {slot.span.first_token for slot in case.presuppositions.attributes if slot.is_negated}
    order = {slot.span.first_token: rank for rank, slot in enumerate(_order_by_importance(case))}
    found: list[tuple[int, int, Presupposition, str]] = []
    index = 0
    while index < sentence.num_content_tokens:
        end = _match_attribute(sentence.tokens, index, type_)
        if end == index or index in negated or _is_option(case, index, end):
            index = max(end, index + 1)
            continue
        noun = _find_described_noun(case, index, end)
        if noun is not None:
            name, at = noun
            word = sentence.get_text(sentence.make_span(index, end)).lower()
            slot = known.get(index)
            if slot is None or slot.span.end_token != end:
                slot = Presupposition("attribute", -1, 0, sentence.make_span(index, end), word, type=type_)
            if not slot.is_query_only and not _is_far_reference(case, at, name):
                found.append((order.get(at, 99), index, slot, name))
        index = end
    for _, _, slot, name in sorted(found, key=lambda row: row[:2]):
        yield slot, name


def _is_far_reference(case: EditCase, at: int, name: str) -> bool:
    """Return whether the rest of a question identifies what it asks for without an object.

    An example is the strap in "What device is next to the laptop with the black STRAP?". The clothes of people identify
    them.
    """
    distances = _measure_distances(case)
    steps = [
        slot.step
        for slot in case.presuppositions.objects
        if slot.span.first_token <= at < slot.span.end_token
    ]
    names_people = any(get_main_kind(slot.word) in LIVING_KINDS for slot in case.presuppositions.objects)
    is_far = any(distances.get(step, 0) > 1 for step in steps)
    return is_far and not names_people


def _order_by_importance(case: EditCase) -> list[Presupposition]:
    distances = _measure_distances(case)
    return sorted(
        case.presuppositions.objects, key=lambda slot: (distances.get(slot.step, 9), slot.span.first_token)
    )


def _match_attribute(tokens: Sequence[str], index: int, type_: str) -> int:
    """Return the token after the attribute of a type at a token, or the token itself."""
    token = tokens[index]
    if type_ == "color":
        if token in _SHADES and tokens[index + 1 : index + 2] and tokens[index + 1] in _COLOR_NAMES:
            return index + 2
        if (
            tokens[index + 1 : index + 2] == ("and",)
            and {token, *tokens[index + 2 : index + 3]} <= _COLOR_NAMES
        ):
            # "The red and white blanket" gets one color.
            return index + 3
        is_color = token in _COLOR_NAMES or token == "dark" or token.endswith("-haired")
        return index + (is_color and tokens[index + 1 : index + 2] != ("one",))
    values = _MATERIALS if type_ == "material" else _PATTERNS
    names = {*values, *chain.from_iterable(values.values())}
    return index + (token in names)


def _is_attribute_word(token: str) -> bool:
    return bool(get_attribute_type(token)) or token in _COLOR_NAMES


def _find_described_noun(case: EditCase, index: int, end: int) -> tuple[str, int] | None:
    """Return the noun that an attribute describes in a definite phrase, with its token; None if there is none.

    In "the woman in RED", the attribute describes her clothes.
    """
    sentence = case.sentence
    tokens, last = sentence.tokens, sentence.num_content_tokens
    at = end
    while at < last and (
        _is_attribute_word(tokens[at])
        or tokens[at] == "and"
        or sentence.get_tag(at).startswith(("JJ", "VBN"))
    ):
        at += 1
    while (
        at + 1 < last
        and sentence.get_tag(at).startswith("NN")
        # The later words of a name of several words have no tag ("street SIGN").
        and (
            sentence.get_tag(at + 1).startswith("NN")
            or (not sentence.get_tag(at + 1) and tokens[at + 1].isalpha())
        )
    ):
        at += 1
    word = tokens[at] if at < last and tokens[at] not in _PREPOSITION_WORDS else ""
    if (
        word
        and sentence.get_tag(at).startswith("NN")
        and (word not in FRAME_WORDS or (word == "top" and tokens[at + 1] != "of"))
    ):
        start = find_phrase_start(sentence, index)
        starts = {
            tokens[start],
            tokens[max(index - 1, 0)],
            *tokens[max(index - 5, 0) : index],
        } & DEFINITE_DETERMINERS
        is_definite = bool(starts) and not {"a", "an", "is", "are", "or"} & {
            *tokens[_last_definite(tokens, index) : index]
        }
        return (word, at) if is_definite else None
    if tokens[max(index - 1, 0)] == "in" and at == end and index >= 3:
        person = tokens[index - 2]
        if get_main_kind(person) == "person" and tokens[index - 3] not in ("a", "an"):
            return "clothing", index - 2
    return None


def _last_definite(tokens: Sequence[str], index: int) -> int:
    return max((i for i in range(index) if tokens[i] in DEFINITE_DETERMINERS), default=0)


def replace_material_or_pattern(case: EditCase) -> Swap | None:
    """Swap a material or a pattern for one that nobody confuses with it."""
    for type_, values in (("material", _MATERIALS), ("pattern", _PATTERNS)):
        for slot, name in _iter_attribute_slots(case, type_):
            old = {slot.word, *case.sentence.get_text(slot.span).lower().split()}
            beside = case.mentions.find_words_beside(name)
            new = {
                value: 1.0
                for value, near in values.items()
                if old.isdisjoint((value, *near))
                and beside.isdisjoint((value, *near))
                and case.replacements.plausibility.score_attribute(name, value, type_)
                and get_main_kind(name) in _MATERIAL_KINDS.get(value, (get_main_kind(name),))
                # A "glass shelf" may be a shelf for glasses.
                and not (value == "glass" and get_main_kind(name) == "storage")
            }
            if may_show_others(case, name) and type_ == "material":
                continue
            value = case.replacements.sample_from_weights(
                ("attribute", type_), slot.word, new, case.uniforms[0][0]
            )
            if value:
                return Swap(slot, value, {"wood": "wooden"}.get(value, value))
    return None


def replace_state(case: EditCase) -> Swap | None:
    """Swap a state ("open") of the only object of its name for the opposite, or a common state for a rare one."""
    for slot in case.presuppositions.attributes:
        name = case.program[slot.object_step].name if slot.object_step >= 0 else ""
        new = _RARE_STATES.get(get_main_kind(name), {}).get(slot.word, "") if name else ""
        is_presupposed = not (slot.is_query_only or slot.is_negated)
        if new and is_presupposed and new not in {*_iter_words(case)}:
            return Swap(slot, new, new)
    for slot in case.presuppositions.attributes:
        new = _OPPOSITE_STATES.get(slot.word)
        name = case.program[slot.object_step].name if slot.object_step >= 0 else ""
        is_sure = name and not (slot.is_query_only or slot.is_negated or may_show_others(case, name))
        if new and is_sure and not _is_option(case, slot.span.first_token, slot.span.end_token):
            return Swap(slot, new, new)
    return None


def swap_position(case: EditCase) -> Swap | None:
    """Swap a position or a relation of the only object of its name for the opposite ("on the LEFT")."""
    sentence, tokens = case.sentence, case.sentence.tokens
    for slot in case.presuppositions.relations:
        name, first = case.program[slot.object_step].name, slot.span.first_token
        is_position = slot.type in POSITION_TYPES
        is_main = not _measure_distances(case).get(slot.object_step, 9)
        is_vertical = slot.word.split()[-1:] in (["above"], ["below"])
        is_flippable = is_position or (
            is_main and (slot.word in LEFT_RIGHT_RELATIONS or is_vertical or slot.word in _SIDES)
        )
        places = [i for i, token in enumerate(tokens) if token in _PLACE_WORDS]
        # "At the bottom right" is one position.
        is_single = len(places) == 1 or (len(places) == 2 and places[1] == places[0] + 1)
        is_certain = name.strip("_") and not (
            get_main_kind(name) in _GROUND_KINDS
            or may_show_others(case, name, _NUMEROUS_KINDS - _VEHICLE_KINDS)
            or find_queried_step(case.program) == slot.object_step
            or name in _IRREPLACEABLE_NAMES
        )
        if (
            slot.is_query_only
            or slot.is_negated
            or "or" in tokens
            or not (is_flippable and is_single and is_certain)
        ):
            continue
        if slot.word == "middle" and tokens[first - 2 : first] == ("in", "the"):
            side = ("left", "right")[case.uniforms[0][0] < 0.5]
            return Swap(replace(slot, span=sentence.make_span(first - 2, first + 1)), side, f"on the {side}")
        if new := _SIDES.get(slot.word, "") if get_main_kind(name) in _FURNITURE_KINDS | _SMALL_KINDS else "":
            return Swap(slot, new, new)
        swap = swap_for_antonym(slot, sentence)
        if swap.new and swap.text:
            return swap
    return None


def put_under(case: EditCase) -> Swap | None:
    """Swap "on" for "under" where a small object lies on another one, and "around" for "on top of" for seats."""
    for slot in case.presuppositions.relations:
        operation = case.program[slot.step]
        words = slot.word.split()
        if (
            slot.is_query_only
            or slot.is_negated
            or operation.verb != "relate"
            or not operation.name.strip("_")
        ):
            continue
        other = case.program[find_root_step(case.program, operation.inputs[0])].name
        kind, other_kind = get_main_kind(operation.name), get_main_kind(other)
        if words == ["around"] and kind == "seat" and other_kind == "tabletop":
            return Swap(slot, "on top of", "on top of")
        is_small = kind in _SMALL_KINDS and other_kind in ("dish", "tabletop", "linen", "seat", "paper")
        is_cover = kind == "linen" and other_kind == "seat"
        lies = words == ["on"] or (
            len(words) == 2 and words[0] in _LYING_WORDS and words[1] in ("on", "across", "over")
        )
        if lies and (is_small or is_cover) and not may_show_others(case, operation.name):
            new = "under" if words == ["on"] else "lying under"
            return Swap(slot, new, new)
    return None


def replace_pose(case: EditCase) -> Swap | None:
    """Swap what a described person does for a rare pose: "the shirt of the man WALKING along the curb"."""
    sentence, tokens = case.sentence, case.sentence.tokens
    last = sentence.num_content_tokens
    asks_for_property = not {"color", "colour", "shape", "pattern", "size"}.isdisjoint(tokens[:4])
    mentioned = {get_present_participle(word) for word in _iter_words(case)}
    for index in range(3, last):
        noun, verb = tokens[index - 1], tokens[index]
        is_described = verb in _POSES and get_main_kind(noun) == "person" and index + 1 < last
        # In "What is the man STANDING on?", the verb is what the question asks about.
        has_predicate = asks_for_property or any(tokens[i].endswith("ing") for i in range(index + 1, last))
        start = find_phrase_start(sentence, index - 1)
        if is_described and has_predicate and tokens[start] in DEFINITE_DETERMINERS:
            weights = dict.fromkeys(sorted(_RARE_POSES - {verb} - mentioned), 1.0)
            new = case.replacements.sample_from_weights(
                ("attribute", "pose"), verb, weights, case.uniforms[0][0]
            )
            if new:
                span = sentence.make_span(index, index + 1)
                return Swap(Presupposition("attribute", -1, 0, span, verb, type="pose"), new, new)
    return None


Editor = Callable[[EditCase], Swap | None]
# Subset -> the reason that is reported if no edit is possible, and the edits, the best first.
_EDITORS: dict[Subset, tuple[str, tuple[Editor, ...]]] = {
    "pt-easy": ("no other object fits", (replace_main_object,)),
    "pt-hard": (
        "no other attribute or relation fits",
        (replace_color, replace_material_or_pattern, replace_state, swap_position, put_under, replace_pose),
    ),
}
