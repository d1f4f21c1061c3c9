"""Word classes: tags checked against the vocabulary, several words that are one joined, frame words set
apart.

A tagger that has read newspapers takes "closed" for a verb and "front" for a noun. What the vocabulary knows
decides; the tag only settles what the vocabulary leaves open ("orange", "glass", "watch").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.core.records import Vocabulary, Word, WordClass
from pipeline.words.frames import DETERMINERS, FRAME_NOUNS
from pipeline.words.nouns import plural, singular
from pipeline.words.relations import ANTONYMS, PREPOSITIONS
from pipeline.words.tagger import Token
from pipeline.words.verbs import verb_forms

# How attributes are said before a noun when not by their own name.
SPOKEN_ATTRIBUTES = {
    "wooden": "wood",
    "metallic": "metal",
    "blonde": "blond",
    "big": "large",
    "colour": "color",
}
_SIDES = frozenset(("left", "right", "top", "bottom"))
_LONGEST = 5  # words of the longest phrase: "on the left side of"


class WordClasses:
    """What each word of a question is, by one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._objects: dict[tuple[str, ...], str] = {}
        names = (*vocabulary.objects, *vocabulary.categories)
        for name in names:
            for form in sorted({plural(name), singular(name)}):
                self._objects.setdefault(_key(form), name)
        self._objects |= {
            _key(name): name for name in names
        }  # a name's own spelling goes before another's plural
        self._attributes = {
            _key(name): name for name in (*vocabulary.attributes, *vocabulary.attribute_types)
        }
        for said, name in SPOKEN_ATTRIBUTES.items():
            if _key(name) in self._attributes:
                self._attributes.setdefault(_key(said), name)
        self._relations = {_key(form): name for name in vocabulary.relations for form in verb_forms(name)}
        self._relations |= {_key(name): name for name in (*vocabulary.relations, *PREPOSITIONS)}

    def classify(self, text: str, tokens: Sequence[Token]) -> tuple[Word, ...]:
        """The words of a text with their classes, left to right."""
        parts = [text[start:end].lower() for start, end, _ in tokens]
        words: list[Word] = []
        index = 0
        while index < len(tokens):
            length, kind, name = self._longest(parts, index, tokens, words)
            last = tokens[index + length - 1]
            words.append(Word(start=tokens[index][0], end=last[1], tag=last[2], kind=kind, name=name))
            index += length
        return tuple(words)

    def _longest(
        self, parts: list[str], index: int, tokens: Sequence[Token], before: list[Word]
    ) -> tuple[int, WordClass, str]:
        for length in range(min(_LONGEST, len(parts) - index), 0, -1):
            phrase = tuple(parts[index : index + length])
            relation = self._relations.get(phrase)
            if length > 1 and relation:
                return length, "relation", relation
            if length == 1 and phrase[0] in _SIDES:
                return 1, "relation", phrase[0]
            if length == 1 and (
                phrase[0] in FRAME_NOUNS or (index and parts[index - 1] == "how")
            ):  # "How tall is ...?"
                return 1, "frame", phrase[0]
            attribute, noun = self._attributes.get(phrase), self._objects.get(phrase)
            if attribute and noun:
                return (
                    (length, "attribute", attribute)
                    if self._describes(parts, index, length, tokens)
                    else (length, "object", noun)
                )
            if attribute and not (relation and self._goes_on(parts, index + length)):
                return length, "attribute", attribute
            if noun and not self._is_verb(parts, index, length, tokens):
                return length, "object", noun
            if relation:
                return length, "relation", relation
        return 1, "other", ""

    def _describes(self, parts: list[str], index: int, length: int, tokens: Sequence[Token]) -> bool:
        """Whether a word that may be a thing or a look ("orange") is a look here."""
        if tuple(parts[max(index - 2, 0) : index]) == ("made", "of"):
            return True
        after = index + length
        if (
            after < len(parts)
            and (tokens[after][2].startswith("NN") or tuple(parts[after : after + 1]) in self._objects)
            and parts[after] not in ("on", "in", "to", "of")
        ):
            return True
        return not any(
            part in DETERMINERS or (part,) in self._attributes for part in parts[max(index - 1, 0) : index]
        )

    def _goes_on(self, parts: list[str], after: int) -> bool:
        """Whether "on" governs something ("on the bed", "Which side is it on?") and is no look ("Is the lamp
        on?")."""
        return (
            parts[after] not in ("or", "and")
            if after < len(parts)
            else parts[0] not in ("is", "are", "does", "do")
        )

    def _is_verb(self, parts: list[str], index: int, length: int, tokens: Sequence[Token]) -> bool:
        """Whether a word that may be a thing ("watch") is a verb here: tagged so, and no determiner or look
        before it."""
        if length > 1 or not tokens[index][2].startswith("VB"):
            return False
        previous = parts[index - 1] if index else ""
        return previous not in DETERMINERS and (previous,) not in self._attributes


def _key(phrase: str) -> tuple[str, ...]:
    return tuple(phrase.lower().split())


def opposites(words: Iterable[Word]) -> list[Word]:
    """The words that are spatial terms with an opposite."""
    return [word for word in words if word.kind == "relation" and word.name in ANTONYMS]
