"""Noun phrases in a question's text: what belongs to a noun, where its phrase starts, what a clause behind it says.

Programs name a noun and what of its phrase they use; the rest is told by the tagged words. The lists of words here are of closed
classes (pronouns, determiners, forms of "be"), but for `_SHOWN`, our own judgement.
"""

from __future__ import annotations

from pipeline.language.nouns import BASE, VERBS
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import Sentence, Span
from pipeline.language.word_lists import DETERMINERS, words

POINTING = words("this, that, it, these, those, they, he, she")
_RELATIVE = words("that, which, who")
# What cannot stand between a determiner and its noun, where no tags tell it.
_ENDS = frozenset(word for phrase in PREPOSITIONS for word in phrase.split()) | words(
    "is, are, do, does, or, have, has"
)
_SHOWN = words("shown, seen, pictured, depicted, visible")  # "that is shown" says nothing of a thing

# What a text says of a thing and no step does: attributes, and (relation, the thing's role in it, the other thing).
Said = tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]
NOTHING: Said = ((), ())


def whole_noun(sentence: Sentence, span: Span) -> tuple[Span, int]:
    """A noun with what belongs to it ("chocolate" of "chocolate cake", "computer" of "laptop computer", "other" of "the other
    man", for where there is no man, there is no other), and the token that starts its phrase."""
    first, last = span.first, span.last
    while first > 0 and not sentence.is_taken(first - 1) and sentence.modifies(first - 1):
        first -= 1
    noun_after = sentence.tag(last) in ("NN", "NNS") and sentence.token(last) not in BASE | VERBS
    # "the animals dogs" is none
    if (
        noun_after
        and sentence.tag(last - 1) != "NNS"
        and not sentence.is_taken(last)
        and sentence.modifies(last)
    ):
        last += 1
    return sentence.span(first, last), phrase_start(sentence, first)


def phrase_start(sentence: Sentence, first: int) -> int:
    """The token that starts the phrase of a noun: its determiner, with only looks in between; else the noun's first."""
    nouns = {index for name in sentence.names.values() for index in range(name.first, name.last)}
    for index in range(first - 1, max(first - 6, -1), -1):
        token = sentence.token(index)
        if index in nouns:
            break
        if token in DETERMINERS or token == "'s":
            return index
        look = sentence.is_taken(index) or sentence.tag(index).startswith(("JJ", "VBN", "RB"))
        untagged = not sentence.tags and token not in _ENDS and not token.endswith("ing")
        if not (look or untagged or sentence.kind(index) == "attribute" or token in ("and", "other", "not")):
            break
    return first


def clause(sentence: Sentence, last: int) -> Said | None:
    """What a clause behind a noun says of it and no step does: "the batter that is wearing a belt" must be able to
    wear one. None where that cannot be told.

    Args:
        last: the token behind the noun.
    """
    start = _clause_start(sentence, last)
    relative = start > last
    if not relative and (sentence.kind(last) != "relation" or not sentence.free(last)):
        return NOTHING
    told = [i for i in range(start, len(sentence.tokens)) if sentence.kind(i) or not sentence.free(i)][:2]
    if not told:
        return None if _SHOWN.isdisjoint(sentence.tokens[start:]) else NOTHING
    kinds = [sentence.kind(index) if sentence.free(index) else "taken" for index in told]
    word = sentence.tags[told[0]].name if kinds[0] != "taken" else ""
    if kinds[0] == "relation" and (kinds[1:] == ["object"] or (relative and not kinds[1:])):
        return (), ((word, "s", sentence.tags[told[1]].name if kinds[1:] else ""),)
    if relative and kinds[0] == "attribute":
        return (word,), ()
    return None if relative and kinds[0] == "object" else NOTHING


def _clause_start(sentence: Sentence, last: int) -> int:
    """The token after the "that" of the clause that a noun has; without one, the token behind the noun."""
    for index in range(last, sentence.end):
        if sentence.token(index) in _RELATIVE:
            verb = sentence.tag(index + 1).startswith("VB") or sentence.kind(index + 1) == "relation"
            if verb or sentence.token(index + 1) in DETERMINERS | POINTING:  # not "behind THAT man"
                return index + 1
        if sentence.kind(index) == "object" or sentence.tag(index).startswith("VB"):
            break
    return last
