"""Make annotation tasks. A task consists of an image and two questions in random order.

One question is a candidate. The other question is a gold question, whose correct choice is known, or a
repeat, which is the candidate of another task shown again. Half of the gold questions are valid: the image's
own questions, which the annotators verify in this way, and questions from templates. The other half are
invalid: candidates and questions of other images that name something which is absent according to the
evidence, and questions from templates. If only plain questions are known of an image, they are written about
objects that it very probably does not show.

The tasks are ordered in blocks. Blocks with the candidates that are most probably unanswerable come first.
Each block has equal proportions of the subsets, and the tasks in a block are in random order.

A question that a model drafted is a candidate, too: annotators judge it before it can be used as an AQ. It gets no task if they decided
it in an earlier round.

Reads   tags.jsonl, screened.jsonl, estimates.jsonl, questions.jsonl, scenes.jsonl, images.jsonl, vocabulary.json, reconstructed.jsonl
        data/<data set>/rounds/   candidates verified in earlier annotation rounds (`rgqa annotate end-round`), if any
Writes  tasks.jsonl                 Task: everything about each task, including the gold question and its correct choice
        spare_gold_questions.jsonl  SpareGoldQuestion: gold questions that no task contains, for training and qualification test
        judged_drafts.jsonl         GoldQuestionCheck: the drafted questions that earlier rounds decided; only if there are any
        label_studio_tasks.json     what the browser may show: task key, image, the two texts
        batch.json                  tasks per subset, gold questions per source, repeats, and gold question leakage: how well
                                    repetition, words, position and order identify gold questions in the task
                                    sequences of simulated annotators, and how well the source's questions do
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import to_task_mapping
from annotation.study.forecast import simulate_assignments
from annotation.study.gold_leakage import (
    MAX_HIDDEN_AUROC,
    GoldLeakage,
    build_shown_questions,
    measure_gold_leakage,
    measure_source_leakage,
    select_leaks,
)
from annotation.study.rounds import read_rounds
from pipeline.candidates.perturbing.perturb_image import PerturbInputs
from pipeline.candidates.perturbing.replacements import PerturbParams, ReplacementSampler
from pipeline.core.errors import UserError, run_command, warn
from pipeline.core.json_files import read_json, write_json_list, write_jsonl
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
from pipeline.core.records import (
    Candidate,
    CandidateEstimate,
    GoldQuestionCheck,
    ImageRecord,
    Question,
    Record,
    ScreenedCandidate,
    SpareGoldQuestion,
    TaggedText,
    Task,
)
from pipeline.tasks.absent_object_questions import AbsentObjectWriter
from pipeline.tasks.drafted_questions import (
    JUDGED_DRAFTS_FILE,
    JoinedSequence,
    find_drafted_questions,
    split_by_rounds,
)
from pipeline.tasks.gold_questions import (
    GoldQuestion,
    QuestionsByName,
    collect_known_questions,
    find_absent_names,
    has_source_program,
    make_all_template_questions,
    match_text_style,
    sample_foreign_questions,
    select_reworded,
)
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.spare_gold_questions import (
    MIN_IMAGES,
    count_usable_images,
    find_spare_gold_questions,
    hold_back_gold_questions,
)
from pipeline.tasks.task_builder import make_tasks, to_label_studio_task
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.evidence_loading import make_evidence_loader

# Number of annotators that are simulated to measure gold question leakage.
NUM_SIMULATED_ANNOTATORS = 8
# Smallest proportion of gold questions that should be unanswerable.
MIN_INVALID_PROPORTION = 0.35
# Maximum number of tasks that the simulated annotators answer, together. More do not make the results more
# precise.
MAX_SIMULATED_JUDGEMENTS = 8_000


class BatchParams(Params):
    """Parameters of the stage batch.

    Attributes:
        seed: Seed of all random choices.
        template_proportion: Proportion in [0, 1] of gold questions that are made from the templates of the
            RGQA paper. Annotators can recognize such questions, because "Is there a ...?" is never a
            candidate, so the proportion should be small. In the paper, all gold questions are of this kind
            (1).
        gold_proportion: Maximum proportion in (0, 1] of tasks with a gold question. It may not be reached,
            because each gold question of an image is used at most twice. The other tasks have a repeat: the
            candidate of another task is shown again, and gets a further vote.
        hide_source: Whether the gold questions are chosen so that somebody who has the questions of the source
            cannot recognize them by a search: valid ones are reworded questions, and some invalid ones are edited
            questions, as candidates are. `auto`: if the questions were reworded because their source is public
            (`ingest.paraphrase`).
        num_negative_trials: Number of questions of other images that are tried as gold questions for an
            image. They are chosen among the questions that name something absent from the image.
        ask_drafted: Whether the questions that a model drafted (`rgqa draft`) get tasks of their own, as far as candidates were
            made of them, so that annotators say whether they have an answer. With false, set `balance.require_confirmation` to
            false, too.
    """

    seed: Seed = 0
    template_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.05
    gold_proportion: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.4
    num_negative_trials: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 100
    hide_source: bool | Literal["auto"] = "auto"
    ask_drafted: bool = True

    def resolve_hide_source(self, folders: DatasetFolders) -> bool:
        """Return whether somebody who has the source's questions must not recognize gold questions."""
        if self.hide_source != "auto":
            return self.hide_source
        return read_json(folders.stage_dir("ingest") / "ingest.json", _IngestReport).paraphrase.used


class _ParaphraseReport(Record, forbid_unknown_fields=False):
    used: bool = False


class _IngestReport(Record, forbid_unknown_fields=False):
    """The part of ingest.json that says whether the questions were reworded."""

    paraphrase: _ParaphraseReport = _ParaphraseReport()


def simulate_gold_leakage(
    tasks: Iterable[Task],
    estimates: Iterable[CandidateEstimate],
    seed: int,
    questions: Iterable[Question] = (),
) -> tuple[list[GoldLeakage], list[GoldLeakage]]:
    """Measure what identifies gold questions in the task sequences of simulated annotators.

    The tasks are assigned by `AdaptiveAssigner`, as in a real study.

    Args:
        tasks: All tasks, in the order of their blocks.
        estimates: The estimates of all candidates.
        seed: Seed of the simulation.
        questions: The questions of the source.

    Returns:
        The leakage by the cues that anybody has, and by the source's questions.
    """
    rules = AssignmentRules(max_judgements=MAX_SIMULATED_JUDGEMENTS, seed=seed)
    # Only the first blocks are needed: the simulated annotators start at most one task per answered task, and
    # waves start in order.
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
    assigner = AdaptiveAssigner([to_task_mapping(task) for task in reached], known, rules)
    stream = simulate_assignments(
        assigner, [f"person {number}" for number in range(NUM_SIMULATED_ANNOTATORS)], seed
    )
    shown = build_shown_questions(stream, {task.task_id: task for task in reached})
    source = ((row.image_id, row.source_text or row.text, row.text) for row in questions)
    return measure_gold_leakage(shown, seed), measure_source_leakage(shown, source, seed)


def make_report(
    tasks: Iterable[Task],
    leakage: Sequence[GoldLeakage],
    source_leakage: Sequence[GoldLeakage] = (),
    hides_source: bool = False,
) -> dict[str, Any]:
    """Count tasks per subset, gold questions per source and expected choice, and repeats.

    Add the gold question leakage.
    """
    subsets, gold_questions, expected = Counter[str](), Counter[str](), Counter[str | None]()
    candidate_first = 0
    for task in tasks:
        subsets[task.subset] += 1
        candidate_first += task.first.role == "candidate"
        for row in (task.first, task.second):
            if row.role == "gold":
                gold_questions[f"{row.gold_source}, {row.expected_choice}"] += 1
                expected[row.expected_choice] += 1
    return {
        "tasks": subsets,
        "gold_questions": gold_questions,
        "gold_valid": expected["valid"],
        "gold_invalid": expected["invalid"],
        "repeats": subsets.total() - gold_questions.total(),
        "candidate_first": candidate_first,
        "gold_leakage": leakage,
        "source_leakage": source_leakage,
        "hides_source": hides_source,
    }


def warn_about_leakage(report: Mapping[str, Any]) -> None:
    """Warn about everything with which annotators could pass the gold questions without looking at the
    images.
    """
    # The source's questions are a cue only if the annotators can have them.
    public = [row for row in report["source_leakage"] if report["hides_source"]]
    for row in select_leaks([*report["gold_leakage"], *public]):
        warn(
            f"gold questions can be distinguished from candidates by: {row.cue} (AUROC {row.auroc}, upper bound {row.high}, "
            f"more than {MAX_HIDDEN_AUROC}). Annotators may learn this."
        )
    num_gold = report["gold_valid"] + report["gold_invalid"]
    # One question more or less is no reason for a warning, unless it is the only one.
    too_few = report["gold_invalid"] + 1 <= MIN_INVALID_PROPORTION * num_gold
    if report["tasks"] and (too_few or not report["gold_invalid"]):
        known = (
            f"only {report['gold_invalid']:,} of {num_gold:,} gold questions are"
            if report["gold_invalid"]
            else "no gold question is"
        )
        warn(
            f"{known} known to be unanswerable, because little is known about these images. An annotator who calls every question valid "
            "passes most gold questions. Add questions about these images, or end a first round (rgqa annotate end-round)."
        )


class GoldQuestionInputs:
    """The inputs from which gold questions are made.

    Only the records of one image at a time are in memory.
    """

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
        self._get_evidence = make_evidence_loader(folders, self._vocabulary)
        self._folders, self._hides_source = folders, p.resolve_hide_source(folders)

    @cached_property
    def _absent_object_writer(self) -> AbsentObjectWriter:
        """The writer for images of which only plain questions are known. It is made when the first one comes."""
        inputs = PerturbInputs(
            self._questions,
            self._get_evidence,
            UniqueIndex(self._folders.record_file(TaggedText), TaggedText, "text"),
            ReplacementSampler(self._vocabulary, PerturbParams(balance_words=False)),
        )
        return AbsentObjectWriter(inputs, self._questions_by_name)

    def make_offer(self, image_id: str) -> Offer:
        """Return the gold questions that can be shown with an image."""
        rng, evidence = make_generator(self._p.seed, "batch", "pool", image_id), self._get_evidence(image_id)
        own, members = self._questions.get(image_id, ()), self._candidates.get(image_id, ())
        texts = [row.candidate.text for row in members]
        has_plain_questions = not any(has_source_program(question) for question in own)
        written = (
            self._absent_object_writer.write_questions(
                image_id,
                [row.candidate.text for row in members if row.candidate.subset == "clip-hard"],
                make_generator(self._p.seed, "batch", "absent objects", image_id),
            )
            if own
            and has_plain_questions
            and (evidence is None or evidence.is_drafted or evidence.source == "other questions")
            else []
        )
        shown_own = select_reworded(own) if self._hides_source else own
        return Offer.from_questions(
            [
                *collect_known_questions(shown_own, members, self._verified.get(image_id, ())),
                *sample_foreign_questions(
                    image_id, self._questions_by_name, evidence, self._p.num_negative_trials, rng
                ),
                *written,
                *(self._edit_own_questions(image_id, evidence) if self._hides_source else ()),
                *match_text_style(make_all_template_questions(self._vocabulary, evidence, rng), texts),
            ]
        )

    def _edit_own_questions(self, image_id: str, evidence: Evidence | None) -> list[GoldQuestion]:
        """Return unanswerable gold questions that are edited questions of the image, as many candidates are."""
        rng = make_generator(self._p.seed, "batch", "edited questions", image_id)
        names = self._questions_by_name.rows_by_name
        absent = find_absent_names(names, evidence, self._p.num_negative_trials, rng)
        return self._absent_object_writer.edit_questions(image_id, absent, rng) if absent else []


def make_offers(
    folders: DatasetFolders, p: BatchParams, images: Sequence[str]
) -> Iterator[tuple[str, Offer]]:
    """Yield the gold questions that each image offers. All images have candidates."""
    inputs = partial(GoldQuestionInputs, folders, p)
    found = ordered_map(GoldQuestionInputs.make_offer, images, inputs, choose_num_workers(len(images)))
    yield from zip(images, track(found, "batch: gold questions", len(images), "image"), strict=True)


class DraftedQuestions(NamedTuple):
    """The drafted questions from which candidates were made.

    Attributes:
        asked: Those that annotators judge, as candidates.
        estimates: Their ids with the probabilities by which tasks are ordered (`find_drafted_questions`).
        judged: What annotators decided about the others in earlier rounds.
    """

    asked: list[Candidate]
    estimates: list[tuple[str, float]]
    judged: list[GoldQuestionCheck]


NOTHING_DRAFTED = DraftedQuestions([], [], [])


def find_drafted(folders: DatasetFolders, candidates: Iterable[Candidate]) -> DraftedQuestions:
    """Return the drafted questions from which candidates were made."""
    # Most data sets have no drafted questions. They are read without the candidates.
    drafted = [row for row in folders.read_records(Question) if row.drafted_by]
    if not drafted:
        return NOTHING_DRAFTED
    images = {row.image_id for row in folders.read_records(ImageRecord)}
    known = {row.candidate_id: row.p_answerable for row in folders.read_records(CandidateEstimate)}
    rows, estimates = find_drafted_questions(
        (row for row in drafted if row.image_id in images), candidates, known
    )
    asked, judged = split_by_rounds(rows, read_rounds(folders))
    ids = {row.candidate_id for row in asked}
    return DraftedQuestions(asked, [pair for pair in estimates if pair[0] in ids], judged)


def main() -> None:
    folders, p = DatasetFolders(), load_params("batch", BatchParams)
    out = folders.stage_dir("batch")
    candidates = JsonlSequence(
        folders.record_file(ScreenedCandidate), ScreenedCandidate, attrgetter("candidate")
    )
    if not candidates:
        raise UserError(
            f"{folders.record_file(ScreenedCandidate)}: no candidate is left for annotation. Add images and questions, or scene graphs "
            "or functional programs, which provide names. See rank.json, perturb.json and screen.json for the reasons."
        )
    drafted, drafted_estimates, judged = (
        find_drafted(folders, candidates) if p.ask_drafted else NOTHING_DRAFTED
    )
    asked = JoinedSequence(candidates, drafted) if drafted else candidates
    images = sorted({row.image_id for row in asked})
    offers = SpillMap(out, Offer, make_offers(folders, p, images))

    def write_tasks(used: Mapping[str, Offer]) -> list[SpareGoldQuestion]:
        estimates = chain(
            ((row.candidate_id, row.p_answerable) for row in folders.read_records(CandidateEstimate)),
            drafted_estimates,
        )
        tasks = make_tasks(asked, used, p.template_proportion, p.gold_proportion, p.seed, estimates)
        write_jsonl(out / "tasks.jsonl", tasks)
        return find_spare_gold_questions(folders.read_records(Task), offers, p.seed)

    spare = write_tasks(offers)
    if count_usable_images(spare) < min(MIN_IMAGES, len(images)):
        reduced = {key: hold_back_gold_questions(offers[key], key, p.seed) for key in images}
        # If the other gold questions do not suffice for the tasks, the tasks stay as they are.
        with suppress(UserError):
            spare = write_tasks(reduced)
    write_jsonl(folders.record_file(SpareGoldQuestion), spare)
    if judged:
        write_jsonl(out / JUDGED_DRAFTS_FILE, judged)
    else:
        (out / JUDGED_DRAFTS_FILE).unlink(missing_ok=True)

    image = RecordLookup(
        folders.record_file(ImageRecord), ((row.image_id, row) for row in folders.read_records(ImageRecord))
    )
    shown = (to_label_studio_task(task, image[task.image_id]) for task in folders.read_records(Task))
    write_json_list(out / "label_studio_tasks.json", shown)
    leakage = simulate_gold_leakage(
        folders.read_records(Task),
        folders.read_records(CandidateEstimate),
        p.seed,
        folders.read_records(Question),
    )
    figures = make_report(folders.read_records(Task), *leakage, p.resolve_hide_source(folders))
    warn_about_leakage(figures)
    what = f"{len(asked):,} annotation tasks"
    if drafted:
        what += f", {len(drafted):,} about questions that a model drafted as answerable"
    if judged:
        what += f" ({len(judged):,} more were judged in earlier rounds)"
    folders.write_stage_outputs("batch", what, {"batch.json": figures})


if __name__ == "__main__":
    run_command(main)
