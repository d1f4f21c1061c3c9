"""Relations, looks and doings with what they exclude, the prepositions that a question may use, and what places are indoors."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from pipeline.core.jsonl_index import grouped
from pipeline.language.word_lists import groups, heads, words

# Where text is matched, the longest phrase wins: "to the left of" before "left".
PREPOSITIONS = words("""
to the left of, to the right of, on the left side of, on the right side of, in front of, on top of, on the side of,
in the middle of, in the center of, in between, close to, next to, inside of, outside of, out of, left of, right of,
behind of, about, above, across, against, along, around, at, atop, behind, below, beneath, beside, between, by,
from, in, inside, into, near, of, off, on, onto, outside, over, through, to, toward, towards, under, underneath,
with
""")

# A is this to B: so is B the opposite to A.
_DIRECTIONS = """
to the left of, to the right of; left of, right of; on the left side of, on the right side of; left, right
above, below; top, bottom; in front of, behind
"""
# A cup is on a table, but nobody says that the table is under the cup.
_CONTACTS = "on, under; on top of, underneath; atop, beneath; inside, outside"


def _both_ways(table: str) -> list[tuple[str, str]]:
    return [pair for one, other in groups(table) for pair in ((one, other), (other, one))]


INVERSES = dict(_both_ways(_DIRECTIONS)) | {"near": "near"}  # what B is to A when A is this to B
ANTONYMS = dict(_both_ways(_DIRECTIONS) + _both_ways(_CONTACTS))
SIDEWAYS = frozenset(("to the left of", "to the right of"))  # nearly all pairs of things in a picture are
AROUND = SIDEWAYS | {"in front of", "behind"}  # nearly every thing has something there
# Also said, and the one name for it.
_STANDARD = heads("""
left of: to the left of; right of: to the right of; next to, beside, by, close to: near; inside, inside of: in
on top of, atop: on; underneath, beneath: under; wears: wearing; holds: holding
""")

# What besides its opposite a relation excludes, said of the same two things: what lies on a table is not behind it
# (but what is to the left of it may well be). Nothing excludes "near".
_EXCLUDES = heads("""
on, on top of, under, underneath, in: behind, in front of, to the left of, to the right of
atop, beneath, inside: behind, in front of
in front of, behind, to the left of, to the right of: on, in, under, on top of, underneath
above: under, underneath
below: on, on top of
""")

# A posture does not depend on the preposition: who sits on may sit under. "Riding under" means nothing.
_POSTURES = ("sitting", "standing", "lying", "resting", "parked", "walking", "kneeling", "hanging")

# Looks and doings that exclude each other, by our own judgement, where neither GQA's types nor its choices tell it:
# "comfortable" has no type, and of doings a person may have several at a time, but nobody plays asleep.
_LOOKS = """
comfortable, uncomfortable; ripe, unripe; covered, uncovered; full, empty; curly, straight; patterned, plain
folded, unfolded; smiling, frowning; sliced, whole; cut, whole; thick, thin; long, short; fat, thin; heavy, thin
happy, sad; baby, adult; bright, dark; colorful, plain; rounded, square; parked, moving; striped, plain; cooked, raw
peeled, unpeeled; lit, unlit; painted, unpainted; shiny, dull; calm, wavy; crowded, empty; leafy, leafless
bald, hairy; light, dark; sturdy, broken; stacked, scattered; framed, unframed; messy, tidy
"""
_DOINGS = """
playing: sleeping, resting; waiting: running, jumping; riding: walking, swimming; skiing: surfing, skateboarding
sleeping: running, playing; running: sleeping, sitting; kneeling: standing, running
"""

_BY_LOOK = grouped(_both_ways(_LOOKS), itemgetter(0))
_EXCLUDED = {look: tuple(other for _, other in pairs) for look, pairs in _BY_LOOK.items()} | heads(_DOINGS)

# Common names of places in GQA's graphs.
_INDOORS = words("""
indoors, bathroom, bedroom, classroom, dining room, hospital, hotel room, kitchen, library, living room, mall,
office, restaurant, shop, store, supermarket
""")
_OUTDOORS = words("""
outdoors, beach, city, farm, field, forest, harbor, highway, lake, mountain, ocean, park, pasture, river, road,
sidewalk, street, town, yard, zoo
""")


def plain_relation(name: str) -> str:
    """One name for relations that say the same: `beside` -> near."""
    return _STANDARD.get(name, (name,))[0]


def implied(name: str) -> str:
    """What a relation says besides itself: who is `sitting on` a chair is on it. "" for nothing."""
    verb, _, preposition = name.rpartition(" ")
    says_more = verb.endswith("ing") and preposition in ("on", "in", "under", "near", "behind")
    return preposition if says_more else ""


def spatial(relation: str) -> str:
    """The part of a relation that has an opposite.

    >>> spatial("sitting on"), spatial("to the left of"), spatial("wearing")
    ('on', 'to the left of', 'wearing')
    """
    preposition = relation.partition(" ")[2]
    return preposition if relation not in ANTONYMS and preposition in ANTONYMS else relation


def antonym(relation: str) -> str | None:
    """The opposite of a spatial relation, or None if it has none.

    >>> antonym("in front of"), antonym("sitting on"), antonym("wearing")
    ('behind', 'sitting under', None)
    """
    if relation in ANTONYMS:
        return ANTONYMS[relation]
    verb, _, preposition = relation.partition(" ")
    return f"{verb} {ANTONYMS[preposition]}" if verb in _POSTURES and preposition in ANTONYMS else None


def exclusive(relation: str) -> tuple[str, ...]:
    """The relations and positions that are false of two things where this one is true, the opposite first.

    >>> exclusive("behind"), exclusive("sitting above"), exclusive("near"), exclusive("wearing")
    (('in front of', 'on', 'in', 'under', 'on top of', 'underneath'), ('sitting below', 'sitting under', 'sitting underneath'), (), ())
    """
    verb, space, preposition = relation.partition(" ")
    if relation in ANTONYMS or relation in _EXCLUDES:
        verb, space, preposition = "", "", relation
    elif verb not in _POSTURES:
        return ()
    opposite = (ANTONYMS[preposition],) if preposition in ANTONYMS else ()
    return tuple(f"{verb}{space}{other}" for other in (*opposite, *_EXCLUDES.get(preposition, ())))


def excluded(look: str) -> tuple[str, ...]:
    """The looks or doings that a thing of this look cannot have as well; () where none is known.

    >>> excluded("ripe"), excluded("playing"), excluded("wearing")
    (('unripe',), ('sleeping', 'resting'), ())
    """
    return _EXCLUDED.get(look, ())


def location(scene: Mapping[str, str]) -> str:
    """Whether a scene is "indoors" or "outdoors", by its place or its weather; "" when they do not tell."""
    place = scene.get("place", "")
    if place in _INDOORS:
        return "indoors"
    return "outdoors" if place in _OUTDOORS or scene.get("weather") else ""
