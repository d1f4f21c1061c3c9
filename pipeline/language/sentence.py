"""A question's text as tokens, and what of it is known: word classes, and where its program's words stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.core.records import Word
from pipeline.language.word_lists import AS_OBJECT, DETERMINERS, FRAME_NOUNS, PRONOUNS

TOKEN = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*|['’][sS](?![A-Za-z0-9])|[^\sA-Za-z0-9]")
_POSITION = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9})?)?")
Form = tuple[str, ...]  # a way to say something, as lower-case tokens
Place = tuple[int, int]  # tokens [first, last)


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens [first, last) of a text, characters [start, end)."""

    first: int
    last: int
    start: int
    end: int


def tokens_of(text: str) -> Form:
    """Return a text's words and marks in lower case.

    >>> tokens_of("What’s THE cup?")
    ('what', "'s", 'the', 'cup', '?')
    """
    return tuple(map(_token, TOKEN.finditer(text)))


def _token(match: re.Match[str]) -> str:
    return match[0].lower().replace("’s", "'s")


def annotated_words(position: str) -> tuple[int, int] | None:
    """Return the words [first, last) that a position of GQA's annotations names, or None if it names none.

    >>> annotated_words("3"), annotated_words("2:4"), annotated_words("4:"), annotated_words("x")
    ((3, 4), (2, 4), (4, 5), None)
    """
    match = _POSITION.fullmatch(position)
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
        matches = list(TOKEN.finditer(text))
        self.text, self.tokens = text, tuple(map(_token, matches))
        self.places = tuple(match.span() for match in matches)
        self.taken = [False] * len(matches)
        self.end = max((i + 1 for i, token in enumerate(self.tokens) if token[0].isalnum()), default=0)
        starts = {start: index for index, (start, _) in enumerate(self.places)}
        self.tags = {starts[word.start]: word for word in words if word.start in starts}
        self.names: dict[int, Span] = {}
        self.values: dict[tuple[int, int], Span] = {}

    def span(self, first: int, last: int) -> Span:
        return Span(first, last, self.places[first][0], self.places[last - 1][1])

    def take(self, first: int, last: int) -> Span:
        """The span, whose tokens are found for good."""
        self.taken[first:last] = [True] * (last - first)
        return self.span(first, last)

    def said(self, span: Span) -> str:
        return self.text[span.start : span.end]

    def token(self, index: int) -> str:
        """A token, "" before the first and behind the last one."""
        return self.tokens[index] if 0 <= index < len(self.tokens) else ""

    def is_taken(self, index: int) -> bool:
        """Whether a token is taken; none is before the first and behind the last one."""
        return 0 <= index < len(self.taken) and self.taken[index]

    def before(self, index: int) -> str:
        """The token in front of one, "" at the start."""
        return self.token(index - 1)

    def tag(self, index: int) -> str:
        return self.tags[index].tag if index in self.tags else ""

    def kind(self, index: int) -> str:
        """The class of the word that starts at a token: "" for one that names nothing in a picture."""
        kind = self.tags[index].kind if index in self.tags else "other"
        return kind if kind in ("object", "attribute", "relation") else ""

    def word_at(self, index: int) -> Span:
        """The tokens of the tagged word that starts at one."""
        end = self.tags[index].end if index in self.tags else 0
        last = next((i for i in range(index, len(self.places)) if self.places[i][1] >= end), index)
        return self.span(index, last + 1)

    def free(self, index: int) -> bool:
        """Whether none of that word's tokens is taken."""
        span = self.word_at(index)
        return not any(self.taken[span.first : span.last])

    def pronoun(self, name: str) -> Span | None:
        """Where a pronoun stands, as subject or object; None if it does not."""
        forms = (name, AS_OBJECT.get(name, name)) if name in PRONOUNS else ()
        places = (i for i, token in enumerate(self.tokens) if token in forms and self.tag(i) != "PRP$")
        return next((self.span(i, i + 1) for i in places), None)

    def modifies(self, index: int) -> bool:
        """Whether a token that no step names may belong to the noun after it: "chocolate" cake, "adult" man,
        the "other" man."""
        token = self.token(index)
        return token == "other" or (
            self.tag(index).startswith(("NN", "JJ"))
            and self.kind(index) not in ("attribute", "relation")
            and token not in FRAME_NOUNS
            and token not in DETERMINERS
            and not token.endswith("ing")
        )

    def find(self, forms: Sequence[Form]) -> list[Place]:
        """Where one of the forms stands, none of its tokens taken; the first form that fits wins."""
        places: list[Place] = []
        for form in filter(None, forms):
            first = -1
            for _ in range(self.tokens.count(form[0])):
                first = self.tokens.index(form[0], first + 1)
                place = first, first + len(form)
                if self.tokens[slice(*place)] == form and True not in self.taken[slice(*place)]:
                    places += [] if overlaps(place, places) else [place]
        return sorted(places)


def overlaps(place: Place, others: Iterable[Place]) -> bool:
    return any(place[0] < last and first < place[1] for first, last in others)
