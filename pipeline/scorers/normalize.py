"""Bringing answers to a common form before they are compared. docs/scores.md lists how the forms differ."""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import Literal

Form = Literal["official", "corrected", "squad"]
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: str(n) for n, word in enumerate(_DIGITS)} | {"none": "0"}
ARTICLES = frozenset({"a", "an", "the"})
PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'  # VQA's list, in its order; no colon, full stop or apostrophe

# Full forms, of which people leave out one apostrophe: "dont" -> "don't"; "couldnt've", "couldn'tve" -> "couldn't've".
_FULL = """ain't aren't can't could've couldn't didn't doesn't don't hadn't hasn't haven't he'd he's how'd how'll how's isn't
it'd it'll ma'am mightn't might've mustn't must've needn't not've o'clock oughtn't shan't should've shouldn't somebody'll
somebody's someone'd someone'll someone's something'd something'll that's there'd there're there's they'd they'll they're
they've 'twas wasn't we've weren't what'll what're what's what've when's where'd where's where've who'd who'll who's who've
why'll why're why's won't would've wouldn't y'all you'd you'll you're you've couldn't've hadn't've he'd've it'd've mightn't've she'd've shouldn't've somebody'd've someone'd've something'd've
there'd've they'd've we'd've who'd've wouldn't've you'd've y'all'll y'all'd've 'ow's'at""".split()  # noqa: SIM905
_ODD = {"somebody'd": "somebodyd"}  # VQA's table takes the apostrophe away here
# VQA writes the first three with a capital I, so that they never match.
_LOST = {"im": "i'm", "ive": "i've", "id've": "i'd've", "somebodyd": "somebody'd"}


def fold(text: str) -> str:
    """Letter case and spaces aside: the plainest way to compare.

    >>> fold(" Dark  Red")
    'dark red'
    """
    return " ".join(text.lower().split())


def normalize_answer(answer: str, *, form: Form = "official") -> str:
    """The answer's common form.

    Args:
        form: "official" does to a prediction what VQA's evaluation does, to the letter; "corrected" does what that
            means to do; "squad" is SQuAD's (lower case, no punctuation, no articles, single spaces).

    >>> normalize_answer("The two dogs, dont"), normalize_answer("black-and-white"), normalize_answer("A cat!", form="squad")
    ("2 dogs don't", 'black and white', 'cat')
    """
    if not isinstance(answer, str):
        raise ValueError(f"answer is {answer!r}, wanted a string")
    return _FORMS[form](answer)


def official_punctuation(text: str) -> str:
    """VQA's `processPunctuation`. A mark becomes nothing where it stands beside a space *anywhere* in the text or
    where the text holds a number with a comma, else a space. Full stops go unless a digit follows, the first 32."""
    beside_number = re.search(r"\d,\d", text) is not None
    out = text
    for mark in PUNCTUATION:
        if mark in text:
            out = out.replace(mark, "" if beside_number or mark + " " in text or " " + mark in text else " ")
    return re.sub(r"\.(?!\d)", "", out, count=32) if "." in out else out


def _words(text: str, contractions: dict[str, str]) -> str:
    """Lower case, number words as digits, no articles, apostrophes where they belong."""
    words = (NUMBERS.get(word, word) for word in text.lower().split())
    return " ".join(contractions.get(word, word) for word in words if word not in ARTICLES)


def single_line(text: str) -> str:
    """What VQA's evaluation does first, to every text."""
    return text.replace("\n", " ").replace("\t", " ").strip()


@lru_cache(maxsize=1 << 20)
def _official(text: str) -> str:
    return _words(official_punctuation(single_line(text)), OFFICIAL_CONTRACTIONS)


@lru_cache(maxsize=1 << 20)
def _corrected(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d)|\.(?!\d)", "", text.replace("’", "'"))
    text = re.sub(r"(?<=[^\W\d])\.(?=\d)", " ", text)
    return _words(text.translate(_TO_SPACES), CORRECTED_CONTRACTIONS)


@lru_cache(maxsize=1 << 20)
def _squad(text: str) -> str:
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


_SHORT = {full[:i] + full[i + 1 :]: full for full in _FULL for i, letter in enumerate(full) if letter == "'"}
OFFICIAL_CONTRACTIONS, CORRECTED_CONTRACTIONS = _SHORT | _ODD, _SHORT | _LOST
_TO_SPACES = str.maketrans(dict.fromkeys(PUNCTUATION, " "))
_FORMS = {"official": _official, "corrected": _corrected, "squad": _squad}
