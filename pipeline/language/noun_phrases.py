"""Find the noun phrases of a question: the start of a phrase, the words of its noun, and the clause after the
noun.

Programs state the noun and some of its modifiers. The other modifiers are found in the tagged words of the
text. The word lists of this module are closed classes (pronouns, determiners, forms of "be"). Only
`_VISIBILITY_WORDS` is a selection by the authors of this project.
"""

from __future__ import annotations

from pipeline.language.nouns import AGREEING_VERBS, BASE_FORM_VERBS
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import Sentence, Span
from pipeline.language.word_lists import DETERMINERS, parse_words

REFERRING_PRONOUNS = parse_words("this, that, it, these, those, they, he, she")
_RELATIVE_PRONOUNS = parse_words("that, which, who")
# Words that never stand between a determiner and its noun. The list is used only if the text has no tags.
_PHRASE_BOUNDARIES = frozenset(word for phrase in PREPOSITIONS for word in phrase.split()) | parse_words(
    "is, are, do, does, or, have, has"
)
# Words of clauses that state nothing about the object, such as "that is shown".
_VISIBILITY_WORDS = parse_words("shown, seen, pictured, depicted, visible")

# What a text but no step of the program states about an object: attributes, and triples (relation, role of
# the object in the relation, name of the other object). The role is "s" (subject) or "o" (object).
Modifiers = tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]
NO_MODIFIERS: Modifiers = ((), ())


def expand_noun(sentence: Sentence, span: Span) -> tuple[Span, int]:
    """Return the span of a noun together with the words that belong to the noun, and the first token of its
    phrase.

    Examples of such words are "chocolate" in "chocolate cake" and "computer" in "laptop computer". "Other" in
    "the other man" also belongs to the noun, because there is no other man if there is no man.

    Args:
        sentence: The sentence.
        span: The span of the noun.
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
    """Return the token that starts the phrase of a noun: the determiner, or else the first token of the noun.

    Only attributes may stand between the determiner and the noun.

    Args:
        sentence: The sentence.
        first: The first token of the noun.
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
    """Return what the clause or prepositional phrase after a noun states about the object, if no step states
    it.

    If another object replaces "the batter" in "the batter that is wearing a belt", that object must be able
    to wear a belt.

    Args:
        sentence: The sentence, in which the words of the program are marked.
        end_token: The token after the noun.

    Returns:
        The modifiers; None if the clause cannot be parsed.
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
    """Return the token after the relative pronoun ("that") of the clause after a noun, or else the token
    after the noun.

    Args:
        sentence: The sentence.
        last: The token after the noun.
    """
    for index in range(last, sentence.num_content_tokens):
        if sentence.get_token(index) in _RELATIVE_PRONOUNS:
            has_verb = (
                sentence.get_tag(index + 1).startswith("VB")
                or sentence.get_word_class(index + 1) == "relation"
            )
            # In "behind THAT man", the word is a determiner and not a relative pronoun.
            if has_verb or sentence.get_token(index + 1) in DETERMINERS | REFERRING_PRONOUNS:
                return index + 1
        if sentence.get_word_class(index) == "object" or sentence.get_tag(index).startswith("VB"):
            break
    return last
