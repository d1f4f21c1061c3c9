"""Balance one subset: pair its unanswerable questions with answerable ones by the rule that applies, and make the items
of the release.

Each rule takes the verified UQs of one subset and returns the pairs made and, for every UQ left out, why. Inputs are
sorted by id, outputs too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec
import numpy as np

from pipeline.benchmark.balancing.telltale_pairs import find_telltale_pairs
from pipeline.core.jsonl_index import group_by
from pipeline.core.min_cost_circulation import solve_min_cost_circulation
from pipeline.core.params import Params, Seed
from pipeline.core.randomness import make_generator
from pipeline.core.records import (
    Candidate,
    CandidateEstimate,
    CollectedCandidate,
    Question,
    Record,
    Subset,
)

DUPLICATE_TEXT = "the same text was verified for this image already"
NO_ANSWERABLE_MATCH = "no image of its part is asked this text answerably"
AQ_REFUTED = "annotators refuted the answerable question"
OUTSIDE_BALANCED_SET = "outside the largest balanced set"
ORIGINAL_ALREADY_PAIRED = "its original is paired already"
TELLTALE_WORDING = "its words would tell that it was edited"
NO_AQ = "the image has no answerable question"
BALANCED_MARGINS = "each image and each text has equally many of both labels"


NO_ESTIMATES: Mapping[str, CandidateEstimate] = MappingProxyType({})


class BalanceParams(Params):
    """Parameters of balance.

    Attributes:
        rule: "image_and_text" makes both margins equal, "image" is the paper's.
        word_slack: how unevenly, in PT subsets, wordings may be put in and taken out, as a multiple of what chance leaves
            (`pipeline/benchmark/balancing/telltale_pairs.py`). Not under "image".
        most_uneven: the share of a PT subset's pairs that may be left out for that, at most; 0 leaves out none.
        seed: of the AQs that `image` draws, and of what is left out for its words.
    """

    rule: Literal["image_and_text", "image"] = "image_and_text"
    max_word_imbalance: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 1.0
    max_dropped_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    seed: Seed = 0


class UqAqPair(Record):
    """A UQ and the AQ that stands beside it; `because` says how they came together."""

    uq: CollectedCandidate
    aq: Question
    pairing_reason: str


SplitText = tuple[str, str]  # a part and a text
ImageText = tuple[str, SplitText]  # of an image
PairingResult = tuple[list[UqAqPair], list[tuple[CollectedCandidate, str]]]


def balance_subset(
    subset: Subset,
    uqs: Sequence[CollectedCandidate],
    questions: Mapping[str, Question],
    refuted_ids: Collection[str],
    split: Mapping[str, str],
    params: BalanceParams,
    estimates: Mapping[str, CandidateEstimate] = NO_ESTIMATES,
) -> PairingResult:
    """Pair the UQs of one subset by the rule that applies to it; UQs and questions come sorted by id.

    Args:
        questions: all questions of the images, by id. refuted: ids of those that must not be used.
        part: validation or test, for every image. estimates: by candidate id; {} where there are none.
    """
    if subset.startswith("pt"):
        return pair_by_original(subset, uqs, questions, refuted_ids, params)
    if params.rule == "image":
        return pair_by_image(uqs, questions.values(), refuted_ids, params.seed)
    return pair_by_image_and_text(uqs, questions.values(), refuted_ids, split, estimates)


def pair_by_image_and_text(
    uqs: Sequence[CollectedCandidate],
    questions: Iterable[Question],
    refuted_ids: Collection[str],
    split: Mapping[str, str],
    estimates: Mapping[str, CandidateEstimate] = NO_ESTIMATES,
) -> PairingResult:
    """The largest set in which, within validation and within test, every text is as often UQ as AQ and every image has
    as many UQs as AQs; among those of that size the one with the most distinct texts less the UQs that are expected to have
    an answer after all."""
    texts = sorted({_get_split_text(uq.candidate, split) for uq in uqs})
    answerable: dict[ImageText, Question] = {}  # the first question if it is asked twice
    lost = set()  # texts that have lost an answerable question to `refuted`
    for question in questions:
        text = _get_split_text(question, split)
        if question.question_id in refuted_ids:
            lost.add(text)
        else:
            answerable.setdefault((question.image_id, text), question)
    given = {text for _, text in answerable}

    unanswerable: dict[ImageText, CollectedCandidate] = {}
    left: list[tuple[CollectedCandidate, str]] = []
    for uq in uqs:
        text = _get_split_text(uq.candidate, split)
        if text not in given:
            left.append((uq, AQ_REFUTED if text in lost else NO_ANSWERABLE_MATCH))
        elif (uq.candidate.image_id, text) in unanswerable:
            left.append((uq, DUPLICATE_TEXT))
        else:
            unanswerable[uq.candidate.image_id, text] = uq
    wanted = {text for _, text in unanswerable}
    asked = sorted(place for place in answerable if place[1] in wanted)
    doubts = [
        estimates[uq.candidate.candidate_id].p_answerable if estimates else 0.0
        for uq in unanswerable.values()
    ]
    chosen_uqs, chosen_aqs = find_largest_balanced_set(
        list(unanswerable), doubts, asked, sorted(split), texts
    )

    aqs = (answerable[place] for place in compress(asked, chosen_aqs))
    beside = group_by(aqs, lambda question: _get_split_text(question, split))
    kept = []
    for (place, uq), chosen in zip(unanswerable.items(), chosen_uqs, strict=True):
        if chosen:
            aq = beside[place[1]].pop(0)
            because = f"the same text, answerable for {aq.image_id}; {BALANCED_MARGINS}"
            kept.append(UqAqPair(uq=uq, aq=aq, pairing_reason=because))
        else:
            left.append((uq, OUTSIDE_BALANCED_SET))
    return kept, sorted(left, key=lambda row: row[0].candidate.candidate_id)


def _get_split_text(row: Candidate | Question, split: Mapping[str, str]) -> SplitText:
    return split[row.image_id], row.text


def find_largest_balanced_set(
    uqs: Sequence[ImageText],
    answerable_probabilities: Sequence[float],
    aqs: Sequence[ImageText],
    images: Sequence[str],
    texts: Sequence[SplitText],
) -> tuple[np.ndarray, np.ndarray]:
    """Which UQs and AQs are in the largest set with equal margins: bool, one for each.

    A UQ is an arc from its text to its image, an AQ one from its image to its text: what is wanted is the
    largest circulation with every arc used once at most.
    """
    image_row = {image: number for number, image in enumerate(images)}
    # A text as the AQs give it, and as the UQs use it.
    given, used = np.arange(2 * len(texts)).reshape(2, -1) + len(images)
    text_row = {text: number for number, text in enumerate(texts)}
    (uq_image, uq_text), (aq_image, aq_text) = (
        np.array([(image_row[p], text_row[t]) for p, t in places], np.int64).reshape(-1, 2).T
        for places in (uqs, aqs)
    )
    # One more is worth more than all distinct texts and all doubts.
    worth = len(texts) + len(uqs) + 1.0 - np.array(answerable_probabilities)
    of_uqs, of_aqs, *_ = solve_min_cost_circulation(
        (used[uq_text], uq_image, 1, -worth),
        (aq_image, given[aq_text], 1, 0.0),
        (given, used, 1, -1.0),
        (given, used, len(uqs), 0.0),
    )
    return of_uqs > 0, of_aqs > 0


def pair_by_image(
    uqs: Sequence[CollectedCandidate], questions: Iterable[Question], refuted_ids: Collection[str], seed: int
) -> PairingResult:
    """RGQA's rule for CLIP subsets: beside each UQ one AQ of the same image, drawn at random. One AQ may be drawn
    more than once; it is released once."""
    own = group_by((q for q in questions if q.question_id not in refuted_ids), lambda q: q.image_id)
    kept, left = [], []
    for uq in uqs:
        c = uq.candidate
        if beside := own.get(c.image_id):
            aq = beside[int(make_generator(seed, "balance", c.candidate_id).integers(len(beside)))]
            kept.append(UqAqPair(uq=uq, aq=aq, pairing_reason="drawn from the questions of the same image"))
        else:
            left.append((uq, NO_AQ))
    return kept, left


def pair_by_original(
    subset: Subset,
    uqs: Sequence[CollectedCandidate],
    questions: Mapping[str, Question],
    refuted_ids: Collection[str],
    params: BalanceParams,
) -> PairingResult:
    """Beside each edited question the one it was made from. By the paper's rule a second UQ of the same original shares
    the AQ. By ours it is left out, so that UQs and AQs are as many; so are those that keep wordings from being put in about
    as often as they are taken out (`even_words.even`)."""
    kept, left, taken = [], [], set()
    for uq in uqs:
        original = questions[uq.candidate.question_id]
        if original.question_id in refuted_ids:
            left.append((uq, AQ_REFUTED))
        elif params.rule != "image" and original.question_id in taken:
            left.append((uq, ORIGINAL_ALREADY_PAIRED))
        else:
            taken.add(original.question_id)
            kept.append(UqAqPair(uq=uq, aq=original, pairing_reason="the question it was made from"))
    if params.rule == "image":
        return kept, left
    texts = [(pair.aq.text, pair.uq.candidate.text) for pair in kept]
    gone = set(
        find_telltale_pairs(
            texts,
            params.max_word_imbalance,
            params.max_dropped_proportion,
            make_generator(params.seed, "balance words", subset),
        )
    )
    left += [(kept[row].uq, TELLTALE_WORDING) for row in gone]
    stay = [pair for row, pair in enumerate(kept) if row not in gone]
    return stay, sorted(left, key=lambda row: row[0].candidate.candidate_id)
