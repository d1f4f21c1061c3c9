"""GQA's types of attributes: what the steps of programs ask for and tell (`filter color`, `query hposition`)."""

from __future__ import annotations

# Where in the picture a thing is, and the values from left to right, from top to bottom.
ZONES = {"hposition": ("left", "middle", "right"), "vposition": ("top", "middle", "bottom")}
POSITIONS = frozenset(ZONES)
# Asked for like an attribute, but no look of a thing.
NO_LOOK = frozenset(("name", "rel", "place", "room", "location", "type"))
# A thing may well have two values of these at a time; of every other type it has one.
OVERLAPPING = frozenset(("", "activity", "sport", "sportActivity", "other", "weather", "flavor"))
