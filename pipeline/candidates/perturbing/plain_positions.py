"""Replace positions, spatial relations and poses in plain questions (PT-Hard)."""

from __future__ import annotations

from dataclasses import replace

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plain_context import (
    FURNITURE_KINDS,
    GROUND_KINDS,
    IRREPLACEABLE_NAMES,
    SMALL_KINDS,
    iter_words,
    may_show_others,
    measure_distances,
)
from pipeline.candidates.perturbing.surface_realization import Swap, swap_for_antonym
from pipeline.language.functional_programs import POSITION_TYPES, find_root_step
from pipeline.language.noun_phrases import find_phrase_start
from pipeline.language.object_taxonomy import get_main_kind
from pipeline.language.presuppositions import Presupposition, find_queried_step
from pipeline.language.relations import LEFT_RIGHT_RELATIONS
from pipeline.language.tagger import get_present_participle
from pipeline.language.word_lists import DEFINITE_DETERMINERS, parse_words

# What covers or lies on furniture, and may lie under it.
LYING_WORDS = parse_words("lying, laid, spread, draped, folded, placed, resting, sitting, thrown")
_SIDES = {"on the left side of": "on the right side of", "on the right side of": "on the left side of"}
_VEHICLE_ACTIONS = parse_words("riding, pushing, pulling, driving")
_RIDDEN_KINDS = parse_words("bike, vehicle, car")
_FRONT_AND_BACK = {"in front of": "behind", "behind": "in front of"}
# They are behind something from any side.
_FIXED_KINDS = parse_words(
    "person, building, opening, upright, tree, flora, sky, light, marking, bodypart, garment"
)
_STANDING_KINDS = parse_words("receptacle, device, baggage, paper")
_PLACE_WORDS = parse_words("left, right, top, bottom, above, below, middle, center, centre")
# What people do in many photographs, and poses that few photographs show and no other pose resembles.
_POSES = parse_words("standing, walking, sitting, leaning, running, waiting, posing")
_RARE_POSES = parse_words("kneeling, lying, jumping")


def swap_position(case: EditCase) -> Swap | None:
    """Swap a position or a relation of the only object of its name for the opposite ("on the LEFT")."""
    sentence, tokens = case.sentence, case.sentence.tokens
    for slot in case.presuppositions.relations:
        name, first = case.program[slot.object_step].name, slot.span.first_token
        is_position = slot.type in POSITION_TYPES
        is_main = not measure_distances(case).get(slot.object_step, 9)
        is_vertical = slot.word.split()[-1:] in (["above"], ["below"])
        is_flippable = is_position or (
            is_main and (slot.word in LEFT_RIGHT_RELATIONS or is_vertical or slot.word in _SIDES)
        )
        places = [i for i, token in enumerate(tokens) if token in _PLACE_WORDS]
        # "At the bottom right" is one position.
        is_single = len(places) == 1 or (len(places) == 2 and places[1] == places[0] + 1)
        is_certain = name.strip("_") and not (
            get_main_kind(name) in GROUND_KINDS
            or may_show_others(case, name)
            or find_queried_step(case.program) == slot.object_step
            or name in IRREPLACEABLE_NAMES
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
        if new := _SIDES.get(slot.word, "") if get_main_kind(name) in FURNITURE_KINDS | SMALL_KINDS else "":
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
        lies = words in (["on"], ["on", "top", "of"]) or (
            len(words) == 2 and words[0] in LYING_WORDS and words[1] in ("on", "across", "over")
        )
        if lies and may_be_under(kind, other_kind) and not may_show_others(case, operation.name):
            new = "under" if words[0] == "on" else "lying under"
            return Swap(slot, new, new)
    return None


def may_be_under(kind: str, other_kind: str) -> bool:
    """Return whether an object of a kind may lie under an object of another kind instead of on it."""
    is_small = kind in SMALL_KINDS | _STANDING_KINDS and other_kind in (
        "tabletop",
        "linen",
        "seat",
        "storage",
    )
    return is_small or (kind == "linen" and other_kind == "seat")


def replace_action(case: EditCase) -> Swap | None:
    """Swap what a described person does with a vehicle for a rare action: "the cap of the man PUSHING the cart"."""
    sentence, tokens = case.sentence, case.sentence.tokens
    for index in range(3, sentence.num_content_tokens - 2):
        is_action = tokens[index] in _VEHICLE_ACTIONS and tokens[index + 1] in DEFINITE_DETERMINERS
        vehicle = tokens[index + 2]
        is_described = (
            get_main_kind(tokens[index - 1]) == "person" and tokens[index - 2] in DEFINITE_DETERMINERS
        )
        if is_action and is_described and get_main_kind(vehicle) in _RIDDEN_KINDS and "or" not in tokens:
            span = sentence.make_span(index, index + 1)
            slot = Presupposition("attribute", -1, 0, span, tokens[index], type="activity")
            return Swap(slot, "repairing", "repairing")
    return None


def swap_front_and_back(case: EditCase) -> Swap | None:
    """Swap "in front of" and "behind" for the only object of its name: "the rug BEHIND the armchair"."""
    if "or" in case.sentence.tokens:
        return None
    for slot in case.presuppositions.relations:
        name = case.program[slot.object_step].name
        is_main = not measure_distances(case).get(slot.object_step, 9)
        is_certain = name.strip("_") and not (
            get_main_kind(name) in GROUND_KINDS | _FIXED_KINDS
            or may_show_others(case, name)
            or find_queried_step(case.program) == slot.object_step
            or name in IRREPLACEABLE_NAMES
        )
        new = _FRONT_AND_BACK.get(slot.word)
        if new and is_main and is_certain and not (slot.is_query_only or slot.is_negated):
            return Swap(slot, new, new)
    return None


def replace_pose(case: EditCase) -> Swap | None:
    """Swap what a described person does for a rare pose: "the shirt of the man WALKING along the curb"."""
    sentence, tokens = case.sentence, case.sentence.tokens
    last = sentence.num_content_tokens
    asks_for_property = not {"color", "colour", "shape", "pattern", "size"}.isdisjoint(tokens[:4])
    mentioned = {get_present_participle(word) for word in iter_words(case)}
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
