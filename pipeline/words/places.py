"""Whether a place is indoors or outdoors."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.words.word_tables import words

# Common names of places in GQA's graphs.
_INDOORS = words("""
indoors, bathroom, bedroom, classroom, dining room, hospital, hotel room, kitchen, library, living room, mall,
office, restaurant, shop, store, supermarket
""")
_OUTDOORS = words("""
outdoors, beach, city, farm, field, forest, harbor, highway, lake, mountain, ocean, park, pasture, river, road,
sidewalk, street, town, yard, zoo
""")


def location(scene: Mapping[str, str]) -> str:
    """Whether a scene is "indoors" or "outdoors", by its place or its weather; "" when they do not tell."""
    place = scene.get("place", "")
    if place in _INDOORS:
        return "indoors"
    return "outdoors" if place in _OUTDOORS or scene.get("weather") else ""
