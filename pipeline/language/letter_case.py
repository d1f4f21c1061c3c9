"""Letter case of texts: which style a text is written in, and new words in that style.

A source may write "What color is the cup?", "What Color Is the Cup?", "WHAT COLOR IS THE CUP?" or "what color is the cup?". Words
that an edit or a template adds must follow it, or they reveal that somebody changed the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from pipeline.language.relations import PREPOSITIONS
from pipeline.language.word_lists import parse_words

LetterCase = Literal["sentence", "lower", "title", "upper"]
_WORD_PATTERN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Words that many title-case styles keep in lower case, except at the start.
_LOWERCASE_IN_TITLES = (
    parse_words("a, an, the, and, or, nor, but, as, than, if")
    | {phrase for phrase in PREPOSITIONS if " " not in phrase}
) - {"off"}  # mostly a look: "Is the Lamp Off?"
# In capitals in any text: they say nothing about the style of what takes their place.
_ACRONYMS = parse_words(
    "tv, tvs, atm, atms, suv, suvs, dvd, dvds, cd, cds, pc, pcs, ufo, usa, uk, us, vcr, led, lcd, ipod"
)

SHORT_WORD_LENGTH = 3  # letters: where a title-case text has "of" in lower case, it has "the" so, too


class CaseStyle(NamedTuple):
    """The letter case of a text.

    Attributes:
        case: "sentence" also for texts that mix styles; "lower" also for texts without letters that have case.
        lower_up_to: in title case, the length up to which articles, conjunctions and prepositions are in lower case; 0 if none is.
        capital: whether the text's first letter is a capital.
    """

    case: LetterCase
    max_lowercase_length: int = 0
    has_initial_capital: bool = True


@lru_cache(maxsize=1 << 14)
def detect_case_style(text: str) -> CaseStyle:
    """Return the style of a text.

    >>> [style_of(text).case for text in ("Is the TV on?", "is it on?", "IS IT ON?", "Is It on the Bed?")]
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
    # "What's in the McDonald's?" has a name, not a style.
    if all(word[0].isupper() for word in large) and (len(large) > 1 or (large and not lower)):
        return CaseStyle("title", max([*lower, SHORT_WORD_LENGTH]) if lower else 0, capital)
    return CaseStyle("sentence", has_initial_capital=capital)


def to_sentence_case(text: str) -> str:
    """Return a text of upper or title case in sentence case, any other as it is. No character moves.

    >>> in_sentence_case("WHAT IS IT?"), in_sentence_case("Is the TV on?")
    ('What is it?', 'Is the TV on?')
    """
    if detect_case_style(text).case not in ("upper", "title"):
        return text
    lower = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    first = next((index for index, letter in enumerate(lower) if letter.isalpha()), len(lower))
    return lower[:first] + capitalize_first(lower[first:])


def apply_case_style(text: str, style: CaseStyle) -> str:
    """Return a text that is written in sentence case in another style.

    >>> restyled("Is there a cup on the bed?", style_of("What Is the Man on?"))
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
    """Return new words in the case of what they replace and of the text around it.

    Args:
        new: as the vocabulary writes it. text: the text before the edit. start, end: the characters replaced.

    >>> put_in("light blue", "Is the RED cup on it?", 7, 10), put_in("cups", "Dogs on what?", 0, 4)
    ('LIGHT BLUE', 'Cups')
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
    """Return a text whose first letter is a capital if the example's is."""
    first = next((letter for letter in example if letter.isalpha()), "")
    return capitalize_first(text) if first.isupper() else text


def _to_title_case(text: str, style: CaseStyle, at_start: bool, at_end: bool) -> str:
    """Words in title case.

    Args:
        at_start, at_end: they are a text's first or last ones, which are capitalised even if they are short.
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
    """The text with a capital first character; `str.capitalize` would lower the rest."""
    return text[:1].upper() + text[1:] if len(text[:1].upper()) == 1 else text


def _lowercase_first(text: str) -> str:
    return text[:1].lower() + text[1:]
