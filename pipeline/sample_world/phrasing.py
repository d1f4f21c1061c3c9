"""English for the sample's questions: words that remember which object they name, articles, agreement, templates.

A phrase is a tuple of (word, object id or ""): the ids become GQA's `annotations`. A template is text with
    {x}        a phrase
    [is|are]   the form that agrees with the subject, singular before the bar
    <a/b/>     one of the alternatives, drawn anew each time (the last one here is empty)
The wordings are in `wordings`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby

import numpy as np

from pipeline.sample_world.ontology import ATTRIBUTE_TYPES, BY_NAME, CATEGORIES

Phrase = tuple[tuple[str, str], ...]

# How a category is said when one of its members is meant; "" where a single member cannot be named by it.
CATEGORY_NOUNS: dict[str, tuple[str, ...]] = {
    "person": ("person",), "animal": ("animal",), "furniture": ("piece of furniture", "item of furniture"),
    "appliance": ("appliance",), "device": ("device",), "dishes": ("dish",), "container": ("container",),
    "fruit": ("fruit",), "food": ("food",), "clothing": ("piece of clothing", "clothing item"),
    "vehicle": ("vehicle",), "toy": ("toy",), "plant": ("plant",),
}
# What follows "What" or "Which" when the kind is asked for.
CATEGORY_KINDS: dict[str, tuple[str, ...]] = {
    "furniture": ("kind of furniture", "type of furniture", "piece of furniture", "item of furniture"),
    "clothing": ("kind of clothing", "type of clothing", "piece of clothing", "clothing item"),
} | {
    name: (name, name, f"kind of {name}", f"type of {name}")
    for name in ("animal", "appliance", "device", "container", "fruit", "food", "vehicle", "toy", "plant")
} | {"dishes": ("dish", "kind of dish")}

MATERIAL_ADJECTIVES = {"wood": ("wooden", "wood"), "metal": ("metal", "metallic")}
# English order of adjectives; light ("on", "off") cannot stand before a noun.
ADJECTIVE_ORDER = ("size", "age", "openness", "fullness", "pose", "color", "pattern", "material")
UNTYPED = ("openness", "light", "fullness")  # GQA writes `filter: open`, but `filter color: red`
VERBS = {  # relation -> (with "is/are", third person, bare form)
    "wearing": ("wearing", "wears", "wear"),
    "holding": ("holding", "holds", "hold"),
    "sitting on": ("sitting on", "sits on", "sit on"),
}

IMAGE = "<picture/image/photo/photograph/scene>"
PHOTO = "<picture/image/photo/photograph>"
THERE = f"</there/in the {IMAGE[1:-1].replace('/', '/in the ')}/in this picture/in this photo/in this image>"


def words(text: str, object_id: str = "") -> Phrase:
    """A phrase of which every word names the object (or none)."""
    return tuple((word, object_id) for word in text.split())


def plain(phrase: Phrase) -> str:
    return " ".join(word for word, _ in phrase)


def with_article(text: str) -> str:
    """`a cup`, `an apple`; names that are plural themselves stand bare."""
    noun = text.split()[-1]
    if noun in BY_NAME and BY_NAME[noun].number == "plural":
        return text
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def is_plural(name: str) -> bool:
    return name in BY_NAME and BY_NAME[name].number == "plural"


def plural_of(name: str) -> str:
    """Plural of a kind or category name, as in "Are there any ...?"."""
    if name in BY_NAME:
        return BY_NAME[name].plural
    return {"person": "people", "furniture": "pieces of furniture", "clothing": "clothing items",
            "dishes": "dishes", "food": "food"}.get(name, name + "s")


def adjective(value: str, rng: np.random.Generator) -> str:
    """The attribute as it stands before a noun: `wooden`, `red`."""
    return pick(rng, MATERIAL_ADJECTIVES.get(value, (value,)))


def predicate(value: str, rng: np.random.Generator | None = None) -> str:
    """The attribute as it stands after "is": `made of wood`, `red`, `turned on`."""
    kind = ATTRIBUTE_TYPES[value]
    if kind == "material":
        return f"made of {value}"
    if kind == "light" and rng is not None and rng.random() < 0.5:
        return f"turned {value}"
    return value


def pick(rng: np.random.Generator, options: tuple | list):
    """One of the options, all equally likely."""
    return options[int(rng.integers(len(options)))]


def render(template: str, rng: np.random.Generator, plural: bool, slots: Mapping[str, Phrase]) -> tuple[str, dict[str, str]]:
    """Fill a template; return the sentence and its annotations: word position ("3" or "2:4") -> object id."""
    chosen = re.sub(r"<([^<>]*)>", lambda match: pick(rng, match[1].split("/")), template)
    agreed = re.sub(r"\[([^|\]]*)\|([^\]]*)\]", lambda match: match[2 if plural else 1], chosen)
    phrase: list[tuple[str, str]] = []
    for token in agreed.split():
        slot = re.fullmatch(r"\{(\w+)\}([,?.]*)", token)
        if slot is None:
            phrase.append((token, ""))
        else:
            *head, (last, object_id) = slots[slot[1]]
            phrase += [*head, (last + slot[2], object_id)]
    text = plain(tuple(phrase))
    return text[0].upper() + text[1:], positions(tuple(phrase))


def positions(phrase: Phrase) -> dict[str, str]:
    """GQA's annotations: which words name which object, `{"2:4": "17"}` for the words 2 and 3."""
    marks: dict[str, str] = {}
    start = 0
    for object_id, run in groupby(phrase, key=lambda word: word[1]):
        end = start + len(list(run))
        if object_id:
            marks[str(start) if end == start + 1 else f"{start}:{end}"] = object_id
        start = end
    return marks


def category_of(name: str) -> str:
    """The category of a kind that questions may use for it, or "" (a category of one kind says nothing)."""
    category = BY_NAME[name].category
    return category if category in CATEGORY_NOUNS and len(CATEGORIES[category]) > 1 else ""


def marked(text: str, object_id: str) -> Phrase:
    """Words that name the object, but for an article in front."""
    first, _, rest = text.partition(" ")
    return (*words(first), *words(rest, object_id)) if first in ("a", "an", "the") and rest else words(text, object_id)


def exist_nouns(name: str, front: str, object_id: str) -> dict[str, Phrase]:
    """Slots of `exist_templates` with an adjective in front ({one}, {all}), and {o}, the bare name with its article."""
    said, several = f"{front} {name}".strip(), f"{front} {plural_of(name)}".strip()
    return {"one": marked(with_article(said), object_id), "all": words(several, object_id),
            "o": marked(with_article(name), object_id)}


def exist_templates(name: str, tail: str = "", where: bool = True) -> tuple[str, ...]:
    """Ways to ask whether there is such a thing; `tail` follows the noun and may have [singular|plural] forms."""
    end = THERE if where else ""
    one, many = (re.sub(r"\[([^|\]]*)\|([^\]]*)\]", rf"\{k}", tail) for k in (1, 2))
    several = (f"Are there any {{all}} {many} {end}", f"Do you see any {{all}} {many} {end}", f"Are there {{all}} {many} {end}")
    if is_plural(name):
        return several
    return (f"Is there {{one}} {one} {end}",) * 2 + (f"Do you see {{one}} {one} {end}", *several[:2])
