"""Perturb the questions of a picture: a PT-Easy and a PT-Hard candidate of each, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import msgspec

from pipeline.core.files import content_key
from pipeline.core.randomness import generator, lot
from pipeline.core.records import Candidate, Dropped, Question, Subset, Tagged, Vocabulary, candidate_id
from pipeline.core.rows import grouped
from pipeline.judge.facts import Facts
from pipeline.perturbing.blind import edit_by_words
from pipeline.perturbing.edit_kinds import edit
from pipeline.perturbing.fitting import edited, rewrite
from pipeline.perturbing.raking import Offers
from pipeline.perturbing.replacements import PerturbParams, Replacements
from pipeline.perturbing.slots import EditCase
from pipeline.programs.alignment import align
from pipeline.programs.operations import parse
from pipeline.programs.premises import Premises, premises

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
# Questions that show which words are taken out where, and a quarter of them how many edits are weak: enough that a common
# context has hundreds of slots, in less than a minute.
SAMPLED = 20_000
SLOTS = 12  # for which random numbers are drawn, two each; more than any question has


@dataclass(frozen=True, slots=True)
class PerturbInputs:
    """What pictures are perturbed with: picture id -> its questions, the evidence about it; text -> its words.

    Attributes:
        weak_kept: of each subset, the share of the weak candidates that is made; all where it is not said.
    """

    questions: Mapping[str, Sequence[Question]]
    facts: Callable[[str], Facts | None]
    tags: Mapping[str, Tagged]
    replacements: Replacements
    weak_kept: Mapping[Subset, float] = field(default_factory=dict)


def perturb_picture(inputs: PerturbInputs, picture_id: str, draw: int = 0) -> list[Candidate | Dropped]:
    """What becomes of the questions of one picture, sorted by candidate id; each `draw`, from 0, is independent of the others."""
    facts, params, rows = inputs.facts(picture_id), inputs.replacements.params, []
    absent = inputs.replacements.absent(facts)
    for question in inputs.questions.get(picture_id, ()):
        words = inputs.tags[question.text].words
        program = parse(question.program, question.question_id) if question.program else ()
        sentence = align(question.text, program, question.annotations, words)
        said = premises(program, sentence) if program else Premises()
        rng = generator(params.seed, "perturb", question.question_id, *([str(draw)] if draw else []))
        for subset, random in zip(SUBSETS, rng.random((len(SUBSETS), SLOTS, 2)).tolist(), strict=True):
            wanted = lot(str(params.seed), "weak", question.question_id) < inputs.weak_kept.get(subset, 1)
            case = EditCase(sentence, program, said, facts, absent, inputs.replacements, random, wanted)
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
        weak=all(swap.slot.weak for swap in swaps),
        edits=tuple(sorted((swap.edit(case.sentence) for swap in swaps), key=lambda edit: edit.start)),
    )


def surveyed(inputs: PerturbInputs, pictures: Iterable[str]) -> PerturbInputs:
    """The same inputs with what a sample of the pictures tells: how many of the weak candidates there may be, then, from what
    the slots offer, the factors that even out the words. By the paper's rule nothing is told."""
    params, replacements = inputs.replacements.params, inputs.replacements
    if params.preset == "paper":
        return inputs
    drawn = sorted(pictures, key=lambda picture: content_key("even out", picture))
    inputs = replace(inputs, weak_kept=_weak_kept(inputs, drawn))
    if params.even_words:
        replacements.offers = offers = Offers()
        for _ in _perturbed(inputs, drawn, SAMPLED):
            pass
        replacements.offers = None
        replacements.factors = offers.factors(
            {sort: len(words) for sort, words in replacements.numbers.items()}
        )
    return inputs


def _perturbed(inputs: PerturbInputs, pictures: Iterable[str], most: int) -> Iterator[Candidate | Dropped]:
    """What becomes of the questions of some pictures, until there are enough questions."""
    made = (row for picture_id in pictures for row in perturb_picture(inputs, picture_id))
    return islice(made, most * len(SUBSETS))


def _weak_kept(inputs: PerturbInputs, pictures: Iterable[str]) -> dict[Subset, float]:
    """Of each subset, the share of the weak candidates that leaves as many of them as there may be."""
    share = inputs.replacements.params.weak_share
    if share == 1:
        return {}
    rows = _perturbed(inputs, pictures, SAMPLED // 4)
    made = Counter((row.subset, row.weak) for row in rows if isinstance(row, Candidate))
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
