"""Edit questions so that what they take for granted is no longer true of their own picture.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, tag/tags.jsonl
Writes  candidates.jsonl     PT-Easy: other things; PT-Hard: other attributes of the same thing, opposites
        unperturbed.jsonl    questions that have no such edit, with the reason, per subset
        perturb.json         counts: questions == candidates + unperturbed, in each subset
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import msgspec
import numpy as np

from pipeline.core.by_picture import Made, by_subset, counted, pictures_in_order, write_by_picture
from pipeline.core.errors import run
from pipeline.core.files import content_key, read_json, write_json
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.randomness import generator
from pipeline.core.records import (
    Candidate,
    Dropped,
    Question,
    Scene,
    Subset,
    Tagged,
    Vocabulary,
    Word,
    candidate_id,
)
from pipeline.core.rows import Groups, Singles
from pipeline.judge.facts import Facts
from pipeline.judge.judgement import Told, evidence_for
from pipeline.judge.reconstruct import Reconstructed
from pipeline.perturbing import blind
from pipeline.perturbing.alignment import align
from pipeline.perturbing.raking import Kind, Offers
from pipeline.perturbing.replacements import Replacements
from pipeline.perturbing.rewriting import rewrite
from pipeline.perturbing.swaps import Case, edited, swap_looks, swap_things
from pipeline.programs.operations import parse
from pipeline.words.lexicon import Lexicon

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
SAMPLED = 20_000  # questions that show which words are taken out where
Factors = Mapping[Kind, np.ndarray]
DRAWS = 24  # random numbers for one question and subset: two a slot, more slots than any question has


class PerturbParams(Params):
    """Parameters of perturb.

    Attributes:
        seed: of all draws.
        preset: "presuppositions" edits only what a question takes for granted, with replacements that fit;
            "paper" is RGQA's rule (section 3.1): every noun and adjective, any replacement, blind to what is
            asked.
        even_words: weigh replacements so that over all questions each word is put in about as often as it is
            taken out (`pipeline/perturbing/raking.py`); without, a model that sees the words alone can tell edits.
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


@dataclass(frozen=True, slots=True)
class Tables:
    """What pictures are perturbed with: their questions, scene graphs and what is told of them (`evidence_for`), the
    words of a text, replacements."""

    questions: Mapping[str, Sequence[Question]]
    scenes: Mapping[str, Scene]
    told: Told
    words: Callable[[str], Sequence[Word]]
    replacements: Replacements
    lexicon: Lexicon
    params: PerturbParams

    @classmethod
    def of(
        cls,
        questions: Mapping[str, Sequence[Question]],
        scenes: Mapping[str, Scene],
        words: Callable[[str], Sequence[Word]],
        vocabulary: Vocabulary,
        params: PerturbParams,
        told: Told | None = None,
        factors: Factors | None = None,
    ) -> Tables:
        replacements = Replacements(vocabulary, params.same_category, params.preset == "paper", factors)
        lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
        told = questions if told is None else told
        return cls(questions, scenes, told, words, replacements, lexicon, params)

    @classmethod
    def read(cls, folders: Folders, params: PerturbParams, factors: Factors | None = None) -> Tables:
        """The same from files, of which the rows of one picture at a time are in memory."""
        ingest, vocabulary = folders.stage("ingest"), folders.stage("vocabulary") / "vocabulary.json"
        tags = Singles(folders.stage("tag") / "tags.jsonl", Tagged, "text")
        return cls.of(
            Groups(ingest / "questions.jsonl", Question, "picture_id"),
            Singles(ingest / "scenes.jsonl", Scene, "picture_id"),
            lambda text: tags[text].words,
            read_json(vocabulary, Vocabulary),
            params,
            Singles(vocabulary.with_name("reconstructed.jsonl"), Reconstructed, "picture_id"),
            factors,
        )

    def facts(self, picture_id: str) -> Facts | None:
        """The evidence about a picture, if any."""
        return evidence_for(picture_id, self.scenes, self.told, self.lexicon)


def perturb_picture(tables: Tables, picture_id: str) -> list[Candidate | Dropped]:
    """What becomes of the questions of one picture, sorted by candidate id."""
    facts, rows = tables.facts(picture_id), []
    present = tables.replacements.present(facts)
    for question in tables.questions.get(picture_id, ()):
        words = tables.words(question.text)
        program = parse(question.program, question.question_id) if question.program else ()
        sentence = align(question.text, program, question.annotations, words)
        case = Case(sentence, program, words, facts, present)
        rows += perturb_one(question, case, tables.replacements, tables.params)
    return sorted(rows, key=lambda row: row.candidate_id)


def perturb(
    questions: Iterable[Question],
    tags: Mapping[str, Sequence[Word]],
    vocabulary: Vocabulary,
    scenes: Mapping[str, Scene],
    params: PerturbParams,
) -> tuple[list[Candidate], list[Dropped]]:
    """Perturb questions that are all in memory; both lists sorted by candidate id.

    Args:
        tags: text -> its words. scenes: picture id -> scene graph, where there is one.
    """
    by_picture: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        by_picture[question.picture_id].append(question)
    tables = Tables.of(by_picture, scenes, tags.__getitem__, vocabulary, params)
    tables.replacements.factors = even_out(tables, by_picture)
    made = [row for picture_id in by_picture for row in perturb_picture(tables, picture_id)]
    made.sort(key=lambda row: row.candidate_id)
    candidates = [row for row in made if isinstance(row, Candidate)]
    return candidates, [row for row in made if isinstance(row, Dropped)]


def even_out(tables: Tables, pictures: Iterable[str]) -> Factors:
    """Factors that even out the words that replacements are drawn by, from what the slots of a sample of the
    pictures offer; none if that is not wanted."""
    if not tables.params.even_words or tables.params.preset == "paper":
        return {}
    tables.replacements.offers = offers = Offers()
    tried = 0
    for picture_id in sorted(pictures, key=lambda one: content_key("even out", one)):
        tried += len(perturb_picture(tables, picture_id)) // len(SUBSETS)
        if tried >= SAMPLED:
            break
    tables.replacements.offers = None
    return offers.factors(tables.replacements.words)


def tally(rows: Iterable[Candidate | Dropped]) -> Counter[tuple[str, str, str]]:
    """Counts of candidates, of their edits' kinds, and of the reasons why a question has none, per subset."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        if isinstance(row, Candidate):
            counts[row.subset, "candidates", ""] += 1
            counts.update((row.subset, "edits", edit.kind) for edit in row.edits)
        else:
            counts[row.subset, "unperturbed", row.reason] += 1
    return counts


def report(counts: Mapping[tuple[str, str, str], int]) -> dict[str, dict[str, object]]:
    """Counts per subset and reason, and edits per kind. Each question has a candidate or a reason why not."""
    found = {}
    for subset in SUBSETS:
        by = counted(counts, subset, "candidates", "edits", "unperturbed")
        candidates = sum(by["candidates"].values())
        questions = candidates + sum(by["unperturbed"].values())
        found[subset] = {"questions": questions, **by, "candidates": candidates}
    return found


def made_of(tables: Tables, picture_id: str) -> Made:
    """What becomes of one picture."""
    rows = perturb_picture(tables, picture_id)
    files = (
        by_subset((row for row in rows if isinstance(row, kind)), lambda row: row.subset)
        for kind in (Candidate, Dropped)
    )
    return Made(tuple(files), tally(rows))


def main() -> None:
    folders, params = Folders(), load("perturb", PerturbParams)
    pictures = pictures_in_order(folders)
    factors = even_out(Tables.read(folders, params), pictures)
    set_up = partial(Tables.read, folders, params, factors=factors)
    counts = write_by_picture(
        "perturb", folders, pictures, ("candidates.jsonl", "unperturbed.jsonl"), set_up, made_of
    )
    out, found = folders.stage("perturb"), report(counts)
    write_json(out / "perturb.json", found)
    candidates = sum(row["candidates"] for row in found.values())
    done("perturb", f"{candidates:,} candidates from {found[SUBSETS[0]]['questions']:,} questions", out)


if __name__ == "__main__":
    run(main)
