"""`rgqa sample twins`: counterfactual twins as a data set of their own, and as a release in the form of all others.

Writes  data/<name>/source          pictures and questions in GQA's layout; data/<name>/truth, the complete scene graphs
        data/release/<name>/1.0.0   the release: each question once at either picture, with the audit of all others, and what
                                    tells the altered picture of two from the one that it was made from

What the twins are hangs on the seed alone, and nothing that is written tells it: its hash is there, so that whoever gave it
can show later that it was fixed before any model was asked.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

from pipeline.benchmark.auditing.attack_evaluation import Attack, Folds, attack, by_vectors
from pipeline.benchmark.auditing.audit_markdown import attack_table, reached
from pipeline.benchmark.auditing.subset_audit import AuditParams, SubsetAudit, audit_subset
from pipeline.benchmark.release.check_release import write_checksums
from pipeline.benchmark.release.harness_folder import write_pack
from pipeline.benchmark.release.licences import licence_text
from pipeline.benchmark.release.provenance import Provenance, canary
from pipeline.benchmark.release.subset_files import release_order, write_subset
from pipeline.benchmark.release.wheel import build_wheel
from pipeline.candidates.encoders.clip import Encoder
from pipeline.core.atomic_files import replacing, sha256_file, write_text
from pipeline.core.errors import UserError, counted
from pipeline.core.json_files import write_json, write_jsonl
from pipeline.core.parallel import ordered_map, processes
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.randomness import lot
from pipeline.core.records import Item, Judgement, Picture, Record, candidate_id
from pipeline.core.release_params import Licence, ReleaseParams
from research.synthetic_world.build import compact_json, jpeg, scene_graphs
from research.synthetic_world.counterfactual_pairs import Twins, twins
from research.synthetic_world.counterfactual_sheet import twin_sheet
from research.synthetic_world.questions import SampleQuestion, to_gqa, worded
from research.synthetic_world.scene_types import HEIGHT, WIDTH
from research.synthetic_world.secret_seeds import seed_hash, seed_number

VERSION = "1.0.0"
DEV = 0.2  # share of the scenes whose items are of part dev
AUDIT = AuditParams(limits={"twins": 0.55}, folds=5, repetitions=500, seed=0)
ABOUT = ReleaseParams(
    title="Counterfactual twins of the drawn world",
    origin="Scenes drawn twice by code from a seed, of which one thing differs. No photograph and no person is involved.",
    licence="CC BY 4.0",
    licence_url="https://creativecommons.org/licenses/by/4.0/",
    published=date(2026, 11, 23),
    licences={"pictures": Licence(name="CC BY 4.0", url="https://creativecommons.org/licenses/by/4.0/")},
    creators=("the authors of the RGQA pipeline",),
    simulated=(
        "Pictures, scene graphs, questions, answers and verdicts: code drew them, and knows them, from a seed.",
    ),
    personal_information="No person is shown or named.",
)


class TwinReport(Record):
    """twins.json: pairs of items by what one of them lacks; questions left out as the two readers of the truth did not agree of
    them; and what tells of a picture whether it is the altered one of two: its CLIP vector, or the list of its things."""

    seed_sha256: str
    pairs: int
    categories: dict[str, int]
    doubted: int
    altered_by_vector: Attack
    altered_by_things: Attack


class TwinAudit(Record):
    """audit.json, as other releases have it, of the one subset."""

    subsets: dict[str, SubsetAudit]
    warnings: list[str]
    table: str


def draw_twins(secret: str, pairs: int, name: str = "") -> None:
    """Draw twins with so many pairs of items, and write data set and release.

    Args:
        secret: the seed, any text; a long one cannot be guessed from its hash. pairs: an even number, as every two scenes
            have two. name: of the data set; `twins-` and eight digits of the seed's hash, if not given.

    Raises:
        UserError: a data set of that name is there.
    """
    number = seed_number(secret)
    if pairs < 2 or pairs % 2:
        raise UserError(f"{pairs} pairs: wanted an even number, as every two scenes have two")
    mark = seed_hash(secret)
    folders = Folders(name or f"twins-{mark[:8]}")
    home = folders.release(VERSION)
    if taken := [place for place in (folders.home, home) if place.exists()]:
        raise UserError(
            f"{taken[0]} is there; give another --name, or delete {folders.home} and {home.parent}"
        )
    try:
        made, pictures = _source(folders, number, pairs // 2)
        _release(folders, home, mark, made, pictures)
    except BaseException:  # half a data set would be taken for a whole one
        shutil.rmtree(folders.home, ignore_errors=True)
        shutil.rmtree(home.parent, ignore_errors=True)
        raise
    done("twins", f"{counted(pairs, 'question')}, each at two pictures that differ in one thing", home)


def _source(folders: Folders, seed: int, count: int) -> tuple[list[Twins], dict[str, Picture]]:
    """Draw and write pictures, questions and truth."""
    made: list[Twins] = []
    pictures: dict[str, Picture] = {}
    drawn = ordered_map(partial(_drawn, seed), range(count), int, processes(count, 100), 8)
    for both, files in track(drawn, "twins", count, "scene"):
        made.append(both)
        for world, data in zip(both.scenes.worlds, files, strict=True):
            path = folders.source / "images" / f"{world.picture_id}.jpg"
            with replacing(path) as file:
                file.write(data)
            pictures[world.picture_id] = Picture(
                picture_id=world.picture_id,
                split=world.split,
                path=path.as_posix(),
                width=WIDTH,
                height=HEIGHT,
                sha256=sha256_file(path),
            )
    asked = {row.question_id: to_gqa(row) for both in made for row in asked_of(both)}
    files = {
        folders.source / "questions1.2/testdev_balanced_questions.json": asked,
        folders.truth / "testdev_sceneGraphs.json": scene_graphs(
            [row for both in made for row in both.truths]
        ),
    }
    for path, value in files.items():
        with replacing(path) as file:
            file.write(compact_json(value))
    return made, pictures


def _drawn(seed: int, _: int, index: int) -> tuple[Twins, tuple[bytes, bytes]]:
    both = twins(seed, index)
    first, second = both.scenes.worlds
    return both, (jpeg(first), jpeg(second))


def asked_of(both: Twins) -> list[SampleQuestion]:
    """The two questions, each of the picture where it has an answer; a picture's digits are its question's id."""
    return [
        worded(scene.picture_id[1:], scene, question, equivalent=(scene.picture_id[1:],))
        for scene, question in zip(both.truths, both.asked, strict=True)
    ]


def items_of(both: Twins, scores: dict[tuple[str, str], float]) -> Iterator[Item]:
    """Each question as an AQ at its own picture, and as a UQ at the other.

    Args:
        scores: CLIP cosine by (picture, text).
    """
    first, second = (scene.picture_id for scene in both.truths)
    part = "dev" if lot("twins", first) < DEV else "test"
    for question, other in zip(asked_of(both), (second, first), strict=True):
        for picture in (question.picture_id, other):
            lacking = picture == other
            yield Item(
                item_id=candidate_id("twins", picture, question.question_id)
                if lacking
                else question.question_id,
                subset="twins",
                picture_id=picture,
                question_id=question.question_id,
                text=question.text,
                unanswerable=lacking,
                answer="" if lacking else question.answer,
                pair_id=question.question_id,
                part=part,
                structural=question.structural,
                semantic=question.semantic,
                detailed=question.detailed,
                category=both.scenes.category if lacking else None,
                score=scores[picture, question.text],
                paired_because="the same question at the other of two pictures that differ in one thing",
            )


def _release(
    folders: Folders, home: Path, mark: str, made: Sequence[Twins], pictures: dict[str, Picture]
) -> None:
    vectors, scores = _by_clip(made, pictures)
    items = sorted((item for both in made for item in items_of(both, scores)), key=release_order(VERSION))
    known = {row.question_id: row for both in made for row in asked_of(both)}
    marked = canary(folders.dataset, mark)
    write_subset(home, "twins", items, pictures, marked, ABOUT)
    write_jsonl(home / "provenance.jsonl", (_story(item, known[item.question_id]) for item in items))
    report, audit = _report(mark, made, vectors), audit_subset(items, vectors, AUDIT)
    table = attack_table({"twins": audit}, AUDIT.limits)
    write_json(home / "twins.json", report)
    write_json(home / "audit.json", TwinAudit(subsets={"twins": audit}, warnings=[], table=table))
    write_json(home / "params.json", {"dataset": folders.dataset, "version": VERSION, "seed_sha256": mark})
    write_text(home / "README.md", card(report, items, table, marked))
    write_text(home / "LICENSE", licence_text(f"{ABOUT.title} {VERSION}", ABOUT, ["twins"]))
    with replacing(home / "card.png") as file:
        file.write(twin_sheet(items, folders.source / "images"))
    build_wheel(home / "scorers", VERSION)
    write_pack(home, items, {key: row.path for key, row in pictures.items()}, VERSION, ABOUT.pictures)
    write_checksums(home)


def _story(item: Item, question: SampleQuestion) -> Provenance:
    told = Judgement(
        answerability="unanswerable" if item.unanswerable else "answerable",
        category=item.category,
        evidence="truth",
    )
    return Provenance(
        item=item,
        source_text=question.text,
        source_picture_id=question.picture_id,
        program=question.program,
        judgement=told,
        votes_invalid=0,
        votes_valid=0,
        votes_set_aside=0,
    )


def _by_clip(
    made: Sequence[Twins], pictures: dict[str, Picture]
) -> tuple[dict[str, np.ndarray], dict[tuple[str, str], float]]:
    """The vector of each picture by the sample's CLIP, and the cosine of each picture and text of an item."""
    encoder = Encoder(f"local-dir:{Folders('sample').clip}", device="cpu")
    texts = sorted({question.text for both in made for question in both.asked})
    shown = encoder.table(encoder.pictures([row.path for row in pictures.values()], 32), len(pictures))
    said = dict(zip(texts, encoder.table(encoder.texts(texts, 128), len(texts)), strict=True))
    vectors = dict(zip(pictures, shown, strict=True))
    return vectors, {
        (scene.picture_id, question.text): round(float(vectors[scene.picture_id] @ said[question.text]), 6)
        for both in made
        for scene in both.truths
        for question in both.asked
    }


def _report(mark: str, made: Sequence[Twins], vectors: dict[str, np.ndarray]) -> TwinReport:
    """What the twins are, and whether the altered picture of two can be told: by its vector, or by a list of its things with
    their looks and what carries them. Folds are by scene, so that both pictures of one are on one side."""
    worlds = [(world, both, at) for both in made for at, world in enumerate(both.scenes.worlds)]
    labels = np.array([at != both.scenes.laid_out for _, both, at in worlds], int)
    scenes = np.array([both.truths[0].picture_id for both in made], object).repeat(2)
    folds = Folds(labels, scenes, AUDIT.folds, AUDIT.seed)
    listed = [
        Counter(
            word
            for thing in world.things
            for word in (
                thing.kind,
                f"{thing.kind} {thing.color}",
                f"{thing.kind} {thing.rests}",
                str(thing.size),
            )
        )
        for world, _, _ in worlds
    ]
    words = sorted(set().union(*listed))
    things = np.array([[row[word] for word in words] for row in listed], float)
    by_vector, by_things = (
        attack(by_vectors(table, folds), folds, AUDIT.repetitions)
        for table in (np.array([vectors[world.picture_id] for world, _, _ in worlds]), things)
    )
    return TwinReport(
        seed_sha256=mark,
        pairs=2 * len(made),
        categories=dict(
            sorted(Counter(str(both.scenes.category) for both in made for _ in both.asked).items())
        ),
        doubted=sum(both.doubted for both in made),
        altered_by_vector=by_vector,
        altered_by_things=by_things,
    )


def card(report: TwinReport, items: Sequence[Item], table: str, marked: str) -> str:
    """README.md of the release."""
    rows = "\n".join(f"| {name} | {count:,} |" for name, count in report.categories.items())
    return f"""# {ABOUT.title} {VERSION}

![Of each kind of alteration a question, at the picture where it has an answer and at the one where it has none](card.png)

{counted(report.pairs, "question")}, each asked of two drawn pictures that differ in one thing: at one it has an answer, at the other what it
presupposes is missing. Every text and every picture is once an AQ and once a UQ, so that neither alone reveals the label.
Made to measure other benchmarks: how do they rank models, and how does this one?

> **Pictures, questions and verdicts come from code.** No person has judged these items. That an AQ has an answer and a UQ has
> none was decided by the generator's verifier and by a reader of the complete truth that shares no code with it; {counted(report.doubted, "question")}
> of which the two did not agree, or the reader could not tell, were left out.

| what a UQ lacks | pairs |
|---|---|
{rows}

The seed is not told. Its SHA-256 is `{report.seed_sha256}`.

    rgqa-run RELEASE --model MODEL          # as of every release; RELEASE is this folder
    rgqa-score RELEASE PREDICTIONS          # {counted(len(items), "item")}; thresholds on part dev, figures on part test

## What can be told without looking at both

{table}

Which of two pictures is the altered one, not the one that it was made from (AUROC, folds by scene): by its CLIP vector
{reached(report.altered_by_vector)}, by the list of its things {reached(report.altered_by_things)}.

## Canary

Every row carries the string `{marked}`.
"""
