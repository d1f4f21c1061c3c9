"""Perturb the questions of a picture: a PT-Easy and a PT-Hard candidate of each, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np

from pipeline.candidates.perturbing.edit_kinds import edit
from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.paper_rules import edit_by_words
from pipeline.candidates.perturbing.raking import Offer, factors
from pipeline.candidates.perturbing.replacements import PerturbParams, Replacements
from pipeline.candidates.perturbing.surface_realization import edited, rewrite
from pipeline.core.json_files import content_key
from pipeline.core.jsonl_index import grouped
from pipeline.core.randomness import generator, lot
from pipeline.core.records import Candidate, Dropped, Question, Subset, Tagged, Vocabulary, candidate_id
from pipeline.language.alignment import align
from pipeline.language.functional_programs import Program, parse
from pipeline.language.presuppositions import Premises, premises
from pipeline.language.sentence import Sentence
from pipeline.verifier.evidence import Facts

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
# Questions that show which words are taken out where and how many edits are weak: enough that a common context has hundreds
# of slots, in less than half a minute.
SAMPLED = 20_000
SLOTS = 12  # for which random numbers are drawn, two each; more than any question has


class ReadPicture(NamedTuple):
    """What is known of a picture and its questions before anything is drawn: the evidence, how probably it shows nothing of
    each row's name, and each question with its text, its program and its premises."""

    facts: Facts | None
    absent: np.ndarray
    questions: Sequence[tuple[Question, Sentence, Program, Premises]]


@dataclass(frozen=True, slots=True)
class PerturbInputs:
    """What pictures are perturbed with: picture id -> its questions, the evidence about it; text -> its words.

    Attributes:
        weak_kept: of each subset, the share of the weak candidates that is made; all where it is not said.
        read: pictures that were read and are needed again.
    """

    questions: Mapping[str, Sequence[Question]]
    facts: Callable[[str], Facts | None]
    tags: Mapping[str, Tagged]
    replacements: Replacements
    weak_kept: Mapping[Subset, float] = field(default_factory=dict)
    read: dict[str, ReadPicture] = field(default_factory=dict)


def perturb_picture(inputs: PerturbInputs, picture_id: str) -> list[Candidate | Dropped]:
    """What becomes of the questions of one picture, sorted by candidate id."""
    return sorted(_rows(inputs, picture_id), key=lambda row: row.candidate_id)


def _rows(inputs: PerturbInputs, picture_id: str) -> Iterator[Candidate | Dropped]:
    """The same, question by question."""
    params = inputs.replacements.params
    facts, absent, questions = inputs.read.get(picture_id) or _read(inputs, picture_id)
    for question, sentence, program, said in questions:
        rng = generator(params.seed, "perturb", question.question_id)
        for subset, random in zip(SUBSETS, rng.random((len(SUBSETS), SLOTS, 2)).tolist(), strict=True):
            wanted = _may_be_weak(inputs, subset, question.question_id)
            case = EditCase(sentence, program, said, facts, absent, inputs.replacements, random, wanted)
            yield _perturb(question, subset, case, params.preset == "paper")


def _read(inputs: PerturbInputs, picture_id: str) -> ReadPicture:
    facts, questions = inputs.facts(picture_id), []
    for question in inputs.questions.get(picture_id, ()):
        words = inputs.tags[question.text].words
        program = parse(question.program, question.question_id) if question.program else ()
        sentence = align(question.text, program, question.annotations, words)
        questions.append((question, sentence, program, premises(program, sentence)))
    return ReadPicture(facts, inputs.replacements.absent(facts), questions)


def _may_be_weak(inputs: PerturbInputs, subset: Subset, question_id: str) -> bool:
    """Whether a question may have a weak candidate, if it can have no other; decided by lot."""
    drawn = lot(str(inputs.replacements.params.seed), "weak", question_id)
    return drawn < inputs.weak_kept.get(subset, 1)


def _perturb(question: Question, subset: Subset, case: EditCase, by_the_paper: bool) -> Candidate | Dropped:
    swaps, reason = (edit_by_words if by_the_paper else edit)(subset, case)
    unedited = Candidate(
        candidate_id=candidate_id(subset, question.picture_id, question.question_id),
        subset=subset,
        picture_id=question.picture_id,
        question_id=question.question_id,
        text=question.text,
    )
    if not swaps:
        return unedited.dropped("perturb", reason)
    # A program that says other than the text would be judged in its place: better none.
    in_program = case.program and all(swap.slot.step >= 0 for swap in swaps)
    return msgspec.structs.replace(
        unedited,
        text=rewrite(case.sentence, swaps),
        program=edited(question.program, case.program, swaps) if in_program else (),
        weak=all(swap.slot.weak for swap in swaps),
        edits=tuple(sorted((swap.edit(case.sentence) for swap in swaps), key=lambda edit: edit.start)),
    )


def surveyed(inputs: PerturbInputs, pictures: Iterable[str]) -> PerturbInputs:
    """The same inputs with what a sample of the pictures tells: how many of the weak candidates there may be and, from what
    the slots of those that are made offer, the factors that even out the words. By the paper's rule nothing is told."""
    params, replacements = inputs.replacements.params, inputs.replacements
    if params.preset == "paper":
        return inputs
    rows: list[tuple[Candidate, list[Offer]]] = []  # with what its slots offered
    left, replacements.offers = SAMPLED, []
    for picture_id in sorted(pictures, key=lambda picture: content_key("even out", picture)):
        if left <= 0:
            break
        read = inputs.read[picture_id] = _read(inputs, picture_id)
        left -= len(read.questions)
        for row in _rows(inputs, picture_id):
            rows += [(row, replacements.offers)] if isinstance(row, Candidate) else []
            replacements.offers = []
    replacements.offers = None
    inputs = replace(inputs, weak_kept=_weak_kept((row for row, _ in rows), params.weak_share))
    if params.even_words:
        made = (
            each for row, each in rows if not row.weak or _may_be_weak(inputs, row.subset, row.question_id)
        )
        numbers = {sort: len(words) for sort, words in replacements.numbers.items()}
        replacements.factors = factors(chain.from_iterable(made), numbers)
    return inputs


def _weak_kept(rows: Iterable[Candidate], share: float) -> dict[Subset, float]:
    """Of each subset, the share of the weak candidates that leaves as many of them as there may be."""
    if share == 1:
        return {}
    made = Counter((row.subset, row.weak) for row in rows)
    wanted = {subset: made[subset, False] * share / (1 - share) for subset in SUBSETS}
    return {subset: min(1.0, wanted[subset] / max(made[subset, True], 1)) for subset in SUBSETS}


def perturb_by_the_paper(
    questions: Iterable[Question], tags: Mapping[str, Tagged], vocabulary: Vocabulary, seed: int
) -> list[Candidate]:
    """The candidates that RGQA's rule makes of questions, sorted by id; what the pictures show is not looked at."""
    by_picture = grouped(questions, lambda question: question.picture_id)
    params = PerturbParams(seed=seed, preset="paper")
    inputs = PerturbInputs(by_picture, lambda picture_id: None, tags, Replacements(vocabulary, params))
    rows = (row for picture_id in by_picture for row in perturb_picture(inputs, picture_id))
    return sorted((row for row in rows if isinstance(row, Candidate)), key=lambda row: row.candidate_id)
