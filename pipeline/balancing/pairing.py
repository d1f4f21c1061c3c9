"""Pairs of an unanswerable and an answerable question, by five rules.

Each rule takes the verified UQs of one subset and returns the pairs made and, for every UQ left out, why. Inputs are
sorted by id, outputs too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from pipeline.balancing.circulation import cheapest_circulation
from pipeline.balancing.even_words import even
from pipeline.core.randomness import generator
from pipeline.core.records import Question, Record, Verified

REPEATED = "the same text was verified for this picture already"
NO_TWIN = "no picture of its part is asked this text answerably"
REFUTED = "annotators refuted the answerable question"
UNBALANCED = "outside the largest balanced set"
TAKEN = "its original is paired already"
UNEVEN = "its words would tell that it was edited"
NO_AQ = "the picture has no answerable question"


class Pair(Record):
    """A UQ and the AQ that stands beside it; `because` says how they came together."""

    uq: Verified
    aq: Question
    because: str


Paired = tuple[list[Pair], list[tuple[Verified, str]]]


def by_image_and_text(
    uqs: Sequence[Verified], questions: Iterable[Question], refuted: Collection[str], part: Mapping[str, str]
) -> Paired:
    """The largest set in which, within dev and within test, every text is as often UQ as AQ and every picture has
    as many UQs as AQs; among those of that size one with the most distinct texts.

    A UQ is an arc from its text to its picture, an AQ one from its picture to its text: what is wanted is the
    largest circulation with every arc used once at most.

    Args:
        questions: all questions of the pictures. refuted: ids of those that must not be used.
        part: dev or test, for every picture.
    """
    kept: list[Pair] = []
    left: list[tuple[Verified, str]] = []
    nodes = {
        key: i
        for i, key in enumerate(sorted({(part[u.candidate.picture_id], u.candidate.text) for u in uqs}))
    }
    pictures = {key: i for i, key in enumerate(sorted(part))}
    twins: dict[
        tuple[str, str], Question
    ] = {}  # (picture, text) -> the question, the first if it is asked twice
    lost = set()  # texts that have lost an answerable question to `refuted`, with their part
    for question in questions:
        key = part.get(question.picture_id, ""), question.text
        if key in nodes:
            if question.question_id in refuted:
                lost.add(key)
            else:
                twins.setdefault((question.picture_id, question.text), question)
    given = {(part[picture], text) for picture, text in twins}

    arcs: dict[tuple[str, str], Verified] = {}
    for uq in uqs:
        key = part[uq.candidate.picture_id], uq.candidate.text
        asked = uq.candidate.picture_id, uq.candidate.text
        if key not in given:
            left.append((uq, REFUTED if key in lost else NO_TWIN))
        elif asked in arcs:
            left.append((uq, REPEATED))
        else:
            arcs[asked] = uq
    wanted = {(part[picture], text) for picture, text in arcs}
    used = sorted(key for key in twins if (part[key[0]], key[1]) in wanted)
    uq_text, aq_text = ([nodes[part[p], t] for p, t in keys] for keys in (arcs, used))
    uq_picture, aq_picture = ([pictures[p] for p, _ in keys] for keys in (arcs, used))
    chosen_uqs, chosen_aqs = _largest_balanced(
        *(np.array(a, np.int64) for a in (uq_picture, uq_text, aq_picture, aq_text)),
        len(pictures),
        len(nodes),
    )

    beside: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for key, chosen in zip(used, chosen_aqs, strict=True):
        if chosen:
            beside[part[key[0]], key[1]].append(twins[key])
    for (picture, text), uq, chosen in zip(arcs, arcs.values(), chosen_uqs, strict=True):
        if chosen:
            aq = beside[part[picture], text].pop(0)
            kept.append(
                Pair(
                    uq=uq,
                    aq=aq,
                    because=f"the same text, answerable for {aq.picture_id}; each picture and each text has as many of either kind",
                )
            )
        else:
            left.append((uq, UNBALANCED))
    return kept, sorted(left, key=lambda row: row[0].candidate.candidate_id)


def _largest_balanced(
    uq_picture: np.ndarray,
    uq_text: np.ndarray,
    aq_picture: np.ndarray,
    aq_text: np.ndarray,
    pictures: int,
    texts: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Which UQs and AQs are in the largest set with equal margins: bool, one for each. Pictures and texts are numbered."""
    text = np.arange(texts)
    given, asked = pictures + text, pictures + texts + text  # a text as the AQs give it and as the UQs use it
    uqs, aqs = len(uq_text), len(aq_text)
    arcs = [  # tail, head, capacity, cost: one more UQ is worth more than all distinct texts together
        (asked[uq_text], uq_picture, np.ones(uqs), np.full(uqs, -(texts + 1.0))),
        (aq_picture, given[aq_text], np.ones(aqs), np.zeros(aqs)),
        (given, asked, np.ones(texts), np.full(texts, -1.0)),
        (given, asked, np.full(texts, uqs), np.zeros(texts)),
    ]
    flow = cheapest_circulation(*(np.concatenate(column) for column in zip(*arcs, strict=True)))
    return flow[:uqs] > 0, flow[uqs : uqs + aqs] > 0


def by_image(
    uqs: Sequence[Verified], questions: Iterable[Question], refuted: Collection[str], seed: int
) -> Paired:
    """RGQA's rule for CLIP subsets: beside each UQ one AQ of the same picture, drawn at random. One AQ may be drawn
    more than once; it is released once."""
    own: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        if question.question_id not in refuted:
            own[question.picture_id].append(question)
    kept, left = [], []
    for uq in uqs:
        c = uq.candidate
        if beside := own[c.picture_id]:
            aq = beside[int(generator(seed, "balance", c.candidate_id).integers(len(beside)))]
            kept.append(Pair(uq=uq, aq=aq, because="drawn from the questions of the same picture"))
        else:
            left.append((uq, NO_AQ))
    return kept, left


def by_original(
    uqs: Sequence[Verified], questions: Mapping[str, Question], refuted: Collection[str], once: bool
) -> Paired:
    """Beside each edited question the one it was made from. `once`: a second UQ of the same original is left out,
    so that UQs and AQs are as many; else (the paper's rule) it stays and shares the AQ."""
    kept, left, taken = [], [], set()
    for uq in uqs:
        original = questions[uq.candidate.question_id]
        if original.question_id in refuted:
            left.append((uq, REFUTED))
        elif once and original.question_id in taken:
            left.append((uq, TAKEN))
        else:
            taken.add(original.question_id)
            kept.append(Pair(uq=uq, aq=original, because="the question it was made from"))
    return kept, left


def by_original_and_words(
    uqs: Sequence[Verified],
    questions: Mapping[str, Question],
    refuted: Collection[str],
    slack: float,
    rng: np.random.Generator,
) -> Paired:
    """Beside each edited question the one it was made from, each once, such that every word is put in about as often
    as it is taken out (`words.even`)."""
    pairs, left = by_original(uqs, questions, refuted, once=True)
    stays = even([pair.uq.candidate.edits for pair in pairs], slack, rng)
    left += [(pair.uq, UNEVEN) for pair, stay in zip(pairs, stays, strict=True) if not stay]
    kept = [pair for pair, stay in zip(pairs, stays, strict=True) if stay]
    return kept, sorted(left, key=lambda row: row[0].candidate.candidate_id)
