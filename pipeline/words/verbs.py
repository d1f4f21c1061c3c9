"""Forms of the verbs in relations: "wearing" is also said "wears", "wear"."""

from __future__ import annotations

from functools import lru_cache

from pipeline.words.lean_spacy import without_torch


@lru_cache(maxsize=1 << 14)
def verb_forms(relation: str) -> tuple[str, ...]:
    """A relation as it may be said, itself first.

    >>> verb_forms("sitting on"), verb_forms("behind")
    (('sitting on', 'sits on', 'sit on'), ('behind',))
    """
    verb, space, rest = relation.partition(" ")
    if not verb.endswith("ing"):
        return (relation,)
    lemminflect = without_torch("lemminflect")  # loads its tables, and spaCy

    lemma = (lemminflect.getLemma(verb, "VERB") or (verb,))[0]
    third = (lemminflect.getInflection(lemma, "VBZ") or (lemma,))[0]
    return tuple(dict.fromkeys(f"{form}{space}{rest}" for form in (verb, third, lemma)))
