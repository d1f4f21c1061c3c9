"""Perturb (edit) the questions of an image.

Each question becomes a candidate of PT-Easy and a candidate of PT-Hard. If a candidate cannot be made, the
reason is reported.
"""

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
from pipeline.candidates.perturbing.image_mentions import ImageMentions, collect_mentions
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
# Number of questions in which words and query-only edits are counted. In so many questions a frequent context
# has hundreds of slots, and they take less than half a minute.
NUM_SURVEYED_QUESTIONS = 20_000
# Maximum number of slots. No question has more. Each slot has two random numbers.
MAX_SLOTS_PER_QUESTION = 12


class ParsedImage(NamedTuple):
    """An image and its questions before anything is sampled.

    Attributes:
        evidence: The evidence about the image, or None if there is none.
        absence_probabilities: For each row of the object table the probability that the image shows no such
            object.
        mentions: What the plain questions of the image mention.
        questions: Each question with its sentence, its program and its presuppositions.
    """

    evidence: Evidence | None
    absence_probabilities: np.ndarray
    mentions: ImageMentions
    questions: Sequence[tuple[Question, Sentence, Program, Presuppositions]]


@dataclass(frozen=True, slots=True)
class PerturbInputs:
    """The inputs of perturbing images.

    Attributes:
        questions: Image id -> questions about the image.
        get_evidence: A function that returns the evidence about an image by its id, or None if there is none.
        tags: Text -> tagged words of the text.
        replacements: The sampler of replacements.
        query_only_rates: Subset -> proportion (0 to 1) of its possible query-only candidates that are made.
            The proportion is 1 for a missing subset.
        parsed_images: Image id -> parsed image, for images that have been parsed and are needed again.
    """

    questions: Mapping[str, Sequence[Question]]
    get_evidence: Callable[[str], Evidence | None]
    tags: Mapping[str, TaggedText]
    replacements: ReplacementSampler
    query_only_rates: Mapping[Subset, float] = field(default_factory=dict)
    parsed_images: dict[str, ParsedImage] = field(default_factory=dict)


def perturb_image(inputs: PerturbInputs, image_id: str) -> list[Candidate | DroppedCandidate]:
    """Return the candidates of one image and the questions that could not be edited, sorted by id."""
    return sorted(_perturb_questions(inputs, image_id), key=lambda row: row.candidate_id)


def _perturb_questions(inputs: PerturbInputs, image_id: str) -> Iterator[Candidate | DroppedCandidate]:
    """Yield the candidates of one image and the questions that could not be edited, question by question."""
    params = inputs.replacements.params
    evidence, absence, mentions, questions = inputs.parsed_images.get(image_id) or parse_image(
        inputs, image_id
    )
    for question, sentence, program, presuppositions in questions:
        rng = make_generator(params.seed, "perturb", question.question_id)
        for subset, uniforms in zip(
            SUBSETS, rng.random((len(SUBSETS), MAX_SLOTS_PER_QUESTION, 2)).tolist(), strict=True
        ):
            query_only = _may_be_query_only(inputs, subset, question.question_id)
            case = EditCase(
                sentence,
                program,
                presuppositions,
                evidence,
                absence,
                inputs.replacements,
                uniforms,
                query_only,
                question.program_from_text,
                mentions=mentions,
            )
            yield _perturb_question(question, subset, case, params.preset == "paper")


def parse_image(inputs: PerturbInputs, image_id: str) -> ParsedImage:
    """Load the evidence about an image, and parse its questions."""
    evidence, questions = inputs.get_evidence(image_id), []
    for question in inputs.questions.get(image_id, ()):
        words = inputs.tags[question.text].words
        program = parse_program(question.program, question.question_id) if question.program else ()
        sentence = align_program(question.text, program, question.annotations, words)
        questions.append((question, sentence, program, find_presuppositions(program, sentence)))
    mentions = collect_mentions(inputs.questions.get(image_id, ()))
    absence = inputs.replacements.estimate_absence(evidence, mentions)
    return ParsedImage(evidence, absence, mentions, questions)


def _may_be_query_only(inputs: PerturbInputs, subset: Subset, question_id: str) -> bool:
    """Return whether a question may have a query-only candidate if no other candidate is possible.

    The decision is random but reproducible.
    """
    uniform = hash_uniform(str(inputs.replacements.params.seed), "weak", question_id)
    return uniform < inputs.query_only_rates.get(subset, 1)


def _perturb_question(
    question: Question, subset: Subset, case: EditCase, use_paper_rule: bool
) -> Candidate | DroppedCandidate:
    swaps, reason = (edit_by_paper_rule if use_paper_rule else edit_question)(subset, case)
    unedited = Candidate(
        candidate_id=make_candidate_id(subset, question.image_id, question.question_id),
        subset=subset,
        image_id=question.image_id,
        question_id=question.question_id,
        text=question.text,
    )
    if not swaps:
        return unedited.as_dropped("perturb", reason)
    # The verifier reads the program if there is one. A program that differs from the text would mislead the
    # verifier. So the program is dropped unless all swaps are in the program.
    in_program = case.program and all(swap.slot.step >= 0 for swap in swaps)
    return msgspec.structs.replace(
        unedited,
        text=rewrite_text(case.sentence, swaps),
        program=edit_program(question.program, case.program, swaps) if in_program else (),
        query_only=all(swap.slot.is_query_only for swap in swaps),
        edits=tuple(sorted((swap.to_edit(case.sentence) for swap in swaps), key=lambda edit: edit.start)),
    )


def calibrate_inputs(inputs: PerturbInputs, images: Iterable[str]) -> PerturbInputs:
    """Calibrate the inputs on a sample of the images.

    Two things are estimated. The first is the proportion of query-only candidates to make. The second are the
    factors that balance the words, from the slots of the candidates that are made. The preset "paper" needs
    no calibration.

    Args:
        inputs: The inputs. The sampler of replacements gets the factors in place.
        images: The ids of the images from which the sample is taken.
    """
    params, replacements = inputs.replacements.params, inputs.replacements
    if params.preset == "paper":
        return inputs
    # Candidates, each with the options of its slots.
    rows: list[tuple[Candidate, list[SlotOptions]]] = []
    num_questions_left, replacements.recorded_slots = NUM_SURVEYED_QUESTIONS, []
    for image_id in sorted(images, key=lambda image: content_hash("even out", image)):
        if num_questions_left <= 0:
            break
        parsed = inputs.parsed_images[image_id] = parse_image(inputs, image_id)
        num_questions_left -= len(parsed.questions)
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
        slots = (
            slot_options
            for row, slot_options in rows
            if not row.query_only or _may_be_query_only(inputs, row.subset, row.question_id)
        )
        num_words = {word_type: len(words) for word_type, words in replacements.index_by_word.items()}
        replacements.word_factors = fit_word_factors(chain.from_iterable(slots), num_words)
    return inputs


def _compute_query_only_rates(rows: Iterable[Candidate], max_proportion: float) -> dict[Subset, float]:
    """Return for each subset the proportion of possible query-only candidates to make.

    With this proportion, at most `max_proportion` of all candidates of a subset are query-only.
    """
    if max_proportion == 1:
        return {}
    counts = Counter((row.subset, row.query_only) for row in rows)
    limits = {subset: counts[subset, False] * max_proportion / (1 - max_proportion) for subset in SUBSETS}
    return {subset: min(1.0, limits[subset] / max(counts[subset, True], 1)) for subset in SUBSETS}


def perturb_by_paper_rule(
    questions: Iterable[Question], tags: Mapping[str, TaggedText], vocabulary: Vocabulary, seed: int
) -> list[Candidate]:
    """Return the candidates that the rule of RGQA makes of questions, sorted by id.

    The rule ignores what the images show.
    """
    by_image = group_by(questions, lambda question: question.image_id)
    params = PerturbParams(seed=seed, preset="paper")
    inputs = PerturbInputs(by_image, lambda image_id: None, tags, ReplacementSampler(vocabulary, params))
    rows = (row for image_id in by_image for row in perturb_image(inputs, image_id))
    return sorted((row for row in rows if isinstance(row, Candidate)), key=lambda row: row.candidate_id)
