"""Perturb the questions of an image: a PT-Easy and a PT-Hard candidate of each, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np

from pipeline.candidates.perturbing.edit_kinds import edit_question
from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.paper_rules import edit_by_paper_rule
from pipeline.candidates.perturbing.raking import SlotOptions, fit_word_factors
from pipeline.candidates.perturbing.replacements import PerturbParams, ReplacementSampler
from pipeline.candidates.perturbing.surface_realization import edit_program, rewrite_text
from pipeline.core.json_files import content_hash
from pipeline.core.jsonl_index import group_by
from pipeline.core.randomness import hash_uniform, make_generator
from pipeline.core.records import (
    Candidate,
    DroppedCandidate,
    Question,
    Subset,
    TaggedText,
    Vocabulary,
    make_candidate_id,
)
from pipeline.language.alignment import align_program
from pipeline.language.functional_programs import Program, parse_program
from pipeline.language.presuppositions import Presuppositions, find_presuppositions
from pipeline.language.sentence import Sentence
from pipeline.verifier.evidence import Evidence

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
# Questions that show which words are taken out where and how many edits are weak: enough that a common context has hundreds
# of slots, in less than half a minute.
NUM_SURVEYED_QUESTIONS = 20_000
MAX_SLOTS_PER_QUESTION = 12  # for which random numbers are drawn, two each; more than any question has


class ParsedImage(NamedTuple):
    """What is known of an image and its questions before anything is drawn: the evidence, how probably it shows nothing of
    each row's name, and each question with its text, its program and its premises."""

    evidence: Evidence | None
    absence_probabilities: np.ndarray
    questions: Sequence[tuple[Question, Sentence, Program, Presuppositions]]


@dataclass(frozen=True, slots=True)
class PerturbInputs:
    """What images are perturbed with: image id -> its questions, the evidence about it; text -> its words.

    Attributes:
        weak_kept: of each subset, the share of the weak candidates that is made; all where it is not said.
        read: images that were read and are needed again.
    """

    questions: Mapping[str, Sequence[Question]]
    get_evidence: Callable[[str], Evidence | None]
    tags: Mapping[str, TaggedText]
    replacements: ReplacementSampler
    query_only_rates: Mapping[Subset, float] = field(default_factory=dict)
    parsed_images: dict[str, ParsedImage] = field(default_factory=dict)


def perturb_image(inputs: PerturbInputs, image_id: str) -> list[Candidate | DroppedCandidate]:
    """What becomes of the questions of one image, sorted by candidate id."""
    return sorted(_perturb_questions(inputs, image_id), key=lambda row: row.candidate_id)


def _perturb_questions(inputs: PerturbInputs, image_id: str) -> Iterator[Candidate | DroppedCandidate]:
    """The same, question by question."""
    params = inputs.replacements.params
    facts, absent, questions = inputs.parsed_images.get(image_id) or _parse_image(inputs, image_id)
    for question, sentence, program, said in questions:
        rng = make_generator(params.seed, "perturb", question.question_id)
        for subset, random in zip(
            SUBSETS, rng.random((len(SUBSETS), MAX_SLOTS_PER_QUESTION, 2)).tolist(), strict=True
        ):
            wanted = _may_be_query_only(inputs, subset, question.question_id)
            case = EditCase(sentence, program, said, facts, absent, inputs.replacements, random, wanted)
            yield _perturb_question(question, subset, case, params.preset == "paper")


def _parse_image(inputs: PerturbInputs, image_id: str) -> ParsedImage:
    facts, questions = inputs.get_evidence(image_id), []
    for question in inputs.questions.get(image_id, ()):
        words = inputs.tags[question.text].words
        program = parse_program(question.program, question.question_id) if question.program else ()
        sentence = align_program(question.text, program, question.annotations, words)
        questions.append((question, sentence, program, find_presuppositions(program, sentence)))
    return ParsedImage(facts, inputs.replacements.estimate_absence(facts), questions)


def _may_be_query_only(inputs: PerturbInputs, subset: Subset, question_id: str) -> bool:
    """Whether a question may have a weak candidate, if it can have no other; decided by lot."""
    drawn = hash_uniform(str(inputs.replacements.params.seed), "weak", question_id)
    return drawn < inputs.query_only_rates.get(subset, 1)


def _perturb_question(
    question: Question, subset: Subset, case: EditCase, by_the_paper: bool
) -> Candidate | DroppedCandidate:
    swaps, reason = (edit_by_paper_rule if by_the_paper else edit_question)(subset, case)
    unedited = Candidate(
        candidate_id=make_candidate_id(subset, question.image_id, question.question_id),
        subset=subset,
        image_id=question.image_id,
        question_id=question.question_id,
        text=question.text,
    )
    if not swaps:
        return unedited.as_dropped("perturb", reason)
    # A program that says other than the text would be judged in its place: better none.
    in_program = case.program and all(swap.slot.step >= 0 for swap in swaps)
    return msgspec.structs.replace(
        unedited,
        text=rewrite_text(case.sentence, swaps),
        program=edit_program(question.program, case.program, swaps) if in_program else (),
        query_only=all(swap.slot.is_query_only for swap in swaps),
        edits=tuple(sorted((swap.to_edit(case.sentence) for swap in swaps), key=lambda edit: edit.start)),
    )


def calibrate_inputs(inputs: PerturbInputs, images: Iterable[str]) -> PerturbInputs:
    """The same inputs with what a sample of the images tells: how many of the weak candidates there may be and, from what
    the slots of those that are made offer, the factors that even out the words. By the paper's rule nothing is told."""
    params, replacements = inputs.replacements.params, inputs.replacements
    if params.preset == "paper":
        return inputs
    rows: list[tuple[Candidate, list[SlotOptions]]] = []  # with what its slots offered
    left, replacements.recorded_slots = NUM_SURVEYED_QUESTIONS, []
    for image_id in sorted(images, key=lambda image: content_hash("even out", image)):
        if left <= 0:
            break
        read = inputs.parsed_images[image_id] = _parse_image(inputs, image_id)
        left -= len(read.questions)
        for row in _perturb_questions(inputs, image_id):
            rows += [(row, replacements.recorded_slots)] if isinstance(row, Candidate) else []
            replacements.recorded_slots = []
    replacements.recorded_slots = None
    inputs = replace(
        inputs,
        query_only_rates=_compute_query_only_rates(
            (row for row, _ in rows), params.max_query_only_proportion
        ),
    )
    if params.balance_words:
        made = (
            each
            for row, each in rows
            if not row.query_only or _may_be_query_only(inputs, row.subset, row.question_id)
        )
        numbers = {sort: len(words) for sort, words in replacements.index_by_word.items()}
        replacements.word_factors = fit_word_factors(chain.from_iterable(made), numbers)
    return inputs


def _compute_query_only_rates(rows: Iterable[Candidate], share: float) -> dict[Subset, float]:
    """Of each subset, the share of the weak candidates that leaves as many of them as there may be."""
    if share == 1:
        return {}
    made = Counter((row.subset, row.query_only) for row in rows)
    wanted = {subset: made[subset, False] * share / (1 - share) for subset in SUBSETS}
    return {subset: min(1.0, wanted[subset] / max(made[subset, True], 1)) for subset in SUBSETS}


def perturb_by_paper_rule(
    questions: Iterable[Question], tags: Mapping[str, TaggedText], vocabulary: Vocabulary, seed: int
) -> list[Candidate]:
    """The candidates that RGQA's rule makes of questions, sorted by id; what the images show is not looked at."""
    by_image = group_by(questions, lambda question: question.image_id)
    params = PerturbParams(seed=seed, preset="paper")
    inputs = PerturbInputs(by_image, lambda image_id: None, tags, ReplacementSampler(vocabulary, params))
    rows = (row for image_id in by_image for row in perturb_image(inputs, image_id))
    return sorted((row for row in rows if isinstance(row, Candidate)), key=lambda row: row.candidate_id)
