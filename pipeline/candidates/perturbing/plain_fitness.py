"""Decide whether an object fits where a plain question names another one.

Each rule stands against edits that readers found absurd ("the umbrella worn by the man"), or that described what the
photograph shows all the same ("the black basket" for a black pot).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pipeline.candidates.perturbing.contrasts import (
    carries_nothing,
    hangs_nowhere,
    has_parts,
    is_listed_part,
    suits_setting,
    suits_verbs,
)
from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plain_context import (
    CLOTHING_KINDS,
    CONSUMABLE_KINDS,
    FURNITURE_KINDS,
    GROUND_KINDS,
    SMALL_KINDS,
    iter_words,
)
from pipeline.candidates.perturbing.plausibility import ObjectConstraints
from pipeline.language.nouns import lemmatize
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition
from pipeline.language.text_phrases import get_attribute_type
from pipeline.language.word_lists import parse_words

# An object has an attribute of these types if the vocabulary lists it about as often as chance or more often.
_DISTINCTIVE_TYPES = frozenset(("material", "shape"))
_METALLIC_COLORS = frozenset(("silver", "gold", "golden"))
MIN_ATTRIBUTE_SCORE = 0.9

_WEARING_WORDS = parse_words("worn, wearing, wear, wears")
_HANGING_WORDS = parse_words("hanging, hangs, hang, hung")
_FASTENED_NAMES = parse_words("balloon, lantern, bell, kite, teddy bear")
_INSCRIPTION_WORDS = parse_words(
    "written, printed, logo, word, words, say, says, letter, letters, inscription, brand"
)
_INSCRIBED_NAMES = parse_words(
    "bus, train, truck, car, boat, airplane, tent, suitcase, umbrella, balloon, surfboard, skateboard, box, bottle, dress, scarf, cowboy hat, kite, guitar, tractor, motorcycle, bicycle, radio, cat, dog, horse"
)
_SIDED_NAMES = parse_words("box, umbrella, tent, kite")
# What is below something else carries or covers it. What is around something else fits its size.
_BELOW_WORDS = frozenset(("under", "underneath", "beneath"))
_SUPPORTING_WORDS = parse_words("under, below, beneath, underneath, around")
# What is joined to a part of a device, or closed with a cork, is made for it.
_JOINING_WORDS = parse_words(
    "connect, connects, connected, connecting, joins, joined, linked, plugged, closed, sealed, covered, filled, full, fastened, screwed"
)
_JOINT_PREPOSITIONS = frozenset(("to", "with", "by", "into"))
_CONTENT_WORDS = parse_words("brim, filled, fill, poured, liquid, drink, beverage")
# They are made of one material, or nobody asks of which.
_MATERIAL_QUERY_WORDS = parse_words("made, material")
_OF_OBVIOUS_MATERIAL = parse_words(
    "piano, refrigerator, oven, microwave, fireplace, aquarium, toaster, laptop, bicycle, motorcycle, train, bus, car, truck, teddy bear, guitar, windmill, stroller, tractor, helicopter, airplane, umbrella, pillow, fan"
)
# These are brown, but are not made of visible wood, or are seldom called wooden.
_NEVER_WOODEN = parse_words("fireplace, umbrella, suitcase, teddy bear, basket, bathtub, refrigerator, tent")
_SIGN_KINDS = frozenset(("sign", "marking"))
VESSEL_KINDS = frozenset(("dish", "receptacle"))
# Vessels that are hard to confuse with others. Nobody calls a cup a bottle, but a glass may be called one.
_DRINKING_VESSELS = frozenset(("bottle", "teapot"))
_CONTRASTING_CONTAINERS = frozenset(("teapot", "frying pan"))
_CUPS = parse_words("cup, mug, bowl")
# What lies on a plate may lie on these.
_FLAT_NAMES = parse_words("book, frisbee, laptop")
# Nothing lies on top of these.
_VESSELS_WITHOUT_TOP = parse_words("teapot, bottle, bucket, basket, vase, teddy bear")
# They stand alone.
_SINGLE_NAMES = parse_words(
    "oven, refrigerator, bathtub, piano, fireplace, aquarium, fountain, windmill, bridge, train, river, lake, microwave"
)
# Nothing small stands where they might stand.
_LARGE_NAMES = parse_words("tent, boat, tractor, statue, helicopter, stroller, bicycle")
_CARRIED_KINDS = parse_words("dish, cutlery, paper")
_PORTABLE_KINDS = parse_words("paper, linen, device, instrument, marking")
# Rooms are recognized by what they hold: a bathtub stands in bathrooms only.
_ROOM_WORDS = {
    "bathtub": parse_words("bathroom, toilet, shower, sink, towel, bathmat"),
    "oven": parse_words("kitchen, stove, sink, faucet, fridge, refrigerator, cabinet, countertop"),
    "refrigerator": parse_words("kitchen, stove, sink, faucet, oven, cabinet, countertop"),
}
_ROADS = parse_words("road, street, sidewalk, pavement, track, lane, highway, curb, path, driveway")
_BANKS = frozenset(("river", "lake"))
_BOUNDARY_WORDS = parse_words("side, sides, along, edge, edges, beside, behind, line, lines, beyond, border")
# Nobody asks for the color of the snow, or of what is painted on it.
_GROUND_QUERY_WORDS = parse_words(
    "color, colour, material, made, shape, pattern, surface, cast, painted, driving, drives, parked, vehicle, covered"
)
_FRAMING_WORDS = frozenset(("front", "behind", "beside", "next", "left", "right", "near"))
_LANDMARKS = parse_words("statue, fountain, bridge, windmill")
_POST_SUBSTITUTES = parse_words("statue, fountain")
_LIGHT_NAMES = parse_words("lantern, balloon, kite, umbrella")
# These animals neither stand nor lie down visibly.
_POSTURE_WORDS = parse_words("standing, lying, sitting, jumping")
# Where they sit, few larger animals do.
_INSECTS = parse_words(
    "bee, butterfly, insect, spider, bug, fly, ladybug, moth, dragonfly, beetle, wasp, ant"
)
_WITHOUT_POSTURE = parse_words("frog, turtle, owl, duck, penguin, bee, butterfly, snake, fish, bird, insect")


@dataclass(frozen=True)
class Fitness:
    """What a question says of an object that may be replaced.

    Attributes:
        case: The question.
        slot: The object.
        constraints: What the question says of the object.
        setting: "indoors", "outdoors" or "".
        is_plural: Whether the question names several such objects.
    """

    case: EditCase
    slot: Presupposition
    constraints: ObjectConstraints
    setting: str
    is_plural: bool

    def suits(self, other: str) -> bool:
        """Return whether the question makes sense with another object, which readers do not confuse with it."""
        return (
            suits_setting(other, self.setting)
            and has_parts(other, self._parts)
            and suits_verbs(other, self.slot.word, self._words)
            and self._suits_attributes(other)
            and self._suits_relations(other)
            and self._suits_query(other)
            and self._suits_place(other)
        )

    @cached_property
    def _kind(self) -> str:
        return get_main_kind(self.slot.word)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(self.case.sentence.tokens)

    @cached_property
    def _parts(self) -> list[str]:
        before = self.case.sentence.tokens[max(self.slot.phrase_start - 2, 0) : self.slot.phrase_start]
        # Of "the center of the flower", the program has only the flower.
        named = [before[0]] if before[1:] == ("of",) else []
        parts = [*(name for relation, name in self._objects_of if relation == "of"), *named]
        if self._kind == "animal":
            # "Where is the animal holding its PAWS?", "the FURRY animal".
            named = [
                word for word in self._words if is_listed_part(word) and get_main_kind(word) == "bodypart"
            ]
            parts += [*named, *(["fur"] if "furry" in self._words else [])]
        # Anything edible has a top.
        return [part for part in parts if not (part == "top" and self._kind == "edible")]

    @cached_property
    def _objects_of(self) -> list[tuple[str, str]]:
        """The relations that other objects have to the object: "the cup ON THE TABLE" for the table."""
        return [(relation, name) for relation, role, name in self.constraints.relations if role == "o"]

    @cached_property
    def _own(self) -> list[tuple[str, str]]:
        """The relations of the object to others: "THE CUP on the table"."""
        return [(relation, name) for relation, role, name in self.constraints.relations if role == "s"]

    @cached_property
    def is_worn(self) -> bool:
        is_clothing = self._kind in CLOTHING_KINDS
        has_wearer = any(
            get_main_kind(name) in LIVING_KINDS for _, name in (*self._objects_of, *self._own)
        ) or any(relation in ("in", "wearing", "with") for relation, _ in self._objects_of)
        return is_clothing and (has_wearer or not _WEARING_WORDS.isdisjoint(self._words))

    @cached_property
    def is_kept(self) -> bool:
        """Whether nothing else makes sense instead of the object, but another object may replace its reference.

        Examples: "the PLATE under the dessert", "the CHAIRS around the table", "the STICKER on the camera".
        """
        supports = any(not _SUPPORTING_WORDS.isdisjoint(relation.split()) for relation, _ in self._own)
        is_small = self._kind in SMALL_KINDS | FURNITURE_KINDS | {"linen", "paper"}
        is_attached = self._is_sign and any(
            relation.split()[0] in ("on", "above", "below", "of", "under", "attached") or relation == "in"
            for relation, _ in self._own
        )
        is_held = self._kind in ("flora", "tree") and any(relation == "in" for relation, _ in self._own)
        # "The SIGN with the walking person on it", "the BUILDING above the shop", "the TOWERS around the rocket".
        shows_something = self._is_sign and "it" in self._words
        is_scenery = self._kind in ("building", "post", "upright") and any(
            not {"above", "below", "around"}.isdisjoint(relation.split()) for relation, _ in self._own
        )
        return (
            (supports and is_small)
            or is_attached
            or is_held
            or shows_something
            or is_scenery
            or self._is_joined
        )

    @cached_property
    def _is_joined(self) -> bool:
        """Whether the object is joined to something, or closed, covered or filled with it: "the BOTTLE with a cork"."""
        is_small = self._kind in SMALL_KINDS | _PORTABLE_KINDS | VESSEL_KINDS
        return (
            is_small
            and not _JOINING_WORDS.isdisjoint(self._words)
            and (
                not _JOINT_PREPOSITIONS.isdisjoint(self._words)
                # "Is the cup full?"
                or "full" in self._words
            )
        )

    @cached_property
    def _is_sign(self) -> bool:
        head = lemmatize(self.slot.word.rpartition(" ")[2])
        return (self._kind in _SIGN_KINDS and head != "flag") or head in (
            "board",
            "whiteboard",
            "blackboard",
            "chalkboard",
        )

    def _suits_attributes(self, other: str) -> bool:
        plausibility = self.case.replacements.plausibility
        # Of animals, readers take other words for jokes at most: "the golden cat".
        is_living = self._kind in LIVING_KINDS
        words = {word for group in self.constraints.attributes for word in group if not is_living}
        for word in words:
            type_ = get_attribute_type(word)
            is_distinctive = type_ in _DISTINCTIVE_TYPES or word in _METALLIC_COLORS
            if (
                is_distinctive
                and plausibility.score_attribute(other, word, type_ or "color") < MIN_ATTRIBUTE_SCORE
            ):
                return False
        if not words.isdisjoint(("wood", "wooden")) and other in _NEVER_WOODEN:
            return False
        return self._kind not in ("flora", "tree") or "green" not in words

    def _suits_relations(self, other: str) -> bool:
        carries = any(relation.split()[-1] == "on" for relation, _ in self._objects_of)
        first_words = {relation.split()[0] for relation, _ in self._own}
        hangs = not _HANGING_WORDS.isdisjoint(first_words)
        if (carries and carries_nothing(other)) or (hangs and hangs_nowhere(other)):
            return False
        if (carries or "top" in self._words) and other in _VESSELS_WITHOUT_TOP and self._objects_of:
            return False
        if carries and not self._can_carry(other):
            return False
        # What is in a cup is food or a drink.
        is_content = any(
            relation in ("in", "inside") and get_main_kind(name) in VESSEL_KINDS
            for relation, name in self._own
        )
        if is_content and self._kind in CONSUMABLE_KINDS and get_main_kind(other) not in CONSUMABLE_KINDS:
            return False
        if self.is_worn and get_main_kind(other) not in CLOTHING_KINDS:
            return False
        is_described = any(relation in ("in", "wearing") for relation, _ in self._objects_of)
        # Below a sweater, a photograph may show no skirt. So a whole dress replaces it.
        if self._kind == "garment" and is_described and other != "dress":
            return False
        if "attached" in self._words and other not in _FASTENED_NAMES:
            return False
        is_above = any(not _BELOW_WORDS.isdisjoint(relation.split()) for relation, _ in self._objects_of)
        if is_above and self._kind in FURNITURE_KINDS and other != "piano":
            return False
        if self._kind == "drapery" and hangs and other not in _LIGHT_NAMES:
            return False
        if self._kind in ("post", "upright") and self._objects_of:
            is_beside = all(
                not _FRAMING_WORDS.isdisjoint(relation.split()) for relation, _ in self._objects_of
            )
            return not self.is_plural and (is_beside or (carries and other in _POST_SUBSTITUTES))
        if self._is_sign and self._objects_of and other in _LIGHT_NAMES:
            return False
        if self._kind in ("building", "roofing") and self._objects_of:
            return other in _LANDMARKS
        return self._suits_content(other)

    def _can_carry(self, other: str) -> bool:
        """Return whether an object carries what lies on dishes or furniture."""
        # A fork lies on a napkin or on a book, but not on a guitar.
        if self._kind in _CARRIED_KINDS:
            return other in _FLAT_NAMES
        kind = get_main_kind(other)
        return self._kind not in FURNITURE_KINDS or (
            kind in FURNITURE_KINDS | {"bathware"} or other == "piano"
        )

    def _suits_content(self, other: str) -> bool:
        """Return whether a vessel is none that people may see instead."""
        tokens = self.case.sentence.tokens
        before = self.case.sentence.get_token(self.slot.phrase_start - 1)
        contains = before in ("in", "inside") or any(
            relation.split()[-1] in ("in", "inside") for relation, _ in self._objects_of
        )
        if self._kind not in VESSEL_KINDS or not contains:
            return True
        holds_drink = any(get_main_kind(name) == "drinkable" for _, name in self._objects_of) or (
            not _CONTENT_WORDS.isdisjoint(tokens)
        )
        is_cup = lemmatize(self.slot.word.rpartition(" ")[2]) in _CUPS
        if holds_drink:
            return other in (_DRINKING_VESSELS if is_cup else {"teapot"})
        return other in _CONTRASTING_CONTAINERS | ({"bottle"} if is_cup else set())

    def _suits_query(self, other: str) -> bool:
        if not _INSCRIPTION_WORDS.isdisjoint(self._words) and self._kind not in GROUND_KINDS:
            is_asked_about = not self._objects_of or any(
                relation.split()[-1] in ("on", "of", "in") for relation, _ in self._objects_of
            )
            if is_asked_about and other not in _INSCRIBED_NAMES:
                return False
        if not _MATERIAL_QUERY_WORDS.isdisjoint(self._words) and other in _OF_OBVIOUS_MATERIAL:
            return False
        if "sides" in self._words and other not in _SIDED_NAMES and self._kind not in GROUND_KINDS:
            return False
        if lemmatize(self.slot.word) in _INSECTS and "on" in self._words and other != "frog":
            return False
        return _POSTURE_WORDS.isdisjoint(self._words) or other not in _WITHOUT_POSTURE

    def _suits_place(self, other: str) -> bool:
        if self.is_plural and other in _SINGLE_NAMES:
            return False
        is_small = self._kind in (SMALL_KINDS | _PORTABLE_KINDS) - {"ball"}
        if is_small and get_main_kind(other) not in VESSEL_KINDS and other in _SINGLE_NAMES | _LARGE_NAMES:
            return False
        room = _ROOM_WORDS.get(other)
        if room is not None and room.isdisjoint(iter_words(self.case)):
            return False
        if self._kind not in GROUND_KINDS or get_main_kind(other) not in GROUND_KINDS | {"upright"}:
            return True
        if not _BOUNDARY_WORDS.isdisjoint(self._words):
            return other in _BANKS
        # Roads do not look like beaches, but both have an edge at which people stand.
        return _GROUND_QUERY_WORDS.isdisjoint(self._words) and not (
            other == "beach" and not _ROADS.isdisjoint(self.slot.word.split())
        )
