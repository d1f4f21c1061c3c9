"""Replace colors, gestures, hair and states in plain questions (PT-Hard)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plain_attribute_slots import iter_attribute_slots
from pipeline.candidates.perturbing.plain_context import (
    BRIGHT_COLORS,
    COAT_COLORS,
    COLOR_NAMES,
    HAIR_COLORS,
    is_option,
    iter_words,
    may_show_others,
)
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.language.nouns import get_grammatical_number, lemmatize
from pipeline.language.object_taxonomy import get_main_kind
from pipeline.language.presuppositions import Presupposition
from pipeline.language.word_lists import parse_headed_groups, parse_words

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

_PHOTO_WORDS = parse_words("photo, photograph, picture, image")

_PRONOUNS = parse_words("he, she, his, her, him, they, their, them, who, it")

# Kinds of objects that have few colors by nature. All others may be painted.
_NATURAL_KINDS = parse_words(
    "flora, tree, greens, edible, drinkable, stuffing, water, sky, landform, surface, rock, animal, bodypart"
)

OPPOSITE_STATES = {
    "open": "closed",
    "closed": "open",
    "empty": "full",
    "full": "empty",
    "lit": "unlit",
}

_GESTURES = {"raised": "crossed"}

_HAIR_FORMS = {"straight": "curly"}

# States that few photographs show. Other such objects do not matter.
RARE_STATES = {
    "person": {"smiling": "crying", "laughing": "crying"},
    "car": {"parked": "overturned"},
    "vehicle": {"parked": "overturned"},
}


def replace_color(case: EditCase) -> Swap | None:
    """Swap a color for another one that stands out and that no text of the image mentions."""
    if is_black_and_white(case):
        return None
    for slot, name in iter_attribute_slots(case, "color"):
        kind, text = get_main_kind(name), case.sentence.get_text(slot.span).lower()
        is_hair = kind == "bodypart" or (kind == "person" and name != "clothing")
        colors = COAT_COLORS if kind == "animal" else HAIR_COLORS if is_hair else BRIGHT_COLORS
        if is_hair and kind in ("person", "bodypart") and _shows_several_people(case):
            colors = _UNUSUAL_HAIR_COLORS
        of_same = [other.word for other, its in iter_attribute_slots(case, "color") if its == name]
        old = {part for word in (text, slot.word, *of_same) for part in word.replace("-", " ").split()}
        distinct = list_contrasting_colors(case, name, colors, old, is_hair)
        everywhere = {*iter_words(case)} & COLOR_NAMES
        unmentioned = [color for color in distinct if color not in everywhere]
        weights = dict.fromkeys(unmentioned or distinct, 1.0)
        color = case.replacements.sample_from_weights(
            ("attribute", "color"), slot.word, weights, case.uniforms[0][0]
        )
        if color:
            is_compound = kind == "person" and is_hair
            return Swap(slot, color, f"{color}-haired" if is_compound else color)
    return None


def list_contrasting_colors(
    case: EditCase,
    name: str,
    colors: Mapping[str, Collection[str]],
    old: Collection[str],
    is_hair: bool = False,
) -> list[str]:
    """Return the colors that nobody confuses with the color of an object, and that no text mentions beside it.

    Args:
        case: The question.
        name: The name of the object.
        colors: The colors to choose from, each with the colors that people may confuse with it.
        old: The words of the object's color, such as "light" and "blue".
        is_hair: Whether the color is that of hair.
    """
    kind = get_main_kind(name)
    old = {*old}
    shaded = {color for word in old for color in _SHADE_COLORS.get(word, ()) if not is_hair}
    beside = case.mentions.find_words_beside(name) & (COLOR_NAMES | {"rust", "rose"})
    avoided = _COMMON_COLORS.get(kind, frozenset[str]()) if may_show_others(case, name) else frozenset[str]()
    plausibility = case.replacements.plausibility
    return [
        color
        for color, near in colors.items()
        if old.isdisjoint((color, *near))
        and beside.isdisjoint((color, *near))
        and color not in avoided | shaded
        and (kind not in _NATURAL_KINDS or is_hair or plausibility.score_attribute(name, color, "color"))
    ]


def is_black_and_white(case: EditCase) -> bool:
    """Return whether a text says that a photograph has no colors: "Is the photo in color?" (black and white)."""
    return any(
        (
            {"black", "white"} <= {*text}
            and not _PHOTO_WORDS.isdisjoint(text)
            and text[-3:] == ("black", "and", "white")
        )
        or ("black", "and", "white", "photo") in zip(text, text[1:], text[2:], text[3:], strict=False)
        for text in case.mentions.texts
    )


def _shows_several_people(case: EditCase) -> bool:
    """Return whether texts speak of several people, or of people in the plural."""
    names = {word for word in iter_words(case) if get_main_kind(word) == "person" and word not in _PRONOUNS}
    return len({lemmatize(word) for word in names}) > 1 or any(
        get_grammatical_number(word) != "singular" or case.mentions.may_be_several(word) for word in names
    )


def replace_gesture_or_hair(case: EditCase) -> Swap | None:
    """Swap a gesture or the form of hair: "the man with both arms RAISED", "the woman with the STRAIGHT hair"."""
    sentence, tokens = case.sentence, case.sentence.tokens
    for index, token in enumerate(tokens[: sentence.num_content_tokens]):
        beside = tokens[index - 1] if token in _GESTURES else tokens[index + 1]
        new = _GESTURES.get(token) if beside in ("arms", "hands") else None
        if token in _HAIR_FORMS and "hair" in tokens[index + 1 : index + 3]:
            new = _HAIR_FORMS[token]
        is_described = "with" in tokens[max(index - 4, 0) : index] and "or" not in tokens
        if new and is_described and new not in {*iter_words(case)}:
            slot = Presupposition(
                "attribute", -1, 0, sentence.make_span(index, index + 1), token, type="pose"
            )
            return Swap(slot, new, new)
    return None


def replace_state(case: EditCase) -> Swap | None:
    """Swap a state ("open") of the only object of its name for the opposite, or a common state for a rare one."""
    for slot in case.presuppositions.attributes:
        name = case.program[slot.object_step].name if slot.object_step >= 0 else ""
        new = RARE_STATES.get(get_main_kind(name), {}).get(slot.word, "") if name else ""
        is_presupposed = not (slot.is_query_only or slot.is_negated)
        if new and is_presupposed and new not in {*iter_words(case)}:
            return Swap(slot, new, new)
    for slot in case.presuppositions.attributes:
        new = OPPOSITE_STATES.get(slot.word)
        name = case.program[slot.object_step].name if slot.object_step >= 0 else ""
        is_sure = name and not (slot.is_query_only or slot.is_negated or may_show_others(case, name))
        if new and is_sure and not is_option(case, slot.span.first_token, slot.span.end_token):
            return Swap(slot, new, new)
    return None
