"""Balance a subset by pairing its unanswerable questions (UQs) with answerable questions (AQs).

Each rule takes the verified UQs of one subset. It returns the pairs, and the excluded UQs with the reason for
each exclusion. Inputs and outputs are sorted by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

DUPLICATE_TEXT = "the same text was already verified for this image"
NO_ANSWERABLE_MATCH = "no image of its split has this text as an answerable question"
AQ_REFUTED = "annotators refuted the answerable question"
AQ_NOT_CONFIRMED = "a model drafted the answerable question, and annotators did not confirm it"
OUTSIDE_BALANCED_SET = "outside the largest balanced set"
ORIGINAL_ALREADY_PAIRED = "its original is already paired"
TELLTALE_WORDING = "its wording would reveal the edit"
NO_AQ = "the image has no answerable question"
BALANCED_MARGINS = "each image and each text has equally many of both labels"

NO_ESTIMATES: Mapping[str, CandidateEstimate] = MappingProxyType({})


class BalanceParams(Params):
    """Parameters of stage `balance`.

    Attributes:
        rule: `image_and_text` gives every text and every image as many unanswerable questions (UQs) as
            answerable questions (AQs). `image` is the rule of RGQA: each UQ gets an AQ of the same image.
        max_word_imbalance: For the PT subsets (edited questions): how unevenly n-grams may be inserted and
            removed. 1 is the imbalance expected by chance. Lower values drop more pairs.
        max_dropped_proportion: For the PT subsets: maximum proportion (0 to 1) of pairs that may be dropped
            to reach `max_word_imbalance`.
        require_confirmation: Whether a question that a model drafted (`rgqa draft`) is an AQ only if annotators found it
            answerable. With false, the model is believed unless annotators refuted it, and the card and the items say that nobody
            judged it.
        seed: Seed for choosing AQs (rule `image`) and for choosing which pairs to drop.
    """

    rule: Literal["image_and_text", "image"] = "image_and_text"
    max_word_imbalance: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 1.0
    max_dropped_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    require_confirmation: bool = True
    seed: Seed = 0


class UqAqPair(Record):
    """A UQ, the AQ with which it is paired, and why the two were paired."""

    uq: CollectedCandidate
    aq: Question
    pairing_reason: str


# (split, text)
SplitText = tuple[str, str]
# (image id, (split, text))
ImageText = tuple[str, SplitText]
# Pairs, and excluded UQs with their reasons.
PairingResult = tuple[list[UqAqPair], list[tuple[CollectedCandidate, str]]]


def balance_subset(
    subset: Subset,
    uqs: Sequence[CollectedCandidate],
    questions: Mapping[str, Question],
    unusable: Mapping[str, str],
    split: Mapping[str, str],
    params: BalanceParams,
    estimates: Mapping[str, CandidateEstimate] = NO_ESTIMATES,
) -> PairingResult:
    """Pair the UQs of one subset by the rule that applies to it.

    Args:
        subset: The subset.
        uqs: The verified UQs of the subset, sorted by id.
        questions: Question id -> question, for all questions of the images, sorted by id.
        unusable: Question id -> why the question must not be used as an AQ (`AQ_REFUTED` or `AQ_NOT_CONFIRMED`).
        split: Image id -> "validation" or "test".
        params: The rule and its parameters.
        estimates: Candidate id -> estimate, or {} if there are no estimates.

    Returns:
        The pairs, and the excluded UQs with their reasons.
    """
    if subset.startswith("pt"):
        return pair_by_original(subset, uqs, questions, unusable, params)
    if params.rule == "image":
        return pair_by_image(uqs, questions.values(), unusable, params.seed)
    return pair_by_image_and_text(uqs, questions.values(), unusable, split, estimates)


def pair_by_image_and_text(
    uqs: Sequence[CollectedCandidate],
    questions: Iterable[Question],
    unusable: Mapping[str, str],
    split: Mapping[str, str],
    estimates: Mapping[str, CandidateEstimate] = NO_ESTIMATES,
) -> PairingResult:
    """Choose the largest set in which every text and every image has equally many UQs and AQs in each split.

    Among the sets of that size, choose the set that maximizes the number of distinct texts minus the expected
    number of answerable UQs. The arguments are those of `balance_subset`.
    """
    texts = sorted({_get_split_text(uq.candidate, split) for uq in uqs})
    # If an image has a question twice, the first one is used.
    aq_by_image_text: dict[ImageText, Question] = {}
    unusable_texts = dict[SplitText, str]()
    for question in questions:
        text = _get_split_text(question, split)
        if reason := unusable.get(question.question_id):
            unusable_texts[text] = reason
        else:
            aq_by_image_text.setdefault((question.image_id, text), question)
    answerable_texts = {text for _, text in aq_by_image_text}

    uq_by_image_text: dict[ImageText, CollectedCandidate] = {}
    excluded: list[tuple[CollectedCandidate, str]] = []
    for uq in uqs:
        text = _get_split_text(uq.candidate, split)
        if text not in answerable_texts:
            excluded.append((uq, unusable_texts.get(text, NO_ANSWERABLE_MATCH)))
        elif (uq.candidate.image_id, text) in uq_by_image_text:
            excluded.append((uq, DUPLICATE_TEXT))
        else:
            uq_by_image_text[uq.candidate.image_id, text] = uq
    uq_texts = {text for _, text in uq_by_image_text}
    aq_keys = sorted(key for key in aq_by_image_text if key[1] in uq_texts)
    answerable_probabilities = [
        estimates[uq.candidate.candidate_id].p_answerable if estimates else 0.0
        for uq in uq_by_image_text.values()
    ]
    chosen_uqs, chosen_aqs = find_largest_balanced_set(
        list(uq_by_image_text), answerable_probabilities, aq_keys, sorted(split), texts
    )

    aqs = (aq_by_image_text[key] for key in compress(aq_keys, chosen_aqs))
    aqs_by_text = group_by(aqs, lambda question: _get_split_text(question, split))
    kept = []
    for (key, uq), is_chosen in zip(uq_by_image_text.items(), chosen_uqs, strict=True):
        if is_chosen:
            aq = aqs_by_text[key[1]].pop(0)
            reason = f"the same text, answerable for {aq.image_id}; {BALANCED_MARGINS}"
            kept.append(UqAqPair(uq=uq, aq=aq, pairing_reason=reason))
        else:
            excluded.append((uq, OUTSIDE_BALANCED_SET))
    return kept, sorted(excluded, key=lambda row: row[0].candidate.candidate_id)


def _get_split_text(row: Candidate | Question, split: Mapping[str, str]) -> SplitText:
    return split[row.image_id], row.text


def find_largest_balanced_set(
    uqs: Sequence[ImageText],
    answerable_probabilities: Sequence[float],
    aqs: Sequence[ImageText],
    images: Sequence[str],
    texts: Sequence[SplitText],
) -> tuple[np.ndarray, np.ndarray]:
    """Return which UQs and which AQs are in the largest balanced set.

    The set is found as a circulation in a network. A UQ is an arc from its text to its image, and an AQ is an
    arc from its image to its text. The largest balanced set is the largest circulation that uses every arc at
    most once.

    Args:
        uqs, aqs: Image and text of each question.
        answerable_probabilities: [uqs] probability (0 to 1) that each UQ has an answer after all.
        images, texts: All images and texts.

    Returns:
        Two boolean arrays, [uqs] and [aqs].
    """
    image_row = {image: row for row, image in enumerate(images)}
    # Each text has two nodes: AQ arcs enter one of them, and UQ arcs leave the other.
    aq_node, uq_node = np.arange(2 * len(texts)).reshape(2, -1) + len(images)
    text_row = {text: row for row, text in enumerate(texts)}
    (uq_image, uq_text), (aq_image, aq_text) = (
        np.array([(image_row[image], text_row[text]) for image, text in rows], np.int64).reshape(-1, 2).T
        for rows in (uqs, aqs)
    )
    # The reward of a UQ is larger than the sum of all rewards for distinct texts and all probabilities.
    worth = len(texts) + len(uqs) + 1.0 - np.array(answerable_probabilities)
    # The groups of arcs: UQs, AQs, the first use of each text (rewarded), and the further uses of each text.
    uq_flow, aq_flow, *_ = solve_min_cost_circulation(
        (uq_node[uq_text], uq_image, 1, -worth),
        (aq_image, aq_node[aq_text], 1, 0.0),
        (aq_node, uq_node, 1, -1.0),
        (aq_node, uq_node, len(uqs), 0.0),
    )
    return uq_flow > 0, aq_flow > 0


def pair_by_image(
    uqs: Sequence[CollectedCandidate], questions: Iterable[Question], unusable: Mapping[str, str], seed: int
) -> PairingResult:
    """Pair each UQ with a random AQ of the same image, as RGQA does for the CLIP subsets.

    An AQ may be sampled several times, but it is released only once. So there can be fewer AQs than UQs.
    """
    own = group_by((q for q in questions if q.question_id not in unusable), lambda q: q.image_id)
    kept, excluded = [], []
    for uq in uqs:
        candidate = uq.candidate
        if aqs := own.get(candidate.image_id):
            aq = aqs[int(make_generator(seed, "balance", candidate.candidate_id).integers(len(aqs)))]
            kept.append(UqAqPair(uq=uq, aq=aq, pairing_reason="sampled from the questions of the same image"))
        else:
            excluded.append((uq, NO_AQ))
    return kept, excluded


def pair_by_original(
    subset: Subset,
    uqs: Sequence[CollectedCandidate],
    questions: Mapping[str, Question],
    unusable: Mapping[str, str],
    params: BalanceParams,
) -> PairingResult:
    """Pair each edited question with the question from which it was made (its original).

    With the rule `image` (RGQA), several UQs of the same original share the AQ. With the rule
    `image_and_text`, only the first UQ of an original is kept, so that UQs and AQs are equally many. In
    addition, pairs whose wording reveals the edit are excluded (`find_telltale_pairs`).
    """
    kept, excluded, paired_ids = [], [], set()
    for uq in uqs:
        original = questions[uq.candidate.question_id]
        if reason := unusable.get(original.question_id):
            excluded.append((uq, reason))
        elif params.rule != "image" and original.question_id in paired_ids:
            excluded.append((uq, ORIGINAL_ALREADY_PAIRED))
        else:
            paired_ids.add(original.question_id)
            kept.append(UqAqPair(uq=uq, aq=original, pairing_reason="the question it was made from"))
    if params.rule == "image":
        return kept, excluded
    texts = [(pair.aq.text, pair.uq.candidate.text) for pair in kept]
    telltale = set(
        find_telltale_pairs(
            texts,
            params.max_word_imbalance,
            params.max_dropped_proportion,
            make_generator(params.seed, "balance words", subset),
        )
    )
    excluded += [(kept[row].uq, TELLTALE_WORDING) for row in telltale]
    remaining = [pair for row, pair in enumerate(kept) if row not in telltale]
    return remaining, sorted(excluded, key=lambda row: row[0].candidate.candidate_id)
