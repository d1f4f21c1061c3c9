"""How often the judge agrees with the source: a question has its answer at its own image, and mostly none at another.

Every answered question is judged at its own image without its own facts and those of the questions that it entails,
that entail it, or that equal it; and at other images drawn by lot. Of published graphs what they list is used; that
something is not listed counts at other images alone, as whoever asks of the own one has seen it there.
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
from pipeline.verifier.evidence import Evidence, build_scene_evidence
from pipeline.verifier.graph_completeness import EstimatedGraphCompleteness
from pipeline.verifier.known_objects import GraphCompleteness
from pipeline.verifier.partial_graphs import PartialGraph, build_question_evidence
from pipeline.verifier.verification import ExecutionResult, execute_program

MAX_CACHED_IMAGES = 4096  # images whose facts are kept, some 20 KB each: they are drawn again and again


@dataclass(frozen=True, slots=True)
class Trial:
    """A question judged at an image.

    Attributes:
        verdict: the outcome's, but "unknown" where it says nothing ("Is there a cup?" has an answer at any image).
        truth: what is true, as far as it is known.
        answer: whether the answer given is the right one; None where none was given, or the right one is not known.
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
        """Whether judge and truth agree, in the answer too; None where either does not tell."""
        if "unknown" in (self.outcome.answerability, self.truth):
            return None
        return self.outcome.answerability == self.truth and self.is_answer_correct is not False

    @property
    def key(self) -> TrialKey:
        return TrialKey(self.is_own_image, self.verdict, self.truth, self.is_answer_correct, self.is_correct)


class TrialKey(NamedTuple):
    """All of a trial that is counted."""

    is_own_image: bool
    verdict: Answerability
    truth: Answerability
    is_answer_correct: bool | None
    is_correct: bool | None


class AgreementCounts(Record):
    """Questions of one kind. Shares are in [0, 1], null where nothing is counted.

    Attributes:
        own: questions judged at their own image. own_judged: those on which a verdict was dared.
        own_right: of the judged, those judged answerable and, where an answer was given, with the source's answer.
        answers, answers_right: answers given, and those that are the source's.
        foreign: pairs with another image. judged_unanswerable, judged_answerable: the verdicts dared on them.
        foreign_known, foreign_right: of those verdicts, the ones that the truth can check, and the right ones of them; the
            latter null where nobody knows the truth.
        coverage: own_judged / own. agreement: own_right / own_judged.
        precision, recall: by what is counted, "answerable" and "unanswerable": of questions judged so, the share that
            is so; of those that are so, the share judged so. Own questions are answerable; foreign ones count where
            the truth is known.
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
    """By evidence, then by kind of question: "all", then GQA's structural and semantic types."""

    by_evidence: dict[EvidenceSource, dict[str, AgreementCounts]]


def measure_agreement(trials: Iterable[Trial]) -> VerifierAgreement:
    """Count trials by evidence and by type of question; none is held."""
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
    """The figures of some trials, each with how often it was made."""

    def number(condition: Callable[[TrialKey], bool]) -> int:
        return sum(times for told, times in trials.items() if condition(told))

    sides: tuple[Answerability, ...] = ("answerable", "unanswerable")
    own, foreign = number(lambda t: t.is_own_image), number(lambda t: not t.is_own_image)
    own_judged = number(lambda t: t.is_own_image and t.verdict != "unknown")
    own_right = number(lambda t: t.is_own_image and t.verdict != "unknown" and t.is_correct is True)
    elsewhere = {
        side: number(lambda t, side=side: not t.is_own_image and t.verdict == side) for side in sides
    }
    said = {side: number(lambda t, side=side: t.truth != "unknown" and t.verdict == side) for side in sides}
    true = {side: number(lambda t, side=side: t.truth == side) for side in sides}
    both = {side: number(lambda t, side=side: t.truth == t.verdict == side) for side in sides}
    truth_is_known = number(lambda t: not t.is_own_image and t.truth != "unknown") > 0
    return AgreementCounts(
        own_trials=own,
        own_committed=own_judged,
        own_correct=own_right,
        answers_given=number(lambda t: t.is_own_image and t.is_answer_correct is not None),
        answers_correct=number(lambda t: t.is_own_image and t.is_answer_correct is True),
        negative_trials=foreign,
        negative_unanswerable=elsewhere["unanswerable"],
        negative_answerable=elsewhere["answerable"],
        negative_checkable=number(lambda t: not t.is_own_image and t.is_correct is not None),
        negative_correct=number(lambda t: not t.is_own_image and t.is_correct is True)
        if truth_is_known
        else None,
        coverage=compute_proportion(own_judged, own),
        agreement=compute_proportion(own_right, own_judged),
        precision={
            side: compute_proportion(both[side], said[side]) if truth_is_known else None for side in sides
        },
        recall={side: compute_proportion(both[side], true[side]) for side in sides},
    )


def compute_proportion(count: int, total: int) -> float | None:
    """Rounded to four places; None of nothing."""
    return round(count / total, 4) if total else None


@dataclass(frozen=True, slots=True)
class VerifierInputs:
    """What questions are judged with, by image id.

    Attributes:
        asked: questions with a program and an answer, judged one by one. related: question id -> ids of those whose
            facts are left out with it (`relatives`). truth: complete facts where they are known.
            unlisted: what published graphs probably leave out.
    """

    questions: Mapping[str, Sequence[Question]]
    related_ids: Mapping[str, frozenset[str]]
    graphs: Mapping[str, PartialGraph]
    scenes: Mapping[str, SceneGraph]
    truth: Mapping[str, Evidence]
    lexicon: Lexicon
    completeness: GraphCompleteness | None = None


def read_verifier_inputs(folders: DatasetFolders, truth: Mapping[str, SceneGraph]) -> VerifierInputs:
    """All that is judged: the questions of every split but train, whose 943,000 would say the same again.

    Args:
        truth: complete scene graphs by image id, where they are known.
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
    """For every question id the ids of itself, of those that equal it, and of all that these entail or that entail
    these."""
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
    """Judge every question at its own image and at `foreign` others of the same kind of evidence, drawn by lot."""
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
            # A question's own facts are left out of a partial graph; a published one states none.
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
    """Judge a question at an image: at its own by facts that its own are not among, where the source tells what is
    true; at others the complete facts do, if they are known."""
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
