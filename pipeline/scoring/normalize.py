"""Normalize answers before they are compared. docs/reference/scores.md lists the differences between
normalizations.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import lru_cache
from typing import Literal

Normalization = Literal["official", "corrected", "squad"]
_NUMBER_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER_WORDS = {word: str(n) for n, word in enumerate(_NUMBER_NAMES)} | {"none": "0"}
ARTICLES = frozenset({"a", "an", "the"})
# Non-ASCII characters and their ASCII equivalents. NFKC normalization would convert some of these characters
# to spaces and combining marks.
_ASCII_EQUIVALENTS = str.maketrans(
    dict.fromkeys("‘’‚‛′‵ʹʻʼʽˈ´｀＇‹›", "'")
    | dict.fromkeys("“”„‟″‶«»〝〞〟＂", '"')
    | dict.fromkeys("。｡۔։።。｡।॥", ".")
    | dict.fromkeys("、､،᠂", ",")
    | dict.fromkeys("؟՞⸮", "?")
    | dict.fromkeys("؛", ";")
    | dict.fromkeys("·•‧∙⋅・･¡¿", " ")
    | dict.fromkeys("−⁃﹣", "-")
    | dict.fromkeys("⁄∕", "/")
    | dict.fromkeys("…", "...")
)
# The punctuation marks of VQA's evaluation, in the original order. The list has no colon, full stop or
# apostrophe.
PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'

# Contractions. An answer that omits one apostrophe is corrected: "dont" -> "don't"; "couldnt've" ->
# "couldn't've".
_CONTRACTIONS = """ain't aren't can't could've couldn't didn't doesn't don't hadn't hasn't haven't he'd he's how'd how'll how's isn't
it'd it'll ma'am mightn't might've mustn't must've needn't not've o'clock oughtn't shan't should've shouldn't somebody'll
somebody's someone'd someone'll someone's something'd something'll that's there'd there're there's they'd they'll they're
they've 'twas wasn't we've weren't what'll what're what's what've when's where'd where's where've who'd who'll who's who've
why'll why're why's won't would've wouldn't y'all you'd you'll you're you've couldn't've hadn't've he'd've it'd've mightn't've she'd've shouldn't've somebody'd've someone'd've something'd've
there'd've they'd've we'd've who'd've wouldn't've you'd've y'all'll y'all'd've 'ow's'at""".split()  # noqa: SIM905
# In this entry, VQA's table removes the apostrophe instead of adding it.
_OFFICIAL_EXCEPTIONS = {"somebody'd": "somebodyd"}
# Corrections that VQA's table does not make. It has the first three with a capital I, so they never match.
_OFFICIAL_OMISSIONS = {"im": "i'm", "ive": "i've", "id've": "i'd've", "somebodyd": "somebody'd"}
# A closing quotation mark is also used as an apostrophe, so quotation marks are recognized by the characters
# around them.
_SINGLE_QUOTED = re.compile(r"(?<!\w)[‘‚‛‹]([^‘’‚‛‹›]*)[’‘›](?!\w)")


def fold_case(text: str) -> str:
    """Convert to lower case with single spaces.

    >>> fold_case(" Dark  Red")
    'dark red'
    """
    return " ".join(text.lower().split())


def to_plain_text(text: str) -> str:
    r"""Replace characters by their plainest equivalents and collapse spaces.

    Invisible characters (zero-width characters, byte order marks, control characters, variation selectors)
    are removed. The text is normalized to NFKC, so that full-width letters and ligatures become plain
    letters. Quotation marks, dashes, ellipses, and the full stops, commas and question marks of other scripts
    become ASCII characters. Other non-ASCII brackets and quotation marks become spaces. Pictographs next to
    words become spaces, too. ASCII characters are kept.

    >>> to_plain_text("\ufeffｙｅｓ。"), to_plain_text("don’t…"), to_plain_text("cafe\u0301") == "café", to_plain_text("✅ red")
    ('yes.', "don't...", True, 'red')
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    text = _SINGLE_QUOTED.sub(r'"\1"', text)
    plain = unicodedata.normalize("NFKC", text.translate(_ASCII_EQUIVALENTS))
    plain = "".join(map(_plain_character, plain.translate(_ASCII_EQUIVALENTS)))
    if any(map(str.isalnum, plain)):
        plain = "".join(" " if _is_pictograph(one) else one for one in plain)
    return " ".join(plain.split())


def _plain_character(one: str) -> str:
    if one.isascii():
        return one if one.isprintable() or one.isspace() else ""
    match unicodedata.category(one):
        case "Cf" | "Cc" | "Co" | "Cs" | "Cn" | "Me":
            return " " if one == "\x85" else ""
        case "Pd":
            return "-"
        case "Pi" | "Pf" | "Ps" | "Pe" | "Zs" | "Zl" | "Zp":
            return " "
        case "Mn" if (
            "\ufe00" <= one <= "\ufe0f" or "\U000e0100" <= one <= "\U000e01ef"
        ):  # variation selectors
            return ""
        case _:
            return one


def _is_pictograph(one: str) -> bool:
    return one >= "\u2190" and unicodedata.category(one) in ("So", "Sk")


def has_text(reply: str) -> bool:
    r"""Return whether a reply has any visible character.

    >>> has_text(" red"), has_text(" \n"), has_text("\ufeff\u200b")
    (True, False, False)
    """
    return bool(reply.strip()) and (reply.isascii() or bool(to_plain_text(reply)))


def normalize_answer(answer: str, *, normalization: Normalization = "official") -> str:
    """Normalize an answer.

    Args:
        answer: The answer.
        normalization: "official" reproduces VQA's evaluation exactly. "corrected" applies `to_plain_text` and
            then the rules that VQA's evaluation intends, without its mistakes. "squad" is the normalization
            of SQuAD: lower case, no punctuation, no articles, single spaces.

    Raises:
        ValueError: The answer is not a string.

    >>> normalize_answer("The two dogs, dont"), normalize_answer("black-and-white")
    ("2 dogs don't", 'black and white')
    >>> normalize_answer("A cat!", normalization="squad")
    'cat'
    """
    if not isinstance(answer, str):
        raise ValueError(f"answer is {answer!r}, expected a string")
    return _NORMALIZERS[normalization](answer)


def process_punctuation(text: str) -> str:
    """Apply VQA's `processPunctuation`.

    A punctuation mark is removed if the same mark occurs next to a space *anywhere* in the text, or if the
    text has a number with a comma. Otherwise the mark becomes a space. The first 32 full stops that are not
    followed by a digit are removed.
    """
    beside_number = re.search(r"\d,\d", text) is not None
    out = text
    for mark in PUNCTUATION:
        if mark in text:
            out = out.replace(mark, "" if beside_number or mark + " " in text or " " + mark in text else " ")
    return re.sub(r"\.(?!\d)", "", out, count=32) if "." in out else out


def _normalize_words(text: str, contractions: dict[str, str]) -> str:
    """Convert a text to lower case, convert number words to digits, remove articles, and restore apostrophes."""
    words = (NUMBER_WORDS.get(word, word) for word in text.lower().split())
    return " ".join(contractions.get(word, word) for word in words if word not in ARTICLES)


def to_single_line(text: str) -> str:
    """Join the lines of a text. VQA's evaluation does this first with every text."""
    return text.replace("\n", " ").replace("\t", " ").strip()


@lru_cache(maxsize=1 << 20)
def _normalize_official(text: str) -> str:
    return _normalize_words(process_punctuation(to_single_line(text)), OFFICIAL_CONTRACTIONS)


@lru_cache(maxsize=1 << 20)
def _normalize_corrected(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d)|\.(?!\d)", "", to_plain_text(text))
    text = re.sub(r"(?<=[^\W\d])\.(?=\d)", " ", text)
    return _normalize_words(text.translate(_PUNCTUATION_TO_SPACES), CORRECTED_CONTRACTIONS)


@lru_cache(maxsize=1 << 20)
def _normalize_squad(text: str) -> str:
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


_MISSING_APOSTROPHES = {
    full[:i] + full[i + 1 :]: full for full in _CONTRACTIONS for i, letter in enumerate(full) if letter == "'"
}
OFFICIAL_CONTRACTIONS, CORRECTED_CONTRACTIONS = (
    _MISSING_APOSTROPHES | _OFFICIAL_EXCEPTIONS,
    _MISSING_APOSTROPHES | _OFFICIAL_OMISSIONS,
)
_PUNCTUATION_TO_SPACES = str.maketrans(dict.fromkeys(PUNCTUATION, " "))
_NORMALIZERS = {"official": _normalize_official, "corrected": _normalize_corrected, "squad": _normalize_squad}
