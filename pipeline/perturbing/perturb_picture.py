"""Perturb the questions of a picture: a PT-Easy and a PT-Hard candidate of each, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from pipeline.core.files import content_key
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Dropped, Question, Subset, Tagged, Vocabulary, candidate_id
from pipeline.core.rows import grouped
from pipeline.judge.facts import Facts
from pipeline.perturbing.blind import edit_by_words
from pipeline.perturbing.edit_kinds import edit
from pipeline.perturbing.fitting import edited, rewrite
from pipeline.perturbing.raking import Kind, Offers
from pipeline.perturbing.replacements import PerturbParams, Replacements
from pipeline.perturbing.slots import EditCase
from pipeline.programs.alignment import align
from pipeline.programs.operations import parse

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
# Questions that show which words are taken out where: enough that a common context has hundreds of slots, in less than
# a minute.
SAMPLED = 20_000
SLOTS = 12  # for which random numbers are drawn, two each; more than any question has


@dataclass(frozen=True, slots=True)
class PerturbInputs:
    """What pictures are perturbed with: picture id -> its questions, the evidence about it; text -> its words."""

    questions: Mapping[str, Sequence[Question]]
    facts: Callable[[str], Facts | None]
    tags: Mapping[str, Tagged]
    replacements: Replacements


def perturb_picture(inputs: PerturbInputs, picture_id: str) -> list[Candidate | Dropped]:
    """What becomes of the questions of one picture, sorted by candidate id."""
    facts, params, rows = inputs.facts(picture_id), inputs.replacements.params, []
    present = inputs.replacements.present(facts)
    for question in inputs.questions.get(picture_id, ()):
        words = inputs.tags[question.text].words
        program = parse(question.program, question.question_id) if question.program else ()
        sentence = align(question.text, program, question.annotations, words)
        rng = generator(params.seed, "perturb", question.question_id)
        for subset, random in zip(SUBSETS, rng.random((len(SUBSETS), SLOTS, 2)).tolist(), strict=True):
            case = EditCase(sentence, program, facts, present, inputs.replacements, random)
            rows.append(_perturb(question, subset, case, params.preset == "paper"))
    return sorted(rows, key=lambda row: row.candidate_id)


def _perturb(question: Question, subset: Subset, case: EditCase, by_the_paper: bool) -> Candidate | Dropped:
    if by_the_paper or not case.program:
        swaps, reason = edit_by_words(subset, case, every=by_the_paper)
    else:
        swaps, reason = edit(subset, case)
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
        edits=tuple(sorted((swap.edit(case.sentence) for swap in swaps), key=lambda edit: edit.start)),
    )


def word_factors(inputs: PerturbInputs, pictures: Iterable[str]) -> dict[Kind, np.ndarray]:
    """Factors that even out the words that replacements are drawn by, from what the slots of a sample of the
    pictures offer; none if that is not wanted."""
    params = inputs.replacements.params
    if not params.even_words or params.preset == "paper":
        return {}
    inputs.replacements.offers = offers = Offers()
    tried = 0
    for picture_id in sorted(pictures, key=lambda picture: content_key("even out", picture)):
        tried += len(perturb_picture(inputs, picture_id)) // len(SUBSETS)
        if tried >= SAMPLED:
            break
    inputs.replacements.offers = None
    numbers = inputs.replacements.numbers
    return offers.factors({sort: len(words) for sort, words in numbers.items()})


def perturb_by_the_paper(
    questions: Iterable[Question], tags: Mapping[str, Tagged], vocabulary: Vocabulary, seed: int
) -> list[Candidate]:
    """The candidates that RGQA's rule makes of questions, sorted by id; what the pictures show is not looked at."""
    by_picture = grouped(questions, lambda question: question.picture_id)
    params = PerturbParams(seed=seed, preset="paper")
    inputs = PerturbInputs(by_picture, lambda picture_id: None, tags, Replacements(vocabulary, params))
    rows = (row for picture_id in by_picture for row in perturb_picture(inputs, picture_id))
    return sorted((row for row in rows if isinstance(row, Candidate)), key=lambda row: row.candidate_id)
