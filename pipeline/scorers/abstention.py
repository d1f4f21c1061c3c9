"""Does a free-text answer decline to answer? Rules, in the order tried; docs/scores.md lists them with examples."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from .items import Answered, Options, Scores
from .sweep import mean_defined


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_PHRASES = """
uq; unanswerable; not answerable; unknown; n/a; na; none of the above; invalid; invalid question; unclear;
undetermined; no answer; not applicable; cannot answer; can't answer; unsure; not sure; idk; i don't know; i
do not know; don't know; unsuitable; not possible; cannot say; can't say
"""
# The whole answer, once lower-cased, without surrounding punctuation, is one of these.
WHOLE = frozenset(" ".join(_PHRASES.split()).split("; ")) | {""}
_CANNOT = r"(?:can(?:no|')t|can not|could not|couldn't|(?:am|is|are|'m|was) (?:not able|unable) to|unable to|not able to|not possible to|impossible to)"
_TELL = r"(?:be )?(?:answer|determin|tell|say|see|identif|know|infer|confirm|verif|provide|judg|find|discern|ascertain|decide)\w*"
_SHOWN = r"(?:picture|image|photo|photograph|scene|figure)"
# The answer holds one of these: it says that it cannot answer, or that the question does not fit.
DECLINES = _any_of(
    rf"\b{_CANNOT} (?:\w+ ){{0,2}}?{_TELL}\b",
    r"\b(?:don't|do not|doesn't|does not) know\b",
    r"\b(?:question|it|this|that) (?:is|seems|appears|was)(?: to be)? (?:unanswerable|invalid|not answerable|not valid|ill-posed|meaningless|unclear)\b",
    r"\b(?:question|it) (?:can't|cannot|can not|could not|couldn't) be (?:\w+ )?(?:answered|determined|known|said|told|inferred)\b",
    r"\bnot (?:enough|sufficient) (?:information|detail|context)|\binsufficient (?:information|detail|context)",
    r"\b(?:false|wrong|incorrect|invalid|faulty) (?:premise|presupposition|assumption)|\bpremise (?:of the question )?is (?:false|wrong|incorrect)",
)
# Or, unless it begins with yes or no ("No, there is no dog in the picture" answers a question), it says that what is
# asked about is not there.
ABSENT = _any_of(
    rf"\b(?:there (?:is|are|'s|was|were)(?: \w+)?|there's|i (?:can )?see) no \w[\w\s-]*\b(?:in|within|on|visible|shown|present|of)\b.*\b{_SHOWN}\b",
    rf"\b(?:there (?:isn't|aren't|is not|are not)|i (?:don't|do not) see) (?:a|an|any|the) .*\b{_SHOWN}\b",
    rf"\b(?:not|n't) (?:visible|shown|present|depicted|pictured|seen|included|mentioned|provided|specified)\b.*\b{_SHOWN}\b",
    rf"\b{_SHOWN} (?:does not|doesn't|do not) (?:show|contain|depict|include|have|feature|provide|specify)\b",
    r"\bno such (?:thing|object|person|animal|item|\w+)\b.*\b(?:exists?|visible|present|here|there|shown|seen)\b|\bthere (?:is|are) no such\b",
)


def is_abstention(answer: str) -> bool:
    """True where the answer declines: says that it cannot be known, that the question does not fit, or that what it
    is about is not in the picture. A bare "no", "none" or "nothing" is an answer.

    >>> is_abstention("I cannot tell from the image."), is_abstention("no"), is_abstention("The can is red.")
    (True, False, False)
    """
    if not isinstance(answer, str):
        raise ValueError(f"answer is {answer!r}, wanted a string")
    return _declines(answer)


@lru_cache(maxsize=1 << 16)
def _declines(answer: str) -> bool:
    text = " ".join(answer.lower().replace("’", "'").split())
    if text.strip(" .!?\"'`()[]") in WHOLE or DECLINES.search(text):
        return True
    return not re.match(r"(?:yes|no)\b(?! such)", text) and bool(ABSENT.search(text))


def abstention_group(answered: Answered, options: Options) -> Scores:
    """What the answers' own words say: abstentions on AQs are wrong, UQs answered are missed. Rows without a
    prediction are left out."""
    at = answered.at(~answered.missing)
    abstains = np.array([is_abstention(text) for text in at.said], bool)
    on_aqs, on_uqs = abstains[at.answerable], abstains[~at.answerable]
    return {
        "abstentions": int(abstains.sum()),
        "wrong": int(on_aqs.sum()),
        "missed": int((~on_uqs).sum()),
        "wrong_share": mean_defined(on_aqs),
        "missed_share": mean_defined(~on_uqs),
    }
