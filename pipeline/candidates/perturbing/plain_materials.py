"""Replace materials, patterns and shapes in plain questions (PT-Hard)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plain_attribute_slots import (
    MATERIAL_SWAPS,
    PATTERNS,
    SPELLINGS,
    iter_attribute_slots,
)
from pipeline.candidates.perturbing.plain_context import (
    MATERIALS,
    may_show_others,
)
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.language.nouns import lemmatize
from pipeline.language.object_taxonomy import get_main_kind
from pipeline.language.word_lists import parse_headed_groups, parse_words

_PARTS_OF_TOOLS = parse_words("blade, handle, hook, leg, lid")

# Shapes that nobody confuses.
_SHAPES = parse_headed_groups("""
triangular: pyramidal, pointed
square: rectangular, boxy, round-cornered
round: circular, oval, spherical, curved
heart-shaped: curved
""")

_ROUND_SHAPES = parse_words("round, circular, oval")

_SHAPED_KINDS = parse_words("marking, dish, tabletop, linen, device, picture, receptacle, seat")

# Materials that few kinds of objects have.
_MATERIAL_KINDS = {
    "leather": ("seat",),
    "wicker": ("seat",),
    "brick": ("building", "upright", "surface", "opening"),
}


def replace_material_or_pattern(case: EditCase) -> Swap | None:
    """Swap a material or a pattern for one that nobody confuses with it."""
    for type_ in ("material", "pattern"):
        for slot, name in iter_attribute_slots(case, type_):
            old = {slot.word, *case.sentence.get_text(slot.span).lower().split()}
            if value := _sample(case, slot.word, type_, _list_values(case, name, type_, old)):
                return Swap(slot, value, {"wood": "wooden"}.get(value, value))
    for slot, name in iter_attribute_slots(case, "material"):
        if value := _sample(case, slot.word, "material", _list_swaps(case, name, slot.word)):
            return Swap(slot, SPELLINGS.get(value, value), value)
    return None


def list_contrasting_materials(case: EditCase, name: str, old: Collection[str]) -> list[str]:
    """Return the materials that nobody confuses with the materials of an object, and that no text mentions beside it."""
    values = _list_values(case, name, "material", {*old})
    return values or sorted({value for word in old for value in _list_swaps(case, name, word)})


def _sample(case: EditCase, old: str, type_: str, values: Iterable[str]) -> str | None:
    weights = dict.fromkeys(values, 1.0)
    return case.replacements.sample_from_weights(("attribute", type_), old, weights, case.uniforms[0][0])


def _list_values(case: EditCase, name: str, type_: str, old: Collection[str]) -> list[str]:
    """List the materials or patterns that such an object may have, and that nobody confuses with the old one."""
    kind = get_main_kind(name)
    if type_ == "material" and (may_show_others(case, name) or _get_material_kind(name) in MATERIAL_SWAPS):
        return []
    beside = case.mentions.find_words_beside(name)
    return [
        value
        for value, near in (MATERIALS if type_ == "material" else PATTERNS).items()
        if frozenset(old).isdisjoint((value, *near))
        and beside.isdisjoint((value, *near))
        and case.replacements.plausibility.score_attribute(name, value, type_)
        and kind in _MATERIAL_KINDS.get(value, (kind,))
        # A "glass shelf" may be a shelf for glasses.
        and not (value == "glass" and kind == "storage")
    ]


def _list_swaps(case: EditCase, name: str, old: str) -> list[str]:
    """List the replacements of a material in the table of materials: "straw" for a bag of leather."""
    kind = _get_material_kind(name)
    if kind != "part" and case.mentions.may_be_several(name):
        return []
    beside = {SPELLINGS.get(word, word) for word in case.mentions.find_words_beside(name)}
    values = MATERIAL_SWAPS.get(kind, {}).get(SPELLINGS.get(old, old), ())
    return [value for value in values if SPELLINGS.get(value, value) not in beside]


def _get_material_kind(name: str) -> str:
    """Return the row of the table of materials for an object."""
    lemma, kind = lemmatize(name), get_main_kind(name)
    if kind == "baggage":
        return "case" if lemma in ("briefcase", "suitcase", "luggage") else "bag"
    return "part" if lemma in _PARTS_OF_TOOLS else "garment" if lemma == "sleeve" else kind


def replace_shape(case: EditCase) -> Swap | None:
    """Swap the shape of an object of which the image shows one: "the OVAL sticker" for "the triangular sticker"."""
    for slot, name in iter_attribute_slots(case, "shape"):
        kind = get_main_kind(name)
        if kind != "sign" and (kind not in _SHAPED_KINDS or case.mentions.may_be_several(name)):
            continue
        beside = case.mentions.find_words_beside(name)
        old = {slot.word, *(_ROUND_SHAPES if slot.word in _ROUND_SHAPES else ())}
        new = {
            value: 1.0
            for value, near in _SHAPES.items()
            if old.isdisjoint((value, *near))
            and beside.isdisjoint((value, *near))
            # Many photographs show signs of any other shape.
            and (value == "heart-shaped" if kind == "sign" else value != "heart-shaped" or kind == "marking")
        }
        value = case.replacements.sample_from_weights(
            ("attribute", "shape"), slot.word, new, case.uniforms[0][0]
        )
        if value:
            return Swap(slot, value, value)
    return None
