"""Find the colors, materials, patterns and shapes of plain questions, with the objects that have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plain_context import (
    COLOR_NAMES,
    MATERIALS,
    is_attribute_word,
    is_option,
    measure_distances,
)
from pipeline.language.noun_phrases import find_phrase_start
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.word_lists import DEFINITE_DETERMINERS, FRAME_WORDS, parse_headed_groups, parse_words

_PREPOSITION_WORDS = frozenset(phrase.split()[0] for phrase in PREPOSITIONS)

_SHADES = frozenset(("dark", "light", "bright", "pale"))

# Kind of object -> material -> other materials in which such objects are made, and which nobody confuses.
MATERIAL_SWAPS = {
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

SPELLINGS = {
    "wooden": "wood",
    "woolen": "wool",
    "knitted": "knit",
    "metallic": "metal",
    "steel": "metal",
    "iron": "metal",
}

_LISTED_MATERIALS = frozenset(chain.from_iterable(MATERIAL_SWAPS.values())) | frozenset(SPELLINGS)

_ALL_SHAPES = parse_words("round, circular, oval, square, rectangular, triangular, octagonal, diamond-shaped")

PATTERNS = parse_headed_groups("""
striped: pinstriped, plaid, checkered, checked
floral: flowered, patterned
checkered: plaid, striped, pinstriped, checked
spotted: dotted, polka-dot, patterned, floral
polka-dot: dotted, spotted, patterned
plaid: striped, checkered, checked, tartan, patterned
camouflage: patterned, floral, spotted
""")


def iter_attribute_slots(case: EditCase, type_: str) -> Iterator[tuple[Presupposition, str]]:
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
    values = MATERIALS if type_ == "material" else PATTERNS
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
