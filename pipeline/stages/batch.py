"""Make annotation tasks: a picture and two questions in random order, one a candidate, one a filter question.

Half of the filters have the known verdict "valid" (the picture's own questions, which verifies those on the
way; templates), half "invalid" (candidates and questions of other pictures that name something which, by the
evidence, is not there; templates).

Candidates that are most probably unanswerable go out first, in blocks that hold as much of every subset and are shuffled.

Reads   screened.jsonl, estimates.jsonl, questions.jsonl, scenes.jsonl, pictures.jsonl, vocabulary.json, reconstructed.jsonl
        data/<data set>/annotations/known.jsonl   verified.jsonl of an earlier round, if there is one
Writes  tasks.jsonl                Task: everything about each task, the filter and its verdict included
        label_studio_tasks.json    what the browser may see: task key, picture, the two texts
        batch.json                 tasks per subset, filters per source, and how well a model that sees
                                   the texts alone tells which question is the filter
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np

from pipeline.auditing.attackers import Folds, attack, word_ngrams
from pipeline.batching.filter_questions import by_name, foreign, of_the_picture, templates
from pipeline.batching.tasks import FilterPool, make_tasks, shown
from pipeline.core.errors import run
from pipeline.core.files import read_jsonl
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Estimate, Picture, Screened, Task, Verified
from pipeline.core.rows import grouped
from pipeline.counting.evidence import evidence_files

MOST_TOLD = 0.65  # AUROC up to which filters count as hidden among candidates
MOST_MEASURED = 8_000  # questions on which the text-only model is tried; more does not sharpen the figure


class BatchParams(Params):
    seed: int = 0
    # Share of filters made from the paper's templates. They are known at sight ("Is there a ...?" is never a
    # candidate), so few of them; 1.0 is the paper's way.
    template_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    # Questions of other pictures tried per picture, of those that name something this picture has not.
    foreign_tries: Annotated[int, msgspec.Meta(ge=0)] = 100


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


def main() -> None:
    folders, p = Folders(), load("batch", BatchParams)
    screened = list(folders.rows(Screened))
    pictures = {row.picture_id: row for row in folders.rows(Picture)}
    questions = list(folders.asked(pictures))
    earlier = folders.annotations / "known.jsonl"
    verified = read_jsonl(earlier, Verified) if earlier.exists() else ()
    own = grouped(questions, lambda question: question.picture_id)
    candidates = grouped(screened, lambda row: row.candidate.picture_id)
    known = grouped(verified, lambda row: row.candidate.picture_id)

    vocabulary = folders.vocabulary()
    facts_of = evidence_files(folders, vocabulary)
    naming = by_name(questions)
    pools = {}
    for key in track(sorted(candidates), "batch: filters", unit="picture"):
        rng, facts = generator(p.seed, "batch", "pool", key), facts_of(key)
        pools[key] = FilterPool(
            [
                *of_the_picture(own[key], candidates[key], known[key]),
                *foreign(key, naming, facts, p.foreign_tries, rng),
                *templates(vocabulary, facts, rng),
            ]
        )
    estimates = {row.candidate_id: row.answerable for row in folders.rows(Estimate)}
    tasks = make_tasks(screened, pools, p.template_share, p.seed, estimates)
    seen = [shown(task, pictures[task.picture_id]) for task in tasks]
    figures = report(tasks, p.seed)
    warn(figures)
    files = {"tasks.jsonl": tasks, "label_studio_tasks.json": seen, "batch.json": figures}
    folders.finish("batch", f"{len(tasks):,} annotation tasks", files)


if __name__ == "__main__":
    run(main)
