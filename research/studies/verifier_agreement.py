"""`rgqa study judge-agreement`: how often the judge agrees with the source, and verdicts written out to be read."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.benchmark.auditing.audit_markdown import agreement_markdown
from pipeline.benchmark.auditing.screening_accuracy import known_truth
from pipeline.benchmark.auditing.verifier_agreement import Source, Trial, agreement, read_source, trials
from pipeline.core.paths import Folders
from pipeline.core.randomness import generator
from pipeline.verifier.partial_graphs import cite


def judge_agreement(show: int, seed: int, foreign: int) -> str:
    """The tables of the data set in use, or `show` of the verdicts that the judge dared, in Markdown."""
    folders = Folders()
    source = read_source(folders, known_truth(folders))
    judged = list(trials(source, foreign, generator(seed, "audit", "agreement")))
    return shown(drawn(judged, show, seed), source) if show else agreement_markdown(agreement(judged))


def drawn(judged: Sequence[Trial], count: int, seed: int) -> list[Trial]:
    """`count` of the verdicts dared, by lot, half of them at the question's own picture; in the order of the trials."""
    rng = generator(seed, "agreement", "shown")
    chosen = []
    for own in (True, False):
        dared = [trial for trial in judged if trial.own == own and trial.dared]
        chosen += [dared[i] for i in sorted(rng.permutation(len(dared))[: count // 2].tolist())]
    return chosen


def shown(chosen: Sequence[Trial], source: Source) -> str:
    """Verdicts to be read by people: the question, what it rests on, what was said."""
    lines = []
    for number, trial in enumerate(chosen, 1):
        question, outcome = trial.question, trial.outcome
        where = "at its own picture" if trial.own else f"of picture {question.picture_id}, asked of another"
        said = (outcome.answerability, outcome.category, outcome.detail, ", ".join(outcome.answers))
        verdict = " ".join(filter(None, said))
        steps = " -> ".join(f"{step.operation}: {step.argument}" for step in question.program)
        graph = source.graphs.get(trial.picture_id)
        without = source.related[question.question_id] if trial.own else frozenset()
        lines += [f"## {number}. {question.text}", f"{where}, {trial.picture_id}. Program: {steps}"]
        lines += [
            f"Verdict: **{verdict}**. The source's answer at its own picture: {question.answer}",
            "Known:",
        ]
        for fact in cite(question.program, graph, source.lexicon, without) if graph else ():
            lines.append(f"- {fact.fact} ({', '.join(fact.questions)})")
        lines.append("")
    return "\n".join(lines)
