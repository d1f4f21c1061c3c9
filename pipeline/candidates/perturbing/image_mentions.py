"""Find what the plain questions and answers of an image mention.

Programs that are derived from the text do not cover everything that the text says. "The brown one or the golden
one" speaks of two dogs, and the answer "on the saucer" of a saucer. No edit inserts what is mentioned anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.core.records import Question
from pipeline.language.nouns import lemmatize
from pipeline.language.word_lists import parse_words

MAX_NAME_WORDS = 3
# After a noun, these words start a description: "the dog ON the left".
_DESCRIBING_WORDS = parse_words(
    "on, in, at, to, near, with, of, behind, under, above, below, beside, next, between, around, inside, along, by,"
    "from, that, who, which, whose, wearing, closest, farthest, nearest, seen, visible, s"
)
_LOCATING_WORDS = parse_words("on, in, at, closest, nearest, farthest, near")
# Words that tell objects of the same name apart by their place.
_PLACE_WORDS = parse_words(
    "left, right, middle, center, centre, top, bottom, upper, lower, front, back, rear, near, nearest, closest, far,"
    "farthest, foreground, background, leftmost, rightmost, other, both, corner, edge"
)


@dataclass(frozen=True)
class ImageMentions:
    """The texts of the plain questions of one image.

    Attributes:
        texts: The words (lower case) of each question with its answer.
    """

    texts: tuple[tuple[str, ...], ...] = ()

    def find_names(self, known_names: Collection[str]) -> set[str]:
        """Return the known names of objects that a text mentions, in singular or plural.

        >>> mentions = ImageMentions((("where", "are", "the", "paper", "cups", "on", "the", "saucer"),))
        >>> sorted(mentions.find_names({"cup", "paper cup", "paper cups", "saucer", "plate"}))
        ['cup', 'paper cup', 'paper cups', 'saucer']
        """
        return {*self._phrases & set(known_names)}

    def find_all_phrases(self) -> frozenset[str]:
        """Return all phrases of up to three words, as they are and with the last word in the singular."""
        return self._phrases

    def find_words_beside(self, name: str) -> frozenset[str]:
        """Return all words of the texts that mention a name, for example its attributes.

        >>> mentions = ImageMentions((("the", "brown", "dog", "or", "the", "golden", "one"), ("red", "cars")))
        >>> sorted(mentions.find_words_beside("dogs") & {"brown", "golden", "red"})
        ['brown', 'golden']
        """
        return frozenset(word for text in self._iter_texts_with(name) for word in text)

    def find_texts(self, question: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the texts of a question with its answer.

        >>> mentions = ImageMentions((("is", "the", "dog", "old", "yes"), ("is", "the", "cat", "old", "no")))
        >>> mentions.find_texts(["is", "the", "cat", "old", "?"])
        [('is', 'the', 'cat', 'old', 'no')]
        """
        words = tuple(re.findall(r"[^\W\d_]+", " ".join(question)))
        return [text for text in self.texts if text[: len(words)] == words]

    def is_unique(self, name: str) -> bool:
        """Return whether a text speaks of "the dog" without any description, and no text of "dogs".

        >>> mentions = ImageMentions((("is", "the", "dog", "old"), ("are", "the", "cars", "near", "the", "car")))
        >>> mentions.is_unique("dog"), mentions.is_unique("car"), mentions.is_unique("cat")
        (True, False, False)
        """
        if self.is_counted_once(name):
            return True
        return not self._has_plural(name) and any(
            before == "the" and word == name and after not in _DESCRIBING_WORDS and not after.endswith("ing")
            for text in self.texts
            for before, word, after in zip(text, text[1:], [*text[2:], ""], strict=False)
        )

    def is_counted_once(self, name: str) -> bool:
        """Return whether a text counts objects of a name, and finds one.

        >>> mentions = ImageMentions((("how", "many", "dogs", "are", "there", "one"),))
        >>> mentions.is_counted_once("dog"), mentions.is_counted_once("cat")
        (True, False)
        """
        return any(
            text[:2] == ("how", "many") and lemmatize(text[2]) == name and text[-1] == "one"
            for text in self.texts
            if len(text) > 3
        )

    def may_be_several(self, name: str) -> bool:
        """Return whether texts speak of "dogs", or of dogs at different places ("on the left", "nearest").

        >>> mentions = ImageMentions((("a", "car", "on", "the", "far", "left"), ("the", "nearest", "car"), ("a", "cat")))
        >>> mentions.may_be_several("car"), mentions.may_be_several("cat")
        (True, False)
        """
        places = {place for text in self._iter_texts_with(name) for place in _iter_places(text, name)}
        return not self.is_counted_once(name) and (len(places) > 1 or self._has_plural(name))

    def _iter_texts_with(self, name: str) -> Iterator[tuple[str, ...]]:
        last = lemmatize(name.rpartition(" ")[2])
        return (text for text, lemmas in zip(self.texts, self._lemmas, strict=True) if last in lemmas)

    def _has_plural(self, name: str) -> bool:
        return any(word != name and lemmatize(word) == name for text in self.texts for word in text)

    @cached_property
    def _phrases(self) -> frozenset[str]:
        return frozenset(form for text in self.texts for phrase in _iter_phrases(text) for form in phrase)

    @cached_property
    def _lemmas(self) -> Sequence[frozenset[str]]:
        return [frozenset(map(lemmatize, text)) for text in self.texts]


def collect_mentions(questions: Iterable[Question]) -> ImageMentions:
    """Collect the texts of the plain questions of an image.

    These are the questions whose programs were derived from their texts. Beside them, questions without any program
    count as well.
    """
    plain = [question for question in questions if question.program_from_text or not question.program]
    if not any(question.program_from_text for question in plain):
        return ImageMentions()
    return ImageMentions(
        tuple(
            tuple(re.findall(r"[^\W\d_]+", f"{question.text} {_spell_one(question.answer)}".lower()))
            for question in plain
        )
    )


def _spell_one(answer: str) -> str:
    return "one" if answer.strip() == "1" else answer


def _iter_places(words: Sequence[str], name: str) -> Iterator[frozenset[str]]:
    """Yield the words of place that describe each mention of a name: "the LEFT car", "the car on the FAR RIGHT"."""
    last = name.rpartition(" ")[2]
    for index, word in enumerate(words):
        if last in (word, lemmatize(word)):
            after = (
                words[index + 1 : index + 5]
                if words[index + 1 : index + 2] and words[index + 1] in _LOCATING_WORDS
                else ()
            )
            if place := frozenset((*words[max(index - 2, 0) : index], *after)) & _PLACE_WORDS:
                yield place


def _iter_phrases(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each phrase of up to three words as it is, and with its last word in the singular."""
    for first in range(len(words)):
        for end in range(first + 1, min(first + MAX_NAME_WORDS, len(words)) + 1):
            phrase = words[first:end]
            yield " ".join(phrase), " ".join((*phrase[:-1], lemmatize(phrase[-1])))
