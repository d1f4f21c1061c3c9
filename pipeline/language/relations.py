"""Relations, looks and doings with what they exclude, the prepositions that a question may use, and what places are indoors."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from pipeline.core.jsonl_index import group_by
from pipeline.language.word_lists import parse_groups, parse_headed_groups, parse_words

# Where text is matched, the longest phrase wins: "to the left of" before "left".
PREPOSITIONS = parse_words("""
to the left of, to the right of, on the left side of, on the right side of, in front of, on top of, on the side of,
in the middle of, in the center of, in between, close to, next to, inside of, outside of, out of, left of, right of,
behind of, about, above, across, against, along, around, at, atop, behind, below, beneath, beside, between, by,
from, in, inside, into, near, of, off, on, onto, outside, over, through, to, toward, towards, under, underneath,
with
""")

# A is this to B: so is B the opposite to A.
_OPPOSITE_DIRECTIONS = """
to the left of, to the right of; left of, right of; on the left side of, on the right side of; left, right
above, below; top, bottom; in front of, behind
"""
# A cup is on a table, but nobody says that the table is under the cup.
_OPPOSITE_CONTACTS = "on, under; on top of, underneath; atop, beneath; inside, outside"


def _parse_symmetric_pairs(table: str) -> list[tuple[str, str]]:
    return [pair for one, other in parse_groups(table) for pair in ((one, other), (other, one))]


INVERSES = dict(_parse_symmetric_pairs(_OPPOSITE_DIRECTIONS)) | {
    "near": "near"
}  # what B is to A when A is this to B
ANTONYMS = dict(_parse_symmetric_pairs(_OPPOSITE_DIRECTIONS) + _parse_symmetric_pairs(_OPPOSITE_CONTACTS))
LEFT_RIGHT_RELATIONS = frozenset(
    ("to the left of", "to the right of")
)  # nearly all pairs of things in an image are
DIRECTIONAL_RELATIONS = LEFT_RIGHT_RELATIONS | {
    "in front of",
    "behind",
}  # nearly every thing has something there
# Also said, and the one name for it.
_CANONICAL_RELATIONS = parse_headed_groups("""
left of: to the left of; right of: to the right of; next to, beside, by, close to: near; inside, inside of: in
on top of, atop: on; underneath, beneath: under; wears: wearing; holds: holding
""")

# What besides its opposite a relation excludes, said of the same two things: what lies on a table is not behind it
# (but what is to the left of it may well be). Nothing excludes "near".
_EXCLUDED_RELATIONS = parse_headed_groups("""
on, on top of, under, underneath, in: behind, in front of, to the left of, to the right of
atop, beneath, inside: behind, in front of
in front of, behind, to the left of, to the right of: on, in, under, on top of, underneath
above: under, underneath
below: on, on top of
""")

# A posture does not depend on the preposition: who sits on may sit under. "Riding under" means nothing.
_POSTURE_VERBS = ("sitting", "standing", "lying", "resting", "parked", "walking", "kneeling", "hanging")

# Looks and doings that exclude each other, by our own judgement, where neither GQA's types nor its choices tell it:
# "comfortable" has no type, and of doings a person may have several at a time, but nobody plays asleep.
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
    look: tuple(other for _, other in pairs) for look, pairs in _OPPOSITES_BY_ATTRIBUTE.items()
} | parse_headed_groups(_EXCLUDED_ACTIVITIES)

# Common names of places in GQA's graphs.
_INDOOR_PLACES = parse_words("""
indoors, bathroom, bedroom, classroom, dining room, hospital, hotel room, kitchen, library, living room, mall,
office, restaurant, shop, store, supermarket
""")
_OUTDOOR_PLACES = parse_words("""
outdoors, beach, city, farm, field, forest, harbor, highway, lake, mountain, ocean, park, pasture, river, road,
sidewalk, street, town, yard, zoo
""")


def canonicalize_relation(name: str) -> str:
    """One name for relations that say the same: `beside` -> near."""
    return _CANONICAL_RELATIONS.get(name, (name,))[0]


def get_implied_relation(name: str) -> str:
    """What a relation says besides itself: who is `sitting on` a chair is on it. "" for nothing."""
    verb, _, preposition = name.rpartition(" ")
    says_more = verb.endswith("ing") and preposition in ("on", "in", "under", "near", "behind")
    return preposition if says_more else ""


def extract_spatial_relation(relation: str) -> str:
    """The part of a relation that has an opposite.

    >>> extract_spatial_relation("sitting on"), extract_spatial_relation("wearing")
    ('on', 'wearing')
    """
    preposition = relation.partition(" ")[2]
    return preposition if relation not in ANTONYMS and preposition in ANTONYMS else relation


def get_antonym(relation: str) -> str | None:
    """The opposite of a spatial relation, or None if it has none.

    >>> get_antonym("in front of"), get_antonym("sitting on"), get_antonym("wearing")
    ('behind', 'sitting under', None)
    """
    if relation in ANTONYMS:
        return ANTONYMS[relation]
    verb, _, preposition = relation.partition(" ")
    return f"{verb} {ANTONYMS[preposition]}" if verb in _POSTURE_VERBS and preposition in ANTONYMS else None


def get_excluded_relations(relation: str) -> tuple[str, ...]:
    """The relations and positions that are false of two things where this one is true, the opposite first.

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
    """The looks or doings that a thing of this look cannot have as well; () where none is known.

    >>> get_excluded_attributes("ripe"), get_excluded_attributes("playing")
    (('unripe',), ('sleeping', 'resting'))
    """
    return _EXCLUDED_BY_ATTRIBUTE.get(attribute, ())


def infer_location(scene: Mapping[str, str]) -> str:
    """Whether a scene is "indoors" or "outdoors", by its place or its weather; "" when they do not tell."""
    place = scene.get("place", "")
    if place in _INDOOR_PLACES:
        return "indoors"
    return "outdoors" if place in _OUTDOOR_PLACES or scene.get("weather") else ""
