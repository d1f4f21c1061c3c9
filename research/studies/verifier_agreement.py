"""Measure how often the verifier agrees with the source, or print verdicts to read: `rgqa study
verifier-agreement`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.benchmark.auditing.audit_markdown import render_agreement_markdown
from pipeline.benchmark.auditing.screening_accuracy import read_truth
from pipeline.benchmark.auditing.verifier_agreement import (
    Trial,
    VerifierInputs,
    measure_agreement,
    read_verifier_inputs,
    run_trials,
)
from pipeline.core.paths import DatasetFolders
from pipeline.core.randomness import make_generator
from pipeline.verifier.partial_graphs import cite_facts


def measure_verifier_agreement(num_examples: int, seed: int, num_other_images: int) -> str:
    """Return the results for the current data set as Markdown tables, or `num_examples` verdicts other than unknown."""
    folders = DatasetFolders()
    source = read_verifier_inputs(folders, read_truth(folders))
    judged = list(run_trials(source, num_other_images, make_generator(seed, "audit", "agreement")))
    return (
        format_verdicts(sample_committed(judged, num_examples, seed), source)
        if num_examples
        else render_agreement_markdown(measure_agreement(judged))
    )


def sample_committed(judged: Sequence[Trial], count: int, seed: int) -> list[Trial]:
    """Sample `count` committed verdicts, half of them about the question's own image, in the order of the
    trials.
    """
    rng = make_generator(seed, "agreement", "shown")
    chosen = []
    for own in (True, False):
        committed = [trial for trial in judged if trial.is_own_image == own and trial.committed]
        chosen += [committed[i] for i in sorted(rng.permutation(len(committed))[: count // 2].tolist())]
    return chosen


def format_verdicts(chosen: Sequence[Trial], source: VerifierInputs) -> str:
    """Format verdicts for people to read: the question, the verdict, and the facts that it rests on."""
    lines = []
    for number, trial in enumerate(chosen, 1):
        question, outcome = trial.question, trial.outcome
        where = (
            "about its own image"
            if trial.is_own_image
            else f"from image {question.image_id}, asked about another"
        )
        said = (outcome.answerability, outcome.category, outcome.detail, ", ".join(outcome.answers))
        verdict = " ".join(filter(None, said))
        steps = " -> ".join(f"{step.operation}: {step.argument}" for step in question.program)
        graph = source.graphs.get(trial.image_id)
        without = source.related_ids[question.question_id] if trial.is_own_image else frozenset()
        lines += [f"## {number}. {question.text}", f"{where}, {trial.image_id}. Program: {steps}"]
        lines += [
            f"Verdict: **{verdict}**. The source's answer for its own image: {question.answer}",
            "Known:",
        ]
        for fact in cite_facts(question.program, graph, source.lexicon, without) if graph else ():
            lines.append(f"- {fact.fact} ({', '.join(fact.question_ids)})")
        lines.append("")
    return "\n".join(lines)
