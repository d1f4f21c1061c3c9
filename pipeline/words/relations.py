"""Prepositions of several words, and spatial terms with their opposites."""

from __future__ import annotations

from pipeline.words.word_tables import heads, pairs, words

# Where text is matched, the longest phrase wins: "to the left of" before "left".
PREPOSITIONS = words("""
to the left of, to the right of, on the left side of, on the right side of, in front of, on top of, on the
side of, in the middle of, in the center of, in between, close to, next to, inside of, outside of, out of,
left of, right of, behind of, about, above, across, against, along, around, at, atop, behind, below,
beneath, beside, between, by, from, in, inside, into, near, of, off, on, onto, outside, over, through, to,
toward, towards, under, underneath, with
""")

# A is this to B: so is B the opposite to A.
_DIRECTIONS = """
to the left of, to the right of; left of, right of; on the left side of, on the right side of; left, right
above, below; top, bottom; in front of, behind
"""
# A cup is on a table, but nobody says that the table is under the cup.
_CONTACTS = "on, under; on top of, underneath; atop, beneath; inside, outside"


def _both_ways(table: str) -> dict[str, str]:
    return {word: other for pair in pairs(table) for word, other in (pair, pair[::-1])}


INVERSES = _both_ways(_DIRECTIONS) | {"near": "near"}  # what B is to A when A is this to B
ANTONYMS = _both_ways(_DIRECTIONS) | _both_ways(_CONTACTS)
_STANDARD = {  # also said -> the one name for it
    other: name
    for name, others in heads("""
        to the left of: left of; to the right of: right of; near: next to, beside, by, close to; in: inside, inside of
        on: on top of, atop; under: underneath, beneath; wearing: wears; holding: holds
    """).items()
    for other in others
}

# What besides its opposite a relation excludes, said of the same two things: what lies on a table is not behind it
# (but what is to the left of it may well be). Nothing excludes "near".
_EXCLUDES = heads("""
on: behind, in front of, to the left of, to the right of
on top of: behind, in front of, to the left of, to the right of
atop: behind, in front of
under: behind, in front of, to the left of, to the right of
underneath: behind, in front of, to the left of, to the right of
beneath: behind, in front of
in: behind, in front of, to the left of, to the right of
inside: behind, in front of
in front of: on, in, under, on top of, underneath
behind: on, in, under, on top of, underneath
to the left of: on, in, under, on top of, underneath
to the right of: on, in, under, on top of, underneath
above: under, underneath
below: on, on top of
""")

# A posture does not depend on the preposition: who sits on may sit under. "Riding under" means nothing.
_POSTURES = ("sitting", "standing", "lying", "resting", "parked", "walking", "kneeling")


def plain_relation(name: str) -> str:
    """One name for relations that say the same: `beside` -> near."""
    return _STANDARD.get(name, name)


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
