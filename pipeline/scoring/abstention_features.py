"""Tokenize a question and a reply for the abstention classifier and compute features of their words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from .normalize import to_plain_text
from .reasoning_parser import extract_final_answer

# Maximum number of words of a reply. The middle of a longer reply is removed. More words are kept at the end
# than at the beginning, because replies often end with the answer.
MAX_REPLY_WORDS = 120
REPLY_HEAD_WORDS = 40
MAX_QUESTION_WORDS = 30
NUM_WORD_FEATURES = 5

LATEX_COMMAND_PATTERN = re.compile(r"\\(?:boxed|text|textbf|mathrm)\b")
WORD_PATTERN = re.compile(r"n/a|[a-z]+(?=n't\b)|n't\b|'(?:s|re|ve|d|ll|m)\b|[^\W\d_]+|\d+|\n|[^\s\w]")
NUMBER_PATTERN = re.compile(r"(?!0$)\d")
# Words that are too common to show what a question is about.
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
    """Split a text into tokens: lower-case words without accents, punctuation marks, and line breaks.

    The "n't" of a contraction is a separate token. All numbers except 0 become the same token.

    >>> tokenize("It isn't 42!"), tokenize("Café。")
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
    """Remove a common suffix, so that "umbrellas" and "umbrella" are equal.

    >>> stem_word("umbrellas")
    'umbrella'
    """
    for ending, instead in SUFFIX_RULES:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + instead
    return word


def tokenize_pair(question: str, reply: str) -> tuple[list[str], list[str]]:
    """Tokenize a question and the final answer of a reply, truncated to the classifier's limits.

    Neither list is empty.
    """
    said = tokenize(extract_final_answer(reply).text)
    if len(said) > MAX_REPLY_WORDS:
        said = [*said[:REPLY_HEAD_WORDS], "<cut>", *said[REPLY_HEAD_WORDS + 1 - MAX_REPLY_WORDS :]]
    return tokenize(question)[:MAX_QUESTION_WORDS] or ["<empty>"], said or ["<empty>"]


def compute_word_features(question: Sequence[str], reply: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Compute features of each word of a question and a reply.

    Returns:
        One array for the question and one for the reply, [words, NUM_WORD_FEATURES] each. The features of a
        word are: 1 if the word is a content word of the question and occurs in both texts; 1 if the word
        occurs in the other text; 1 / position from the beginning; 1 / position from the end; and the constant
        1.
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
