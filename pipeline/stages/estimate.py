"""Estimate how probably each candidate has an answer at its picture after all, and how hard it is to see that it has none.

Reads   ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json, vocabulary/reconstructed.jsonl,
        screen/screened.jsonl
Writes  estimates.jsonl   Estimate: one of each candidate, in the order of screened.jsonl
        estimate.json     the weights and what they were fitted on; per subset how many questions are expected to have an
                          answer, and how many are of each difficulty

The weights are fitted on pictures with published graphs, which are hidden and then shown (`pipeline/estimating/hidden_graphs.py`).
Where there is none, base rates must do: that all that a question takes for granted is there. That is not calibrated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from pipeline.core.errors import run
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Estimate, Question, Scene, Screened, Subset
from pipeline.core.rows import Groups, Singles
from pipeline.counting.evidence import evidence_files
from pipeline.counting.presence import names_known
from pipeline.estimating.answerable import (
    Weights,
    answerable,
    by_base_rates,
    claims_of,
    features,
    fit,
    probable,
)
from pipeline.estimating.claims import Beliefs
from pipeline.estimating.difficulty import Difficulties
from pipeline.estimating.hidden_graphs import drawn_pictures, hidden_graphs


class EstimateParams(Params):
    """Parameters of estimate: the seed of the questions that are tried on pictures with graphs."""

    seed: int = 0


def weights_of(folders: Folders, beliefs: Beliefs, seed: int) -> tuple[Weights | None, dict[str, Any]]:
    """The weights, None where there are no graphs to fit them on, and what is told of how they came about."""
    scenes = Singles(folders.file(Scene), Scene, "picture_id")
    drawn = drawn_pictures(list(scenes))
    asked = Groups(folders.file(Question), Question, "picture_id") if drawn else {}
    hidden = hidden_graphs(
        {key: scenes[key] for key in drawn},
        {key: asked[key] for key in drawn if key in asked},
        folders.vocabulary(),
        beliefs,
        seed,
    )
    labels = [case.answerable for case in hidden.cases]
    calibrated = 0 < sum(labels) < len(labels)
    weights = fit([case.row for case in hidden.cases], labels) if calibrated else None
    return weights, {
        "calibrated": calibrated,
        "pictures": len(drawn),
        "questions": len(labels),
        "answerable": sum(labels),
        "own_questions": hidden.own,
        "own_questions_answerable": hidden.own_answerable,
        "weights": weights,
    }


def estimates(
    folders: Folders, beliefs: Beliefs, weights: Weights | None
) -> Iterator[tuple[Subset, Estimate]]:
    """The estimates of all candidates, with their subsets."""
    vocabulary = folders.vocabulary()
    facts_of, difficulty = evidence_files(folders, vocabulary), Difficulties(vocabulary, beliefs)
    picture, facts = "", None
    for row in track(folders.rows(Screened), "estimate", unit="candidate"):
        candidate = row.candidate
        if candidate.picture_id != picture:
            picture, facts = candidate.picture_id, facts_of(candidate.picture_id)
        found = probable(claims_of(candidate), facts, beliefs)
        refuted = row.judgement.answerability == "unanswerable"
        if weights:
            sure = answerable(features(found, refuted, bool(candidate.edits)), weights)
        else:
            sure = by_base_rates(found, refuted)
        yield (
            candidate.subset,
            Estimate(
                candidate_id=candidate.candidate_id,
                answerable=sure,
                difficulty=difficulty(candidate, found, names_known(facts)),
            ),
        )


def report(rows: Iterable[tuple[Subset, Estimate]]) -> dict[Subset, dict[str, Any]]:
    """Per subset: candidates, how many are expected to have an answer, how many are of each difficulty."""
    counts: defaultdict[Subset, Counter[str]] = defaultdict(Counter)
    expected: defaultdict[Subset, float] = defaultdict(float)
    for subset, row in rows:
        counts[subset][row.difficulty] += 1
        expected[subset] += row.answerable
    return {
        subset: {
            "candidates": found.total(),
            "expected_answerable": round(expected[subset], 1),
            "difficulty": dict(sorted(found.items())),
        }
        for subset, found in counts.items()
    }


def main() -> None:
    folders, p = Folders(), load("estimate", EstimateParams)
    beliefs = Beliefs(folders.vocabulary())
    weights, fitted = weights_of(folders, beliefs, p.seed)
    rows = list(estimates(folders, beliefs, weights))
    expected = sum(row.answerable for _, row in rows)
    what = f"{expected:,.0f} of {len(rows):,} candidates are expected to have an answer"
    what += "" if fitted["calibrated"] else " (not calibrated here: no graphs)"
    figures = {"fitted": fitted, "subsets": report(rows)}
    folders.finish("estimate", what, {"estimates.jsonl": [row for _, row in rows], "estimate.json": figures})


if __name__ == "__main__":
    run(main)
