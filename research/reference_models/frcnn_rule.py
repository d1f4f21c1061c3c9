"""The rule FRCNN: a question is answerable if a detector found everything that the question names (RGQA, section 5.1).

No net answers here; the answers are those of the net beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from pipeline.language.nouns import lemmatize
from pipeline.language.tagger import TaggedToken
from pipeline.language.word_lists import FRAME_WORDS

_NOUN_TAGS = ("NN", "NNS")  # Penn tags of what spaCy calls NOUN


def extract_nouns(
    text: str, tokens: Sequence[TaggedToken], detector_names: Collection[str]
) -> frozenset[str]:
    """The nouns of a question in the singular, "side", "color" and other `FRAME_NOUNS` left out.

    Args:
        tokens: of the text, as `words.tagger.Tagger` gives them.
        names: what the detector calls things, in the singular. Of several words that are a name the longest is one noun.

    The published code (RGQA, `gqa_fasterrcnn`) compares single words alone, so that no question that names a "traffic
    light" is ever accepted; and its list of words to leave out knows small letters only.
    """
    words = [text[start:end].lower() for start, end, _ in tokens]
    longest = max((len(name.split()) for name in detector_names), default=1)
    nouns: set[str] = set()
    first = 0
    while first < len(words):
        ends = range(min(first + longest, len(words)), first + 1, -1)
        phrases = ((last, lemmatize(" ".join(words[first:last]))) for last in ends)
        last, phrase = next(
            ((last, phrase) for last, phrase in phrases if phrase in detector_names), (first + 1, "")
        )
        word = lemmatize(words[first])
        if phrase or (tokens[first][2] in _NOUN_TAGS and not {word, words[first]} & FRAME_WORDS):
            nouns.add(phrase or word)
        first = last
    return frozenset(nouns)


def frcnn_rule(nouns: Sequence[Collection[str]], detected: Sequence[Collection[str]]) -> np.ndarray:
    """1 where each noun of a question was found in its image, else 0: [n] floats. A question without nouns is accepted.

    Args:
        nouns: of each question, in the singular (`asked_nouns`).
        detected: the names of what was found in its image. A class of several names, "tv,television" in Visual Genome's
            lists, counts by each; the published code keeps the first.

    >>> frcnn_rule([{"cup"}, {"cup", "traffic light"}], [{"cup", "dog"}, {"cups", "traffic lights"}]).tolist()
    [1.0, 1.0]
    >>> frcnn_rule([{"cup", "cat"}, {"television"}], [{"cup", "dog"}, {"tv,television"}]).tolist()
    [0.0, 1.0]
    """
    found = [{lemmatize(name) for names in seen for name in names.split(",")} for seen in detected]
    return np.array([float(set(asked) <= there) for asked, there in zip(nouns, found, strict=True)])
