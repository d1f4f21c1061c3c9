"""Pairs of an unanswerable and an answerable question, by four rules.

Each rule takes the verified UQs of one subset and returns the pairs made and, for every UQ left out, why. Inputs are
sorted by id, outputs too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress

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
MARGINS = "each picture and each text has as many of either kind"


class UqAqPair(Record):
    """A UQ and the AQ that stands beside it; `because` says how they came together."""

    uq: Verified
    aq: Question
    because: str


Place = tuple[str, str]  # a picture or a part, and a text
Paired = tuple[list[UqAqPair], list[tuple[Verified, str]]]


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
    texts = {text: number for number, text in enumerate(sorted({_key(uq, part) for uq in uqs}))}
    answerable: dict[Place, Question] = {}  # the first question if it is asked twice
    lost = set()  # texts that have lost an answerable question to `refuted`
    for question in questions:
        text = part.get(question.picture_id, ""), question.text
        if text in texts and question.question_id in refuted:
            lost.add(text)
        elif text in texts:
            answerable.setdefault((question.picture_id, question.text), question)
    given = {(part[picture], text) for picture, text in answerable}

    unanswerable: dict[Place, Verified] = {}
    left: list[tuple[Verified, str]] = []
    for uq in uqs:
        place, text = (uq.candidate.picture_id, uq.candidate.text), _key(uq, part)
        if text not in given:
            left.append((uq, REFUTED if text in lost else NO_TWIN))
        elif place in unanswerable:
            left.append((uq, REPEATED))
        else:
            unanswerable[place] = uq
    wanted = {(part[picture], text) for picture, text in unanswerable}
    asked = {place: answerable[place] for place in sorted(answerable) if (part[place[0]], place[1]) in wanted}
    chosen_uqs, chosen_aqs = _largest_balanced(list(unanswerable), list(asked), part, texts)

    beside: dict[Place, list[Question]] = defaultdict(list)
    for aq in compress(asked.values(), chosen_aqs):
        beside[part[aq.picture_id], aq.text].append(aq)
    kept = []
    for uq, chosen in zip(unanswerable.values(), chosen_uqs, strict=True):
        if chosen:
            aq = beside[_key(uq, part)].pop(0)
            because = f"the same text, answerable for {aq.picture_id}; {MARGINS}"
            kept.append(UqAqPair(uq=uq, aq=aq, because=because))
        else:
            left.append((uq, UNBALANCED))
    return kept, sorted(left, key=lambda row: row[0].candidate.candidate_id)


def _key(uq: Verified, part: Mapping[str, str]) -> Place:
    return part[uq.candidate.picture_id], uq.candidate.text


def _largest_balanced(
    uqs: Sequence[Place], aqs: Sequence[Place], part: Mapping[str, str], texts: Mapping[Place, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Which UQs and AQs, given by picture and text, are in the largest set with equal margins: bool, one for each.

    Args:
        texts: (part, text) -> number.
    """
    pictures = {picture: number for number, picture in enumerate(sorted(part))}
    uq_picture, aq_picture = (np.array([pictures[p] for p, _ in rows], np.int64) for rows in (uqs, aqs))
    uq_text, aq_text = (np.array([texts[part[p], text] for p, text in rows], np.int64) for rows in (uqs, aqs))
    size = len(texts)
    # A text as the AQs give it, and as the UQs use it.
    given, used = np.arange(size) + len(pictures), np.arange(size) + len(pictures) + size
    arcs = [  # tail, head, capacity, cost: one more UQ is worth more than all distinct texts together
        (used[uq_text], uq_picture, np.ones(len(uqs)), np.full(len(uqs), -(size + 1.0))),
        (aq_picture, given[aq_text], np.ones(len(aqs)), np.zeros(len(aqs))),
        (given, used, np.ones(size), np.full(size, -1.0)),
        (given, used, np.full(size, len(uqs)), np.zeros(size)),
    ]
    flow = cheapest_circulation(*(np.concatenate(column) for column in zip(*arcs, strict=True))) > 0
    return flow[: len(uqs)], flow[len(uqs) : len(uqs) + len(aqs)]


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
            kept.append(UqAqPair(uq=uq, aq=aq, because="drawn from the questions of the same picture"))
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
            kept.append(UqAqPair(uq=uq, aq=original, because="the question it was made from"))
    return kept, left


def by_original_and_words(
    uqs: Sequence[Verified],
    questions: Mapping[str, Question],
    refuted: Collection[str],
    slack: float,
    rng: np.random.Generator,
) -> Paired:
    """Beside each edited question the one it was made from, each once, such that every word is put in about as often
    as it is taken out (`even_words.even`)."""
    pairs, left = by_original(uqs, questions, refuted, once=True)
    stays = even([pair.uq.candidate.edits for pair in pairs], slack, rng)
    left += [(pair.uq, UNEVEN) for pair, stay in zip(pairs, stays, strict=True) if not stay]
    kept = [pair for pair, stay in zip(pairs, stays, strict=True) if stay]
    return kept, sorted(left, key=lambda row: row[0].candidate.candidate_id)
