"""A question and a reply to it as the reader of abstentions sees them: words, and what marks each of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from .normalize import to_plain_text
from .reasoning_parser import extract_final_answer

MAX_REPLY_WORDS = (
    120  # words of a reply: of a longer one its beginning and, since the final word counts, more of its end
)
REPLY_HEAD_WORDS = 40
MAX_QUESTION_WORDS = 30  # words of a question
NUM_WORD_FEATURES = 5

LATEX_COMMAND_PATTERN = re.compile(r"\\(?:boxed|text|textbf|mathrm)\b")
WORD_PATTERN = re.compile(r"n/a|[a-z]+(?=n't\b)|n't\b|'(?:s|re|ve|d|ll|m)\b|[^\W\d_]+|\d+|\n|[^\s\w]")
NUMBER_PATTERN = re.compile(r"(?!0$)\d")
# Too common to say what a question is about.
_FUNCTION_WORD_LIST = """
a an the of in on at to is are was were be been do does did what which who whom whose where when why how many much color
colour kind type sort there any this that these those it its his her their he she they you i and or with for from by as
have has had can could will would should picture image photo photograph one ones
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())
SUFFIX_RULES = (
    ("ies", "y"),
    ("sses", "ss"),
    ("shes", "sh"),
    ("ches", "ch"),
    ("xes", "x"),
    ("ing", ""),
    ("ed", ""),
    ("s", ""),
)


def tokenize(text: str) -> list[str]:
    """Words, marks and line ends, in plain characters, lower case and without accents; "not" of a contraction stands alone,
    numbers but 0 are alike.

    >>> words_of("It isn't 42!"), words_of("Café。")
    (['it', 'is', "n't", '<number>', '!'], ['cafe', '.'])
    """
    plain = LATEX_COMMAND_PATTERN.sub(
        " ", text if text.isascii() else "\n".join(map(_without_accents, text.split("\n")))
    ).lower()
    return [
        "<line>" if word == "\n" else "<number>" if NUMBER_PATTERN.match(word) else word
        for word in WORD_PATTERN.findall(plain)
    ]


def _without_accents(line: str) -> str:
    letters = unicodedata.normalize("NFKD", to_plain_text(line))
    return unicodedata.normalize("NFC", "".join(one for one in letters if unicodedata.category(one) != "Mn"))


def stem_word(word: str) -> str:
    """Without its commonest ending: "umbrellas" and "umbrella" are alike."""
    for ending, instead in SUFFIX_RULES:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + instead
    return word


def tokenize_pair(question: str, reply: str) -> tuple[list[str], list[str]]:
    """The words of both, cut to what the reader takes; never none."""
    said = tokenize(extract_final_answer(reply).text)
    if len(said) > MAX_REPLY_WORDS:
        said = [*said[:REPLY_HEAD_WORDS], "<cut>", *said[REPLY_HEAD_WORDS + 1 - MAX_REPLY_WORDS :]]
    return tokenize(question)[:MAX_QUESTION_WORDS] or ["<empty>"], said or ["<empty>"]


def compute_word_features(question: Sequence[str], reply: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """What marks each word, [words, FLAGS] for question and reply: does it say what the question is about (and does
    the other side have it), does the other side have it letter by letter, how near is the beginning, how near the end
    (1, 1/2, 1/3, ...), and 1.
    """
    about = {stem_word(word) for word in question if word not in FUNCTION_WORDS and word[0].isalpha()}
    in_both = about & {stem_word(word) for word in reply}
    return _word_features(question, in_both, set(reply)), _word_features(reply, in_both, set(question))


def _word_features(words: Sequence[str], in_both: set[str], others: set[str]) -> np.ndarray:
    flags = np.ones((len(words), NUM_WORD_FEATURES), np.float32)
    flags[:, 0] = [stem_word(word) in in_both for word in words]
    flags[:, 1] = [word in others for word in words]
    flags[:, 2] = 1 / np.arange(1, len(words) + 1)
    flags[:, 3] = flags[::-1, 2]
    return flags
