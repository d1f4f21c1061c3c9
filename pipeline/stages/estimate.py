"""Estimate how probably each candidate has an answer at its picture after all, and how hard it is to see that it has none.

Reads   ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json, vocabulary/reconstructed.jsonl,
        screen/screened.jsonl
Writes  estimates.jsonl   Estimate: one of each candidate, in the order of screened.jsonl
        estimate.json     the weights and what they were fitted on; per subset how many questions are expected to have an
                          answer, and how many are of each difficulty

The weights are fitted on pictures with published graphs, which are hidden and then shown (`pipeline/candidates/estimating/held_out_graphs.py`).
Where there is none, base rates must do: that all that a question takes for granted is there. That is not calibrated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from typing import Any

from pipeline.candidates.estimating.answerability import (
    Weights,
    answerable,
    by_base_rates,
    claims_of,
    features,
    fit,
    probable,
)
from pipeline.candidates.estimating.claims import Beliefs
from pipeline.candidates.estimating.difficulty import Difficulties
from pipeline.candidates.estimating.held_out_graphs import drawn_pictures, hidden_graphs
from pipeline.core.atomic_files import opened
from pipeline.core.errors import counted, run
from pipeline.core.json_files import write_jsonl
from pipeline.core.jsonl_index import Groups, Singles
from pipeline.core.parallel import ordered_map, processes
from pipeline.core.params import Params, Seed, load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Estimate, Question, Scene, Screened, Subset
from pipeline.verifier.evidence_loading import evidence_files
from pipeline.verifier.presence_model import names_known

TOGETHER = 256  # candidates that a process is given at once
WORTH = 20_000  # candidates for which another process is worth its start


class EstimateParams(Params):
    """Parameters of estimate: the seed of the questions that are tried on pictures with graphs."""

    seed: Seed = 0


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


class Estimator:
    """What candidates are estimated with; of the rows in files those of one picture at a time are in memory."""

    def __init__(self, folders: Folders, weights: Weights | None) -> None:
        vocabulary = folders.vocabulary()
        self._beliefs, self._weights = Beliefs(vocabulary), weights
        self._difficulty = Difficulties(vocabulary, self._beliefs)
        self._facts_of = evidence_files(folders, vocabulary)

    def estimates(self, rows: Sequence[Screened]) -> list[tuple[Subset, Estimate]]:
        """The estimates of candidates, with their subsets."""
        made = []
        for picture, same in groupby(rows, lambda row: row.candidate.picture_id):
            facts = self._facts_of(picture)
            for row in same:
                candidate, refuted = row.candidate, row.judgement.answerability == "unanswerable"
                found = probable(claims_of(candidate), facts, self._beliefs)
                if self._weights:
                    sure = answerable(features(found, refuted, bool(candidate.edits)), self._weights)
                else:
                    sure = by_base_rates(found, refuted)
                difficulty = self._difficulty(candidate, found, names_known(facts))
                key = candidate.candidate_id
                estimate = Estimate(candidate_id=key, answerable=sure, difficulty=difficulty)
                made.append((candidate.subset, estimate))
        return made


def estimates(folders: Folders, weights: Weights | None) -> Iterator[tuple[Subset, Estimate]]:
    """The estimates of all candidates, with their subsets, in the order of screened.jsonl."""
    with opened(folders.file(Screened)) as file:
        candidates = sum(1 for _ in file)
    rows = folders.rows(Screened)
    parts = iter(lambda: list(islice(rows, TOGETHER)), [])
    set_up, side_by_side = partial(Estimator, folders, weights), processes(candidates, WORTH)
    done = ordered_map(Estimator.estimates, parts, set_up, side_by_side, 1)
    for part in track(done, "estimate", -(-candidates // TOGETHER), f"{TOGETHER} candidates"):
        yield from part


class Expected:
    """Counts estimates as they pass: how many there are, how many are expected to have an answer, of which difficulty."""

    def __init__(self) -> None:
        self._difficulty: defaultdict[Subset, Counter[str]] = defaultdict(Counter)
        self.answerable: defaultdict[Subset, float] = defaultdict(float)

    def passing(self, rows: Iterable[tuple[Subset, Estimate]]) -> Iterator[Estimate]:
        for subset, row in rows:
            self._difficulty[subset][row.difficulty] += 1
            self.answerable[subset] += row.answerable
            yield row

    def report(self) -> dict[Subset, dict[str, Any]]:
        """Per subset."""
        return {
            subset: {
                "candidates": found.total(),
                "expected_answerable": round(self.answerable[subset], 1),
                "difficulty": dict(sorted(found.items())),
            }
            for subset, found in self._difficulty.items()
        }


def main() -> None:
    folders, p = Folders(), load("estimate", EstimateParams)
    weights, fitted = weights_of(folders, Beliefs(folders.vocabulary()), p.seed)
    expected = Expected()
    write_jsonl(folders.file(Estimate), expected.passing(estimates(folders, weights)))
    subsets = expected.report()
    candidates = sum(figures["candidates"] for figures in subsets.values())
    what = f"{sum(expected.answerable.values()):,.0f} of {counted(candidates, 'candidate')} are expected to have an answer"
    what += "" if fitted["calibrated"] else " (not calibrated here: no graphs)"
    folders.finish("estimate", what, {"estimate.json": {"fitted": fitted, "subsets": subsets}})


if __name__ == "__main__":
    run(main)
