"""How often the judge agrees with the source: a question has its answer at its own picture, and mostly none at another.

Every answered question is judged at its own picture without its own facts and those of the questions that it entails,
that entail it, or that equal it; and at other pictures drawn by lot. Where there are published graphs, they are used
as they are. `python -m pipeline.auditing.judge_agreement` tells it of the data set in use after stage `vocabulary`, and
writes some verdicts out, to be read: `--show 200 --seed 1`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Literal

import numpy as np
import typer

from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Answerability, Picture, Question, Record, Scene, Vocabulary
from pipeline.judge.citing import cite
from pipeline.judge.execute import Outcome, execute
from pipeline.judge.facts import Facts, facts_of
from pipeline.judge.reconstruct import Known, Reconstructed, facts_known
from pipeline.programs.operations import Operation, parse
from pipeline.screening.claims import always_answerable
from pipeline.sources import gqa_files
from pipeline.words.lexicon import Lexicon, same_answer

Evidence = Literal["other questions", "scene graph"]
ALL = "all"
SIDES = ("answerable", "unanswerable")
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


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
    evidence: Evidence
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


class Row(Record):
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

    rows: dict[str, dict[str, Row]]


def agreement(trials: Sequence[Trial]) -> Agreement:
    """Count trials by evidence and by type of question."""
    rows: dict[str, dict[str, Row]] = {}
    for evidence in sorted({trial.evidence for trial in trials}):
        some = [trial for trial in trials if trial.evidence == evidence]
        kinds = {ALL: some}
        for field in ("structural", "semantic"):
            for trial in sorted(some, key=lambda trial: getattr(trial.question, field)):
                if name := getattr(trial.question, field):
                    kinds.setdefault(f"{field}: {name}", []).append(trial)
        rows[evidence] = {name: count(trials) for name, trials in kinds.items()}
    return Agreement(rows=rows)


def count(trials: Sequence[Trial]) -> Row:
    """The figures of some trials."""
    own, foreign = [t for t in trials if t.own], [t for t in trials if not t.own]
    judged = [t for t in own if t.dared]
    known = [t for t in trials if t.truth != "unknown"]
    told = any(t.truth != "unknown" for t in foreign)
    right = [t for t in foreign if t.right]

    def both(what: str) -> int:
        return sum(t.verdict == t.truth == what for t in known)

    return Row(
        own=len(own),
        own_judged=len(judged),
        own_right=sum(t.right is True for t in judged),
        answers=sum(t.answer is not None for t in own),
        answers_right=sum(t.answer is True for t in own),
        foreign=len(foreign),
        judged_unanswerable=sum(t.outcome.answerability == "unanswerable" for t in foreign),
        judged_answerable=sum(t.outcome.answerability == "answerable" for t in foreign),
        foreign_known=sum(t.right is not None for t in foreign),
        foreign_right=len(right) if told else None,
        coverage=_share(len(judged), len(own)),
        agreement=_share(sum(t.right is True for t in judged), len(judged)),
        precision={
            what: _share(both(what), sum(t.verdict == what for t in known)) if told else None
            for what in SIDES
        },
        recall={what: _share(both(what), sum(t.truth == what for t in known)) for what in SIDES},
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


def read_source(folders: Folders) -> Source:
    """All that is judged: the questions of every split but train, whose 943,000 would say the same again."""
    ingest = folders.stage("ingest")
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    questions = [
        q
        for q in read_jsonl(ingest / "questions.jsonl", Question)
        if q.split != "train" and q.program and q.answer
    ]
    asked: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        asked[question.picture_id].append(question)
    scenes = {s.picture_id: s for s in read_jsonl(ingest / "scenes.jsonl", Scene) if s.picture_id in asked}
    graphs = {
        g.picture_id: g
        for g in read_jsonl(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed)
    }
    telling = read_jsonl(ingest / "unbalanced.jsonl", Question)
    splits = {picture.split for picture in read_jsonl(ingest / "pictures.jsonl", Picture)}
    known = gqa_files.truth(folders.truth, splits) if any(folders.truth.glob("*.json")) else {}
    return Source(
        asked=asked,
        related=relatives(chain(questions, telling)),
        graphs={key: graphs[key] for key in graphs if key in asked},
        scenes=scenes,
        truth={key: facts_of(scene, lexicon) for key, scene in known.items()},
        lexicon=lexicon,
    )


def relatives(questions: Iterable[Question]) -> dict[str, frozenset[str]]:
    """For every question id the ids of itself, of those that equal it, and of all that these entail or that entail
    these."""
    linked: dict[str, set[str]] = {}
    equal: dict[str, set[str]] = {}
    for question in questions:
        for others, into in ((question.entailed, linked), (question.equivalent, equal)):
            into.setdefault(question.question_id, set()).update(others)
            for other in others:
                into.setdefault(other, set()).add(question.question_id)
    found = {}
    for key in linked.keys() | equal.keys():
        same = {key} | equal.get(key, set())
        found[key] = frozenset(same.union(*(linked.get(one, ()) for one in same)))
    return found


def trials(source: Source, foreign: int, rng: np.random.Generator) -> Iterator[Trial]:
    """Judge every question at its own picture and at `foreign` others of the same kind of evidence, drawn by lot."""
    pictures: dict[Evidence, list[str]] = {
        "other questions": sorted(source.graphs),
        "scene graph": sorted(source.scenes.keys() & source.asked.keys()),
    }
    known: dict[str, Facts] = {}
    for evidence, ids in pictures.items():
        for picture_id in track(ids, f"agreement, {evidence}", len(ids), "picture"):
            questions = source.asked.get(picture_id, ())
            graph = Known(source.graphs[picture_id], source.lexicon) if picture_id in source.graphs else None
            listed = None if graph else facts_of(source.scenes[picture_id], source.lexicon)
            for question in questions:
                program = parse(question.program, question.question_id)
                facts = listed or graph.facts(source.related[question.question_id])
                yield own_trial(question, program, evidence, facts)
                elsewhere = rng.integers(len(ids), size=foreign).tolist()
                for i in [] if always_answerable(program) else elsewhere:
                    if ids[i] != picture_id:
                        yield foreign_trial(question, program, ids[i], evidence, source, known)


def own_trial(question: Question, program: Sequence[Operation], evidence: Evidence, facts: Facts) -> Trial:
    """Judge a question at its own picture, by facts that its own are not among."""
    outcome = execute(program, facts)
    answer = None
    if outcome.answerability == "answerable" and outcome.answers:
        answer = any(same_answer(one, question.answer) for one in outcome.answers)
    right = (
        None
        if outcome.answerability == "unknown"
        else outcome.answerability == "answerable" and answer is not False
    )
    return Trial(
        question,
        question.picture_id,
        evidence,
        outcome,
        right,
        answer,
        "answerable",
        always_answerable(program),
    )


def foreign_trial(
    question: Question,
    program: Sequence[Operation],
    picture_id: str,
    evidence: Evidence,
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
        same = (
            not outcome.answers or outcome.answerability == "unanswerable" or outcome.answers == true.answers
        )
        right = outcome.answerability == true.answerability and same
    return Trial(question, picture_id, evidence, outcome, right, truth=true.answerability)


def shown(some: Sequence[Trial], source: Source) -> str:
    """Verdicts to be read by people: the question, what it rests on, what was said."""
    parts = []
    for number, trial in enumerate(some, 1):
        question, outcome = trial.question, trial.outcome
        where = "at its own picture" if trial.own else f"of picture {question.picture_id}, asked of another"
        verdict = " ".join(
            filter(
                None, (outcome.answerability, outcome.category, outcome.detail, ", ".join(outcome.answers))
            )
        )
        steps = " -> ".join(f"{step.operation}: {step.argument}" for step in question.program)
        graph, without = (
            source.graphs.get(trial.picture_id),
            source.related[question.question_id] if trial.own else frozenset(),
        )
        facts = cite(question.program, graph, source.lexicon, without) if graph else []
        parts.append(
            "\n".join(
                (
                    f"## {number}. {question.text}",
                    f"{where}, {trial.picture_id}. Program: {steps}",
                    f"Verdict: **{verdict}**. The source's answer at its own picture: {question.answer}",
                    "Known:",
                    *(f"- {fact.fact} ({', '.join(fact.questions)})" for fact in facts),
                )
            )
        )
    return "\n\n".join(parts) + "\n"


def drawn(found: Sequence[Trial], count: int, seed: int) -> list[Trial]:
    """`count` of the verdicts dared, by lot, half of them at the question's own picture; in the order of the trials."""
    rng, some = generator(seed, "agreement", "shown"), []
    for own in (True, False):
        dared = [trial for trial in found if trial.own == own and trial.dared]
        some += [dared[i] for i in sorted(rng.permutation(len(dared))[: count // 2].tolist())]
    return some


@app.command(epilog="Example: python -m pipeline.auditing.judge_agreement --show 200 --seed 1")
def main(
    show: Annotated[
        int, typer.Option(min=0, help="Write so many of the verdicts out instead, half of them foreign.")
    ] = 0,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the foreign pictures, and of the verdicts shown.")
    ] = 20231001,
    foreign: Annotated[int, typer.Option(min=0, help="Other pictures at which each question is tried.")] = 2,
) -> None:
    """Tell how often the judge agrees with the source of the data set in use."""
    from pipeline.auditing.audit_page import AGREEMENT, agreement_table

    def tell() -> None:
        source = read_source(Folders())
        found = list(trials(source, foreign, generator(seed, "audit", "agreement")))
        if show:
            print(shown(drawn(found, show, seed), source))
            return
        for evidence, rows in agreement(found).rows.items():
            print(
                f"## The judge against the source, by {evidence}\n\n{agreement_table(rows)}\n\n{AGREEMENT}\n"
            )

    run(tell)


if __name__ == "__main__":
    app()
