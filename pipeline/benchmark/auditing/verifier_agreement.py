"""Measure how often the verifier agrees with the source.

A question of the source has an answer for its own image, and rarely for another image. So the verifier
verifies every answered question for its own image and for other images chosen at random. For the own image,
the verifier does not see the facts of the question itself. Neither does it see the facts of questions that
entail this question, that this question entails, or that are equivalent. Published graphs are used as they
are. If a graph does not list an object, this counts as evidence of absence only for other images, because the
person who asked about the own image has seen the object there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from pipeline.candidates.screening.screen_checks import is_always_answerable
from pipeline.core.json_files import read_jsonl
from pipeline.core.jsonl_index import GroupedIndex, LazyMapping, UniqueIndex
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import Answerability, EvidenceSource, Question, Record, SceneGraph
from pipeline.language.functional_programs import Operation, parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.language.similarity import is_same_answer
from pipeline.verifier.evidence import Evidence, GraphCompleteness, build_scene_evidence
from pipeline.verifier.graph_completeness import EstimatedGraphCompleteness
from pipeline.verifier.partial_graphs import PartialGraph, build_question_evidence
from pipeline.verifier.verification import ExecutionResult, execute_program

# Maximum number of images whose facts are kept in memory. The facts of an image take about 20 KB and are used
# many times.
MAX_CACHED_IMAGES = 4096


@dataclass(frozen=True, slots=True)
class Trial:
    """A question that the verifier verified for an image.

    Attributes:
        question: The question.
        image_id: The id of the image.
        evidence: The kind of evidence about the image.
        outcome: The result of the verifier.
        verdict: The answerability in `outcome`. It is "unknown" where the answerability carries no
            information ("Is there a cup?" has an answer for every image).
        truth: The true answerability, or "unknown".
        is_answer_correct: Whether the verifier's answer is right, or None if the verifier gave no answer or
            the right answer is not known.
    """

    question: Question
    image_id: str
    evidence: EvidenceSource
    outcome: ExecutionResult
    verdict: Answerability
    truth: Answerability
    is_answer_correct: bool | None

    @property
    def is_own_image(self) -> bool:
        return self.image_id == self.question.image_id

    @property
    def committed(self) -> bool:
        return self.verdict != "unknown"

    @property
    def is_correct(self) -> bool | None:
        """Whether the verifier agrees with the truth, including the answer. None if either is unknown."""
        if "unknown" in (self.outcome.answerability, self.truth):
            return None
        return self.outcome.answerability == self.truth and self.is_answer_correct is not False

    @property
    def key(self) -> TrialKey:
        return TrialKey(self.is_own_image, self.verdict, self.truth, self.is_answer_correct, self.is_correct)


class TrialKey(NamedTuple):
    """The properties of a trial that are counted."""

    is_own_image: bool
    verdict: Answerability
    truth: Answerability
    is_answer_correct: bool | None
    is_correct: bool | None


class AgreementCounts(Record):
    """Counts over questions of one type. Proportions are in [0, 1], or None if their denominator is 0.

    Attributes:
        own_trials: Number of questions verified for their own image.
        own_committed: Number of these questions whose result is not "unknown".
        own_correct: Number of committed results that are "answerable" and whose answer, if given, is that of
            the source.
        answers_given: Number of answers that the verifier gave for the own image.
        answers_correct: Number of these answers that are the answer of the source.
        negative_trials: Number of pairs of a question and another image.
        negative_unanswerable, negative_answerable: Number of these pairs with either result.
        negative_checkable: Number of these results that can be compared with the truth.
        negative_correct: Number of checkable results that are right, or None if the truth is not known.
        coverage: own_committed / own_trials.
        agreement: own_correct / own_committed.
        precision, recall: Class ("answerable" or "unanswerable") -> precision and recall. Questions for their
            own image are answerable. Pairs with other images count if their truth is known.
    """

    own_trials: int
    own_committed: int
    own_correct: int
    answers_given: int
    answers_correct: int
    negative_trials: int
    negative_unanswerable: int
    negative_answerable: int
    negative_checkable: int
    negative_correct: int | None
    coverage: float | None
    agreement: float | None
    precision: dict[str, float | None]
    recall: dict[str, float | None]


class VerifierAgreement(Record):
    """The agreement of the verifier with the source.

    Attributes:
        by_evidence: Kind of evidence -> question type -> counts. The question types are "all", and the
            structural and semantic types of GQA.
    """

    by_evidence: dict[EvidenceSource, dict[str, AgreementCounts]]


def measure_agreement(trials: Iterable[Trial]) -> VerifierAgreement:
    """Count trials by kind of evidence and question type.

    The trials are consumed one by one and not kept in memory.
    """
    counts: defaultdict[EvidenceSource, defaultdict[str, Counter[TrialKey]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for trial in trials:
        structural, semantic = trial.question.structural, trial.question.semantic
        for kind in ("all", structural and f"structural: {structural}", semantic and f"semantic: {semantic}"):
            if kind:
                counts[trial.evidence][kind][trial.key] += 1

    def order(kind: str) -> tuple[bool, bool, str]:
        return kind != "all", kind.startswith("semantic"), kind

    return VerifierAgreement(
        by_evidence={
            evidence: {kind: count_trials(kinds[kind]) for kind in sorted(kinds, key=order)}
            for evidence, kinds in sorted(counts.items())
        }
    )


def count_trials(trials: Mapping[TrialKey, int]) -> AgreementCounts:
    """Summarize trials.

    Args:
        trials: Properties of a trial -> number of trials with these properties.
    """

    def number(condition: Callable[[TrialKey], bool]) -> int:
        return sum(count for key, count in trials.items() if condition(key))

    sides: tuple[Answerability, ...] = ("answerable", "unanswerable")
    own, negative = number(lambda t: t.is_own_image), number(lambda t: not t.is_own_image)
    own_committed = number(lambda t: t.is_own_image and t.verdict != "unknown")
    own_correct = number(lambda t: t.is_own_image and t.verdict != "unknown" and t.is_correct is True)
    negative_verdicts = {
        side: number(lambda t, side=side: not t.is_own_image and t.verdict == side) for side in sides
    }
    predicted = {
        side: number(lambda t, side=side: t.truth != "unknown" and t.verdict == side) for side in sides
    }
    true = {side: number(lambda t, side=side: t.truth == side) for side in sides}
    both = {side: number(lambda t, side=side: t.truth == t.verdict == side) for side in sides}
    truth_is_known = number(lambda t: not t.is_own_image and t.truth != "unknown") > 0
    return AgreementCounts(
        own_trials=own,
        own_committed=own_committed,
        own_correct=own_correct,
        answers_given=number(lambda t: t.is_own_image and t.is_answer_correct is not None),
        answers_correct=number(lambda t: t.is_own_image and t.is_answer_correct is True),
        negative_trials=negative,
        negative_unanswerable=negative_verdicts["unanswerable"],
        negative_answerable=negative_verdicts["answerable"],
        negative_checkable=number(lambda t: not t.is_own_image and t.is_correct is not None),
        negative_correct=number(lambda t: not t.is_own_image and t.is_correct is True)
        if truth_is_known
        else None,
        coverage=compute_proportion(own_committed, own),
        agreement=compute_proportion(own_correct, own_committed),
        precision={
            side: compute_proportion(both[side], predicted[side]) if truth_is_known else None
            for side in sides
        },
        recall={side: compute_proportion(both[side], true[side]) for side in sides},
    )


def compute_proportion(count: int, total: int) -> float | None:
    """Return count / total, rounded to four decimals, or None if the total is 0.

    >>> compute_proportion(1, 3), compute_proportion(0, 0)
    (0.3333, None)
    """
    return round(count / total, 4) if total else None


@dataclass(frozen=True, slots=True)
class VerifierInputs:
    """Questions, and the evidence with which they are verified.

    Attributes:
        questions: Image id -> questions with a program and an answer.
        related_ids: Question id -> ids of the questions whose facts are excluded together with the facts of
            this question (`find_related_questions`).
        graphs: Image id -> partial graph.
        scenes: Image id -> published scene graph.
        truth: Image id -> complete facts, for images where they are known.
        lexicon: The categories and attribute types of the data set.
        completeness: An estimate of what the published graphs leave out, or None if there is no estimate.
    """

    questions: Mapping[str, Sequence[Question]]
    related_ids: Mapping[str, frozenset[str]]
    graphs: Mapping[str, PartialGraph]
    scenes: Mapping[str, SceneGraph]
    truth: Mapping[str, Evidence]
    lexicon: Lexicon
    completeness: GraphCompleteness | None = None


def read_verifier_inputs(folders: DatasetFolders, truth: Mapping[str, SceneGraph]) -> VerifierInputs:
    """Read the questions of every split except train, and the evidence about their images.

    The 943,000 questions of train would take time and add no information.

    Args:
        folders: The folders of the data set.
        truth: Image id -> complete scene graph, for images where it is known.
    """
    vocabulary = folders.read_vocabulary()
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    images = dict.fromkeys(row.image_id for row in folders.read_records(Question) if _is_verifiable(row))
    by_image = GroupedIndex(folders.record_file(Question), Question, "image_id")
    graphs = UniqueIndex(folders.stage_dir("vocabulary") / "reconstructed.jsonl", PartialGraph, "image_id")
    scenes = UniqueIndex(folders.record_file(SceneGraph), SceneGraph, "image_id")
    unbalanced = read_jsonl(folders.stage_dir("ingest") / "unbalanced.jsonl", Question)
    return VerifierInputs(
        questions=LazyMapping(images, lambda key: [row for row in by_image[key] if _is_verifiable(row)], 1),
        related_ids=find_related_questions(
            chain(filter(_is_verifiable, folders.read_records(Question)), unbalanced)
        ),
        graphs=LazyMapping(filter(images.__contains__, graphs), graphs.__getitem__, MAX_CACHED_IMAGES),
        scenes=LazyMapping(filter(images.__contains__, scenes), scenes.__getitem__, MAX_CACHED_IMAGES),
        truth=LazyMapping(truth, lambda key: build_scene_evidence(truth[key], lexicon), MAX_CACHED_IMAGES),
        lexicon=lexicon,
        completeness=EstimatedGraphCompleteness(vocabulary) if vocabulary.annotation_recall else None,
    )


def _is_verifiable(question: Question) -> bool:
    return question.split != "train" and bool(question.program) and bool(question.answer)


def find_related_questions(questions: Iterable[Question]) -> dict[str, frozenset[str]]:
    """Return for every question id the ids of the related questions.

    These are the question itself, equivalent questions, and all questions that entail one of these or that
    one of these entails.
    """
    linked: dict[str, set[str]] = defaultdict(set)
    equal: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        for others, into in ((question.entailed, linked), (question.equivalent, equal)):
            into[question.question_id].update(others)
            for other in others:
                into[other].add(question.question_id)
    result = {}
    for key in [*linked, *equal]:
        same = {key, *equal.get(key, ())}
        result[key] = frozenset(same.union(*(linked.get(name, ()) for name in same)))
    return result


def run_trials(inputs: VerifierInputs, num_negative_trials: int, rng: np.random.Generator) -> Iterator[Trial]:
    """Verify every question for its own image, and for random other images with the same kind of evidence.

    Args:
        inputs: Questions and evidence.
        num_negative_trials: Number of other images to sample per question. The own image is skipped if it is
            sampled.
        rng: The random generator.
    """
    lexicon = inputs.lexicon
    images: dict[EvidenceSource, list[str]] = {
        "other questions": sorted(inputs.graphs.keys() - inputs.scenes.keys()),
        "scene graph": sorted(inputs.scenes.keys() & inputs.questions.keys()),
    }

    @lru_cache(MAX_CACHED_IMAGES)
    def facts(image_id: str) -> Evidence:
        scene = inputs.scenes.get(image_id)
        if scene is None:
            return build_question_evidence(inputs.graphs[image_id], lexicon)
        return build_scene_evidence(scene, lexicon, inputs.completeness)

    for evidence, ids in images.items():
        for own in track(ids, f"agreement, {evidence}", len(ids), "image"):
            # The facts of the question itself are excluded from a partial graph. A published graph is not
            # made from questions, so it is used as it is.
            listed = replace(facts(own), completeness=None)
            for question in inputs.questions[own]:
                program = parse_program(question.program, question.question_id)
                known = listed
                if own not in inputs.scenes:
                    known = build_question_evidence(
                        inputs.graphs[own], lexicon, False, inputs.related_ids[question.question_id]
                    )
                yield run_trial(question, program, own, evidence, known)
                sampled = [ids[i] for i in rng.integers(len(ids), size=num_negative_trials).tolist()]
                others = [] if is_always_answerable(program) else [other for other in sampled if other != own]
                for other in others:
                    truth = inputs.truth.get(other)
                    yield run_trial(question, program, other, evidence, facts(other), truth)


def run_trial(
    question: Question,
    program: Sequence[Operation],
    image_id: str,
    evidence: EvidenceSource,
    facts: Evidence,
    truth: Evidence | None = None,
) -> Trial:
    """Verify a question for an image and compare the result with the truth.

    Args:
        question: The question.
        program: The parsed program of the question.
        image_id: The id of the image. For the question's own image, the truth is known from the source.
        evidence: The kind of evidence.
        facts: The facts about the image. For the own image, the facts of the question are excluded.
        truth: The complete facts about another image, or None if they are not known.
    """
    outcome, own = execute_program(program, facts), image_id == question.image_id
    true = execute_program(program, truth) if truth else None
    answer = None
    if outcome.answerability == "answerable" and outcome.answers:
        if own:
            answer = any(is_same_answer(given, question.answer) for given in outcome.answers)
        elif true:
            answer = outcome.answers == true.answers
    says_nothing = own and is_always_answerable(program) and not outcome.answers
    return Trial(
        question,
        image_id,
        evidence,
        outcome,
        verdict="unknown" if says_nothing else outcome.answerability,
        truth="answerable" if own else true.answerability if true else "unknown",
        is_answer_correct=answer,
    )
