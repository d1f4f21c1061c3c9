"""Noun phrases in a question's text: what belongs to a noun, where its phrase starts, what a clause behind it says.

Programs name a noun and what of its phrase they use; the rest is told by the tagged words. The lists of words here are of closed
classes (pronouns, determiners, forms of "be"), but for `_SHOWN`, our own judgement.
"""

from __future__ import annotations

from pipeline.language.nouns import AGREEING_VERBS, BASE_FORM_VERBS
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import Sentence, Span
from pipeline.language.word_lists import DETERMINERS, parse_words

REFERRING_PRONOUNS = parse_words("this, that, it, these, those, they, he, she")
_RELATIVE_PRONOUNS = parse_words("that, which, who")
# What cannot stand between a determiner and its noun, where no tags tell it.
_PHRASE_BOUNDARIES = frozenset(word for phrase in PREPOSITIONS for word in phrase.split()) | parse_words(
    "is, are, do, does, or, have, has"
)
_VISIBILITY_WORDS = parse_words(
    "shown, seen, pictured, depicted, visible"
)  # "that is shown" says nothing of a thing

# What a text says of a thing and no step does: attributes, and (relation, the thing's role in it, the other thing).
Modifiers = tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]
NO_MODIFIERS: Modifiers = ((), ())


def expand_noun(sentence: Sentence, span: Span) -> tuple[Span, int]:
    """A noun with what belongs to it ("chocolate" of "chocolate cake", "computer" of "laptop computer", "other" of "the other
    man", for where there is no man, there is no other), and the token that starts its phrase."""
    first, last = span.first_token, span.end_token
    while first > 0 and not sentence.is_matched(first - 1) and sentence.is_modifier(first - 1):
        first -= 1
    noun_after = (
        sentence.get_tag(last) in ("NN", "NNS")
        and sentence.get_token(last) not in BASE_FORM_VERBS | AGREEING_VERBS
    )
    # "the animals dogs" is none
    if (
        noun_after
        and sentence.get_tag(last - 1) != "NNS"
        and not sentence.is_matched(last)
        and sentence.is_modifier(last)
    ):
        last += 1
    return sentence.make_span(first, last), find_phrase_start(sentence, first)


def find_phrase_start(sentence: Sentence, first: int) -> int:
    """The token that starts the phrase of a noun: its determiner, with only looks in between; else the noun's first."""
    nouns = {
        index for name in sentence.name_spans.values() for index in range(name.first_token, name.end_token)
    }
    for index in range(first - 1, max(first - 6, -1), -1):
        token = sentence.get_token(index)
        if index in nouns:
            break
        if token in DETERMINERS or token == "'s":
            return index
        look = sentence.is_matched(index) or sentence.get_tag(index).startswith(("JJ", "VBN", "RB"))
        untagged = not sentence.tagged_words and token not in _PHRASE_BOUNDARIES and not token.endswith("ing")
        if not (
            look
            or untagged
            or sentence.get_word_class(index) == "attribute"
            or token in ("and", "other", "not")
        ):
            break
    return first


def parse_postmodifier(sentence: Sentence, end_token: int) -> Modifiers | None:
    """What a clause behind a noun says of it and no step does: "the batter that is wearing a belt" must be able to
    wear one. None where that cannot be told.

    Args:
        last: the token behind the noun.
    """
    start = _find_clause_start(sentence, end_token)
    relative = start > end_token
    if not relative and (
        sentence.get_word_class(end_token) != "relation" or not sentence.is_word_unmatched(end_token)
    ):
        return NO_MODIFIERS
    told = [
        i
        for i in range(start, len(sentence.tokens))
        if sentence.get_word_class(i) or not sentence.is_word_unmatched(i)
    ][:2]
    if not told:
        return None if _VISIBILITY_WORDS.isdisjoint(sentence.tokens[start:]) else NO_MODIFIERS
    kinds = [
        sentence.get_word_class(index) if sentence.is_word_unmatched(index) else "taken" for index in told
    ]
    word = sentence.tagged_words[told[0]].name if kinds[0] != "taken" else ""
    if kinds[0] == "relation" and (kinds[1:] == ["object"] or (relative and not kinds[1:])):
        return (), ((word, "s", sentence.tagged_words[told[1]].name if kinds[1:] else ""),)
    if relative and kinds[0] == "attribute":
        return (word,), ()
    return None if relative and kinds[0] == "object" else NO_MODIFIERS


def _find_clause_start(sentence: Sentence, last: int) -> int:
    """The token after the "that" of the clause that a noun has; without one, the token behind the noun."""
    for index in range(last, sentence.num_content_tokens):
        if sentence.get_token(index) in _RELATIVE_PRONOUNS:
            verb = (
                sentence.get_tag(index + 1).startswith("VB")
                or sentence.get_word_class(index + 1) == "relation"
            )
            if (
                verb or sentence.get_token(index + 1) in DETERMINERS | REFERRING_PRONOUNS
            ):  # not "behind THAT man"
                return index + 1
        if sentence.get_word_class(index) == "object" or sentence.get_tag(index).startswith("VB"):
            break
    return last
