"""Represent the text of a question as tokens with word classes, and mark the tokens that express its program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.core.records import Word
from pipeline.language.word_lists import DETERMINERS, FRAME_WORDS, OBJECT_PRONOUNS, UNINFORMATIVE_NAMES

TOKEN_PATTERN = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*|['’][sS](?![A-Za-z0-9])|[^\sA-Za-z0-9]")
_POSITION_PATTERN = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9})?)?")
# A way to express a name, attribute or relation, as lower-case tokens.
SurfaceForm = tuple[str, ...]
# Index of the first token, and index of the token after the last token.
TokenRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text.

    Attributes:
        first_token: Index of the first token.
        end_token: Index of the token after the last token.
        start: Index of the first character.
        end: Index of the character after the last character.
    """

    first_token: int
    end_token: int
    start: int
    end: int


def tokenize_text(text: str) -> SurfaceForm:
    """Split a text into words and punctuation marks in lower case.

    >>> tokenize_text("What’s THE cup?")
    ('what', "'s", 'the', 'cup', '?')
    """
    return tuple(map(_normalize_token, TOKEN_PATTERN.finditer(text)))


def _normalize_token(match: re.Match[str]) -> str:
    return match[0].lower().replace("’s", "'s")


def parse_word_range(position: str) -> tuple[int, int] | None:
    """Parse a word position in GQA's annotations.

    Returns:
        Index of the first word, and index of the word after the last word; None if the position is invalid.

    >>> [parse_word_range(position) for position in ("3", "2:4", "4:", "x")]
    [(3, 4), (2, 4), (4, 5), None]
    """
    match = _POSITION_PATTERN.fullmatch(position)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or int(match[1]) + 1)
    return (first, last) if first < last else None


class Sentence:
    """The text of a question with its tagged words and the words of its program.

    Attributes:
        text: The text.
        tokens: The words and punctuation marks of the text in lower case.
        char_spans: For each token, the index of the first character and the index after the last character.
        num_content_tokens: Number of tokens up to the last word. Marks after the last word ("?", an emoji) do
            not count.
        matched: For each token, whether it belongs to a name or value of the program.
        tagged_words: Index of the first token -> tagged word.
        name_spans: Index of a step -> where the name of its object stands in the text.
        value_spans: (index of a step, index of a value) -> where the value stands in the text.

    Args:
        text: The text.
        words: The tagged words of the text; () if the text was not tagged.
    """

    def __init__(self, text: str, words: Iterable[Word] = ()) -> None:
        matches = list(TOKEN_PATTERN.finditer(text))
        self.text, self.tokens = text, tuple(map(_normalize_token, matches))
        self.char_spans = tuple(match.span() for match in matches)
        self.matched = [False] * len(matches)
        self.num_content_tokens = max(
            (i + 1 for i, token in enumerate(self.tokens) if token[0].isalnum()), default=0
        )
        starts = {start: index for index, (start, _) in enumerate(self.char_spans)}
        self.tagged_words = {starts[word.start]: word for word in words if word.start in starts}
        self.name_spans: dict[int, Span] = {}
        self.value_spans: dict[tuple[int, int], Span] = {}

    def make_span(self, first: int, last: int) -> Span:
        """Return the span from token `first` to the token before `last`."""
        return Span(first, last, self.char_spans[first][0], self.char_spans[last - 1][1])

    def mark_matched(self, first: int, last: int) -> Span:
        """Mark tokens as words of the program and return their span."""
        self.matched[first:last] = [True] * (last - first)
        return self.make_span(first, last)

    def get_text(self, span: Span) -> str:
        """Return the text of a span."""
        return self.text[span.start : span.end]

    def get_token(self, index: int) -> str:
        """Return the token at an index; "" if the index is outside of the text."""
        return self.tokens[index] if 0 <= index < len(self.tokens) else ""

    def is_matched(self, index: int) -> bool:
        """Return whether a token belongs to a name or value of the program."""
        return 0 <= index < len(self.matched) and self.matched[index]

    def get_previous_token(self, index: int) -> str:
        """Return the token before the token at an index; "" if there is none."""
        return self.get_token(index - 1)

    def get_tag(self, index: int) -> str:
        """Return the Penn Treebank tag of the word that starts at a token; "" if no tagged word starts there."""
        return self.tagged_words[index].tag if index in self.tagged_words else ""

    def get_word_class(self, index: int) -> str:
        """Return the class of the word that starts at a token: "object", "attribute" or "relation"; "" for
        others.
        """
        kind = self.tagged_words[index].word_class if index in self.tagged_words else "other"
        return kind if kind in ("object", "attribute", "relation") else ""

    def get_word_span(self, index: int) -> Span:
        """Return the span of the tagged word that starts at a token."""
        end = self.tagged_words[index].end if index in self.tagged_words else 0
        last = next((i for i in range(index, len(self.char_spans)) if self.char_spans[i][1] >= end), index)
        return self.make_span(index, last + 1)

    def is_word_unmatched(self, index: int) -> bool:
        """Return whether a word is unmatched: no token of the word that starts at `index` belongs to the
        program.
        """
        span = self.get_word_span(index)
        return not any(self.matched[span.first_token : span.end_token])

    def find_pronoun(self, name: str) -> Span | None:
        """Return where a pronoun stands as subject or object, and not as a possessive ("her hat").

        Args:
            name: A name in a program, for example "she".

        Returns:
            The span; None if the name is no pronoun, or the text does not contain the pronoun.
        """
        forms = (name, OBJECT_PRONOUNS.get(name, name)) if name in UNINFORMATIVE_NAMES else ()
        places = (i for i, token in enumerate(self.tokens) if token in forms and self.get_tag(i) != "PRP$")
        return next((self.make_span(i, i + 1) for i in places), None)

    def is_modifier(self, index: int) -> bool:
        """Return whether a token may belong to the noun after the token: "chocolate" cake, the "other" man."""
        token = self.get_token(index)
        return token == "other" or (
            self.get_tag(index).startswith(("NN", "JJ"))
            and self.get_word_class(index) not in ("attribute", "relation")
            and token not in FRAME_WORDS
            and token not in DETERMINERS
            and not token.endswith("ing")
        )

    def find_forms(self, forms: Sequence[SurfaceForm]) -> list[TokenRange]:
        """Return the unmatched token ranges at which one of the forms stands, from left to right.

        Args:
            forms: The forms. Where the places of two forms overlap, the earlier form in the list is used.
        """
        places: list[TokenRange] = []
        for form in filter(None, forms):
            first = -1
            for _ in range(self.tokens.count(form[0])):
                first = self.tokens.index(form[0], first + 1)
                place = first, first + len(form)
                if self.tokens[slice(*place)] == form and True not in self.matched[slice(*place)]:
                    places += [] if has_overlap(place, places) else [place]
        return sorted(places)


def has_overlap(place: TokenRange, others: Iterable[TokenRange]) -> bool:
    """Return whether a token range overlaps any of the others.

    >>> has_overlap((0, 2), [(1, 3)]), has_overlap((0, 2), [(2, 3)])
    (True, False)
    """
    return any(place[0] < last and first < place[1] for first, last in others)
