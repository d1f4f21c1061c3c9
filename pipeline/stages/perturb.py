"""Edit questions so that what they take for granted is no longer true of their own picture.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        tag/tags.jsonl
Writes  candidates.jsonl     PT-Easy: other things; PT-Hard: other attributes of the same thing, opposites
        unperturbed.jsonl    questions that have no such edit, with the reason, per subset
        perturb.json         counts: questions == candidates + unperturbed, in each subset
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

import msgspec

from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.randomness import generator
from pipeline.core.records import (
    Candidate,
    Dropped,
    Picture,
    Question,
    Scene,
    Subset,
    Tagged,
    Vocabulary,
    Word,
    candidate_id,
)
from pipeline.judge.judgement import evidence_for
from pipeline.judge.names import Lexicon
from pipeline.judge.programs import parse
from pipeline.perturbing import blind
from pipeline.perturbing.alignment import align
from pipeline.perturbing.replacements import Replacements
from pipeline.perturbing.rewriting import rewrite
from pipeline.perturbing.swaps import Case, edited, swap_looks, swap_things

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
DRAWS = 24  # random numbers for one question and subset: two a slot, more slots than any question has


class PerturbParams(Params):
    """Parameters of perturb.

    Attributes:
        seed: of all draws.
        preset: "presuppositions" edits only what a question takes for granted, with replacements that fit;
            "paper" is RGQA's rule (section 3.1): every noun and adjective, any replacement, blind to what is
            asked.
        even_words: edit fewer questions, so that over all of them each attribute and relation is put in about as
            often as it is taken out; without, a model that sees the words alone can tell some edits ("under").
        same_category: how often a thing is replaced by one of its own category, where one fits.
    """

    seed: int = 1
    preset: Literal["presuppositions", "paper"] = "presuppositions"
    even_words: bool = True
    same_category: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5


def perturb_one(
    question: Question, case: Case, replacements: Replacements, params: PerturbParams
) -> Iterator[Candidate | Dropped]:
    """The PT-Easy and the PT-Hard candidate of a question, or why there is none."""
    draws = generator(params.seed, "perturb", question.question_id).random((len(SUBSETS), DRAWS)).tolist()
    for subset, random in zip(SUBSETS, draws, strict=True):
        if params.preset == "paper" or not case.program:
            swaps, reason = blind.swap(subset, case, replacements, random, every=params.preset == "paper")
        elif subset == "pt-easy":
            swaps, reason = swap_things(case, replacements, random)
        else:
            swaps, reason = swap_looks(case, replacements, random)
        common = {
            "candidate_id": candidate_id(subset, question.picture_id, question.question_id),
            "subset": subset,
            "picture_id": question.picture_id,
            "question_id": question.question_id,
        }
        if not swaps:
            yield Dropped(**common, text=question.text, stage="perturb", reason=reason)
            continue
        # A program that says other than the text would be judged in its place: better none.
        told = case.program and all(swap.slot.step >= 0 for swap in swaps)
        yield Candidate(
            **common,
            text=rewrite(case.sentence, swaps),
            program=edited(question.program, case.program, swaps) if told else (),
            edits=tuple(sorted((swap.edit(case.sentence) for swap in swaps), key=lambda edit: edit.start)),
        )


def perturb(
    questions: Iterable[Question],
    tags: Mapping[str, Sequence[Word]],
    vocabulary: Vocabulary,
    scenes: Mapping[str, Scene],
    params: PerturbParams,
) -> tuple[list[Candidate], list[Dropped]]:
    """Perturb every question; both lists sorted by candidate id.

    Args:
        tags: text -> its words. scenes: picture id -> scene graph, where there is one.
    """
    replacements = Replacements(
        vocabulary, params.same_category, params.even_words, uniform=params.preset == "paper"
    )
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    by_picture: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        by_picture[question.picture_id].append(question)
    candidates: list[Candidate] = []
    dropped: list[Dropped] = []
    known = {
        picture_id: evidence_for(picture_id, scenes, by_picture, lexicon) for picture_id in sorted(by_picture)
    }
    present = {picture_id: replacements.present(facts) for picture_id, facts in known.items()}
    replacements.allow_for(present.values())
    for picture_id, facts in track(known.items(), "perturb", total=len(known), unit="picture"):
        for question in by_picture[picture_id]:
            words = tags[question.text]
            program = parse(question.program, question.question_id) if question.program else ()
            sentence = align(question.text, program, question.annotations, words)
            case = Case(sentence, program, words, facts, present[picture_id])
            for made in perturb_one(question, case, replacements, params):
                (candidates if isinstance(made, Candidate) else dropped).append(made)
    return sorted(candidates, key=lambda c: c.candidate_id), sorted(dropped, key=lambda d: d.candidate_id)


def report(questions: int, candidates: Sequence[Candidate], dropped: Sequence[Dropped]) -> dict[str, object]:
    """Counts per subset and reason, and edits per kind."""
    return {
        subset: {
            "questions": questions,
            "candidates": sum(c.subset == subset for c in candidates),
            "edits": dict(
                sorted(Counter(e.kind for c in candidates if c.subset == subset for e in c.edits).items())
            ),
            "unperturbed": dict(sorted(Counter(d.reason for d in dropped if d.subset == subset).items())),
        }
        for subset in SUBSETS
    }


def main() -> None:
    folders, params = Folders(), load("perturb", PerturbParams)
    ingest, out = folders.stage("ingest"), folders.stage("perturb")
    shown = {picture.picture_id for picture in read_jsonl(ingest / "pictures.jsonl", Picture)}
    questions = [q for q in read_jsonl(ingest / "questions.jsonl", Question) if q.picture_id in shown]
    scenes = {s.picture_id: s for s in read_jsonl(ingest / "scenes.jsonl", Scene) if s.picture_id in shown}
    tags = {row.text: row.words for row in read_jsonl(folders.stage("tag") / "tags.jsonl", Tagged)}
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    candidates, dropped = perturb(questions, tags, vocabulary, scenes, params)
    write_jsonl(out / "candidates.jsonl", candidates)
    write_jsonl(out / "unperturbed.jsonl", dropped)
    write_json(out / "perturb.json", report(len(questions), candidates, dropped))
    done("perturb", f"{len(candidates):,} candidates from {len(questions):,} questions", out)


if __name__ == "__main__":
    run(main)
