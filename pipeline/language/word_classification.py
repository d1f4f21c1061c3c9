"""Classify the words of questions as objects, attributes, relations, frame words or other words.

First the vocabulary of the data set decides. The part-of-speech tag decides only where the vocabulary is
ambiguous ("orange", "glass", "watch"), because a tagger that was trained on newspapers takes "closed" for a
verb and "front" for a noun. Several words that form one name are joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.core.records import TaggedText, Vocabulary, Word, WordClass
from pipeline.language.letter_case import to_sentence_case
from pipeline.language.nouns import pluralize, singularize
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.similarity import ATTRIBUTE_SYNONYMS
from pipeline.language.tagger import TaggedToken, Tagger, get_verb_forms
from pipeline.language.word_lists import DETERMINERS, FRAME_WORDS

_SIDE_WORDS = frozenset(("left", "right", "top", "bottom"))
# Number of words in the longest phrase, "on the left side of".
_MAX_PHRASE_LENGTH = 5

Phrase = tuple[str, ...]


class WordClassifier:
    """Classify the words of questions with a vocabulary.

    Args:
        vocabulary: The names of objects, attributes and relations.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        names = (*vocabulary.objects, *vocabulary.categories)
        self._objects = {_split_phrase(name): name for name in names}
        # If a text is both a name and the plural of another name, it stands for the former.
        for name in names:
            for form in sorted({pluralize(name), singularize(name)}):
                self._objects.setdefault(_split_phrase(form), name)
        attributes = (*vocabulary.attributes, *vocabulary.attribute_types)
        self._attributes = {_split_phrase(name): name for name in attributes}
        for name, forms in ATTRIBUTE_SYNONYMS.items():
            if _split_phrase(name) in self._attributes:
                self._attributes |= {_split_phrase(form): name for form in forms} | self._attributes
        self._relations = {
            _split_phrase(form): name for name in vocabulary.relations for form in get_verb_forms(name)
        }
        self._relations |= {_split_phrase(name): name for name in (*vocabulary.relations, *PREPOSITIONS)}

    def classify(self, text: str, tokens: Sequence[TaggedToken]) -> tuple[Word, ...]:
        """Return the words of a text with their classes, from left to right.

        Args:
            text: The text.
            tokens: The tagged tokens of the text.
        """
        parts = tuple(text[start:end].lower() for start, end, _ in tokens)
        tags = [tag for _, _, tag in tokens]
        words: list[Word] = []
        first = 0
        while first < len(parts):
            lengths = range(min(first + _MAX_PHRASE_LENGTH, len(parts)), first, -1)
            classes = ((last, self._classify_phrase(parts, tags, first, last)) for last in lengths)
            last, (kind, name) = next((last, class_of) for last, class_of in classes if class_of)
            start, end = tokens[first][0], tokens[last - 1][1]
            words.append(Word(start=start, end=end, tag=tags[last - 1], word_class=kind, name=name))
            first = last
        return tuple(words)

    def _classify_phrase(
        self, parts: Phrase, tags: Sequence[str], first: int, last: int
    ) -> tuple[WordClass, str] | None:
        """Return the class and the name of a phrase.

        Args:
            parts: The words of the text in lower case.
            tags: The tag of each word.
            first: Index of the first word of the phrase.
            last: Index of the word after the phrase.

        Returns:
            The class and the name; None if the phrase has several words that together are not in the
            vocabulary.
        """
        phrase, is_single = parts[first:last], last - first == 1
        if is_single and phrase[0] in _SIDE_WORDS:
            return "relation", phrase[0]
        # "How TALL is the man?"
        follows_how = parts[first - 1 : first] == ("how",)
        if is_single and (follows_how or phrase[0] in FRAME_WORDS):
            return "frame", phrase[0]
        relation, attribute = self._relations.get(phrase), self._attributes.get(phrase)
        noun = self._objects.get(phrase)
        if relation and not is_single:
            return "relation", relation
        if attribute and noun:
            return (
                ("attribute", attribute) if self._is_attribute(parts, tags, first, last) else ("object", noun)
            )
        if attribute and not (relation and _has_complement(parts, last)):
            return "attribute", attribute
        # "Who do you WATCH?"
        is_verb = is_single and tags[first].startswith("VB") and not self._has_qualifier(parts, first)
        if noun and not is_verb:
            return "object", noun
        if relation:
            return "relation", relation
        return ("other", "") if is_single else None

    def _is_attribute(self, parts: Phrase, tags: Sequence[str], first: int, last: int) -> bool:
        """Return whether words that may be an object or an attribute ("orange") are an attribute here."""
        if parts[max(first - 2, 0) : first] == ("made", "of") or not self._has_qualifier(parts, first):
            return True
        after = parts[last : last + 1]
        if not after or after[0] in ("on", "in", "to", "of"):
            return False
        return after in self._objects or tags[last].startswith("NN")

    def _has_qualifier(self, parts: Phrase, first: int) -> bool:
        """Return whether a determiner or an attribute stands before a word."""
        before = parts[max(first - 1, 0) : first]
        return before in self._attributes or not DETERMINERS.isdisjoint(before)


def tag_texts(texts: Iterable[str], classifier: WordClassifier, tagger: Tagger) -> Iterator[TaggedText]:
    """Tag and classify the words of texts.

    Args:
        texts: The texts.
        classifier: The classifier of words.
        tagger: The part-of-speech tagger.

    Yields:
        One row for each distinct text, sorted by text.
    """
    distinct = sorted(set(texts))
    # The texts are converted to sentence case, because the tagger takes capitalized words for proper names.
    for text, tokens in zip(distinct, tagger.tag(map(to_sentence_case, distinct)), strict=True):
        yield TaggedText(text=text, words=classifier.classify(text, tokens))


def _has_complement(parts: Phrase, last: int) -> bool:
    """Return whether a word such as "on" is a preposition ("Which side is it on?") and not an attribute ("Is
    it on?").

    Args:
        parts: The words of the text in lower case.
        last: Index of the word after the word in question.
    """
    if last < len(parts):
        return parts[last] not in ("or", "and")
    return parts[0] not in ("is", "are", "does", "do")


def _split_phrase(phrase: str) -> Phrase:
    return tuple(phrase.lower().split())
