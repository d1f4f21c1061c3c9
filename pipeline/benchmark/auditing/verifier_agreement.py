"""How often the judge agrees with the source: a question has its answer at its own picture, and mostly none at another.

Every answered question is judged at its own picture without its own facts and those of the questions that it entails,
that entail it, or that equal it; and at other pictures drawn by lot. Of published graphs what they list is used; that
something is not listed counts at other pictures alone, as whoever asks of the own one has seen it there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from pipeline.candidates.screening.screen_checks import always_answerable
from pipeline.core.json_files import read_jsonl
from pipeline.core.jsonl_index import Groups, OnDemand, Singles
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Answerability, EvidenceSource, Question, Record, Scene
from pipeline.language.functional_programs import Operation, parse
from pipeline.language.lexicon import Lexicon
from pipeline.language.similarity import same_answer
from pipeline.verifier.evidence import Facts, facts_of
from pipeline.verifier.graph_completeness import LeftOut
from pipeline.verifier.known_objects import Unlisted
from pipeline.verifier.partial_graphs import Reconstructed, facts_known
from pipeline.verifier.verification import Outcome, execute

KEPT = 4096  # pictures whose facts are kept, some 20 KB each: they are drawn again and again


@dataclass(frozen=True, slots=True)
class Trial:
    """A question judged at a picture.

    Attributes:
        verdict: the outcome's, but "unknown" where it says nothing ("Is there a cup?" has an answer at any picture).
        truth: what is true, as far as it is known.
        answer: whether the answer given is the right one; None where none was given, or the right one is not known.
    """

    question: Question
    picture_id: str
    evidence: EvidenceSource
    outcome: Outcome
    verdict: Answerability
    truth: Answerability
    answer: bool | None

    @property
    def own(self) -> bool:
        return self.picture_id == self.question.picture_id

    @property
    def dared(self) -> bool:
        return self.verdict != "unknown"

    @property
    def right(self) -> bool | None:
        """Whether judge and truth agree, in the answer too; None where either does not tell."""
        if "unknown" in (self.outcome.answerability, self.truth):
            return None
        return self.outcome.answerability == self.truth and self.answer is not False

    @property
    def told(self) -> Told:
        return Told(self.own, self.verdict, self.truth, self.answer, self.right)


class Told(NamedTuple):
    """All of a trial that is counted."""

    own: bool
    verdict: Answerability
    truth: Answerability
    answer: bool | None
    right: bool | None


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
    """Count trials by evidence and by type of question; none is held."""
    found: defaultdict[EvidenceSource, defaultdict[str, Counter[Told]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for trial in trials:
        structural, semantic = trial.question.structural, trial.question.semantic
        for kind in ("all", structural and f"structural: {structural}", semantic and f"semantic: {semantic}"):
            if kind:
                found[trial.evidence][kind][trial.told] += 1

    def order(kind: str) -> tuple[bool, bool, str]:
        return kind != "all", kind.startswith("semantic"), kind

    return Agreement(
        rows={
            evidence: {kind: count(kinds[kind]) for kind in sorted(kinds, key=order)}
            for evidence, kinds in sorted(found.items())
        }
    )


def count(trials: Mapping[Told, int]) -> AgreementCounts:
    """The figures of some trials, each with how often it was made."""

    def number(condition: Callable[[Told], bool]) -> int:
        return sum(times for told, times in trials.items() if condition(told))

    sides: tuple[Answerability, ...] = ("answerable", "unanswerable")
    own, foreign = number(lambda t: t.own), number(lambda t: not t.own)
    own_judged = number(lambda t: t.own and t.verdict != "unknown")
    own_right = number(lambda t: t.own and t.verdict != "unknown" and t.right is True)
    elsewhere = {side: number(lambda t, side=side: not t.own and t.verdict == side) for side in sides}
    said = {side: number(lambda t, side=side: t.truth != "unknown" and t.verdict == side) for side in sides}
    true = {side: number(lambda t, side=side: t.truth == side) for side in sides}
    both = {side: number(lambda t, side=side: t.truth == t.verdict == side) for side in sides}
    truth_is_known = number(lambda t: not t.own and t.truth != "unknown") > 0
    return AgreementCounts(
        own=own,
        own_judged=own_judged,
        own_right=own_right,
        answers=number(lambda t: t.own and t.answer is not None),
        answers_right=number(lambda t: t.own and t.answer is True),
        foreign=foreign,
        judged_unanswerable=elsewhere["unanswerable"],
        judged_answerable=elsewhere["answerable"],
        foreign_known=number(lambda t: not t.own and t.right is not None),
        foreign_right=number(lambda t: not t.own and t.right is True) if truth_is_known else None,
        coverage=share(own_judged, own),
        agreement=share(own_right, own_judged),
        precision={side: share(both[side], said[side]) if truth_is_known else None for side in sides},
        recall={side: share(both[side], true[side]) for side in sides},
    )


def share(part: int, whole: int) -> float | None:
    """Rounded to four places; None of nothing."""
    return round(part / whole, 4) if whole else None


@dataclass(frozen=True, slots=True)
class Source:
    """What questions are judged with, by picture id.

    Attributes:
        asked: questions with a program and an answer, judged one by one. related: question id -> ids of those whose
            facts are left out with it (`relatives`). truth: complete facts where they are known.
            unlisted: what published graphs probably leave out.
    """

    asked: Mapping[str, Sequence[Question]]
    related: Mapping[str, frozenset[str]]
    graphs: Mapping[str, Reconstructed]
    scenes: Mapping[str, Scene]
    truth: Mapping[str, Facts]
    lexicon: Lexicon
    unlisted: Unlisted | None = None


def read_source(folders: Folders, truth: Mapping[str, Scene]) -> Source:
    """All that is judged: the questions of every split but train, whose 943,000 would say the same again.

    Args:
        truth: complete scene graphs by picture id, where they are known.
    """
    vocabulary = folders.vocabulary()
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    pictures = dict.fromkeys(row.picture_id for row in folders.rows(Question) if _tried(row))
    by_picture = Groups(folders.file(Question), Question, "picture_id")
    graphs = Singles(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed, "picture_id")
    scenes = Singles(folders.file(Scene), Scene, "picture_id")
    unbalanced = read_jsonl(folders.stage("ingest") / "unbalanced.jsonl", Question)
    return Source(
        asked=OnDemand(pictures, lambda key: [row for row in by_picture[key] if _tried(row)], 1),
        related=relatives(chain(filter(_tried, folders.rows(Question)), unbalanced)),
        graphs=OnDemand(filter(pictures.__contains__, graphs), graphs.__getitem__, KEPT),
        scenes=OnDemand(filter(pictures.__contains__, scenes), scenes.__getitem__, KEPT),
        truth=OnDemand(truth, lambda key: facts_of(truth[key], lexicon), KEPT),
        lexicon=lexicon,
        unlisted=LeftOut(vocabulary) if vocabulary.listed else None,
    )


def _tried(question: Question) -> bool:
    return question.split != "train" and bool(question.program) and bool(question.answer)


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
    lexicon = source.lexicon
    pictures: dict[EvidenceSource, list[str]] = {
        "other questions": sorted(source.graphs.keys() - source.scenes.keys()),
        "scene graph": sorted(source.scenes.keys() & source.asked.keys()),
    }

    @lru_cache(KEPT)
    def facts(picture_id: str) -> Facts:
        scene = source.scenes.get(picture_id)
        if scene is None:
            return facts_known(source.graphs[picture_id], lexicon)
        return facts_of(scene, lexicon, source.unlisted)

    for evidence, ids in pictures.items():
        for own in track(ids, f"agreement, {evidence}", len(ids), "picture"):
            # A question's own facts are left out of a partial graph; a published one states none.
            listed = replace(facts(own), unlisted=None)
            for question in source.asked[own]:
                program = parse(question.program, question.question_id)
                known = listed
                if own not in source.scenes:
                    known = facts_known(
                        source.graphs[own], lexicon, False, source.related[question.question_id]
                    )
                yield trial(question, program, own, evidence, known)
                drawn = [ids[i] for i in rng.integers(len(ids), size=foreign).tolist()]
                others = [] if always_answerable(program) else [other for other in drawn if other != own]
                for other in others:
                    truth = source.truth.get(other)
                    yield trial(question, program, other, evidence, facts(other), truth)


def trial(
    question: Question,
    program: Sequence[Operation],
    picture_id: str,
    evidence: EvidenceSource,
    facts: Facts,
    truth: Facts | None = None,
) -> Trial:
    """Judge a question at a picture: at its own by facts that its own are not among, where the source tells what is
    true; at others the complete facts do, if they are known."""
    outcome, own = execute(program, facts), picture_id == question.picture_id
    true = execute(program, truth) if truth else None
    answer = None
    if outcome.answerability == "answerable" and outcome.answers:
        if own:
            answer = any(same_answer(given, question.answer) for given in outcome.answers)
        elif true:
            answer = outcome.answers == true.answers
    says_nothing = own and always_answerable(program) and not outcome.answers
    return Trial(
        question,
        picture_id,
        evidence,
        outcome,
        verdict="unknown" if says_nothing else outcome.answerability,
        truth="answerable" if own else true.answerability if true else "unknown",
        answer=answer,
    )
