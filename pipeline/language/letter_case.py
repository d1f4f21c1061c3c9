"""Detect the letter case of a text, and write new words in the same letter case.

The questions of a source may look like "What color is the cup?", "What Color Is the Cup?", "WHAT COLOR IS THE
CUP?" or "what color is the cup?". Words that an edit or a template adds must follow the style of the text.
Otherwise the words would reveal that the text was edited.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from pipeline.language.relations import PREPOSITIONS
from pipeline.language.word_lists import parse_words

LetterCase = Literal["sentence", "lower", "title", "upper"]
_WORD_PATTERN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Words that many title-case styles write in lower case, except at the start. "Off" is not one of these words,
# because in questions it is mostly an attribute: "Is the Lamp Off?".
_LOWERCASE_IN_TITLES = (
    parse_words("a, an, the, and, or, nor, but, as, than, if")
    | {phrase for phrase in PREPOSITIONS if " " not in phrase}
) - {"off"}
# Words that are in capitals in any text, so that they show nothing about its style.
_ACRONYMS = parse_words(
    "tv, tvs, atm, atms, suv, suvs, dvd, dvds, cd, cds, pc, pcs, ufo, usa, uk, us, vcr, led, lcd, ipod"
)

# Length in letters up to which a title-case text with any lower-case word has short words in lower case. For
# example, a text with "of" in lower case has "the" in lower case as well.
SHORT_WORD_LENGTH = 3


class CaseStyle(NamedTuple):
    """The letter case of a text.

    Attributes:
        case: The style. Texts of mixed style are "sentence". Texts without any capital are "lower".
        max_lowercase_length: In title case, the length in letters up to which articles, conjunctions and
            prepositions are in lower case; 0 if none are in lower case.
        has_initial_capital: Whether the first letter of the text is a capital.
    """

    case: LetterCase
    max_lowercase_length: int = 0
    has_initial_capital: bool = True


@lru_cache(maxsize=1 << 14)
def detect_case_style(text: str) -> CaseStyle:
    """Return the letter case of a text.

    >>> texts = "Is the TV on?", "is it on?", "IS IT ON?", "Is It on the Bed?"
    >>> [detect_case_style(text).case for text in texts]
    ['sentence', 'lower', 'upper', 'title']
    """
    found = _WORD_PATTERN.findall(text)
    capital = bool(found) and found[0][0].isupper()
    if not any(map(str.isupper, text)):
        return CaseStyle("lower", has_initial_capital=False)
    long = [word for word in found if len(word) > 1]
    if len(long) > 1 and sum(map(str.isupper, long)) >= 0.8 * len(long):
        return CaseStyle("upper")
    rest = [word for word in found[1:] if word[0].lower() != word[0].upper()]
    large = [word for word in rest if word.lower() not in _LOWERCASE_IN_TITLES | _ACRONYMS]
    lower = [len(word) for word in rest if word[0].islower()]
    # A single capital inside a text is a name ("What's in the McDonald's?"), not title case.
    if all(word[0].isupper() for word in large) and (len(large) > 1 or (large and not lower)):
        return CaseStyle("title", max([*lower, SHORT_WORD_LENGTH]) if lower else 0, capital)
    return CaseStyle("sentence", has_initial_capital=capital)


def to_sentence_case(text: str) -> str:
    """Convert a text from upper or title case to sentence case.

    Texts of another style are returned unchanged. The positions of characters do not change.

    >>> to_sentence_case("WHAT IS IT?"), to_sentence_case("Is the TV on?")
    ('What is it?', 'Is the TV on?')
    """
    if detect_case_style(text).case not in ("upper", "title"):
        return text
    lower = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    first = next((index for index, letter in enumerate(lower) if letter.isalpha()), len(lower))
    return lower[:first] + capitalize_first(lower[first:])


def apply_case_style(text: str, style: CaseStyle) -> str:
    """Convert a text from sentence case to another style.

    >>> apply_case_style("Is there a cup on the bed?", detect_case_style("What Is the Man on?"))
    'Is There a Cup on the Bed?'
    """
    if style.case == "upper":
        return text.upper()
    if style.case == "lower":
        return text.lower()
    if style.case == "sentence":
        return text if style.has_initial_capital else _lowercase_first(text)
    return _to_title_case(text, style, at_start=True, at_end=True)


def match_surrounding_case(replacement: str, text: str, start: int, end: int) -> str:
    """Return new words in the letter case of the words that they replace and of the surrounding text.

    Args:
        replacement: The new words as the vocabulary writes them.
        text: The text before the edit.
        start: The first replaced character.
        end: The character after the last replaced character.

    >>> match_surrounding_case("light blue", "Is the RED cup on it?", 7, 10)
    'LIGHT BLUE'
    >>> match_surrounding_case("cups", "Dogs on what?", 0, 4)
    'Cups'
    """
    style, old = detect_case_style(text), text[start:end]
    at_start = not any(map(str.isalpha, text[:start]))
    if style.case == "title":
        last = _WORD_PATTERN.findall(old)[-1:]
        at_end = not any(map(str.isalpha, text[end:])) and bool(last) and last[0][0].isupper()
        return _to_title_case(replacement, style, at_start, at_end)
    if style.case != "sentence":
        return apply_case_style(replacement, style)
    found = [word for word in _WORD_PATTERN.findall(old) if len(word) > 1]
    if found and all(word.isupper() and word.lower() not in _ACRONYMS for word in found):
        return replacement.upper()
    if at_start:
        return capitalize_first(replacement) if style.has_initial_capital else replacement
    capital = bool(found) and found[0][0].isupper() and found[0].lower() not in _ACRONYMS
    return (
        apply_case_style(replacement, CaseStyle("title"))
        if capital and not found[0].isupper()
        else replacement
    )


def copy_initial_capital(text: str, example: str) -> str:
    """Return a text with a capital first letter if an example has a capital first letter; return it unchanged
    otherwise.

    >>> copy_initial_capital("is it?", "What?")
    'Is it?'
    """
    first = next((letter for letter in example if letter.isalpha()), "")
    return capitalize_first(text) if first.isupper() else text


def _to_title_case(text: str, style: CaseStyle, at_start: bool, at_end: bool) -> str:
    """Convert words to title case.

    Args:
        text: The words.
        style: The style of the whole text to which the words belong.
        at_start: Whether the words start the whole text. Then the first word gets a capital even if it is
            short.
        at_end: Whether the words end the whole text. Then the last word gets a capital even if it is short.
    """
    places = [match.span() for match in _WORD_PATTERN.finditer(text)]
    for index, (start, end) in enumerate(places):
        word, is_first = text[start:end], at_start and index == 0
        at_edge = is_first or (at_end and index == len(places) - 1)
        is_small = len(word) <= style.max_lowercase_length and word.lower() in _LOWERCASE_IN_TITLES
        if (is_small and not at_edge) or (is_first and not style.has_initial_capital):
            continue
        text = text[:start] + "-".join(map(capitalize_first, word.split("-"))) + text[end:]
    return text


def capitalize_first(text: str) -> str:
    """Return a text with a capital first letter.

    Unlike `str.capitalize`, the function does not change other letters.

    >>> capitalize_first("the TV")
    'The TV'
    """
    return text[:1].upper() + text[1:] if len(text[:1].upper()) == 1 else text


def _lowercase_first(text: str) -> str:
    return text[:1].lower() + text[1:]
