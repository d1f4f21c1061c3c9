"""How often the judge agrees with the source: a question has its answer at its own picture, and mostly none at another.

Every answered question is judged at its own picture without its own facts and those of the questions that it entails,
that entail it, or that equal it; and at other pictures drawn by lot. Where there are published graphs, they are used
as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from pipeline.core.files import read_json, read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Answerability, EvidenceSource, Question, Record, Scene, Vocabulary
from pipeline.judge.execute import Outcome, execute
from pipeline.judge.facts import Facts, facts_of
from pipeline.judge.reconstruct import FactsWithout, Reconstructed, facts_known
from pipeline.programs.operations import Operation, parse
from pipeline.screening.has_an_answer import always_answerable
from pipeline.words.lexicon import Lexicon
from pipeline.words.spoken_answers import same_answer


@dataclass(frozen=True, slots=True)
class Trial:
    """A question judged at a picture.

    Attributes:
        right: whether the verdict agrees with what is known, None where nothing is known or no verdict was dared.
        answer: the same of the answer, None when none was given.
        truth: what is true, as far as it is known.
        trivial: the question has an answer at any picture ("Is there a cup?").
    """

    question: Question
    picture_id: str
    evidence: EvidenceSource
    outcome: Outcome
    right: bool | None = None
    answer: bool | None = None
    truth: Answerability = "unknown"
    trivial: bool = False

    @property
    def own(self) -> bool:
        return self.picture_id == self.question.picture_id

    @property
    def verdict(self) -> Answerability:
        """The verdict, if it says something."""
        says_nothing = self.trivial and not self.outcome.answers
        return "unknown" if says_nothing else self.outcome.answerability

    @property
    def dared(self) -> bool:
        return self.verdict != "unknown"


class AgreementCounts(Record):
    """Questions of one kind. Shares are in [0, 1], null where nothing is counted.

    Attributes:
        own: questions judged at their own picture. own_judged: those on which a verdict was dared.
        own_right: of the judged, those judged answerable and, where an answer was given, with the source's answer.
        answers, answers_right: answers given, and those that are the source's.
        foreign: pairs with another picture. judged_unanswerable, judged_answerable: the verdicts dared on them.
        foreign_known, foreign_right: of those verdicts, the ones that the truth can check, and the right ones of them; the
            latter null where nobody knows the truth.
        coverage: own_judged / own. agreement: own_right / own_judged.
        precision, recall: by what is counted, "answerable" and "unanswerable": of questions judged so, the share that
            is so; of those that are so, the share judged so. Own questions are answerable; foreign ones count where
            the truth is known.
    """

    own: int
    own_judged: int
    own_right: int
    answers: int
    answers_right: int
    foreign: int
    judged_unanswerable: int
    judged_answerable: int
    foreign_known: int
    foreign_right: int | None
    coverage: float | None
    agreement: float | None
    precision: dict[str, float | None]
    recall: dict[str, float | None]


class Agreement(Record):
    """By evidence, then by kind of question: "all", then GQA's structural and semantic types."""

    rows: dict[EvidenceSource, dict[str, AgreementCounts]]


def agreement(trials: Iterable[Trial]) -> Agreement:
    """Count trials by evidence and by type of question."""
    kinds: dict[EvidenceSource, dict[str, list[Trial]]] = {}
    for trial in trials:
        by_kind = kinds.setdefault(trial.evidence, defaultdict(list))
        for kind in (
            "all",
            f"structural: {trial.question.structural}",
            f"semantic: {trial.question.semantic}",
        ):
            if not kind.endswith(": "):
                by_kind[kind].append(trial)
    return Agreement(
        rows={
            evidence: {
                kind: count(by_kind[kind])
                for kind in sorted(
                    by_kind, key=lambda kind: (kind != "all", kind.startswith("semantic"), kind)
                )
            }
            for evidence, by_kind in sorted(kinds.items())
        }
    )


def count(trials: Sequence[Trial]) -> AgreementCounts:
    """The figures of some trials."""
    own, foreign = [t for t in trials if t.own], [t for t in trials if not t.own]
    judged = [t for t in own if t.dared]
    known = [t for t in trials if t.truth != "unknown"]
    truth_is_known = any(not t.own for t in known)
    own_right = sum(t.right is True for t in judged)
    sides: tuple[Answerability, ...] = ("answerable", "unanswerable")
    both = {side: sum(t.verdict == t.truth == side for t in known) for side in sides}
    return AgreementCounts(
        own=len(own),
        own_judged=len(judged),
        own_right=own_right,
        answers=sum(t.answer is not None for t in own),
        answers_right=sum(t.answer is True for t in own),
        foreign=len(foreign),
        judged_unanswerable=sum(t.verdict == "unanswerable" for t in foreign),
        judged_answerable=sum(t.verdict == "answerable" for t in foreign),
        foreign_known=sum(t.right is not None for t in foreign),
        foreign_right=sum(t.right is True for t in foreign) if truth_is_known else None,
        coverage=_share(len(judged), len(own)),
        agreement=_share(own_right, len(judged)),
        precision={
            side: _share(both[side], sum(t.verdict == side for t in known)) if truth_is_known else None
            for side in sides
        },
        recall={side: _share(both[side], sum(t.truth == side for t in known)) for side in sides},
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


@dataclass(frozen=True, slots=True)
class Source:
    """What questions are judged with, by picture id.

    Attributes:
        asked: questions with a program and an answer, judged one by one. related: question id -> ids of those whose
            facts are left out with it (`relatives`). truth: complete facts where they are known.
    """

    asked: Mapping[str, Sequence[Question]]
    related: Mapping[str, frozenset[str]]
    graphs: Mapping[str, Reconstructed]
    scenes: Mapping[str, Scene]
    truth: Mapping[str, Facts]
    lexicon: Lexicon


def read_source(folders: Folders, truth: Mapping[str, Scene]) -> Source:
    """All that is judged: the questions of every split but train, whose 943,000 would say the same again.

    Args:
        truth: complete scene graphs by picture id, where they are known.
    """
    ingest = folders.stage("ingest")
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    asked: dict[str, list[Question]] = defaultdict(list)
    for question in read_jsonl(ingest / "questions.jsonl", Question):
        if question.split != "train" and question.program and question.answer:
            asked[question.picture_id].append(question)
    graphs = read_jsonl(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed)
    scenes = read_jsonl(ingest / "scenes.jsonl", Scene)
    unbalanced = read_jsonl(ingest / "unbalanced.jsonl", Question)
    return Source(
        asked=asked,
        related=relatives(chain(chain.from_iterable(asked.values()), unbalanced)),
        graphs={graph.picture_id: graph for graph in graphs if graph.picture_id in asked},
        scenes={scene.picture_id: scene for scene in scenes if scene.picture_id in asked},
        truth={picture_id: facts_of(scene, lexicon) for picture_id, scene in truth.items()},
        lexicon=lexicon,
    )


def relatives(questions: Iterable[Question]) -> dict[str, frozenset[str]]:
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


def trials(source: Source, foreign: int, rng: np.random.Generator) -> Iterator[Trial]:
    """Judge every question at its own picture and at `foreign` others of the same kind of evidence, drawn by lot."""
    pictures: dict[EvidenceSource, list[str]] = {
        "other questions": sorted(source.graphs),
        "scene graph": sorted(source.scenes.keys() & source.asked.keys()),
    }
    known: dict[str, Facts] = {}
    for evidence, ids in pictures.items():
        for picture_id in track(ids, f"agreement, {evidence}", len(ids), "picture"):
            facts_without = _facts_without(source, picture_id)
            for question in source.asked[picture_id]:
                program = parse(question.program, question.question_id)
                facts = facts_without(source.related[question.question_id])
                yield own_trial(question, program, evidence, facts)
                elsewhere = rng.integers(len(ids), size=foreign).tolist()
                for i in [] if always_answerable(program) else elsewhere:
                    if ids[i] != picture_id:
                        yield foreign_trial(question, program, ids[i], evidence, source, known)


def _facts_without(source: Source, picture_id: str) -> Callable[[Collection[str]], Facts]:
    """The facts of a picture but for what some questions state; of a published graph, which states none's, all."""
    if picture_id in source.graphs:
        return FactsWithout(source.graphs[picture_id], source.lexicon)
    listed = facts_of(source.scenes[picture_id], source.lexicon)
    return lambda _: listed


def own_trial(
    question: Question, program: Sequence[Operation], evidence: EvidenceSource, facts: Facts
) -> Trial:
    """Judge a question at its own picture, by facts that its own are not among."""
    outcome = execute(program, facts)
    answer = right = None
    if outcome.answerability == "answerable" and outcome.answers:
        answer = any(same_answer(given, question.answer) for given in outcome.answers)
    if outcome.answerability != "unknown":
        right = outcome.answerability == "answerable" and answer is not False
    return Trial(
        question,
        question.picture_id,
        evidence,
        outcome,
        right,
        answer,
        truth="answerable",
        trivial=always_answerable(program),
    )


def foreign_trial(
    question: Question,
    program: Sequence[Operation],
    picture_id: str,
    evidence: EvidenceSource,
    source: Source,
    known: dict[str, Facts],
) -> Trial:
    """Judge a question at another picture; `known` keeps the facts of pictures."""
    if picture_id not in known:
        known[picture_id] = (
            facts_of(source.scenes[picture_id], source.lexicon)
            if evidence == "scene graph"
            else facts_known(source.graphs[picture_id], source.lexicon)
        )
    outcome = execute(program, known[picture_id])
    if picture_id not in source.truth:
        return Trial(question, picture_id, evidence, outcome)
    true = execute(program, source.truth[picture_id])
    right = None
    if "unknown" not in (outcome.answerability, true.answerability):
        right = outcome.answerability == true.answerability and (
            outcome.answerability == "unanswerable" or outcome.answers in ((), true.answers)
        )
    return Trial(question, picture_id, evidence, outcome, right, truth=true.answerability)
