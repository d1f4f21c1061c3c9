"""What has to change around a noun when its number does: determiner, verb. Only where that is certain."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.words.frames import DETERMINERS
from pipeline.words.nouns import Number
from pipeline.words.word_tables import pairs, words

_PAIRS = """
is, are; was, were; has, have; does, do; isn, aren; looks, look; appears, appear; seems, seem; wears, wear
holds, hold; sits, sit; stands, stand
"""
_TO_PLURAL = dict(pairs(_PAIRS)) | {"'s": " are"}
_TO_SINGULAR = {plural: singular for singular, plural in _TO_PLURAL.items() if singular != "'s"}
_VERBS = _TO_PLURAL.keys() | _TO_SINGULAR.keys()
BASE = words("look, appear, seem, wear, hold, sit, stand, have")  # "Does it look ...": no agreement
_INVERTED = words("is, are, was, were, does, do, isn, aren, 's")  # these may stand before their subject
_RELATIVE = words("that, which, who")
_ASKING = words("what, which, who, where, how")
_THIS = {"this": "these", "that": "those"}
_ONE = words("a, an, each, every, another, either, one")
_SEVERAL = words("all, both, two, three, several, many")

Change = tuple[int, str]  # token, what it becomes ("" for: it goes)


def agreeing(
    tokens: Sequence[str], start: int, head: int, old: Number, new: Number, in_phrase: bool
) -> list[Change] | None:
    """The changes that a noun's new number asks for, or None where they are not certain.

    Args:
        tokens: of the question, lower case. start: where its phrase starts. head: the noun's last token.
        in_phrase: the noun stands after a preposition or verb, so that a verb after it has another subject.
    """
    determiner = tokens[start] if tokens[start] in DETERMINERS or tokens[start] == "'s" else ""
    changes: list[Change] = []
    if new != "singular" and determiner in _ONE:
        if determiner not in ("a", "an"):
            return None
        changes.append((start, ""))
    if (new != "plural" and determiner in _SEVERAL) or (
        new == "singular" and not determiner and old != "singular"
    ):
        return None
    if "plural" not in (old, new) or old == new:
        return changes
    before, after = tokens[start - 1 : start], tokens[head + 1 : head + 2]
    joined = {"and", "or"} & {*before, *after} or "both" in tokens
    if joined or determiner == "'s" or "'s" in after:
        return None
    this = _THIS if new == "plural" else {several: one for one, several in _THIS.items()}
    if determiner in this:
        changes.append((start, this[determiner]))
    governed = _governed(tokens, start, head, in_phrase)
    for index in _finite(tokens):
        if index in governed:
            forms = _TO_PLURAL if new == "plural" else _TO_SINGULAR
            if tokens[index] in forms:
                changes.append((index, forms[tokens[index]]))
        elif not _accounted(tokens, index):
            return None
    return changes


def _finite(tokens: Sequence[str]) -> list[int]:
    """Verbs that agree with a subject."""
    verbs, helped = [], False
    for index, token in enumerate(tokens):
        if token in ("do", "does") and tokens[index + 1 : index + 2] == ("you",):
            continue
        if token in _VERBS and not (helped and token in BASE):
            verbs.append(index)
        helped = helped or token in ("do", "does", "can", "could")
    return verbs


def _governed(tokens: Sequence[str], start: int, head: int, in_phrase: bool) -> set[int]:
    """Verbs whose subject the noun is: right before its phrase, right after it, or after "that"."""
    governed = set()
    if tokens[start - 1] in _INVERTED:
        governed.add(start - 1)
    if tokens[head + 1 : head + 2] and tokens[head + 1] in _RELATIVE:
        governed.add(head + 2)
    if not in_phrase:
        governed.add(head + 1)
    return governed


def _accounted(tokens: Sequence[str], index: int) -> bool:
    """Whether a verb has another subject for certain: one that follows it, or the word that asks."""
    after = tokens[index + 1 : index + 2]
    return bool(after and (after[0] in DETERMINERS or after[0] == "there")) or (
        index > 0 and tokens[index - 1] in _ASKING
    )
