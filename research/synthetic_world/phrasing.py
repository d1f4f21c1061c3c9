"""Write the English of the sample's questions: words linked to objects, articles, agreement, templates.

A phrase is a tuple of (word, object id or ""). The ids become GQA's `annotations`. A template is text with
    {x}        a phrase
    [is|are]   the form that agrees with the phrase just before it or, if there is none, just after it
    <a/b/>     one of the alternatives, chosen at random each time (the last one here is empty)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from typing import TypeVar

import numpy as np

from research.synthetic_world.ontology import ATTRIBUTE_TYPES, CATEGORIES, KIND_BY_NAME, KINDS
from research.synthetic_world.random_choice import choose_uniform

T = TypeVar("T")
Phrase = tuple[tuple[str, str], ...]

# Category -> nouns for an object of the category. Categories without an entry would not sound natural in a
# question.
CATEGORY_NOUNS: dict[str, tuple[str, ...]] = {
    "person": ("person",),
    "animal": ("animal",),
    "furniture": ("piece of furniture", "item of furniture"),
    "appliance": ("appliance",),
    "device": ("device",),
    "dishes": ("dish",),
    "container": ("container",),
    "fruit": ("fruit",),
    "food": ("food",),
    "clothing": ("piece of clothing", "clothing item"),
    "vehicle": ("vehicle",),
    "toy": ("toy",),
    "plant": ("plant",),
}
# Category -> words after "What" or "Which" in questions for the kind of an object. For people, the question
# word is "Who".
CATEGORY_KINDS: dict[str, tuple[str, ...]] = {
    category: (*nouns, *nouns, f"kind of {nouns[0]}", f"type of {nouns[0]}")
    for category, nouns in CATEGORY_NOUNS.items()
    if category not in ("person", "furniture", "clothing")
} | {
    category: (*CATEGORY_NOUNS[category], f"kind of {category}", f"type of {category}")
    for category in ("furniture", "clothing")
}

IMAGE_NOUNS = "<picture/image/photo/photograph/scene>"
PHOTO_NOUNS = "<picture/image/photo/photograph>"
THERE_PHRASES = (
    "</there/in the picture/in the image/in the photo/in the photograph/in the scene/in this picture"
    "/in this photo>"
)
# Relation -> verb forms after "is", after "he" and after "does he".
VERBS = {
    "wearing": ("wearing", "wears", "wear"),
    "holding": ("holding", "holds", "hold"),
    "sitting on": ("sitting on", "sits on", "sit on"),
}
_MATERIAL_ADJECTIVES = {"wood": ("wooden", "wood"), "metal": ("metal", "metallic")}
_PLURALS = {kind.name for kind in KINDS if kind.number == "plural"}


def make_phrase(text: str, object_id: str = "") -> Phrase:
    """Return a phrase in which every word refers to the object, or to no object if the id is ""."""
    return tuple((word, object_id) for word in text.split())


def make_marked_phrase(text: str, object_id: str) -> Phrase:
    """Return a phrase in which every word except a leading article refers to the object."""
    first, _, rest = text.partition(" ")
    return (
        (*make_phrase(first), *make_phrase(rest, object_id))
        if first in ("a", "an")
        else make_phrase(text, object_id)
    )


def add_article(text: str) -> str:
    """Add an article: `a cup`, `an open box`. Plural names get no article."""
    if text.split()[-1] in _PLURALS:
        return text
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def is_plural(name: str) -> bool:
    """Return whether the name of the kind is used with "are" for a single object (jeans)."""
    return name in _PLURALS


def make_plural(name: str) -> str:
    """Return the plural, as in "Are there any ...?"."""
    return KIND_BY_NAME[name].plural


def to_adjective(value: str, rng: np.random.Generator) -> str:
    """Return the form of an attribute before a noun: `wooden`, `red`."""
    return choose_uniform(rng, _MATERIAL_ADJECTIVES.get(value, (value,)))


def to_predicate(value: str, rng: np.random.Generator | None = None) -> str:
    """Return the form of an attribute after "is": `made of wood`, `red`, `on`.

    With `rng`, sometimes `turned on`.
    """
    if ATTRIBUTE_TYPES[value] == "material":
        return f"made of {value}"
    if ATTRIBUTE_TYPES[value] == "light" and rng is not None and rng.random() < 0.5:
        return f"turned {value}"
    return value


def get_category(name: str) -> str:
    """Return the category that may replace the kind in a phrase; "" for none.

    Categories of a single kind are not used.
    """
    category = KIND_BY_NAME[name].category
    return category if category in CATEGORY_NOUNS and len(CATEGORIES[category]) > 1 else ""


def fill_template(template: str, rng: np.random.Generator, slots: Mapping[str, Phrase]) -> Phrase:
    """Fill the slots of a template, choose alternatives at random, and make forms agree."""
    chosen = re.sub(r"<([^<>]*)>", lambda match: choose_uniform(rng, match[1].split("/")), template)
    tokens = re.findall(r"\[[^\]]*\]|\S+", chosen)
    phrase: list[tuple[str, str]] = []
    for place, token in enumerate(tokens):
        if token[0] == "[":
            singular, plural = token[1:-1].split("|")
            beside = ["", *tokens, ""][place : place + 3 : 2]
            subject = next(_slot(other) for other in beside if _slot(other))
            phrase += make_phrase(plural if _is_plural_phrase(slots[subject]) else singular)
        elif slot := _slot(token):
            phrase += slots[slot]
            token = token.removeprefix(f"{{{slot}}}")
            phrase[-1] = (phrase[-1][0] + token, phrase[-1][1])
        elif token == "?":
            phrase[-1] = (phrase[-1][0] + token, phrase[-1][1])
        else:
            phrase.append((token, ""))
    return tuple(phrase)


def to_sentence(phrase: Phrase) -> str:
    """Return the words of a phrase as a sentence, without the full stop."""
    text = " ".join(word for word, _ in phrase)
    return text[0].upper() + text[1:]


def _slot(token: str) -> str:
    match = re.match(r"\{(\w+)\}", token)
    return match[1] if match else ""


def _is_plural_phrase(phrase: Phrase) -> bool:
    """Return whether the head of a phrase is plural.

    The head is the last word that refers to the first object of the phrase.
    """
    first = next((object_id for _, object_id in phrase if object_id), "")
    head, _ = [word for word in phrase if word[1] == first][-1]
    return head in _PLURALS


def to_annotations(phrase: Phrase) -> dict[str, str]:
    """Return GQA's annotations: `{"2:4": "17"}` if words 2 and 3 refer to object 17."""
    marks: dict[str, str] = {}
    start = 0
    for object_id, run in groupby(phrase, key=lambda word: word[1]):
        end = start + len(list(run))
        if object_id:
            marks[str(start) if end == start + 1 else f"{start}:{end}"] = object_id
        start = end
    return marks
