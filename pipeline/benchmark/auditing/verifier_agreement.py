"""Measure how often the verifier agrees with the source: a question has an answer at its own image, and rarely at another.

The verifier reads every answered question at its own image and at other images chosen at random. At its own image it does not see
the facts of the question itself, nor those of questions that it entails, that entail it or that are equivalent to it. Published
graphs are used as they are. That an object is not listed counts as evidence of absence only at other images, because whoever asked
about the own image has seen the object there.
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

# The facts of an image take about 20 KB and are used many times.
MAX_CACHED_IMAGES = 4096


@dataclass(frozen=True, slots=True)
class Trial:
    """A question that the verifier read at an image.

    Attributes:
        question: The question.
        image_id: The image.
        evidence: The kind of evidence about the image.
        outcome: The result of the verifier.
        verdict: The verdict of the outcome, but "unknown" where it carries no information ("Is there a cup?" has an answer at
            every image).
        truth: The true answerability, as far as it is known.
        is_answer_correct: Whether the verifier's answer is right; None if it gave none or the right one is not known.
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
        """Whether verifier and truth agree, including the answer; None if either is unknown."""
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
    """Counts over questions of one type. Proportions are in [0, 1], and null if their denominator is 0.

    Attributes:
        own_trials: Questions read at their own image.
        own_committed: Those with a verdict.
        own_correct: Of the committed ones, those called answerable whose answer, if given, is the source's.
        answers_given, answers_correct: Answers given at the own image, and those that are the source's.
        negative_trials: Pairs of a question and another image.
        negative_unanswerable, negative_answerable: Their verdicts.
        negative_checkable: Of these verdicts, those that can be compared with the truth.
        negative_correct: Of the checkable ones, those that are right; null if the truth is not known.
        coverage: own_committed / own_trials.
        agreement: own_correct / own_committed.
        precision, recall: By class, "answerable" and "unanswerable". Questions at their own image are answerable; pairs with other
            images count if their truth is known.
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
    """Agreement by kind of evidence, then by question type: "all", then GQA's structural and semantic types."""

    by_evidence: dict[EvidenceSource, dict[str, AgreementCounts]]


def measure_agreement(trials: Iterable[Trial]) -> VerifierAgreement:
    """Count trials by kind of evidence and question type. The trials are consumed one by one and not kept in memory."""
    found: defaultdict[EvidenceSource, defaultdict[str, Counter[TrialKey]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for trial in trials:
        structural, semantic = trial.question.structural, trial.question.semantic
        for kind in ("all", structural and f"structural: {structural}", semantic and f"semantic: {semantic}"):
            if kind:
                found[trial.evidence][kind][trial.key] += 1

    def order(kind: str) -> tuple[bool, bool, str]:
        return kind != "all", kind.startswith("semantic"), kind

    return VerifierAgreement(
        by_evidence={
            evidence: {kind: count_trials(kinds[kind]) for kind in sorted(kinds, key=order)}
            for evidence, kinds in sorted(found.items())
        }
    )


def count_trials(trials: Mapping[TrialKey, int]) -> AgreementCounts:
    """Return the counts of some trials.

    Args:
        trials: How often each kind of trial occurred.
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
    """Return count / total, rounded to four decimals; None if the total is 0.

    >>> compute_proportion(1, 3), compute_proportion(0, 0)
    (0.3333, None)
    """
    return round(count / total, 4) if total else None


@dataclass(frozen=True, slots=True)
class VerifierInputs:
    """Questions and the evidence to verify them with.

    Attributes:
        questions: Questions with a program and an answer, by image id.
        related_ids: Question id -> ids of the questions whose facts are excluded with it (`find_related_questions`).
        graphs: Partial graphs, by image id.
        scenes: Published scene graphs, by image id.
        truth: Complete facts by image id, where they are known.
        lexicon: Meaning of the words.
        completeness: How complete the published graphs are; None if it was not estimated.
    """

    questions: Mapping[str, Sequence[Question]]
    related_ids: Mapping[str, frozenset[str]]
    graphs: Mapping[str, PartialGraph]
    scenes: Mapping[str, SceneGraph]
    truth: Mapping[str, Evidence]
    lexicon: Lexicon
    completeness: GraphCompleteness | None = None


def read_verifier_inputs(folders: DatasetFolders, truth: Mapping[str, SceneGraph]) -> VerifierInputs:
    """Read the questions of every split except train, whose 943,000 questions would add time and no information.

    Args:
        folders: The data set.
        truth: Complete scene graphs by image id, where they are known.
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
    """Return, for every question id, the ids of itself, of equivalent questions, and of all questions that these entail or that
    entail these."""
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
    """Verify every question at its own image and at other images with the same kind of evidence, chosen at random.

    Args:
        inputs: Questions and evidence.
        num_negative_trials: Number of other images per question.
        rng: Source of the random choice.
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
            # The own facts of a question are excluded from a partial graph. A published graph is not made from questions.
            listed = replace(facts(own), completeness=None)
            for question in inputs.questions[own]:
                program = parse_program(question.program, question.question_id)
                known = listed
                if own not in inputs.scenes:
                    known = build_question_evidence(
                        inputs.graphs[own], lexicon, False, inputs.related_ids[question.question_id]
                    )
                yield run_trial(question, program, own, evidence, known)
                drawn = [ids[i] for i in rng.integers(len(ids), size=num_negative_trials).tolist()]
                others = [] if is_always_answerable(program) else [other for other in drawn if other != own]
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
    """Verify a question at an image and compare the result with the truth.

    Args:
        question: The question.
        program: Its parsed program.
        image_id: The image. If it is the question's own one, the source knows the truth.
        evidence: The kind of evidence.
        facts: The facts about the image; at the own image without those of the question.
        truth: The complete facts about another image, if they are known.
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
