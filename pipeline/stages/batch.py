"""Make annotation tasks: a picture and two questions in random order, one a candidate, the other its companion: a filter
question, whose verdict is known, or a repeat, another candidate once more.

Half of the filters have the known verdict "valid" (the picture's own questions, which verifies those on the
way; templates), half "invalid" (candidates and questions of other pictures that name something which, by the
evidence, is not there; templates).

Candidates that are most probably unanswerable go out first, in blocks that hold as much of every subset and are shuffled.

Reads   screened.jsonl, estimates.jsonl, questions.jsonl, scenes.jsonl, pictures.jsonl, vocabulary.json, reconstructed.jsonl
        data/<data set>/rounds/   what earlier rounds verified (`rgqa annotate round`), if there are any
Writes  tasks.jsonl                Task: everything about each task, the filter and its verdict included
        label_studio_tasks.json    what the browser may see: task key, picture, the two texts
        batch.json                 tasks per subset, filters per source, repeats, and how well repetition, words, position
                                   and order tell which questions are filters, on streams of simulated annotators
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any

import msgspec

from annotation.study.assignment import Asking, AskingRules
from annotation.study.assignment_params import as_asked
from annotation.study.forecast import simulated_stream
from annotation.study.gold_leakage import MOST_TOLD, Betrayal, betrayals, shown_questions, worst
from annotation.study.rounds import read_rounds
from pipeline.core.errors import UserError, run, warn
from pipeline.core.json_files import write_json_list, write_jsonl
from pipeline.core.jsonl_index import Groups, Joined, Lines, PutAside, Singles, grouped
from pipeline.core.parallel import ordered_map, processes
from pipeline.core.params import Params, Seed, load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Estimate, Picture, Question, Screened, Task
from pipeline.tasks.gold_questions import Naming, foreign, in_style_of, of_the_picture, templates
from pipeline.tasks.second_questions import Offered
from pipeline.tasks.task_builder import make_tasks, shown
from pipeline.verifier.evidence_loading import evidence_files

PEOPLE = 8  # simulated, to measure what tells filters
MOST_MEASURED = 8_000  # of their judgements; more do not sharpen the figures


class BatchParams(Params):
    seed: Seed = 0
    # Share of filters made from the paper's templates. They are known at sight ("Is there a ...?" is never a
    # candidate), so few of them; 1.0 is the paper's way.
    template_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.05
    # Tasks that have a filter beside the candidate, at most: as far as a picture's filters last with two uses of each. The
    # others have a repeat, another candidate once more, which is a vote on that.
    filter_share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.4
    # Questions of other pictures tried per picture, of those that name something this picture has not.
    foreign_tries: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 100


def betrayed(tasks: Iterable[Task], estimates: Iterable[Estimate], seed: int) -> list[Betrayal]:
    """What tells filters from candidates in the streams of simulated people who share the tasks as `Asking` gives them."""
    rules = AskingRules(budget=MOST_MEASURED, seed=seed)
    # The blocks that so many judgements can reach: a judgement begins one task at most, and waves are begun in order.
    reached: list[Task] = []
    for task in tasks:
        if len(reached) >= MOST_MEASURED + rules.wave and task.block != reached[-1].block:
            break
        reached.append(task)
    ids = {row.candidate_id for task in reached for row in (task.first, task.second)}
    known = {row.candidate_id: row.answerable for row in estimates if row.candidate_id in ids}
    asking = Asking([as_asked(task) for task in reached], known, rules)
    stream = simulated_stream(asking, [f"person {number}" for number in range(PEOPLE)], seed)
    return betrayals(shown_questions(stream, {task.task_id: task for task in reached}), seed)


def report(tasks: Iterable[Task], betrayals: Sequence[Betrayal]) -> dict[str, Any]:
    """Tasks per subset, filters per source and expected verdict, repeats, and what tells filters."""
    subsets, filters, expected = Counter[str](), Counter[str](), Counter[str | None]()
    candidate_first = 0
    for task in tasks:
        subsets[task.subset] += 1
        candidate_first += task.first.role == "candidate"
        for row in (task.first, task.second):
            if row.role == "filter":
                filters[f"{row.source}, {row.expected}"] += 1
                expected[row.expected] += 1
    return {
        "tasks": subsets,
        "filters": filters,
        "filters_valid": expected["valid"],
        "filters_invalid": expected["invalid"],
        "repeats": subsets.total() - filters.total(),
        "candidate_first": candidate_first,
        "filters_told_by": betrayals,
    }


def warn_of_cues(figures: Mapping[str, Any]) -> None:
    """Say what would let annotators pass without looking."""
    for row in worst(figures["filters_told_by"]):
        warn(
            f"filter questions can be distinguished from candidates by: {row.cue} (AUROC {row.auroc}, up to {row.high} by its interval, "
            f"more than {MOST_TOLD}); annotators may learn it"
        )
    if figures["tasks"] and not figures["filters_invalid"]:
        warn(
            "no filter question is known to be unanswerable, as nothing is known of these images: an annotator who calls every "
            "question valid passes all of them; give programs or scene graphs, or end a first round (rgqa annotate round)"
        )


class FilterInputs:
    """What filter questions are made of; of the rows in files those of one picture at a time are in memory."""

    def __init__(self, folders: Folders, p: BatchParams) -> None:
        self._p, self._vocabulary = p, folders.vocabulary()
        self._members = Groups(folders.file(Screened), Screened, "candidate.picture_id")
        self._known = grouped(read_rounds(folders), lambda row: row.candidate.picture_id)
        self._own = Groups(folders.file(Question), Question, "picture_id")
        pictures = {row.picture_id for row in folders.rows(Picture)}
        self._naming = Naming(Singles(folders.file(Question), Question, "question_id"), pictures)
        self._facts_of = evidence_files(folders, self._vocabulary)

    def offered(self, picture_id: str) -> Offered:
        """The filter questions that a picture offers."""
        rng, facts = generator(self._p.seed, "batch", "pool", picture_id), self._facts_of(picture_id)
        own, members = self._own.get(picture_id, ()), self._members[picture_id]
        texts = [row.candidate.text for row in members]
        return Offered.of(
            [
                *of_the_picture(own, members, self._known.get(picture_id, ())),
                *foreign(picture_id, self._naming, facts, self._p.foreign_tries, rng),
                *in_style_of(templates(self._vocabulary, facts, rng), texts),
            ]
        )


def offers(folders: Folders, p: BatchParams, pictures: Sequence[str]) -> Iterator[tuple[str, Offered]]:
    """The filter questions that each of the pictures, all with candidates, offers."""
    inputs = partial(FilterInputs, folders, p)
    found = ordered_map(FilterInputs.offered, pictures, inputs, processes(len(pictures)))
    yield from zip(pictures, track(found, "batch: filters", len(pictures), "picture"), strict=True)


def main() -> None:
    folders, p = Folders(), load("batch", BatchParams)
    out = folders.stage("batch")
    candidates = Lines(folders.file(Screened), Screened, attrgetter("candidate"))
    if not candidates:
        raise UserError(
            f"{folders.file(Screened)}: no candidate is left to be judged; give more pictures and questions, or names of things "
            "(scene graphs, functional programs), and look at rank.json, perturb.json and screen.json for what became of them"
        )
    pictures = sorted({row.picture_id for row in candidates})
    offered = PutAside(out, Offered, offers(folders, p, pictures))
    estimates = ((row.candidate_id, row.answerable) for row in folders.rows(Estimate))
    made = make_tasks(candidates, offered, p.template_share, p.filter_share, p.seed, estimates)
    write_jsonl(out / "tasks.jsonl", made)

    picture = Joined(folders.file(Picture), ((row.picture_id, row) for row in folders.rows(Picture)))
    seen = (shown(task, picture[task.picture_id]) for task in folders.rows(Task))
    write_json_list(out / "label_studio_tasks.json", seen)
    figures = report(folders.rows(Task), betrayed(folders.rows(Task), folders.rows(Estimate), p.seed))
    warn_of_cues(figures)
    folders.finish("batch", f"{len(candidates):,} annotation tasks", {"batch.json": figures})


if __name__ == "__main__":
    run(main)
