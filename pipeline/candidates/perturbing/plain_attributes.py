"""Replace colors, materials, patterns and states in plain questions (PT-Hard)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plain_context import (
    BRIGHT_COLORS,
    COAT_COLORS,
    COLOR_NAMES,
    HAIR_COLORS,
    MATERIALS,
    is_attribute_word,
    is_option,
    iter_words,
    may_show_others,
    measure_distances,
)
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.language.noun_phrases import find_phrase_start
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.word_lists import DEFINITE_DETERMINERS, FRAME_WORDS, parse_headed_groups, parse_words

_PREPOSITION_WORDS = frozenset(phrase.split()[0] for phrase in PREPOSITIONS)
# Where others may have brown hair, nobody asks for red hair, because shades of brown look red.
_UNUSUAL_HAIR_COLORS = parse_headed_groups("""
gray: grey, silver, white, blond, blonde; blue: purple, teal, turquoise; green: teal, turquoise; pink: red, purple
""")
# What a shade or a pale color may be called.
_SHADE_COLORS = parse_headed_groups("""
dark: blue, purple, green, red, black, brown, gray; light: yellow, pink, white, gray; bright: yellow, orange, pink
pale: yellow, pink; beige: yellow, pink; cream: yellow, pink; white: yellow; gray: blue; grey: blue; silver: blue
""")
# Common colors of such objects, which the image may show although no text mentions them.
_COMMON_COLORS = {
    "car": parse_words("red, blue"),
    "vehicle": parse_words("red, blue"),
    "building": parse_words("red, yellow, blue"),
    "garment": parse_words("blue"),
    "sign": parse_words("red, blue, yellow, green"),
    "flora": parse_words("green, yellow, red"),
    "tree": parse_words("green, yellow, red"),
    "paper": parse_words("red, blue"),
    "board": parse_words("green"),
    "edible": parse_words("red, green, yellow, orange"),
}
_SHADES = frozenset(("dark", "light", "bright", "pale"))
# Materials that few kinds of objects have.
_MATERIAL_KINDS = {
    "leather": ("seat",),
    "wicker": ("seat",),
    "brick": ("building", "upright", "surface", "opening"),
}
_PATTERNS = parse_headed_groups("""
striped: pinstriped, plaid, checkered, checked
floral: flowered, patterned
checkered: plaid, striped, pinstriped, checked
spotted: dotted, polka-dot, patterned, floral
""")
# Kinds of objects that have few colors by nature. All others may be painted.
_NATURAL_KINDS = parse_words(
    "flora, tree, greens, edible, drinkable, stuffing, water, sky, landform, surface, rock, animal, bodypart"
)
_OPPOSITE_STATES = {
    "open": "closed",
    "closed": "open",
    "empty": "full",
    "full": "empty",
    "lit": "unlit",
}
# States that few photographs show. Other such objects do not matter.
_RARE_STATES = {
    "person": {"smiling": "crying", "laughing": "crying"},
    "car": {"parked": "overturned"},
    "vehicle": {"parked": "overturned"},
}


def replace_color(case: EditCase) -> Swap | None:
    """Swap a color for another one that stands out and that no text of the image mentions."""
    plausibility = case.replacements.plausibility
    for slot, name in _iter_attribute_slots(case, "color"):
        kind, text = get_main_kind(name), case.sentence.get_text(slot.span).lower()
        is_hair = kind == "bodypart" or (kind == "person" and name != "clothing")
        colors = COAT_COLORS if kind == "animal" else HAIR_COLORS if is_hair else BRIGHT_COLORS
        if is_hair and kind == "person" and may_show_others(case, name):
            colors = _UNUSUAL_HAIR_COLORS
        of_same = [other.word for other, its in _iter_attribute_slots(case, "color") if its == name]
        old = {part for word in (text, slot.word, *of_same) for part in word.replace("-", " ").split()}
        shaded = {color for word in old for color in _SHADE_COLORS.get(word, ()) if not is_hair}
        beside = case.mentions.find_words_beside(name) & COLOR_NAMES
        everywhere = {*iter_words(case)} & COLOR_NAMES
        avoided = (
            _COMMON_COLORS.get(kind, frozenset[str]()) if may_show_others(case, name) else frozenset[str]()
        )
        distinct = [
            color
            for color, near in colors.items()
            if old.isdisjoint((color, *near))
            and beside.isdisjoint((color, *near))
            and color not in avoided | shaded
            and (kind not in _NATURAL_KINDS or is_hair or plausibility.score_attribute(name, color, "color"))
        ]
        unmentioned = [color for color in distinct if color not in everywhere]
        weights = dict.fromkeys(unmentioned or distinct, 1.0)
        color = case.replacements.sample_from_weights(
            ("attribute", "color"), slot.word, weights, case.uniforms[0][0]
        )
        if color:
            is_compound = kind == "person" and is_hair
            return Swap(slot, color, f"{color}-haired" if is_compound else color)
    return None


def _iter_attribute_slots(case: EditCase, type_: str) -> Iterator[tuple[Presupposition, str]]:
    """Yield the attributes of a type that stand in definite phrases, each with the name of its object."""
    sentence = case.sentence
    known = {slot.span.first_token: slot for slot in case.presuppositions.attributes}
    negated = {slot.span.first_token for slot in case.presuppositions.attributes if slot.is_negated}
    order = {slot.span.first_token: rank for rank, slot in enumerate(_order_by_importance(case))}
    found: list[tuple[int, int, Presupposition, str]] = []
    index = 0
    while index < sentence.num_content_tokens:
        end = _match_attribute(sentence.tokens, index, type_)
        if end == index or index in negated or is_option(case, index, end):
            index = max(end, index + 1)
            continue
        noun = _find_described_noun(case, index, end)
        if noun is not None:
            name, at = noun
            word = sentence.get_text(sentence.make_span(index, end)).lower()
            slot = known.get(index)
            if slot is None or slot.span.end_token != end:
                slot = Presupposition("attribute", -1, 0, sentence.make_span(index, end), word, type=type_)
            if not slot.is_query_only and not _is_far_reference(case, at, name):
                found.append((order.get(at, 99), index, slot, name))
        index = end
    for _, _, slot, name in sorted(found, key=lambda row: row[:2]):
        yield slot, name


def _is_far_reference(case: EditCase, at: int, name: str) -> bool:
    """Return whether the rest of a question identifies what it asks for without an object.

    An example is the strap in "What device is next to the laptop with the black STRAP?". The clothes of people identify
    them.
    """
    distances = measure_distances(case)
    steps = [
        slot.step
        for slot in case.presuppositions.objects
        if slot.span.first_token <= at < slot.span.end_token
    ]
    names_people = any(get_main_kind(slot.word) in LIVING_KINDS for slot in case.presuppositions.objects)
    is_far = any(distances.get(step, 0) > 1 for step in steps)
    return is_far and not names_people


def _order_by_importance(case: EditCase) -> list[Presupposition]:
    distances = measure_distances(case)
    return sorted(
        case.presuppositions.objects, key=lambda slot: (distances.get(slot.step, 9), slot.span.first_token)
    )


def _match_attribute(tokens: Sequence[str], index: int, type_: str) -> int:
    """Return the token after the attribute of a type at a token, or the token itself."""
    token = tokens[index]
    if type_ == "color":
        if token in _SHADES and tokens[index + 1 : index + 2] and tokens[index + 1] in COLOR_NAMES:
            return index + 2
        if (
            tokens[index + 1 : index + 2] == ("and",)
            and {token, *tokens[index + 2 : index + 3]} <= COLOR_NAMES
        ):
            # "The red and white blanket" gets one color.
            return index + 3
        is_color = token in COLOR_NAMES or token == "dark" or token.endswith("-haired")
        return index + (is_color and tokens[index + 1 : index + 2] != ("one",))
    values = MATERIALS if type_ == "material" else _PATTERNS
    names = {*values, *chain.from_iterable(values.values())}
    return index + (token in names)


def _find_described_noun(case: EditCase, index: int, end: int) -> tuple[str, int] | None:
    """Return the noun that an attribute describes in a definite phrase, with its token; None if there is none.

    In "the woman in RED", the attribute describes her clothes.
    """
    sentence = case.sentence
    tokens, last = sentence.tokens, sentence.num_content_tokens
    at = end
    while at < last and (
        is_attribute_word(tokens[at]) or tokens[at] == "and" or sentence.get_tag(at).startswith(("JJ", "VBN"))
    ):
        at += 1
    while (
        at + 1 < last
        and sentence.get_tag(at).startswith("NN")
        # The later words of a name of several words have no tag ("street SIGN").
        and (
            sentence.get_tag(at + 1).startswith("NN")
            or (not sentence.get_tag(at + 1) and tokens[at + 1].isalpha())
        )
    ):
        at += 1
    word = tokens[at] if at < last and tokens[at] not in _PREPOSITION_WORDS else ""
    if (
        word
        and sentence.get_tag(at).startswith("NN")
        and (word not in FRAME_WORDS or (word == "top" and tokens[at + 1] != "of"))
    ):
        start = find_phrase_start(sentence, index)
        starts = {
            tokens[start],
            tokens[max(index - 1, 0)],
            *tokens[max(index - 5, 0) : index],
        } & DEFINITE_DETERMINERS
        is_definite = bool(starts) and not {"a", "an", "is", "are", "or"} & {
            *tokens[_last_definite(tokens, index) : index]
        }
        return (word, at) if is_definite else None
    if tokens[max(index - 1, 0)] == "in" and at == end and index >= 3:
        person = tokens[index - 2]
        if get_main_kind(person) == "person" and tokens[index - 3] not in ("a", "an"):
            return "clothing", index - 2
    return None


def _last_definite(tokens: Sequence[str], index: int) -> int:
    return max((i for i in range(index) if tokens[i] in DEFINITE_DETERMINERS), default=0)


def replace_material_or_pattern(case: EditCase) -> Swap | None:
    """Swap a material or a pattern for one that nobody confuses with it."""
    for type_, values in (("material", MATERIALS), ("pattern", _PATTERNS)):
        for slot, name in _iter_attribute_slots(case, type_):
            old = {slot.word, *case.sentence.get_text(slot.span).lower().split()}
            beside = case.mentions.find_words_beside(name)
            new = {
                value: 1.0
                for value, near in values.items()
                if old.isdisjoint((value, *near))
                and beside.isdisjoint((value, *near))
                and case.replacements.plausibility.score_attribute(name, value, type_)
                and get_main_kind(name) in _MATERIAL_KINDS.get(value, (get_main_kind(name),))
                # A "glass shelf" may be a shelf for glasses.
                and not (value == "glass" and get_main_kind(name) == "storage")
            }
            if may_show_others(case, name) and type_ == "material":
                continue
            value = case.replacements.sample_from_weights(
                ("attribute", type_), slot.word, new, case.uniforms[0][0]
            )
            if value:
                return Swap(slot, value, {"wood": "wooden"}.get(value, value))
    return None


def replace_state(case: EditCase) -> Swap | None:
    """Swap a state ("open") of the only object of its name for the opposite, or a common state for a rare one."""
    for slot in case.presuppositions.attributes:
        name = case.program[slot.object_step].name if slot.object_step >= 0 else ""
        new = _RARE_STATES.get(get_main_kind(name), {}).get(slot.word, "") if name else ""
        is_presupposed = not (slot.is_query_only or slot.is_negated)
        if new and is_presupposed and new not in {*iter_words(case)}:
            return Swap(slot, new, new)
    for slot in case.presuppositions.attributes:
        new = _OPPOSITE_STATES.get(slot.word)
        name = case.program[slot.object_step].name if slot.object_step >= 0 else ""
        is_sure = name and not (slot.is_query_only or slot.is_negated or may_show_others(case, name))
        if new and is_sure and not is_option(case, slot.span.first_token, slot.span.end_token):
            return Swap(slot, new, new)
    return None
