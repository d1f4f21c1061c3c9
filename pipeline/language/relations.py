"""Look up which relations and attributes are equivalent, opposite or mutually exclusive."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from pipeline.core.jsonl_index import group_by
from pipeline.language.word_lists import parse_groups, parse_headed_groups, parse_words

# The prepositions of questions. The longest preposition is matched first: "to the left of" before "left".
PREPOSITIONS = parse_words("""
to the left of, to the right of, on the left side of, on the right side of, in front of, on top of, on the side of,
in the middle of, in the center of, in between, close to, next to, inside of, outside of, out of, left of, right of,
behind of, about, above, across, against, along, around, at, atop, behind, below, beneath, beside, between, by,
from, in, inside, into, near, of, off, on, onto, outside, over, through, to, toward, towards, under, underneath,
with
""")

# Pairs of opposite relations that are also inverse to each other: if A is left of B, then B is right of A.
_OPPOSITE_DIRECTIONS = """
to the left of, to the right of; left of, right of; on the left side of, on the right side of; left, right
above, below; top, bottom; in front of, behind
"""
# Pairs of opposite relations that are not inverse: if a cup is on a table, nobody says that the table is
# under the cup.
_OPPOSITE_CONTACTS = "on, under; on top of, underneath; atop, beneath; inside, outside"


def _parse_symmetric_pairs(table: str) -> list[tuple[str, str]]:
    return [pair for one, other in parse_groups(table) for pair in ((one, other), (other, one))]


# Relation of A to B -> relation of B to A.
INVERSES = dict(_parse_symmetric_pairs(_OPPOSITE_DIRECTIONS)) | {"near": "near"}
ANTONYMS = dict(_parse_symmetric_pairs(_OPPOSITE_DIRECTIONS) + _parse_symmetric_pairs(_OPPOSITE_CONTACTS))
# One of these two relations holds for nearly every pair of objects in an image.
LEFT_RIGHT_RELATIONS = frozenset(("to the left of", "to the right of"))
# Nearly every object in an image has one of these relations to some other object.
DIRECTIONAL_RELATIONS = LEFT_RIGHT_RELATIONS | {"in front of", "behind"}
# Relation -> the canonical relation that stands for the relation and its synonyms.
_CANONICAL_RELATIONS = parse_headed_groups("""
left of: to the left of; right of: to the right of; next to, beside, by, close to: near; inside, inside of: in
on top of, atop: on; underneath, beneath: under; wears: wearing; holds: holding
""")

# Relation -> further relations between the same two objects that it excludes, besides its opposite. An object
# on a table is not behind the table, but an object to the left of the table may also be behind the table.
# Nothing excludes "near".
_EXCLUDED_RELATIONS = parse_headed_groups("""
on, on top of, under, underneath, in: behind, in front of, to the left of, to the right of
atop, beneath, inside: behind, in front of
in front of, behind, to the left of, to the right of: on, in, under, on top of, underneath
above: under, underneath
below: on, on top of
""")

# Verbs that can be combined with several prepositions: one can sit on something and under something. "Riding
# under" has no meaning, so "riding" is not one of these verbs.
_POSTURE_VERBS = ("sitting", "standing", "lying", "resting", "parked", "walking", "kneeling", "hanging")

# Attributes and activities that exclude each other in the judgment of the authors of this project. The tables
# contain only pairs that the types and choices of GQA do not show. For example, "comfortable" has no type in
# GQA. A person may have several activities at the same time, but nobody plays and sleeps at the same time.
_OPPOSITE_ATTRIBUTES = """
comfortable, uncomfortable; ripe, unripe; covered, uncovered; full, empty; curly, straight; patterned, plain
folded, unfolded; smiling, frowning; sliced, whole; cut, whole; thick, thin; long, short; fat, thin; heavy, thin
happy, sad; baby, adult; bright, dark; colorful, plain; rounded, square; parked, moving; striped, plain; cooked, raw
peeled, unpeeled; lit, unlit; painted, unpainted; shiny, dull; calm, wavy; crowded, empty; leafy, leafless
bald, hairy; light, dark; sturdy, broken; stacked, scattered; framed, unframed; messy, tidy
"""
_EXCLUDED_ACTIVITIES = """
playing: sleeping, resting; waiting: running, jumping; riding: walking, swimming; skiing: surfing, skateboarding
sleeping: running, playing; running: sleeping, sitting; kneeling: standing, running
"""

_OPPOSITES_BY_ATTRIBUTE = group_by(_parse_symmetric_pairs(_OPPOSITE_ATTRIBUTES), itemgetter(0))
_EXCLUDED_BY_ATTRIBUTE = {
    attribute: tuple(other for _, other in pairs) for attribute, pairs in _OPPOSITES_BY_ATTRIBUTE.items()
} | parse_headed_groups(_EXCLUDED_ACTIVITIES)

# Frequent places in GQA's scene graphs.
_INDOOR_PLACES = parse_words("""
indoors, bathroom, bedroom, classroom, dining room, hospital, hotel room, kitchen, library, living room, mall,
office, restaurant, shop, store, supermarket
""")
_OUTDOOR_PLACES = parse_words("""
outdoors, beach, city, farm, field, forest, harbor, highway, lake, mountain, ocean, park, pasture, river, road,
sidewalk, street, town, yard, zoo
""")


def canonicalize_relation(name: str) -> str:
    """Return the canonical relation that stands for a relation and its synonyms.

    >>> canonicalize_relation("beside"), canonicalize_relation("wearing")
    ('near', 'wearing')
    """
    return _CANONICAL_RELATIONS.get(name, (name,))[0]


def get_implied_relation(name: str) -> str:
    """Return the more general relation that a relation implies; "" if the relation implies none.

    >>> get_implied_relation("sitting on"), get_implied_relation("looking at")
    ('on', '')
    """
    verb, _, preposition = name.rpartition(" ")
    implies_more = verb.endswith("ing") and preposition in ("on", "in", "under", "near", "behind")
    return preposition if implies_more else ""


def extract_spatial_relation(relation: str) -> str:
    """Return the preposition of a relation if only the preposition has an opposite; return the relation
    otherwise.

    >>> extract_spatial_relation("sitting on"), extract_spatial_relation("wearing")
    ('on', 'wearing')
    """
    preposition = relation.partition(" ")[2]
    return preposition if relation not in ANTONYMS and preposition in ANTONYMS else relation


def get_antonym(relation: str) -> str | None:
    """Return the opposite of a spatial relation; None if the relation has no opposite.

    >>> get_antonym("in front of"), get_antonym("sitting on"), get_antonym("wearing")
    ('behind', 'sitting under', None)
    """
    if relation in ANTONYMS:
        return ANTONYMS[relation]
    verb, _, preposition = relation.partition(" ")
    return f"{verb} {ANTONYMS[preposition]}" if verb in _POSTURE_VERBS and preposition in ANTONYMS else None


def get_excluded_relations(relation: str) -> tuple[str, ...]:
    """Return the relations and positions that a relation between two objects excludes, the opposite first.

    >>> get_excluded_relations("sitting above"), get_excluded_relations("near")
    (('sitting below', 'sitting under', 'sitting underneath'), ())
    """
    verb, space, preposition = relation.partition(" ")
    if relation in ANTONYMS or relation in _EXCLUDED_RELATIONS:
        verb, space, preposition = "", "", relation
    elif verb not in _POSTURE_VERBS:
        return ()
    opposite = (ANTONYMS[preposition],) if preposition in ANTONYMS else ()
    return tuple(f"{verb}{space}{other}" for other in (*opposite, *_EXCLUDED_RELATIONS.get(preposition, ())))


def get_excluded_attributes(attribute: str) -> tuple[str, ...]:
    """Return the attributes and activities that an attribute or activity excludes; () if none are known.

    >>> get_excluded_attributes("ripe"), get_excluded_attributes("playing")
    (('unripe',), ('sleeping', 'resting'))
    """
    return _EXCLUDED_BY_ATTRIBUTE.get(attribute, ())


def infer_location(scene: Mapping[str, str]) -> str:
    """Return whether a scene is "indoors" or "outdoors"; "" if the place and the weather do not show this.

    Args:
        scene: Type ("place", "weather") -> value in the scene.

    >>> infer_location({"place": "kitchen"}), infer_location({"weather": "sunny"}), infer_location({})
    ('indoors', 'outdoors', '')
    """
    place = scene.get("place", "")
    if place in _INDOOR_PLACES:
        return "indoors"
    return "outdoors" if place in _OUTDOOR_PLACES or scene.get("weather") else ""
