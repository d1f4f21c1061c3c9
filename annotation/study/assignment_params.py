"""Read what `AdaptiveAssigner` needs: section `annotate` of params.yaml, the tasks, and the results of
earlier stages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec

from annotation.study.assignment import AssignmentRules
from annotation.study.panel_verdicts import PANEL_FILENAME, read_panel
from annotation.study.qualification import MAX_ATTEMPTS
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.params import PARAMS_FILE, AutoCountOrNone, CountOrUnlimited, Params, Seed, load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import UNCONFIRMED, CandidateEstimate, Subset, Task, TaskQuestion

if TYPE_CHECKING:
    from annotation.study.answers_table import QualityRules

ChoiceNames = Literal["answerability", "yes-no"]
Proportion = Annotated[float, msgspec.Meta(ge=0, le=1)]


class AnnotateParams(Params):
    """Parameters of the human annotation study (section `annotate`).

    Attributes:
        max_votes: Maximum number of votes per task, each by a different annotator. Use an odd number.
        min_posterior: No further vote is requested once the verdict is at least this probable (0.5 to
            1). Lower values cost fewer votes. Not lower than `collect.min_posterior`, as voting would end before candidates can
            be released.
        overlap_rate: Proportion (0 to 1) of tasks that get three votes in any case, so that agreement
            can be measured.
        audit_rate: Proportion (0 to 1) of tasks, sampled at random, that an adjudicator judges in any case, after the
            annotators. The label error of the release is measured on them; without an adjudicator it is
            unknown. `auto`: about 250 tasks, but at most a fifth and at least 3 % of all.
        wave_size: Number of tasks that are finished before the next ones begin. All tasks of the first
            wave get three votes. `auto`: a tenth of the tasks, 20 to 100.
        max_judgements: Maximum number of judgements in the whole study. 0 means no limit.
        max_tasks_per_annotator: Maximum number of tasks per annotator. 0 means no limit.
        training_tasks: Number of training tasks at the beginning, with feedback after each. Each needs an
            image with two gold questions. `auto`: a tenth of these images, 2 to 6.
        qualification_tasks: Number of tasks in the qualification test after the training. 0 means no
            test. `auto`: a fifth of the images with two gold questions, 4 to 10, as the test can be
            taken twice; 0 if fewer than 10 images have two.
        min_qualification_accuracy: Minimum accuracy (0 to 1) on valid and on invalid questions of the
            qualification test.
        min_gold_agreement: Number of annotators who must agree on a gold question that is only presumed
            valid or invalid, before it counts against anybody. Such gold questions are made where neither
            programs nor scene graphs are known. Until then annotators judge them like candidates. If they
            disagree, an adjudicator decides.
        panel_audit_rate: Proportion (0 to 1) of tasks, sampled at random, in which the verdicts of models (`rgqa annotate panel`) are
            not used. There, people's votes alone tell how often the panel of models is wrong.
        max_signups_per_hour: Maximum number of volunteers who sign up through the open link in one hour.
        choices: What annotators choose between. `answerability`: valid, invalid or unsure, as in RGQA. `yes-no`: yes, no or unsure,
            where "yes" is stored as "valid" and "no" as "invalid". `rgqa doubt --annotate` sets it for sets of yes-or-no questions.
        seed: Seed of the order of tasks.
        image_base_url: `local`: Label Studio serves the images from data/. Otherwise, the base URL to which
            the path of an image below data/ is appended, for a server elsewhere.
    """

    max_votes: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5
    min_posterior: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.99
    overlap_rate: Proportion = 0.1
    audit_rate: Proportion | Literal["auto"] = "auto"
    wave_size: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | Literal["auto"] = "auto"
    max_judgements: CountOrUnlimited = 0
    max_tasks_per_annotator: CountOrUnlimited = 0
    training_tasks: AutoCountOrNone = "auto"
    qualification_tasks: AutoCountOrNone = "auto"
    min_qualification_accuracy: Proportion = 0.8
    min_gold_agreement: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 2
    panel_audit_rate: Proportion = 0.1
    max_signups_per_hour: Annotated[int, msgspec.Meta(ge=1, le=500)] = 20
    choices: ChoiceNames = "answerability"
    seed: Seed = 0
    image_base_url: Annotated[str, msgspec.Meta(pattern=r"^(local|https?://.+)$")] = "local"

    def resolve_sizes(self, tasks: Iterable[Task]) -> StudySizes:
        """Return the sizes of the study, with numbers in place of `auto`.

        Args:
            tasks: All tasks of the study.
        """
        chosen = choose_study_sizes(*count_tasks(tasks))
        given = {name: value for name in StudySizes._fields if (value := getattr(self, name)) != "auto"}
        return chosen._replace(**given)

    def check_min_posterior(self, quality: QualityRules) -> None:
        """Check that voting does not end before stage `collect` can release a candidate.

        Args:
            quality: Section `collect`. Majority and unanimity use no posterior.

        Raises:
            UserError: `min_posterior` is lower than `collect.min_posterior`.
        """
        if quality.aggregation == "dawid-skene" and self.min_posterior < quality.min_posterior:
            raise UserError(
                f"annotate.min_posterior is {self.min_posterior:g}, lower than collect.min_posterior, {quality.min_posterior:g}, so"
                f" voting would end before candidates can be released: {PARAMS_FILE}. Raise annotate.min_posterior or lower"
                " collect.min_posterior"
            )

    def to_assignment_rules(self, sizes: StudySizes, quality: QualityRules) -> AssignmentRules:
        """Return the parameters that `AdaptiveAssigner` needs.

        Args:
            sizes: The sizes of the study, as `resolve_sizes` returns them.
            quality: Section `collect`.

        Raises:
            UserError: `min_posterior` is lower than `collect.min_posterior`.
        """
        self.check_min_posterior(quality)
        given = {
            name: getattr(self, name) for name in self.__struct_fields__ if name in AssignmentRules._fields
        }
        fitted = {"wave_size": sizes.wave_size, "audit_rate": sizes.audit_rate}
        return AssignmentRules(**given | fitted, min_release_posterior=quality.min_posterior)


class StudySizes(NamedTuple):
    """The sizes of a study that are fitted to its tasks if they are `auto` in `AnnotateParams`."""

    wave_size: int
    training_tasks: int
    qualification_tasks: int
    audit_rate: float


# Smallest and largest number of tasks in the training, in the qualification test and in a wave that `auto` chooses.
MAX_TRAINING_TASKS, MAX_QUALIFICATION_TASKS = 6, 10
MIN_TRAINING_TASKS, MIN_QUALIFICATION_TASKS = 2, 4
MIN_WAVE_SIZE, MAX_WAVE_SIZE = 20, 100
# Number of tasks in the audit sample that `auto` aims at, and the smallest and largest proportion of all tasks.
NUM_AUDITED, MIN_AUDIT_RATE, MAX_AUDIT_RATE = 250, 0.03, 0.2


def count_tasks(tasks: Iterable[Task]) -> tuple[int, int]:
    """Return the number of tasks, and of images with two gold questions."""
    num_tasks, gold_texts = 0, defaultdict[str, set[str]](set)
    for task in tasks:
        num_tasks += 1
        for row in (task.first, task.second):
            if row.role == "gold":
                gold_texts[task.image_id].add(row.text)
    return num_tasks, sum(len(texts) > 1 for texts in gold_texts.values())


def choose_study_sizes(num_tasks: int, num_gold_images: int) -> StudySizes:
    """Return the sizes that fit a study.

    Training and qualification test use each image once, and annotators learn the verdicts of the training. So
    both together use at most half of the images with gold questions if there are more than 20. The other
    images remain for quality control.

    Args:
        num_tasks: Number of tasks.
        num_gold_images: Number of images with two gold questions, from which the known tasks are made.

    Example:
        >>> choose_study_sizes(num_tasks=600, num_gold_images=30)
        StudySizes(wave_size=60, training_tasks=3, qualification_tasks=6, audit_rate=0.2)
        >>> choose_study_sizes(num_tasks=6_000, num_gold_images=160)
        StudySizes(wave_size=100, training_tasks=6, qualification_tasks=10, audit_rate=0.0417)
    """
    training = min(max(num_gold_images // 10, MIN_TRAINING_TASKS), MAX_TRAINING_TASKS, num_gold_images)
    test = min(max(num_gold_images // 5, MIN_QUALIFICATION_TASKS), MAX_QUALIFICATION_TASKS)
    if training + MAX_ATTEMPTS * test > num_gold_images:
        test = 0
    wave = min(max(num_tasks // 10, MIN_WAVE_SIZE), MAX_WAVE_SIZE)
    audit_rate = min(max(round(NUM_AUDITED / max(num_tasks, 1), 4), MIN_AUDIT_RATE), MAX_AUDIT_RATE)
    return StudySizes(wave, training, test, audit_rate)


def get_unconfirmed_key(image_id: str, question: TaskQuestion) -> str:
    """Return an id of a gold question that annotators must confirm first; "" for other questions."""
    is_unconfirmed = question.role == "gold" and question.gold_source.endswith(UNCONFIRMED)
    return f"{image_id}\x1f{question.text}" if is_unconfirmed else ""


def to_task_mapping(task: Task, discarded: Collection[str] = ()) -> dict[str, Any]:
    """Convert a task to the mapping that `AdaptiveAssigner` expects.

    Args:
        task: The task.
        discarded: Ids of tasks whose gold question is discarded. Their gold questions are not used to assess
            annotators.
    """
    first, second = (
        {"role": row.role, "candidate": row.candidate_id, "expected": row.expected_choice}
        for row in (task.first, task.second)
    )
    for mapping, row in ((first, task.first), (second, task.second)):
        if key := get_unconfirmed_key(task.image_id, row):
            mapping["unconfirmed"] = key
    if task.task_id in discarded:
        first["expected"] = second["expected"] = None
    return {
        "key": task.task_id,
        "block": task.priority_block,
        "subset": task.subset,
        "first": first,
        "second": second,
    }


class AssignmentPriors(NamedTuple):
    """What is known of candidates before people vote.

    Attributes:
        answerable: Candidate id -> prior probability of being answerable.
        decided_by_panel: Sorted ids of the candidates that a panel of models decides; empty unless `collect.min_people` is 0.
        called_valid_by_panel: Sorted ids of the candidates that the panel calls valid.
    """

    answerable: dict[str, float]
    decided_by_panel: list[str]
    called_valid_by_panel: list[str]


def read_priors(folders: DatasetFolders) -> AssignmentPriors:
    """Return what is known of candidates before people vote; nothing if there is no stage `estimate`, as in a human baseline.

    If models have judged tasks (`rgqa annotate panel`), the priors contain their verdicts, weighed by what people said until stage
    `collect` ran last. So sure candidates need one person, and doubtful ones more. If the audit of this stage does not show that the
    panel is of any use, the verdicts change nothing.
    """
    path = folders.record_file(CandidateEstimate)
    estimates = folders.read_records(CandidateEstimate) if path.exists() else ()
    priors = {row.candidate_id: row.p_answerable for row in estimates}
    panel, feedback = read_panel(folders.annotations / PANEL_FILENAME), read_collect_feedback(folders)
    if not panel or not feedback.panel.is_used:
        return AssignmentPriors(priors, [], [])
    # Label Studio's Python environment has no SciPy, and reads the priors from queue.json.
    from annotation.study.answers_table import load_quality_rules
    from annotation.study.panel_priors import add_panel, decide_by_panel, find_called_valid
    from annotation.study.posteriors import Posterior

    path = folders.stage_dir("collect") / "posteriors_by_people.jsonl"
    by_people = (
        {row.candidate_id: row.invalid for row in read_jsonl(path, Posterior)} if path.exists() else {}
    )
    params, rules = load_params("annotate", AnnotateParams), load_quality_rules()
    discarded = {(row.image_id, row.text) for row in feedback.discarded_gold_questions}
    tasks = folders.read_records(Task)
    found = add_panel(tasks, panel, priors, by_people, params.seed, params.panel_audit_rate, discarded)
    if rules.min_people or rules.aggregation != "dawid-skene":
        return AssignmentPriors(found.answerable, [], find_called_valid(found))
    decided = decide_by_panel(found, rules.min_posterior, feedback.get_base_rates(), by_people)
    return AssignmentPriors(found.answerable, sorted(decided), find_called_valid(found))


class _GoldQuestion(msgspec.Struct, frozen=True):
    image_id: str
    text: str


class _AnnotatorStatus(msgspec.Struct, frozen=True):
    name: str
    exclusion_reasons: tuple[str, ...]
    excluded_since: int


class _BaseRate(msgspec.Struct, frozen=True):
    value: float | None = None


class _SubsetRates(msgspec.Struct, frozen=True):
    subset: Subset
    base_rate: _BaseRate = _BaseRate()


class _PanelUse(msgspec.Struct, frozen=True):
    is_used: bool = True


class CollectFeedback(msgspec.Struct, frozen=True):
    """The part of `quality.json` that task assignment uses.

    It is empty until stage `collect` has processed verdicts of human annotators.

    Attributes:
        simulated: Whether the verdicts are simulated.
        discarded_gold_questions: Gold questions that are discarded as mislabelled.
        annotators: Pseudonym and exclusion of each annotator.
        doubtful: Candidate id -> probability of being unanswerable, for candidates whose votes do not decide.
        panel: Whether the verdicts of a panel of models are used.
        subsets: The base rates of the subsets.
    """

    simulated: bool = True
    discarded_gold_questions: tuple[_GoldQuestion, ...] = ()
    annotators: tuple[_AnnotatorStatus, ...] = ()
    doubtful: dict[str, float] = msgspec.field(default_factory=dict)
    panel: _PanelUse = _PanelUse()
    subsets: tuple[_SubsetRates, ...] = ()

    def get_base_rates(self) -> dict[Subset, float]:
        """Return subset -> proportion of answerable candidates among those that people judged, where it is known."""
        return {row.subset: row.base_rate.value for row in self.subsets if row.base_rate.value is not None}

    @property
    def excluded_since(self) -> dict[str, int]:
        """Excluded pseudonym -> `sequence_index` of the first answer that does not count."""
        return {person.name: person.excluded_since for person in self.annotators if person.exclusion_reasons}

    def find_discarded_tasks(self, tasks: Iterable[Task]) -> list[str]:
        """Return the sorted ids of the tasks that contain a discarded gold question."""
        discarded = {(row.image_id, row.text) for row in self.discarded_gold_questions}
        gold = ((task, row) for task in tasks for row in (task.first, task.second) if row.role == "gold")
        return sorted({task.task_id for task, row in gold if (task.image_id, row.text) in discarded})


def read_collect_feedback(folders: DatasetFolders) -> CollectFeedback:
    """Read the results of stage `collect`. Results from simulated verdicts are ignored."""
    path = folders.stage_dir("collect") / "quality.json"
    feedback = read_json(path, CollectFeedback) if path.exists() else CollectFeedback()
    return CollectFeedback() if feedback.simulated else feedback
