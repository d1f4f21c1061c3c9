"""Find the noun phrases of a question: their start, the words that belong to a noun, and the clause after it.

Programs give the noun and some of its modifiers. The tagged words of the text give the rest. The word lists
of this module are closed classes (pronouns, determiners, forms of "be"), except for `_VISIBILITY_WORDS`,
which we chose.
"""

from __future__ import annotations

from pipeline.language.nouns import AGREEING_VERBS, BASE_FORM_VERBS
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import Sentence, Span
from pipeline.language.word_lists import DETERMINERS, parse_words

REFERRING_PRONOUNS = parse_words("this, that, it, these, those, they, he, she")
_RELATIVE_PRONOUNS = parse_words("that, which, who")
# Words that never stand between a determiner and its noun. They are used if the text has no tags.
_PHRASE_BOUNDARIES = frozenset(word for phrase in PREPOSITIONS for word in phrase.split()) | parse_words(
    "is, are, do, does, or, have, has"
)
# A clause such as "that is shown" adds nothing about the object.
_VISIBILITY_WORDS = parse_words("shown, seen, pictured, depicted, visible")

# What a text says of an object and no step of the program does: attributes, and triples of a relation, the
# object's role in it ("s" or "o") and the name of the other object.
Modifiers = tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]
NO_MODIFIERS: Modifiers = ((), ())


def expand_noun(sentence: Sentence, span: Span) -> tuple[Span, int]:
    """Return a noun together with the words that belong to it, and the token that starts its phrase.

    The words are "chocolate" of "chocolate cake", "computer" of "laptop computer" and "other" of "the other
    man", as without a man there is no other man.

    Args:
        sentence: the sentence.
        span: the noun.
    """
    first, last = span.first_token, span.end_token
    while first > 0 and not sentence.is_matched(first - 1) and sentence.is_modifier(first - 1):
        first -= 1
    has_noun_after = (
        sentence.get_tag(last) in ("NN", "NNS")
        and sentence.get_token(last) not in BASE_FORM_VERBS | AGREEING_VERBS
    )
    # A plural noun is never the first part of a compound.
    if (
        has_noun_after
        and sentence.get_tag(last - 1) != "NNS"
        and not sentence.is_matched(last)
        and sentence.is_modifier(last)
    ):
        last += 1
    return sentence.make_span(first, last), find_phrase_start(sentence, first)


def find_phrase_start(sentence: Sentence, first: int) -> int:
    """Return the token that starts the phrase of a noun: its determiner, or else the first token of the noun.

    Only attributes may stand between the two.

    Args:
        sentence: the sentence.
        first: the first token of the noun.
    """
    name_tokens = {
        index for name in sentence.name_spans.values() for index in range(name.first_token, name.end_token)
    }
    for index in range(first - 1, max(first - 6, -1), -1):
        token = sentence.get_token(index)
        if index in name_tokens:
            break
        if token in DETERMINERS or token == "'s":
            return index
        is_attribute = sentence.is_matched(index) or sentence.get_tag(index).startswith(("JJ", "VBN", "RB"))
        may_be_attribute = (
            not sentence.tagged_words and token not in _PHRASE_BOUNDARIES and not token.endswith("ing")
        )
        if not (
            is_attribute
            or may_be_attribute
            or sentence.get_word_class(index) == "attribute"
            or token in ("and", "other", "not")
        ):
            break
    return first


def parse_postmodifier(sentence: Sentence, end_token: int) -> Modifiers | None:
    """Return what the clause or prepositional phrase after a noun says of its object and no step does.

    "The batter that is wearing a belt" must be able to wear a belt.

    Args:
        sentence: the sentence, in which the words of the program's steps are marked.
        end_token: the token after the noun.

    Returns:
        The modifiers, or None if the clause cannot be parsed.
    """
    start = _find_clause_start(sentence, end_token)
    is_relative = start > end_token
    if not is_relative and (
        sentence.get_word_class(end_token) != "relation" or not sentence.is_word_unmatched(end_token)
    ):
        return NO_MODIFIERS
    words = [
        i
        for i in range(start, len(sentence.tokens))
        if sentence.get_word_class(i) or not sentence.is_word_unmatched(i)
    ][:2]
    if not words:
        return None if _VISIBILITY_WORDS.isdisjoint(sentence.tokens[start:]) else NO_MODIFIERS
    kinds = [
        sentence.get_word_class(index) if sentence.is_word_unmatched(index) else "matched" for index in words
    ]
    name = sentence.tagged_words[words[0]].name if kinds[0] != "matched" else ""
    if kinds[0] == "relation" and (kinds[1:] == ["object"] or (is_relative and not kinds[1:])):
        return (), ((name, "s", sentence.tagged_words[words[1]].name if kinds[1:] else ""),)
    if is_relative and kinds[0] == "attribute":
        return (name,), ()
    return None if is_relative and kinds[0] == "object" else NO_MODIFIERS


def _find_clause_start(sentence: Sentence, last: int) -> int:
    """Return the token after the "that" of a relative clause, or else the token after the noun."""
    for index in range(last, sentence.num_content_tokens):
        if sentence.get_token(index) in _RELATIVE_PRONOUNS:
            has_verb = (
                sentence.get_tag(index + 1).startswith("VB")
                or sentence.get_word_class(index + 1) == "relation"
            )
            # "behind THAT man" has a determiner, not a relative pronoun.
            if has_verb or sentence.get_token(index + 1) in DETERMINERS | REFERRING_PRONOUNS:
                return index + 1
        if sentence.get_word_class(index) == "object" or sentence.get_tag(index).startswith("VB"):
            break
    return last
