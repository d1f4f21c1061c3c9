"""Find grammatical errors that GQA's templates make and that edited questions inherit.

Source questions are released as GQA wrote them, with their errors. An edited question must not have an error.
In addition, the absence of errors must not reveal which question was edited. So an edited question is dropped
if the question itself or its source has an error.
"""

from __future__ import annotations

from functools import lru_cache

from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import tokenize_text
from pipeline.language.word_lists import DETERMINERS, parse_words

_SINGLE_WORD_PREPOSITIONS = frozenset(phrase for phrase in PREPOSITIONS if " " not in phrase) - {
    "from",
    "to",
    "of",
}
_PREPOSITION_FIRST_WORDS = frozenset(phrase.split()[0] for phrase in PREPOSITIONS)
_PREPOSITIONS_BEFORE_OF = parse_words("out, inside, outside, off")
_RELATIVE_PRONOUNS = parse_words("that, which, who")
_FINITE_VERBS = parse_words("is, are, was, were, do, does, have, has, can")
_ATTRIBUTE_NOUNS = parse_words("color, colour, size, length, shape, height, material, pattern, weight, age")
# "" is the end of a text without punctuation.
_SENTENCE_ENDS = frozenset(("", "?", ".", "!"))
_SINGULAR_PRONOUNS, _PLURAL_PRONOUNS = parse_words("it, this, that"), parse_words("these, those, they")


@lru_cache(maxsize=1 << 16)
def find_grammar_error(text: str) -> str:
    """Return a description of the first grammatical error of a question, or "" if there is none.

    A question must have one preposition per noun, one verb per clause, verbs that agree with their subject,
    articles where they are required, and an idiomatic word order.

    >>> find_grammar_error("What is the man that to the left of the cup wearing?")
    'a clause without a verb'
    >>> find_grammar_error("Is the cup in front or behind the vase?")
    'an incomplete preposition'
    >>> find_grammar_error("Does the cup have large size?")
    'a noun without an article'
    >>> find_grammar_error("Which color do you think is the cup?")
    'a wrong word order'
    """
    tokens = ("", *tokenize_text(text), "", "")
    for before, token, after, next_ in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if token == after and token.isalpha():
            return "a repeated word"
        if token in _SINGLE_WORD_PREPOSITIONS - _PREPOSITIONS_BEFORE_OF and after == "of":
            return "a superfluous preposition"
        # "What is the boy in front doing?", "Is the boy in front of the tree?"
        continues = after in {"of", "with", *_SENTENCE_ENDS} or after.endswith("ing")
        if before == "in" and token == "front" and not continues:
            return "an incomplete preposition"
        if token in ("have", "has") and next_ in _ATTRIBUTE_NOUNS:
            return "a noun without an article"
        if token == "think" and after in ("is", "are") and next_ in DETERMINERS:
            return "a wrong word order"
        if (
            before not in {"", *_FINITE_VERBS}
            and token in _RELATIVE_PRONOUNS
            and after in _PREPOSITION_FIRST_WORDS
        ):
            return "a clause without a verb"
        if (token == "are" and after in _SINGULAR_PRONOUNS and next_ in _SENTENCE_ENDS) or (
            token == "is" and after in _PLURAL_PRONOUNS
        ):
            return "a verb that does not agree with its subject"
    if tokens[1] == "how" and "called" in tokens:
        return "an unidiomatic question for a name"
    words = [token for token in tokens if token[:1].isalnum()]
    if tokens[1] == "where" and words[-1] in {"of", *_SINGLE_WORD_PREPOSITIONS}:
        return "a location asked for twice"
    return ""
