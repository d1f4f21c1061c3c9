"""Make annotation tasks: an image and two questions in random order, one a candidate, the other its companion: a filter
question, whose verdict is known, or a repeat, another candidate once more.

Half of the filters have the known verdict "valid" (the image's own questions, which verifies those on the
way; templates), half "invalid" (candidates and questions of other images that name something which, by the
evidence, is not there; templates).

Candidates that are most probably unanswerable go out first, in blocks that hold as much of every subset and are shuffled.

Reads   screened.jsonl, estimates.jsonl, questions.jsonl, scenes.jsonl, images.jsonl, vocabulary.json, reconstructed.jsonl
        data/<data set>/rounds/   what earlier rounds verified (`rgqa annotate end-round`), if there are any
Writes  tasks.jsonl                Task: everything about each task, the filter and its verdict included
        label_studio_tasks.json    what the browser may see: task key, image, the two texts
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

from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import to_task_mapping
from annotation.study.forecast import simulate_assignments
from annotation.study.gold_leakage import (
    MAX_HIDDEN_AUROC,
    GoldLeakage,
    build_shown_questions,
    measure_gold_leakage,
    select_leaks,
)
from annotation.study.rounds import read_rounds
from pipeline.core.errors import UserError, run_command, warn
from pipeline.core.json_files import write_json_list, write_jsonl
from pipeline.core.jsonl_index import (
    GroupedIndex,
    JsonlSequence,
    RecordLookup,
    SpillMap,
    UniqueIndex,
    group_by,
)
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.params import Params, Seed, load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import CandidateEstimate, ImageRecord, Question, ScreenedCandidate, Task
from pipeline.tasks.gold_questions import (
    QuestionsByName,
    collect_known_questions,
    make_all_template_questions,
    match_text_style,
    sample_foreign_questions,
)
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.task_builder import make_tasks, to_label_studio_task
from pipeline.verifier.evidence_loading import make_evidence_loader

NUM_SIMULATED_ANNOTATORS = 8  # simulated, to measure what tells filters
MAX_SIMULATED_JUDGEMENTS = 8_000  # of their judgements; more do not sharpen the figures


class BatchParams(Params):
    """Parameters of stage `batch`.

    Attributes:
        seed: Seed of the tasks: gold questions, order, second questions.
        template_proportion: Proportion (0 to 1) of gold questions that are made from the paper's
            templates instead of source questions.
        gold_proportion: Maximum proportion (above 0, up to 1) of tasks that contain a gold question
            beside the candidate. The others repeat another candidate of the image.
        num_negative_trials: Number of questions of other images tried for each image as gold questions
            with the verdict "invalid".
    """

    seed: Seed = 0
    # Share of filters made from the paper's templates. They are known at sight ("Is there a ...?" is never a
    # candidate), so few of them; 1.0 is the paper's way.
    template_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.05
    # Tasks that have a filter beside the candidate, at most: as far as an image's filters last with two uses of each. The
    # others have a repeat, another candidate once more, which is a vote on that.
    gold_proportion: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.4
    # Questions of other images tried per image, of those that name something this image has not.
    num_negative_trials: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 100


def simulate_gold_leakage(
    tasks: Iterable[Task], estimates: Iterable[CandidateEstimate], seed: int
) -> list[GoldLeakage]:
    """What tells filters from candidates in the streams of simulated people who share the tasks as `Asking` gives them."""
    rules = AssignmentRules(max_judgements=MAX_SIMULATED_JUDGEMENTS, seed=seed)
    # The blocks that so many judgements can reach: a judgement begins one task at most, and waves are begun in order.
    reached: list[Task] = []
    for task in tasks:
        if (
            len(reached) >= MAX_SIMULATED_JUDGEMENTS + rules.wave_size
            and task.priority_block != reached[-1].priority_block
        ):
            break
        reached.append(task)
    ids = {row.candidate_id for task in reached for row in (task.first, task.second)}
    known = {row.candidate_id: row.p_answerable for row in estimates if row.candidate_id in ids}
    asking = AdaptiveAssigner([to_task_mapping(task) for task in reached], known, rules)
    stream = simulate_assignments(
        asking, [f"person {number}" for number in range(NUM_SIMULATED_ANNOTATORS)], seed
    )
    return measure_gold_leakage(build_shown_questions(stream, {task.task_id: task for task in reached}), seed)


def make_report(tasks: Iterable[Task], leakage: Sequence[GoldLeakage]) -> dict[str, Any]:
    """Tasks per subset, filters per source and expected verdict, repeats, and what tells filters."""
    subsets, filters, expected = Counter[str](), Counter[str](), Counter[str | None]()
    candidate_first = 0
    for task in tasks:
        subsets[task.subset] += 1
        candidate_first += task.first.role == "candidate"
        for row in (task.first, task.second):
            if row.role == "gold":
                filters[f"{row.gold_source}, {row.expected_choice}"] += 1
                expected[row.expected_choice] += 1
    return {
        "tasks": subsets,
        "gold_questions": filters,
        "gold_valid": expected["valid"],
        "gold_invalid": expected["invalid"],
        "repeats": subsets.total() - filters.total(),
        "candidate_first": candidate_first,
        "gold_leakage": leakage,
    }


def warn_about_leakage(report: Mapping[str, Any]) -> None:
    """Say what would let annotators pass without looking."""
    for row in select_leaks(report["gold_leakage"]):
        warn(
            f"filter questions can be distinguished from candidates by: {row.cue} (AUROC {row.auroc}, up to {row.high} by its interval, "
            f"more than {MAX_HIDDEN_AUROC}); annotators may learn it"
        )
    if report["tasks"] and not report["gold_invalid"]:
        warn(
            "no filter question is known to be unanswerable, as nothing is known of these images: an annotator who calls every "
            "question valid passes all of them; give programs or scene graphs, or end a first round (rgqa annotate end-round)"
        )


class GoldQuestionInputs:
    """What filter questions are made of; of the rows in files those of one image at a time are in memory."""

    def __init__(self, folders: DatasetFolders, p: BatchParams) -> None:
        self._p, self._vocabulary = p, folders.read_vocabulary()
        self._candidates = GroupedIndex(
            folders.record_file(ScreenedCandidate), ScreenedCandidate, "candidate.image_id"
        )
        self._verified = group_by(read_rounds(folders), lambda row: row.candidate.image_id)
        self._questions = GroupedIndex(folders.record_file(Question), Question, "image_id")
        images = {row.image_id for row in folders.read_records(ImageRecord)}
        self._questions_by_name = QuestionsByName(
            UniqueIndex(folders.record_file(Question), Question, "question_id"), images
        )
        self._facts_of = make_evidence_loader(folders, self._vocabulary)

    def make_offer(self, image_id: str) -> Offer:
        """The filter questions that an image offers."""
        rng, facts = make_generator(self._p.seed, "batch", "pool", image_id), self._facts_of(image_id)
        own, members = self._questions.get(image_id, ()), self._candidates[image_id]
        texts = [row.candidate.text for row in members]
        return Offer.from_questions(
            [
                *collect_known_questions(own, members, self._verified.get(image_id, ())),
                *sample_foreign_questions(
                    image_id, self._questions_by_name, facts, self._p.num_negative_trials, rng
                ),
                *match_text_style(make_all_template_questions(self._vocabulary, facts, rng), texts),
            ]
        )


def make_offers(
    folders: DatasetFolders, p: BatchParams, images: Sequence[str]
) -> Iterator[tuple[str, Offer]]:
    """The filter questions that each of the images, all with candidates, offers."""
    inputs = partial(GoldQuestionInputs, folders, p)
    found = ordered_map(GoldQuestionInputs.make_offer, images, inputs, choose_num_workers(len(images)))
    yield from zip(images, track(found, "batch: filters", len(images), "image"), strict=True)


def main() -> None:
    folders, p = DatasetFolders(), load_params("batch", BatchParams)
    out = folders.stage_dir("batch")
    candidates = JsonlSequence(
        folders.record_file(ScreenedCandidate), ScreenedCandidate, attrgetter("candidate")
    )
    if not candidates:
        raise UserError(
            f"{folders.record_file(ScreenedCandidate)}: no candidate is left to be judged; give more images and questions, or names of things "
            "(scene graphs, functional programs), and look at rank.json, perturb.json and screen.json for what became of them"
        )
    images = sorted({row.image_id for row in candidates})
    offered = SpillMap(out, Offer, make_offers(folders, p, images))
    estimates = ((row.candidate_id, row.p_answerable) for row in folders.read_records(CandidateEstimate))
    made = make_tasks(candidates, offered, p.template_proportion, p.gold_proportion, p.seed, estimates)
    write_jsonl(out / "tasks.jsonl", made)

    image = RecordLookup(
        folders.record_file(ImageRecord), ((row.image_id, row) for row in folders.read_records(ImageRecord))
    )
    seen = (to_label_studio_task(task, image[task.image_id]) for task in folders.read_records(Task))
    write_json_list(out / "label_studio_tasks.json", seen)
    figures = make_report(
        folders.read_records(Task),
        simulate_gold_leakage(folders.read_records(Task), folders.read_records(CandidateEstimate), p.seed),
    )
    warn_about_leakage(figures)
    folders.write_stage_outputs("batch", f"{len(candidates):,} annotation tasks", {"batch.json": figures})


if __name__ == "__main__":
    run_command(main)
