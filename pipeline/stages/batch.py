"""Make annotation tasks: a picture and two questions in random order, one a candidate, one a filter question.

Half of the filters have the known verdict "valid" (the picture's own questions, which verifies those on the way;
templates), half "invalid" (candidates and questions of other pictures that the evidence contradicts; templates).

Reads   screened.jsonl, questions.jsonl, scenes.jsonl, pictures.jsonl, vocabulary.json
        data/<data set>/annotations/known.jsonl   verified.jsonl of an earlier round, if there is one
Writes  tasks.jsonl                everything about each task, the filter and its verdict included
        label_studio_tasks.json    what the browser may see: task key, picture, the two texts
        batch.json                 tasks per subset, filters per source, and how well a model that sees
                                   the texts alone tells which question is the filter
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np

from annotation.filter_questions import (
    RELATIONS,
    Filter,
    Pool,
    absent_object,
    existence,
    of_the_scene,
    source_counts,
)
from annotation.tasks import make_tasks, shown
from pipeline.auditing.attackers import score, word_ngrams
from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.randomness import generator
from pipeline.core.records import Picture, Question, Scene, Screened, Task, Verified, Vocabulary
from pipeline.judge.facts import Facts
from pipeline.judge.judgement import evidence_for, judge
from pipeline.judge.names import Lexicon, singular
from pipeline.judge.programs import parse

# Categories of unanswerability whose evidence is plain enough to hold an annotator to it.
PLAIN = ("missing object",)
MOST_MEASURED = 8_000  # questions on which the text-only model is tried; more does not sharpen the figure


class BatchParams(Params):
    seed: int = 0
    # Share of filters made from the paper's templates. They are known at sight ("Is there a ...?" is never a
    # candidate), so few of them; 1.0 is the paper's way.
    template_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    # Questions of other pictures tried per picture, of those that name something this picture has not.
    foreign_tries: Annotated[int, msgspec.Meta(ge=0)] = 100


Naming = Mapping[str, Sequence[Question]]  # singular name -> questions that name it


def pool_for(
    picture_id: str, own: Sequence[Question], candidates: Sequence[Screened], known: Sequence[Verified],
    naming: Naming, vocabulary: Vocabulary, facts: Facts | None, params: BatchParams,
) -> Pool:
    """Every filter question that a picture offers.

    Args:
        own: its answered questions. candidates: the candidates for it. known: its verified candidates of an
        earlier round. naming: the questions of all pictures.
    """
    rng = generator(params.seed, "batch", "pool", picture_id)
    filters = [Filter(text=q.text, expected="valid", source="own question", program=q.program, question_id=q.question_id)
               for q in own if not is_existence(q)]
    filters += [from_candidate(row, "invalid", "judged candidate") for row in candidates
                if row.judgement.answerability == "unanswerable" and row.judgement.category in PLAIN]
    filters += [from_candidate(row, "invalid" if row.status == "unanswerable" else "valid", "verified candidate")
                for row in known if row.status in ("unanswerable", "answerable")]
    absent = {kind for word in facts.absent for kind in facts.lexicon.kinds(word) or ()} if facts else ()
    foreign = {q.question_id: q for kind in absent for q in naming.get(kind, ()) if q.picture_id != picture_id}
    ids = sorted(foreign)
    for i in rng.permutation(len(ids))[:params.foreign_tries]:
        q = foreign[ids[i]]
        if judge(q.program, facts, q.text).category in PLAIN:
            filters.append(Filter(text=q.text, expected="invalid", source="foreign question", program=q.program,
                                  question_id=q.question_id))
    return Pool(filters + templates(vocabulary, facts, rng))


def templates(vocabulary: Vocabulary, facts: Facts | None, rng: np.random.Generator) -> list[Filter]:
    """The paper's templates for one picture: 3 about the scene, 3 on existence, up to 3 about absent objects."""
    names = sorted(vocabulary.objects)
    if not names:
        return of_the_scene()
    number = {name: vocabulary.objects[name].number for name in names}
    filters = of_the_scene()
    filters += [existence(names[i], number[names[i]]) for i in rng.permutation(len(names))[:3]]
    absent = sorted(facts.absent) if facts else []
    present = sorted({thing.label for thing in facts.things if thing.label}) if facts else []
    for i in rng.permutation(len(absent))[:3]:
        other = str(rng.choice(present or names))
        made = absent_object(absent[i], number.get(absent[i], "singular"), str(rng.choice(RELATIONS)), other)
        if judge(made.program, facts, made.text).answerability == "unanswerable":
            filters.append(made)
    return filters


def from_candidate(row: Screened | Verified, expected: str, source: str) -> Filter:
    candidate = row.candidate
    return Filter(text=candidate.text, expected=expected, source=source, program=candidate.program,
                  question_id=candidate.question_id, candidate_id=candidate.candidate_id)


def is_existence(question: Question) -> bool:
    """Whether it asks if something is there: never a candidate, so known at sight as a filter."""
    if question.program:
        return any(step.operation == "exist" for step in question.program)
    return re.match(r"(is|are) there\b|do you see\b", question.text.lower()) is not None


def by_name(questions: Iterable[Question]) -> Naming:
    """The questions under every name that their programs say, those on existence left out."""
    naming: dict[str, list[Question]] = {}
    for question in questions:
        if question.program and not is_existence(question):
            for name in {singular(step.name) for step in parse(question.program, question.question_id) if step.name}:
                naming.setdefault(name, []).append(question)
    return naming


def told_by_text(tasks: Sequence[Task], seed: int) -> float | None:
    """AUROC, max(a, 1 - a), of word n-grams that guess from a text alone whether it is a filter; folds by text."""
    some = generator(seed, "batch", "told by text").permutation(len(tasks))[:MOST_MEASURED // 2]
    asked = [question for i in sorted(some) for question in (tasks[i].first, tasks[i].second)]
    texts = [question.text for question in asked]
    labels = np.array([question.role == "filter" for question in asked], int)
    groups = np.array(texts, object)
    scores = word_ngrams(texts, labels, groups, 5, seed)
    return score(scores, labels, groups, 1, generator(seed, "batch", "interval")).auroc


def report(tasks: Sequence[Task], seed: int) -> dict:
    filters = [question for task in tasks for question in (task.first, task.second) if question.role == "filter"]
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
    scenes = {row.picture_id: row for row in read_jsonl(ingested / "scenes.jsonl", Scene) if row.picture_id in pictures}
    own: dict[str, list[Question]] = {}
    for question in read_jsonl(ingested / "questions.jsonl", Question):
        if question.picture_id in pictures:
            own.setdefault(question.picture_id, []).append(question)
    known_file = folders.annotations / "known.jsonl"
    known = list(read_jsonl(known_file, Verified)) if known_file.exists() else []

    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    naming = by_name(question for row in own.values() for question in row)
    candidates: dict[str, list[Screened]] = {}
    for row in screened:
        candidates.setdefault(row.candidate.picture_id, []).append(row)
    verified: dict[str, list[Verified]] = {}
    for row in known:
        verified.setdefault(row.candidate.picture_id, []).append(row)
    pools = {}
    for picture_id in track(sorted(candidates), "batch: filters", unit="picture"):
        pools[picture_id] = pool_for(
            picture_id, own.get(picture_id, ()), candidates[picture_id], verified.get(picture_id, ()),
            naming, vocabulary, evidence_for(picture_id, scenes, own, lexicon), params)
    tasks = make_tasks(screened, pools, params.template_share, params.seed)

    write_jsonl(out / "tasks.jsonl", tasks)
    write_json(out / "label_studio_tasks.json", [shown(task, pictures[task.picture_id]) for task in tasks])
    write_json(out / "batch.json", report(tasks, params.seed))
    done("batch", f"{len(tasks):,} annotation tasks", out)


if __name__ == "__main__":
    run(main)
