"""Words that carry the question rather than name what is in the picture; they are never swapped.

"What KIND of furniture ...", "On which SIDE of the PHOTO ...": replacing these gives no false premise but
nonsense.
"""

from __future__ import annotations

from pipeline.words.word_tables import words

_PICTURE = words("""
photo, photograph, picture, image, scene, shot, snapshot, side, part, half, area, corner, middle, center,
centre, left, right, top, bottom, front, back, edge, foreground, background
""")
_ASKED = words("""
color, colour, colors, colours, material, materials, pattern, shape, size, length, width, height, thickness,
hardness, cleanliness, weight, texture, tone, state, condition, age, gender, race, pose, activity, expression,
weather, place, location, room, position, direction, name, sport, game, event
""")
_STAND_INS = words("""
kind, kinds, type, types, sort, sorts, breed, species, style, piece, pieces, item, items, pair, pairs, set,
object, objects, thing, things, stuff, one, ones, something, anything, someone, anyone, this, that, it, what,
who, which
""")
FRAME_NOUNS = _PICTURE | _ASKED | _STAND_INS

DEFINITE = words("the, this, that, these, those, his, her, its, their, my, your, our")
INDEFINITE = words("a, an, any, some, another, each, every, no, either, both, all, two, three")
DETERMINERS = DEFINITE | INDEFINITE

# "a slice of pizza": what comes before "of" belongs to the noun, so neither can be swapped alone.
PORTIONS = words("""
pair, pairs, slice, slices, bunch, group, groups, pile, bowl, glass, cup, set, row, stack, bottle, plate,
piece, pieces, herd, flock, loaf, jar
""")

# "Is she wearing a hat?": who may be meant.
PERSONS = {"he": ("man", "boy"), "him": ("man", "boy"), "she": ("woman", "girl"), "her": ("woman", "girl")}
_POINTING = words("it, they, them, this, that, _")  # _ is GQA's blank
# Names in programs that tell nothing of the thing they stand for.
PRONOUNS = _POINTING | PERSONS.keys() | words("these, those, scene")
# Names that any thing answers to: also the words of "What kind of object is this?".
ANYTHING = _POINTING | words("object, thing, item")
