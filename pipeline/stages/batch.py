"""Make annotation tasks: a picture and two questions in random order, one a candidate, one a filter question.

Half of the filters have the known verdict "valid" (the picture's own questions, which verifies those on the
way; templates), half "invalid" (candidates and questions of other pictures that name something which, by the
evidence, is not there; templates).

Reads   screened.jsonl, questions.jsonl, scenes.jsonl, pictures.jsonl, vocabulary.json, reconstructed.jsonl
        data/<data set>/annotations/known.jsonl   verified.jsonl of an earlier round, if there is one
Writes  tasks.jsonl                everything about each task, the filter and its verdict included
        label_studio_tasks.json    what the browser may see: task key, picture, the two texts
        batch.json                 tasks per subset, filters per source, and how well a model that sees
                                   the texts alone tells which question is the filter
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np

from pipeline.auditing.attackers import score, word_ngrams
from pipeline.batching import offers
from pipeline.batching.filter_questions import Pool, source_counts
from pipeline.batching.tasks import make_tasks, shown
from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.randomness import generator
from pipeline.core.records import Picture, Question, Scene, Screened, Task, Verified, Vocabulary
from pipeline.core.rows import Singles
from pipeline.judge.judgement import evidence_for
from pipeline.judge.reconstruct import Reconstructed
from pipeline.words.lexicon import Lexicon

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
    some = generator(seed, "batch", "told by text").permutation(len(tasks))[: MOST_MEASURED // 2]
    asked = [question for i in sorted(some) for question in (tasks[i].first, tasks[i].second)]
    texts = [question.text for question in asked]
    labels = np.array([question.role == "filter" for question in asked], int)
    groups = np.array(texts, object)
    scores = word_ngrams(texts, labels, groups, 5, seed)
    return score(scores, labels, groups, 1, generator(seed, "batch", "interval")).auroc


def report(tasks: Sequence[Task], seed: int) -> dict:
    filters = [
        question for task in tasks for question in (task.first, task.second) if question.role == "filter"
    ]
    return {
        "tasks": dict(sorted(Counter(task.subset for task in tasks).items())),
        "filters": source_counts(filters),
        "filters_valid": sum(question.expected == "valid" for question in filters),
        "filters_invalid": sum(question.expected == "invalid" for question in filters),
        "candidate_first": sum(task.first.role == "candidate" for task in tasks),
        "filter_told_by_text_auroc": told_by_text(tasks, seed),
    }


def main() -> None:
    folders = Folders()
    params = load("batch", BatchParams)
    out, ingested = folders.stage("batch"), folders.stage("ingest")
    screened = list(read_jsonl(folders.stage("screen") / "screened.jsonl", Screened))
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    pictures = {row.picture_id: row for row in read_jsonl(ingested / "pictures.jsonl", Picture)}
    scenes = {
        row.picture_id: row
        for row in read_jsonl(ingested / "scenes.jsonl", Scene)
        if row.picture_id in pictures
    }
    own: dict[str, list[Question]] = defaultdict(list)
    for question in read_jsonl(ingested / "questions.jsonl", Question):
        if question.picture_id in pictures:
            own[question.picture_id].append(question)
    candidates: dict[str, list[Screened]] = defaultdict(list)
    for row in screened:
        candidates[row.candidate.picture_id].append(row)
    known: dict[str, list[Verified]] = defaultdict(list)
    known_file = folders.annotations / "known.jsonl"
    for row in read_jsonl(known_file, Verified) if known_file.exists() else ():
        known[row.candidate.picture_id].append(row)

    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    told = Singles(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed, "picture_id")
    naming = offers.by_name(question for row in own.values() for question in row)
    pools = {}
    for key in track(sorted(candidates), "batch: filters", unit="picture"):
        rng = generator(params.seed, "batch", "pool", key)
        facts = evidence_for(key, scenes, told, lexicon)
        filters = (
            offers.own_questions(own[key])
            + offers.judged(candidates[key])
            + offers.verified_before(known[key])
        )
        filters += offers.foreign(key, naming, facts, params.foreign_tries, rng)
        pools[key] = Pool(filters + offers.templates(vocabulary, facts, rng))
    tasks = make_tasks(screened, pools, params.template_share, params.seed)

    write_jsonl(out / "tasks.jsonl", tasks)
    write_json(out / "label_studio_tasks.json", [shown(task, pictures[task.picture_id]) for task in tasks])
    made = report(tasks, params.seed)
    write_json(out / "batch.json", made)
    if (told := made["filter_told_by_text_auroc"] or 0) > MOST_TOLD:
        print(
            f"warning: a model that sees the texts alone tells filters from candidates with AUROC {told}, "
            f"more than {MOST_TOLD}; annotators may learn it too",
            file=sys.stderr,
        )
    if tasks and not made["filters_invalid"]:
        print(
            "warning: no filter question is known to be unanswerable, as nothing is known of these pictures: who calls every "
            "question valid passes all of them; give programs or scene graphs, or annotations/known.jsonl of an earlier round",
            file=sys.stderr,
        )
    done("batch", f"{len(tasks):,} annotation tasks", out)


if __name__ == "__main__":
    run(main)
