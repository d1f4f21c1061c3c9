"""Let people judge the most doubted items of a set (`rgqa doubt --annotate`), and turn their verdicts into errata.

The doubted items become the candidates of a data set of their own, `data/NAME-doubt/`, in the files of the stages `screen`, `estimate`,
`batch` and `ingest`. So `rgqa annotate` and stage `collect` treat them like all other candidates. The gold questions are other items of
the same image whose labels nobody doubts. They count only after annotators have agreed on them, because a label that nobody doubts can
still be wrong.

Annotators see neither the label nor its probability. No prior is derived from them either: a candidate is unanswerable with a
probability of 0.5 before the first vote. Otherwise the mistakes that the models share would decide instead of the people.

In sets of yes-or-no questions, annotators choose between yes and no (`annotate.choices`).

Writes  data/NAME-doubt/source/images/     the images of the tasks
        data/NAME-doubt/interim/ingest/    images.jsonl
        data/NAME-doubt/interim/screen/    screened.jsonl: the doubted items as candidates
        data/NAME-doubt/interim/estimate/  estimates.jsonl: empty
        data/NAME-doubt/interim/batch/     tasks.jsonl, spare_gold_questions.jsonl, label_studio_tasks.json: as stage `batch`
                                           doubted.json: DoubtedSet, what the verdicts are compared with
        params.yaml: a section NAME-doubt, if it does not exist
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from annotation.study.collect_command import DOUBTED_FILE
from annotation.study.quality_control import ExcludedAnswer
from pipeline.benchmark.label_errors.evidence import YES_NO
from pipeline.benchmark.label_errors.label_doubt import DoubtedItem
from pipeline.benchmark.release.errata import Erratum, add_errata
from pipeline.core import params
from pipeline.core.atomic_files import atomic_write, write_text
from pipeline.core.errors import Problems, UserError, format_count, make_printable
from pipeline.core.images import WHITE, add_coco_numbers, encode_image, find_image_files, strip_image_suffix
from pipeline.core.json_files import content_hash, read_json, read_jsonl, write_jsonl
from pipeline.core.params import PARAMS_FILE
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    SUBSETS,
    Candidate,
    CandidateEstimate,
    CollectedCandidate,
    ImageRecord,
    Record,
    ScreenedCandidate,
    Subset,
    Task,
    Verdict,
    VerifierResult,
)
from pipeline.sources.image_files import inspect_image
from pipeline.tasks.gold_questions import (
    SCENE_TEMPLATES,
    GoldQuestion,
    KnownVerdict,
    make_template_question,
)
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.spare_gold_questions import find_spare_gold_questions
from pipeline.tasks.task_builder import make_tasks, to_label_studio_task

DATASET_SUFFIX = "-doubt"
# Number of items that people judge by default.
DEFAULT_NUM_ITEMS = 100
# An item is not doubted, and can be a gold question, if the probability that its label is wrong is at most this.
MAX_GOLD_DOUBT = 0.02
# Maximum proportion of tasks with a gold question, as in stage `batch`.
GOLD_PROPORTION = 0.4
# Candidates have one of the subsets of RGQA. The items of other sets get this one, of which nothing depends but the reports.
SUBSET_OF_OTHER_SETS: Subset = "pt-hard"
# What people can say about a doubted label.
OUTCOMES: tuple[str, ...] = ("wrong", "right", "undecided", "not judged")
# Names of the labels 0 and 1 -> the choices of annotators that confirm them.
CHOICES: dict[tuple[str, str], tuple[KnownVerdict, KnownVerdict]] = {
    ("AQ", "UQ"): ("valid", "invalid"),
    ("answerable", "unanswerable"): ("valid", "invalid"),
    ("standard", "unsolvable"): ("valid", "invalid"),
    YES_NO: ("invalid", "valid"),
}
PARAMS_TEMPLATE = """
{name}:                                   # doubted labels of {source} (rgqa doubt --annotate)
  annotate: {{choices: {choices}, seed: {seed}}}
  collect: {{}}
"""


class LabelToJudge(Record):
    """A doubted item. People do not see this.

    Attributes:
        item_id: Id of the item, and of the candidate.
        label: The label.
        confirmed_by: The choice of annotators that confirms it.
        probability: Probability that the label is wrong.
    """

    item_id: str
    label: str
    confirmed_by: Literal["valid", "invalid"]
    probability: float


class DoubtedSet(Record):
    """What the verdicts are compared with.

    Attributes:
        source: The set, as the user named it.
        dataset: The data set of this project whose release the set is; "" for another set.
        version: Version of the release; "" for another set.
        label_names: Names of the labels 0 and 1.
        items: The items that people judge, the most doubtful first.
    """

    source: str
    dataset: str
    version: str
    label_names: tuple[str, str]
    items: tuple[LabelToJudge, ...]


class QueueReport(Record):
    """What `write_annotation_queue` wrote.

    Attributes:
        dataset: Name of the new data set.
        num_tasks: Number of tasks, one for each item.
        num_gold: Number of tasks with a gold question.
        without_image: Ids of the doubted items that people cannot judge, because their image is not known.
        without_gold: Ids of those that they cannot judge, because no other question of the image has a sure label.
    """

    dataset: str
    num_tasks: int
    num_gold: int
    without_image: tuple[str, ...]
    without_gold: tuple[str, ...]


def write_annotation_queue(
    items: Sequence[DoubtedItem],
    label_names: tuple[str, str],
    source: str,
    dataset: str,
    version: str,
    images: Path | None = None,
    num_items: int = DEFAULT_NUM_ITEMS,
    seed: int = 0,
) -> QueueReport:
    """Write the most doubted items as annotation tasks of a new data set. The same input gives the same bytes.

    Args:
        items: All items of the set, the most doubtful first.
        label_names: Names of the labels 0 and 1.
        source: The set, as the user named it.
        dataset: The data set of this project whose release the set is; "" for another set.
        version: Version of the release; "" for another set.
        images: Folder of images, named by id or as COCO names them; None for the images of `dataset`.
        num_items: Number of items that people judge.
        seed: Seed of the gold questions and of the order of tasks.

    Raises:
        UserError: The labels do not say whether a question has an answer, no image is found, an image is damaged, or another queue
            exists already.
    """
    if label_names not in CHOICES:
        known = "; ".join(" and ".join(pair) for pair in CHOICES)
        raise UserError(
            f"{source}: people cannot be asked for the labels {' and '.join(label_names)}. --annotate works with the labels {known}"
        )
    is_yes_no = label_names == YES_NO
    folders = DatasetFolders(name_dataset(dataset or source))
    files = _find_images(dataset, images)
    path_of = {row.item_id: path for row in items if (path := _find_image(row.image_id, files)) is not None}
    if not path_of:
        raise UserError(
            f"{source}: {images or dataset} has the image of no item. The first one is {items[0].image_id or 'not named'!r}."
            " Name the folder of the images: --images FOLDER"
        )
    # A yes-or-no question needs another one of the same image as a control. Other questions have templates.
    gold_images = {row.image_id for row in items if row.probability <= MAX_GOLD_DOUBT} if is_yes_no else None
    chosen, without_image, without_gold = list[DoubtedItem](), list[str](), list[str]()
    for row in items:
        if len(chosen) == num_items or row.probability <= MAX_GOLD_DOUBT:
            break
        if row.item_id not in path_of:
            without_image.append(row.item_id)
        elif gold_images is not None and row.image_id not in gold_images:
            without_gold.append(row.item_id)
        else:
            chosen.append(row)
    if not chosen:
        raise UserError(
            f"{source}: no label is doubted that people could judge: {len(without_image):,} doubted labels have no image, and"
            f" {len(without_gold):,} no other question of their image with a sure label"
        )
    candidates = [make_candidate(row) for row in chosen]
    offers = make_offers(items, {row.image_id for row in chosen}, label_names)
    # The most doubtful items come first: `make_tasks` puts candidates with the lowest number into the first block.
    order = [(row.item_id, 1 - row.probability) for row in chosen]
    tasks = list(make_tasks(candidates, offers, 0.0, GOLD_PROPORTION, seed, order))
    if folders.record_file(Task).exists() and list(folders.read_records(Task)) != tasks:
        raise UserError(
            f"another queue exists already, and people may be working on it: {folders.root}. Move this folder away to make a new one"
        )
    records = _copy_images({row.image_id: path_of[row.item_id] for row in chosen}, folders.source / "images")
    choices = dict(zip(label_names, CHOICES[label_names], strict=True))
    doubted = DoubtedSet(
        source=source,
        dataset=dataset,
        version=version,
        label_names=label_names,
        items=tuple(
            LabelToJudge(
                item_id=row.item_id,
                label=row.label,
                confirmed_by=choices[row.label],
                probability=row.probability,
            )
            for row in chosen
        ),
    )
    unknown = VerifierResult(answerability="unknown")
    screened = [ScreenedCandidate(candidate=row, verifier_result=unknown) for row in candidates]
    for folder in (folders.annotations, folders.rounds, folders.errata):
        folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folders.record_file(ImageRecord), records.values())
    write_jsonl(folders.record_file(ScreenedCandidate), screened)
    write_jsonl(folders.record_file(CandidateEstimate), ())
    folders.write_stage_outputs(
        "batch",
        format_count(len(tasks), "task"),
        {
            "spare_gold_questions.jsonl": find_spare_gold_questions(tasks, offers, seed),
            "label_studio_tasks.json": [to_label_studio_task(task, records[task.image_id]) for task in tasks],
            DOUBTED_FILE: doubted,
            "tasks.jsonl": tasks,
        },
    )
    _add_params(folders.dataset, source, seed, is_yes_no)
    return QueueReport(
        dataset=folders.dataset,
        num_tasks=len(tasks),
        num_gold=sum("gold" in (task.first.role, task.second.role) for task in tasks),
        without_image=tuple(without_image),
        without_gold=tuple(without_gold),
    )


def name_dataset(source: str) -> str:
    """Return the name of the data set in which people judge a set.

    >>> name_dataset("sample"), name_dataset("sets/POPE popular.json")
    ('sample-doubt', 'pope-popular-doubt')
    """
    slug = re.sub(r"[^a-z0-9]+", "-", Path(source).stem.lower()).strip("-")
    return (slug if re.match("[a-z]", slug) else f"set-{slug}".rstrip("-")) + DATASET_SUFFIX


def make_candidate(item: DoubtedItem) -> Candidate:
    """Return an item as a candidate. It has no program, so only its text and its image are known."""
    subset = item.subset.split(", ")[0]
    return Candidate(
        candidate_id=item.item_id,
        subset=subset if subset in SUBSETS else SUBSET_OF_OTHER_SETS,
        image_id=item.image_id,
        question_id=item.source_id,
        text=item.question,
    )


def make_offers(
    items: Sequence[DoubtedItem], images: Collection[str], label_names: tuple[str, str]
) -> dict[str, Offer]:
    """Return the gold questions of each image: its items that nobody doubts, and questions that can be answered for every photograph.

    The latter are used only for images without the former and without a second doubted item. There are none with a known answer, so
    sets of yes-or-no questions have only the former.

    Args:
        items: All items of the set.
        images: Ids of the images.
        label_names: Names of the labels 0 and 1.
    """
    choices = dict(zip(label_names, CHOICES[label_names], strict=True))
    doubted = {(row.image_id, row.question) for row in items if row.probability > MAX_GOLD_DOUBT}
    found: dict[str, dict[str, GoldQuestion]] = defaultdict(dict)
    for row in items:
        is_known = row.probability <= MAX_GOLD_DOUBT and (row.image_id, row.question) not in doubted
        if row.image_id in images and is_known:
            gold = GoldQuestion(
                text=row.question,
                expected_choice=choices[row.label],
                source="undoubted label, to be confirmed",
                explanation="the models agree with the published label",
                question_id=row.source_id,
            )
            found[row.image_id].setdefault(row.question, gold)
    scene_templates = {} if label_names == YES_NO else SCENE_TEMPLATES
    templates = [make_template_question(text, "valid", *steps) for text, steps in scene_templates.items()]
    return {
        image: Offer.from_questions(
            [*found[image].values(), *(row for row in templates if (image, row.text) not in doubted)]
        )
        for image in sorted(images)
    }


def _find_images(dataset: str, folder: Path | None) -> Mapping[str, Path]:
    """Return the image files by id.

    Raises:
        UserError: There is no such folder, or two files of it have one id.
    """
    if folder is not None:
        if not folder.is_dir():
            raise UserError(f"--images {folder}: no such folder")
        files, clashes = find_image_files(folder)
        problems = Problems(f"--images {folder}")
        for first, second in clashes:
            problems.add(first.name, f"the image has the same id as {second.name}")
        problems.raise_if_any()
        return add_coco_numbers(files)
    if not dataset:
        raise UserError("--annotate needs the images of the set: --images FOLDER")
    records = DatasetFolders(dataset).record_file(ImageRecord)
    if not records.is_file():
        raise UserError(
            f"--annotate needs the images of data set {dataset}, but there is no {records}. Name their folder: --images FOLDER"
        )
    return {row.image_id: Path(row.path) for row in DatasetFolders(dataset).read_records(ImageRecord)}


def _find_image(image_id: str, files: Mapping[str, Path]) -> Path | None:
    name = Path(image_id).name
    return next(
        (files[key] for key in (image_id, name, strip_image_suffix(name)) if key and key in files), None
    )


def _copy_images(paths: Mapping[str, Path], folder: Path) -> dict[str, ImageRecord]:
    """Copy images into the data set as all browsers show them. Their new names reveal nothing.

    Raises:
        UserError: Lists all images that cannot be read.
    """
    problems, records = Problems("images of the doubted items"), dict[str, ImageRecord]()
    for image_id, path in sorted(paths.items()):
        try:
            encoded = encode_image(path, background=WHITE)
        except (OSError, ValueError) as error:
            problems.add(str(path), str(error))
            continue
        copy = folder / f"{content_hash('doubt', image_id)}{encoded.suffix}"
        with atomic_write(copy) as file:
            file.write(encoded.data)
        width, height, sha256 = inspect_image(copy)
        records[image_id] = ImageRecord(
            image_id=image_id,
            split="testdev",
            path=copy.as_posix(),
            width=width,
            height=height,
            sha256=sha256,
        )
    problems.raise_if_any()
    return records


def _add_params(dataset: str, source: str, seed: int, is_yes_no: bool) -> None:
    if dataset not in params.read_params_file():
        choices = "yes-no" if is_yes_no else "answerability"
        section = PARAMS_TEMPLATE.format(
            name=dataset, source=make_printable(" ".join(source.split())), choices=choices, seed=seed
        )
        write_text(PARAMS_FILE, PARAMS_FILE.read_text(encoding="utf-8").rstrip() + "\n" + section)


class JudgedLabels(Record):
    """What people said about the doubted labels.

    Attributes:
        errata: The labels that they found wrong.
        counts: "wrong", "right", "undecided" (their votes do not decide) and "not judged" -> number of items.
    """

    errata: tuple[Erratum, ...]
    counts: dict[str, int]


def compare_with_verdicts(
    doubted: DoubtedSet,
    judged: Sequence[CollectedCandidate],
    num_unsure: Mapping[str, int] = MappingProxyType({}),
) -> JudgedLabels:
    """Return the labels that people found wrong.

    Stage `collect` counts "unsure" as "valid", because RGQA leaves out unanswerable questions that somebody doubts. That is no reason to
    call a published label wrong. So a label is undecided unless more people chose "valid" than were unsure.

    Args:
        doubted: The doubted labels.
        judged: The candidates with their verdicts, from stage `collect`.
        num_unsure: Candidate id -> number of people who were unsure.
    """
    rows = {row.candidate.candidate_id: row for row in judged}
    counts: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    errata: list[Erratum] = []
    choice_of = {"answerable": "valid", "unanswerable": "invalid"}
    for item in doubted.items:
        row = rows.get(item.item_id)
        if row is None or row.status == "no_votes":
            counts["not judged"] += 1
            continue
        unsure = num_unsure.get(item.item_id, 0)
        is_unsure = row.status == "answerable" and row.decided_by == "votes" and row.votes_valid <= 2 * unsure
        if row.status == "doubtful" or is_unsure:
            counts["undecided"] += 1
        elif choice_of[row.status] == item.confirmed_by:
            counts["right"] += 1
        else:
            counts["wrong"] += 1
            reason = _give_reason(row, item.label, doubted.label_names, unsure)
            errata.append(Erratum(item_id=item.item_id, reason=reason, version=doubted.version))
    return JudgedLabels(errata=tuple(errata), counts=counts)


def _give_reason(row: CollectedCandidate, label: str, label_names: tuple[str, str], unsure: int) -> str:
    """Say what is wrong with a label, in one sentence."""
    is_valid = row.status == "answerable"
    if label_names == YES_NO:
        answer = "yes" if is_valid else "no"
        says = f"labelled {label}, but the answer is {answer}"
    else:
        reason = f" ({row.reason})" if row.reason and not is_valid else ""
        says = f"labelled {label}, but the question has {'an' if is_valid else 'no'} answer{reason}"
    if row.decided_by == "adjudicator":
        return f"{says}, as an adjudicator decided"
    agreed = row.votes_valid - unsure if is_valid else row.votes_invalid
    return f"{says}, by {agreed} of {format_count(row.votes_valid + row.votes_invalid, 'annotator')}"


def count_unsure(
    tasks: Iterable[Task], verdicts: Iterable[Verdict], excluded: Iterable[ExcludedAnswer] = ()
) -> Counter[str]:
    """Return candidate id -> number of people who were unsure.

    Args:
        tasks: The tasks.
        verdicts: All verdicts.
        excluded: The answers that do not count. The other answer of such a verdict can count.
    """
    left_out = {(row.verdict_id, row.candidate_id) for row in excluded}
    by_id = {task.task_id: task for task in tasks}
    people = {
        (question.candidate_id, verdict.annotator)
        for verdict in verdicts
        for question, choice in (
            (by_id[verdict.task_id].first, verdict.first),
            (by_id[verdict.task_id].second, verdict.second),
        )
        if question.candidate_id
        and choice == "unsure"
        and (verdict.verdict_id, question.candidate_id) not in left_out
    }
    return Counter(candidate for candidate, _ in people)


def read_doubted_set(folders: DatasetFolders) -> DoubtedSet:
    """Return what the verdicts of a data set are compared with.

    Raises:
        UserError: The data set in use was not made by `rgqa doubt --annotate`.
    """
    path = folders.stage_dir("batch") / DOUBTED_FILE
    if not path.is_file():
        raise UserError(
            f"the data set {folders.dataset} has no doubted labels: there is no {path}. Make it with rgqa doubt --annotate, and set"
            f" dataset: NAME{DATASET_SUFFIX} in {PARAMS_FILE}"
        )
    return read_json(path, DoubtedSet)


def record_errata(folders: DatasetFolders) -> tuple[JudgedLabels, int, Path]:
    """Record the labels that people found wrong as errata of the release, or of the doubted set if it is no release of this project.

    Args:
        folders: The data set that `rgqa doubt --annotate` made. Stage `collect` has aggregated its verdicts.

    Returns:
        What people said, the number of new errata, and the file of the errata.

    Raises:
        UserError: The data set has no doubted labels, or its verdicts are simulated.
    """
    doubted = read_doubted_set(folders)
    judged = list(folders.read_records(CollectedCandidate))
    if any(row.simulated for row in judged):
        raise UserError(
            f"{folders.record_file(CollectedCandidate)}: the verdicts are simulated; errata need people's verdicts"
        )
    excluded = read_jsonl(folders.stage_dir("collect") / "excluded_answers.jsonl", ExcludedAnswer)
    unsure = count_unsure(folders.read_records(Task), folders.read_records(Verdict), excluded)
    found = compare_with_verdicts(doubted, judged, unsure)
    path, num_new = add_errata(DatasetFolders(doubted.dataset) if doubted.dataset else folders, found.errata)
    return found, num_new, path
