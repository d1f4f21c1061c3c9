"""Parse word lists, and define the closed-class words of questions.

Commas separate words, and `;` or the end of a line separates groups of words.
"""

from __future__ import annotations

import re


def parse_words(text: str) -> frozenset[str]:
    """Parse a list of words.

    >>> sorted(parse_words("cup, side table"))
    ['cup', 'side table']
    """
    return frozenset(word for group in parse_groups(text.replace("\n", " ")) for word in group)


def parse_groups(text: str) -> list[list[str]]:
    """Parse a table of word groups.

    >>> parse_groups("couch, sofa; cup")
    [['couch', 'sofa'], ['cup']]
    """
    rows = ([word.strip() for word in row.split(",") if word.strip()] for row in re.split(r"[;\n]", text))
    return [row for row in rows if row]


def parse_headed_groups(text: str) -> dict[str, tuple[str, ...]]:
    """Parse a table whose groups have one or several heads before a colon.

    Each head is mapped to the words of its group.

    >>> parse_headed_groups("couch, settee: sofa; man: guy, gentleman")
    {'couch': ('sofa',), 'settee': ('sofa',), 'man': ('guy', 'gentleman')}
    """
    rows = [row.partition(":") for row in re.split(r"[;\n]", text) if ":" in row]
    return {
        head: tuple(parse_groups(rest)[0]) for before, _, rest in rows for head in parse_groups(before)[0]
    }


# Words that frame a question and do not name an object: "What KIND of furniture ...?", "On which SIDE of the
# PHOTO ...?". Edits never replace these words, because the result would be nonsense instead of a failed
# presupposition.
FRAME_WORDS = parse_words("""
photo, photograph, picture, image, scene, shot, snapshot, side, part, half, area, corner, middle, center, centre,
left, right, top, bottom, front, back, edge, foreground, background, color, colour, colors, colours, material,
materials, pattern, shape, size, length, width, height, thickness, hardness, cleanliness, weight, texture, tone,
state, condition, age, gender, race, pose, activity, expression, weather, place, location, room, position,
direction, name, sport, game, event, kind, kinds, type, types, sort, sorts, breed, species, style, piece, pieces,
item, items, pair, pairs, set, object, objects, thing, things, stuff, one, ones, something, anything, someone,
anyone, this, that, it, what, who, which
""")

DEFINITE_DETERMINERS = parse_words("the, this, that, these, those, his, her, its, their, my, your, our")
INDEFINITE_DETERMINERS = parse_words(
    "a, an, any, some, another, each, every, no, either, both, all, two, three"
)
DETERMINERS = DEFINITE_DETERMINERS | INDEFINITE_DETERMINERS

# Nouns that belong to the noun after "of", as in "a slice of pizza". Neither of the two nouns can be replaced
# alone.
PARTITIVE_NOUNS = parse_words("""
pair, pairs, slice, slices, bunch, group, groups, pile, bowl, glass, cup, set, row, stack, bottle, plate, piece,
pieces, herd, flock, loaf, jar
""")

# Pronoun -> names of the persons that the pronoun may stand for.
PRONOUN_REFERENTS = {
    "he": ("man", "boy"),
    "him": ("man", "boy"),
    "she": ("woman", "girl"),
    "her": ("woman", "girl"),
}
OBJECT_PRONOUNS = {"he": "him", "she": "her", "they": "them"}
# Words that may stand for any object. "_" is GQA's name for any object.
_GENERIC_PRONOUNS = parse_words("it, they, them, this, that, _")
# Names in programs that state nothing about the object for which they stand.
UNINFORMATIVE_NAMES = _GENERIC_PRONOUNS | PRONOUN_REFERENTS.keys() | parse_words("these, those, scene")
# Names that apply to any object.
WILDCARD_NAMES = _GENERIC_PRONOUNS | parse_words("object, thing, item")
