"""What the tasks are like, in figures: `batch.json`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.auditing.attackers import Folds, attack, word_ngrams
from pipeline.core.randomness import generator
from pipeline.core.records import Task

MOST_TOLD = 0.65  # AUROC up to which filters count as hidden among candidates
MOST_MEASURED = 8_000  # questions on which the text-only model is tried; more does not sharpen the figure


def told_by_text(tasks: Sequence[Task], seed: int) -> float | None:
    """AUROC, max(a, 1 - a), of word n-grams that guess from a text alone if it is a filter; folds by text."""
    drawn = generator(seed, "batch", "told by text").permutation(len(tasks))[: MOST_MEASURED // 2]
    asked = [question for i in sorted(drawn) for question in (tasks[i].first, tasks[i].second)]
    texts = [question.text for question in asked]
    labels = np.array([question.role == "filter" for question in asked], int)
    groups = np.array(texts, object)
    folds = Folds(labels, groups, 5, seed)
    return attack(word_ngrams(texts, folds), folds, 1, generator(seed, "batch", "interval")).auroc


def report(tasks: Sequence[Task], seed: int) -> dict[str, Any]:
    """Tasks per subset, filters per source and expected verdict, and how well a text-only model finds the filters."""
    filters = [task.second if task.first.role == "candidate" else task.first for task in tasks]
    expected = Counter(question.expected for question in filters)
    return {
        "tasks": Counter(task.subset for task in tasks),
        "filters": Counter(f"{question.source}, {question.expected}" for question in filters),
        "filters_valid": expected["valid"],
        "filters_invalid": expected["invalid"],
        "candidate_first": sum(task.first.role == "candidate" for task in tasks),
        "filter_told_by_text_auroc": told_by_text(tasks, seed),
    }


def warn(figures: Mapping[str, Any]) -> None:
    """Say what would let annotators pass without looking."""
    told = figures["filter_told_by_text_auroc"] or 0
    if told > MOST_TOLD:
        print(
            f"warning: a model that sees the texts alone tells filters from candidates with AUROC {told}, "
            f"more than {MOST_TOLD}; annotators may learn it too",
            file=sys.stderr,
        )
    if figures["tasks"] and not figures["filters_invalid"]:
        print(
            "warning: no filter question is known to be unanswerable, as nothing is known of these pictures: who calls every "
            "question valid passes all of them; give programs or scene graphs, or annotations/known.jsonl of an earlier round",
            file=sys.stderr,
        )
