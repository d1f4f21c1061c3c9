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
from pipeline.language.nouns import get_grammatical_number, lemmatize
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
# Kind of object -> material -> other materials in which such objects are made, and which nobody confuses.
_MATERIAL_SWAPS = {
    "bag": {"leather": ("straw",), "straw": ("leather",), "plastic": ("leather",), "canvas": ("straw",)},
    "case": {"leather": ("metal",), "metal": ("leather",), "plastic": ("leather",)},
    "dish": {"metal": ("wooden",), "wood": ("metal", "glass"), "paper": ("wooden",), "plastic": ("wooden",), "glass": ("wooden",), "ceramic": ("wooden", "paper")},
    "receptacle": {"metal": ("wooden", "wicker"), "wood": ("metal", "glass"), "wicker": ("metal", "glass"), "cardboard": ("metal", "glass"), "plastic": ("wooden", "wicker"), "glass": ("wooden", "metal"), "clay": ("wooden", "glass")},
    "post": {"metal": ("wooden",), "wood": ("metal",)},
    "cutlery": {"metal": ("wooden",), "wood": ("metal",), "plastic": ("wooden",)},
    "garment": {"leather": ("denim", "knitted"), "denim": ("leather",), "knit": ("leather",), "wool": ("leather",)},
    "picture": {"wood": ("metal",), "metal": ("wooden",)},
    "tool": {"metal": ("plastic",), "wood": ("plastic",)},
    "part": {"wood": ("plastic",), "metal": ("plastic", "wooden")},
}  # fmt: skip
_PARTS_OF_TOOLS = parse_words("blade, handle, hook, leg, post, frame, lid")
_SPELLINGS = {
    "wooden": "wood",
    "woolen": "wool",
    "knitted": "knit",
    "metallic": "metal",
    "steel": "metal",
    "iron": "metal",
}
# Shapes that nobody confuses.
_SHAPES = parse_headed_groups("""
triangular: pyramidal, pointed
square: rectangular, boxy, round-cornered
round: circular, oval, spherical, curved
heart-shaped: curved
""")
_LISTED_MATERIALS = frozenset(chain.from_iterable(_MATERIAL_SWAPS.values())) | frozenset(_SPELLINGS)
_ALL_SHAPES = parse_words("round, circular, oval, square, rectangular, triangular, octagonal, diamond-shaped")
_ROUND_SHAPES = parse_words("round, circular, oval")
_SHAPED_KINDS = parse_words("marking, dish, tabletop, linen, device, picture, receptacle, seat")
_PHOTO_WORDS = parse_words("photo, photograph, picture, image")
_PRONOUNS = parse_words("he, she, his, her, him, they, their, them, who, it")
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
polka-dot: dotted, spotted, patterned
plaid: striped, checkered, checked, tartan, patterned
camouflage: patterned, floral, spotted
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
_GESTURES = {"raised": "crossed"}
_HAIR_FORMS = {"straight": "curly"}
# States that few photographs show. Other such objects do not matter.
_RARE_STATES = {
    "person": {"smiling": "crying", "laughing": "crying"},
    "car": {"parked": "overturned"},
    "vehicle": {"parked": "overturned"},
}


def replace_color(case: EditCase) -> Swap | None:
    """Swap a color for another one that stands out and that no text of the image mentions."""
    plausibility = case.replacements.plausibility
    if _is_black_and_white(case):
        return None
    for slot, name in _iter_attribute_slots(case, "color"):
        kind, text = get_main_kind(name), case.sentence.get_text(slot.span).lower()
        is_hair = kind == "bodypart" or (kind == "person" and name != "clothing")
        colors = COAT_COLORS if kind == "animal" else HAIR_COLORS if is_hair else BRIGHT_COLORS
        if is_hair and kind in ("person", "bodypart") and _shows_several_people(case):
            colors = _UNUSUAL_HAIR_COLORS
        of_same = [other.word for other, its in _iter_attribute_slots(case, "color") if its == name]
        old = {part for word in (text, slot.word, *of_same) for part in word.replace("-", " ").split()}
        shaded = {color for word in old for color in _SHADE_COLORS.get(word, ()) if not is_hair}
        beside = case.mentions.find_words_beside(name) & (COLOR_NAMES | {"rust", "rose"})
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


def _is_black_and_white(case: EditCase) -> bool:
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
    # The handle in "the cup with the red HANDLE" describes the cup.
    start = find_phrase_start(case.sentence, at)
    is_description = case.sentence.tokens[start - 1 : start + 1] in (("with", "the"), ("with", "a"))
    is_far = any(distances.get(step, 0) > 1 + is_description for step in steps)
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
    if type_ == "shape":
        return index + (token in _ALL_SHAPES)
    values = MATERIALS if type_ == "material" else _PATTERNS
    names = {
        *values,
        *chain.from_iterable(values.values()),
        *(_LISTED_MATERIALS if type_ == "material" else ()),
    }
    return index + (token in names)


def _find_described_noun(case: EditCase, index: int, end: int) -> tuple[str, int] | None:
    """Return the noun that an attribute describes in a definite phrase, with its token; None if there is none.

    In "the woman in RED", the attribute describes her clothes.
    """
    sentence = case.sentence
    tokens, last = sentence.tokens, sentence.num_content_tokens
    at = end
    while at < last and (
        # "On" is an attribute of lamps, but the tag of "in white ON the sidewalk" is that of a preposition.
        (is_attribute_word(tokens[at]) and sentence.get_tag(at) not in ("IN", "RP"))
        or tokens[at] == "and"
        or sentence.get_tag(at).startswith(("JJ", "VBN"))
    ):
        at += 1
    first = at
    while (
        at + 1 < last
        and sentence.get_tag(first).startswith("NN")
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
        and sentence.get_tag(first).startswith("NN")
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
        # "Which tool lies next to the hammer and has a METAL blade?" has no other answer.
        is_further_detail = "or" not in tokens and (
            tokens[start - 2 : start + 1] in (("and", "has", "a"), ("and", "have", "a"))
            or tokens[start - 1 : start + 2] in (("and", "has", "a"), ("and", "have", "a"))
        )
        return (word, at) if is_definite or is_further_detail else None
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
            if type_ == "material" and (
                may_show_others(case, name) or _get_material_kind(name) in _MATERIAL_SWAPS
            ):
                continue
            value = case.replacements.sample_from_weights(
                ("attribute", type_), slot.word, new, case.uniforms[0][0]
            )
            if value:
                return Swap(slot, value, {"wood": "wooden"}.get(value, value))
    return _replace_listed_material(case)


def _replace_listed_material(case: EditCase) -> Swap | None:
    """Swap a material by the table of materials: "the LEATHER bag" for "the straw bag"."""
    for slot, name in _iter_attribute_slots(case, "material"):
        old = _SPELLINGS.get(slot.word, slot.word)
        kind = _get_material_kind(name)
        beside = {_SPELLINGS.get(word, word) for word in case.mentions.find_words_beside(name)}
        new = {
            value: 1.0
            for value in _MATERIAL_SWAPS.get(kind, {}).get(old, ())
            if _SPELLINGS.get(value, value) not in beside
        }
        value = case.replacements.sample_from_weights(
            ("attribute", "material"), slot.word, new, case.uniforms[0][0]
        )
        if value and (kind == "part" or not case.mentions.may_be_several(name)):
            return Swap(slot, _SPELLINGS.get(value, value), value)
    return None


def _get_material_kind(name: str) -> str:
    """Return the row of the table of materials for an object."""
    lemma, kind = lemmatize(name), get_main_kind(name)
    if kind == "baggage":
        return "case" if lemma in ("briefcase", "suitcase", "luggage") else "bag"
    return "part" if lemma in _PARTS_OF_TOOLS else "garment" if lemma == "sleeve" else kind


def replace_shape(case: EditCase) -> Swap | None:
    """Swap the shape of an object of which the image shows one: "the OVAL sticker" for "the triangular sticker"."""
    for slot, name in _iter_attribute_slots(case, "shape"):
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
