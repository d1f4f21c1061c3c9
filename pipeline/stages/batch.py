"""Make annotation tasks: a picture and two questions in random order, one a candidate, one a filter question.

Half of the filters have the known verdict "valid" (the picture's own questions, which verifies those on the
way; templates), half "invalid" (candidates and questions of other pictures that name something which, by the
evidence, is not there; templates).

Reads   screened.jsonl, questions.jsonl, scenes.jsonl, pictures.jsonl, vocabulary.json, reconstructed.jsonl
        data/<data set>/annotations/known.jsonl   verified.jsonl of an earlier round, if there is one
Writes  tasks.jsonl                Task: everything about each task, the filter and its verdict included
        label_studio_tasks.json    what the browser may see: task key, picture, the two texts
        batch.json                 tasks per subset, filters per source, and how well a model that sees
                                   the texts alone tells which question is the filter
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Annotated, TypeVar

import msgspec

from pipeline.batching import offers
from pipeline.batching.batch_report import report, warn
from pipeline.batching.filter_questions import FilterPool
from pipeline.batching.tasks import make_tasks, shown
from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.randomness import generator
from pipeline.core.records import Picture, Question, Scene, Screened, Verified, Vocabulary
from pipeline.core.rows import Singles
from pipeline.judge.judgement import evidence_for
from pipeline.judge.reconstruct import Reconstructed
from pipeline.words.lexicon import Lexicon

R = TypeVar("R", Question, Screened, Verified)


class BatchParams(Params):
    seed: int = 0
    # Share of filters made from the paper's templates. They are known at sight ("Is there a ...?" is never a
    # candidate), so few of them; 1.0 is the paper's way.
    template_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    # Questions of other pictures tried per picture, of those that name something this picture has not.
    foreign_tries: Annotated[int, msgspec.Meta(ge=0)] = 100


def by_picture(rows: Iterable[R], picture_of: Callable[[R], str]) -> dict[str, list[R]]:
    grouped: dict[str, list[R]] = defaultdict(list)
    for row in rows:
        grouped[picture_of(row)].append(row)
    return grouped


def main() -> None:
    folders = Folders()
    params = load("batch", BatchParams)
    out, ingested, counted = (folders.stage(name) for name in ("batch", "ingest", "vocabulary"))
    screened = list(read_jsonl(folders.stage("screen") / "screened.jsonl", Screened))
    pictures = {row.picture_id: row for row in read_jsonl(ingested / "pictures.jsonl", Picture)}
    scenes = {
        row.picture_id: row
        for row in read_jsonl(ingested / "scenes.jsonl", Scene)
        if row.picture_id in pictures
    }
    questions = (q for q in read_jsonl(ingested / "questions.jsonl", Question) if q.picture_id in pictures)
    own = by_picture(questions, lambda question: question.picture_id)
    candidates = by_picture(screened, lambda row: row.candidate.picture_id)
    earlier = folders.annotations / "known.jsonl"
    verified = list(read_jsonl(earlier, Verified)) if earlier.exists() else []
    known = by_picture(verified, lambda row: row.candidate.picture_id)

    vocabulary = read_json(counted / "vocabulary.json", Vocabulary)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    reconstructed = Singles(counted / "reconstructed.jsonl", Reconstructed, "picture_id")
    naming = offers.by_name(question for row in own.values() for question in row)
    pools = {}
    for key in track(sorted(candidates), "batch: filters", unit="picture"):
        rng = generator(params.seed, "batch", "pool", key)
        facts = evidence_for(key, scenes, reconstructed, lexicon)
        pools[key] = FilterPool(
            [
                *offers.own_questions(own[key]),
                *offers.judged(candidates[key]),
                *offers.verified_before(known[key]),
                *offers.foreign(key, naming, facts, params.foreign_tries, rng),
                *offers.templates(vocabulary, facts, rng),
            ]
        )
    tasks = make_tasks(screened, pools, params.template_share, params.seed)
    write_jsonl(out / "tasks.jsonl", tasks)
    write_json(out / "label_studio_tasks.json", [shown(task, pictures[task.picture_id]) for task in tasks])
    figures = report(tasks, params.seed)
    write_json(out / "batch.json", figures)
    warn(figures)
    done("batch", f"{len(tasks):,} annotation tasks", out)


if __name__ == "__main__":
    run(main)
