"""A question's text as tokens, and what of it is known: word classes, and where its program's words stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.core.records import Word
from pipeline.language.word_lists import DETERMINERS, FRAME_WORDS, OBJECT_PRONOUNS, UNINFORMATIVE_NAMES

TOKEN_PATTERN = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*|['’][sS](?![A-Za-z0-9])|[^\sA-Za-z0-9]")
_POSITION_PATTERN = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9})?)?")
SurfaceForm = tuple[str, ...]  # a way to say something, as lower-case tokens
TokenRange = tuple[int, int]  # tokens [first, last)


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens [first, last) of a text, characters [start, end)."""

    first_token: int
    end_token: int
    start: int
    end: int


def tokenize_text(text: str) -> SurfaceForm:
    """Return a text's words and marks in lower case.

    >>> tokenize_text("What’s THE cup?")
    ('what', "'s", 'the', 'cup', '?')
    """
    return tuple(map(_normalize_token, TOKEN_PATTERN.finditer(text)))


def _normalize_token(match: re.Match[str]) -> str:
    return match[0].lower().replace("’s", "'s")


def parse_word_range(position: str) -> tuple[int, int] | None:
    """Return the words [first, last) that a position of GQA's annotations names, or None if it names none.

    >>> [parse_word_range(position) for position in ("3", "2:4", "4:", "x")]
    [(3, 4), (2, 4), (4, 5), None]
    """
    match = _POSITION_PATTERN.fullmatch(position)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or int(match[1]) + 1)
    return (first, last) if first < last else None


class Sentence:
    """A question's text with its tagged words and its program.

    Attributes:
        tokens: lower-case words and signs; places: their characters [start, end).
        end: the number of tokens up to the last word; the marks behind it ("?", "...", an emoji) are no words.
        taken: which tokens belong to a name or value that was found.
        tags: token -> its word class and tag, as far as the text was tagged.
        names: step -> where the thing it names stands. values: (step, i) -> where its i-th value stands.
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
        return Span(first, last, self.char_spans[first][0], self.char_spans[last - 1][1])

    def mark_matched(self, first: int, last: int) -> Span:
        """The span, whose tokens are found for good."""
        self.matched[first:last] = [True] * (last - first)
        return self.make_span(first, last)

    def get_text(self, span: Span) -> str:
        return self.text[span.start : span.end]

    def get_token(self, index: int) -> str:
        """A token, "" before the first and behind the last one."""
        return self.tokens[index] if 0 <= index < len(self.tokens) else ""

    def is_matched(self, index: int) -> bool:
        """Whether a token is taken; none is before the first and behind the last one."""
        return 0 <= index < len(self.matched) and self.matched[index]

    def get_previous_token(self, index: int) -> str:
        """The token in front of one, "" at the start."""
        return self.get_token(index - 1)

    def get_tag(self, index: int) -> str:
        return self.tagged_words[index].tag if index in self.tagged_words else ""

    def get_word_class(self, index: int) -> str:
        """The class of the word that starts at a token: "" for one that names nothing in an image."""
        kind = self.tagged_words[index].word_class if index in self.tagged_words else "other"
        return kind if kind in ("object", "attribute", "relation") else ""

    def get_word_span(self, index: int) -> Span:
        """The tokens of the tagged word that starts at one."""
        end = self.tagged_words[index].end if index in self.tagged_words else 0
        last = next((i for i in range(index, len(self.char_spans)) if self.char_spans[i][1] >= end), index)
        return self.make_span(index, last + 1)

    def is_word_unmatched(self, index: int) -> bool:
        """Whether none of that word's tokens is taken."""
        span = self.get_word_span(index)
        return not any(self.matched[span.first_token : span.end_token])

    def find_pronoun(self, name: str) -> Span | None:
        """Where a pronoun stands, as subject or object; None if it does not."""
        forms = (name, OBJECT_PRONOUNS.get(name, name)) if name in UNINFORMATIVE_NAMES else ()
        places = (i for i, token in enumerate(self.tokens) if token in forms and self.get_tag(i) != "PRP$")
        return next((self.make_span(i, i + 1) for i in places), None)

    def is_modifier(self, index: int) -> bool:
        """Whether a token that no step names may belong to the noun after it: "chocolate" cake, "adult" man,
        the "other" man."""
        token = self.get_token(index)
        return token == "other" or (
            self.get_tag(index).startswith(("NN", "JJ"))
            and self.get_word_class(index) not in ("attribute", "relation")
            and token not in FRAME_WORDS
            and token not in DETERMINERS
            and not token.endswith("ing")
        )

    def find_forms(self, forms: Sequence[SurfaceForm]) -> list[TokenRange]:
        """Where one of the forms stands, none of its tokens taken; the first form that fits wins."""
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
    return any(place[0] < last and first < place[1] for first, last in others)
