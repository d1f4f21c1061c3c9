"""Reason accuracy: whether a model that refuses a question says what is wrong with it.

A question about a dog that is edited from a question about a cat presupposes a dog that the image does not
show. The provenance of a release states both words, so a reply can be scored without a judge: does it name the
fault ("there is no dog"), does it name what is there instead ("I see a cat"), and does the reply to the answerable
question of the pair claim no fault? `reason_reader` reads the replies.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from .abstention import ABSTAINED, classify_abstention
from .items import Fault
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions
from .reason_reader import ReadReason, read_reason
from .threshold_sweep import nan_mean

# Minimum proportion of the replies to UQs that must look like reasons, so that they are scored.
MIN_REASON_RATE = 0.05
# Minimum number of words of a reply that may give a reason.
MIN_REASON_WORDS = 3
_REASON_CUE = re.compile(
    r"\b(?:no|not|isn|aren|doesn|don|can|cannot|nothing|there|actually|instead|rather|only|missing|absent|wrong)\b",
    re.I,
)
NOT_GIVEN = "the replies to UQs give no reasons (ask with --prompt explain)"
NO_FAULTS = "the benchmark does not say what is wrong with its UQs (a release folder does)"


def gives_reason(reply: str) -> bool:
    """Return whether a reply is long enough for a reason and has a word that reasons often have.

    >>> gives_reason("unanswerable"), gives_reason("There is no dog.")
    (False, True)
    """
    return len(reply.split()) >= MIN_REASON_WORDS and _REASON_CUE.search(reply) is not None


def find_reason_obstacle(answered: JoinedPredictions) -> str:
    """Return why reasons cannot be scored; "" if they can."""
    uqs = ~answered.answerable & ~answered.missing
    if not any(answered.items["faults"]):
        return NO_FAULTS
    replies = [answered.answer[place] for place in np.flatnonzero(uqs).tolist()]
    if sum(map(gives_reason, replies)) <= MIN_REASON_RATE * len(replies):
        return NOT_GIVEN
    return ""


def compute_reason_columns(answered: JoinedPredictions, options: ScoringOptions) -> dict[str, np.ndarray]:
    """Compute the parts of reason accuracy for each item.

    Args:
        answered: The joined predictions of a subset.
        options: `detect_abstention` says that the confidences already tell which replies abstain.

    Returns:
        Name of the score -> [n] values in [0, 1], NaN for items that the score does not count. A missing
        prediction names no fault. `reason_accuracy` is defined for UQs with a known fault whose pair has an AQ:
        1 if the reply names the fault and no reply to an AQ of the pair claims one.
    """
    reasons = _read_reasons(
        tuple(answered.items["question_text"]),
        tuple(answered.answer),
        tuple(answered.items["faults"]),
        tuple((answered.confidence == ABSTAINED).tolist()) if options.detect_abstention else None,
        answered.items.answer_words,
    )
    faults = answered.items["faults"].tolist()
    has_fault = np.array([bool(one) for one in faults], bool)
    has_actual = np.array([any(fault.actual for fault in one) for one in faults], bool)
    claims, named, instead = (
        np.array([getattr(reason, name) for reason in reasons], float) for name in ReadReason._fields
    )
    aqs = answered.answerable & ~answered.missing
    return {
        # A missing reply to an AQ counts against the pair.
        "reason_accuracy": _score_pairs(
            answered, np.where(has_fault, named, np.nan), np.where(answered.missing, 1.0, claims)
        ),
        "names_fault": np.where(has_fault, named, np.nan),
        "names_instead": np.where(has_actual, instead, np.nan),
        "claims_fault_on_uqs": np.where(~answered.answerable, claims, np.nan),
        "claims_fault_on_aqs": np.where(aqs, claims, np.nan),
    }


def _score_pairs(answered: JoinedPredictions, named: np.ndarray, claims: np.ndarray) -> np.ndarray:
    """Return for each UQ whether it names its fault while no AQ of its pair claims one, NaN without such a pair."""
    labels, group = np.unique(answered.items["pair_id"].astype(str), return_inverse=True)
    claimed = np.full(len(labels), -1.0)
    np.maximum.at(claimed, group[answered.answerable], claims[answered.answerable])
    of_pair = np.where(labels == "", -1.0, claimed)[group]
    return np.where(answered.answerable | (of_pair < 0), np.nan, named * (of_pair == 0))


@lru_cache(maxsize=8)
def _read_reasons(
    questions: tuple[str, ...],
    replies: tuple[str, ...],
    faults: tuple[tuple[Fault, ...], ...],
    abstains: tuple[bool, ...] | None,
    answer_words: frozenset[str],
) -> tuple[ReadReason, ...]:
    """Read the reason of each reply. Replies of one word give none, and are not classified."""
    places = [place for place, reply in enumerate(replies) if len(reply.split()) > 1]
    if abstains is None:
        chosen = [questions[place] for place in places], [replies[place] for place in places]
        found = (classify_abstention(*chosen, answer_words) == ABSTAINED).tolist()
    else:
        found = [abstains[place] for place in places]
    read = {
        place: read_reason(questions[place], replies[place], abstaining, faults[place])
        for place, abstaining in zip(places, found, strict=True)
    }
    return tuple(read.get(place, ReadReason(False)) for place in range(len(replies)))


def score_reasons(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score the reasons that replies give: reason accuracy, its parts, and the numbers of items.

    The UQs with an unknown fault are counted. They are left out of all scores but `claims_fault_on_uqs`.
    """
    if obstacle := find_reason_obstacle(answered):
        return {"unavailable": obstacle}
    columns = compute_reason_columns(answered, options)
    scores: Scores = {name: nan_mean(values) for name, values in columns.items()}
    uqs = ~answered.answerable
    faults = answered.items["faults"][uqs].tolist()
    return scores | {
        "pairs": int((~np.isnan(columns["reason_accuracy"])).sum()),
        "uqs_with_known_fault": sum(map(bool, faults)),
        "uqs_with_several_possible_faults": sum(len(one) > 1 for one in faults),
        "uqs_with_unknown_fault": sum(not one for one in faults),
    }
