"""`rgqa sample counterfactual-pairs`: counterfactual twins as a data set of their own, and as a release in the form of all others.

Writes  data/<name>/source          images and questions in GQA's layout; data/<name>/truth, the complete scene graphs
        data/release/<name>/1.0.0   the release: each question once at either image, with the audit of all others, and what
                                    tells the altered image of two from the one that it was made from

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

from pipeline.benchmark.auditing.attack_evaluation import (
    AttackResult,
    Folds,
    evaluate_attack,
    score_by_vectors,
)
from pipeline.benchmark.auditing.audit_markdown import format_auroc, render_attack_table
from pipeline.benchmark.auditing.subset_audit import AuditParams, SubsetAudit, audit_subset
from pipeline.benchmark.release.check_release import write_checksums
from pipeline.benchmark.release.harness_folder import write_harness_folder
from pipeline.benchmark.release.licences import render_licence
from pipeline.benchmark.release.provenance import Provenance, make_canary
from pipeline.benchmark.release.subset_files import make_release_order, write_subset
from pipeline.benchmark.release.wheel import build_wheel
from pipeline.candidates.encoders.clip import Encoder
from pipeline.core.atomic_files import atomic_write, sha256_file, write_text
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import write_json, write_jsonl
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import ImageRecord, Item, Record, VerifierResult, make_candidate_id
from pipeline.core.release_params import Licence, ReleaseParams
from research.synthetic_world.build import dump_compact_json, encode_jpeg, to_gqa_scene_graphs
from research.synthetic_world.counterfactual_pairs import CounterfactualPair, generate_pair
from research.synthetic_world.counterfactual_sheet import render_pair_sheet
from research.synthetic_world.questions import SampleQuestion, to_gqa, to_question
from research.synthetic_world.scene_types import HEIGHT, WIDTH
from research.synthetic_world.secret_seeds import derive_seed, hash_seed

VERSION = "1.0.0"
VALIDATION_RATE = 0.2  # share of the scenes whose items are of split validation
AUDIT_PARAMS = AuditParams(max_text_auroc={"counterfactual": 0.55}, folds=5, num_replicates=500, seed=0)
RELEASE_PARAMS = ReleaseParams(
    title="Counterfactual twins of the drawn world",
    data_source="Scenes drawn twice by code from a seed, of which one thing differs. No photograph and no person is involved.",
    licence="CC BY 4.0",
    licence_url="https://creativecommons.org/licenses/by/4.0/",
    release_date=date(2026, 11, 23),
    licence_overrides={
        "images": Licence(name="CC BY 4.0", url="https://creativecommons.org/licenses/by/4.0/")
    },
    creators=("the authors of the RGQA pipeline",),
    simulated_content=(
        "Images, scene graphs, questions, answers and verdicts: code drew them, and knows them, from a seed.",
    ),
    personal_information="No person is shown or named.",
)


class PairReport(Record):
    """counterfactual.json: pairs of items by what one of them lacks; questions left out as the two readers of the truth did not agree of
    them; and what tells of an image whether it is the altered one of two: its CLIP vector, or the list of its things."""

    seed_sha256: str
    pairs: int
    categories: dict[str, int]
    num_excluded: int
    embedding_attack: AttackResult
    objects_attack: AttackResult


class PairAudit(Record):
    """audit.json, as other releases have it, of the one subset."""

    subsets: dict[str, SubsetAudit]
    warnings: list[str]
    table: str


def build_pair_release(secret: str, pairs: int, name: str = "") -> None:
    """Draw twins with so many pairs of items, and write data set and release.

    Args:
        secret: the seed, any text; a long one cannot be guessed from its hash. pairs: an even number, as every two scenes
            have two. name: of the data set; `twins-` and eight digits of the seed's hash, if not given.

    Raises:
        UserError: a data set of that name is there.
    """
    number = derive_seed(secret)
    if pairs < 2 or pairs % 2:
        raise UserError(f"{pairs} pairs: wanted an even number, as every two scenes have two")
    mark = hash_seed(secret)
    folders = DatasetFolders(name or f"twins-{mark[:8]}")
    home = folders.release_dir(VERSION)
    if taken := [place for place in (folders.root, home) if place.exists()]:
        raise UserError(
            f"{taken[0]} is there; give another --name, or delete {folders.root} and {home.parent}"
        )
    try:
        made, images = _write_source(folders, number, pairs // 2)
        _write_release(folders, home, mark, made, images)
    except BaseException:  # half a data set would be taken for a whole one
        shutil.rmtree(folders.root, ignore_errors=True)
        shutil.rmtree(home.parent, ignore_errors=True)
        raise
    report_written(
        "counterfactual-pairs", f"{format_count(pairs, 'question')}, each at two images that differ in one thing", home
    )


def _write_source(
    folders: DatasetFolders, seed: int, count: int
) -> tuple[list[CounterfactualPair], dict[str, ImageRecord]]:
    """Draw and write images, questions and truth."""
    made: list[CounterfactualPair] = []
    images: dict[str, ImageRecord] = {}
    drawn = ordered_map(partial(_generate_pair, seed), range(count), int, choose_num_workers(count, 100), 8)
    for both, files in track(drawn, "counterfactual-pairs", count, "scene"):
        made.append(both)
        for world, data in zip(both.scene_pair.scenes, files, strict=True):
            path = folders.source / "images" / f"{world.image_id}.jpg"
            with atomic_write(path) as file:
                file.write(data)
            images[world.image_id] = ImageRecord(
                image_id=world.image_id,
                split=world.split,
                path=path.as_posix(),
                width=WIDTH,
                height=HEIGHT,
                sha256=sha256_file(path),
            )
    asked = {row.question_id: to_gqa(row) for both in made for row in get_questions(both)}
    files = {
        folders.source / "questions1.2/testdev_balanced_questions.json": asked,
        folders.truth / "testdev_sceneGraphs.json": to_gqa_scene_graphs(
            [row for both in made for row in both.truths]
        ),
    }
    for path, value in files.items():
        with atomic_write(path) as file:
            file.write(dump_compact_json(value))
    return made, images


def _generate_pair(seed: int, _: int, index: int) -> tuple[CounterfactualPair, tuple[bytes, bytes]]:
    both = generate_pair(seed, index)
    first, second = both.scene_pair.scenes
    return both, (encode_jpeg(first), encode_jpeg(second))


def get_questions(both: CounterfactualPair) -> list[SampleQuestion]:
    """The two questions, each of the image where it has an answer; an image's digits are its question's id."""
    return [
        to_question(scene.image_id[1:], scene, question, equivalent=(scene.image_id[1:],))
        for scene, question in zip(both.truths, both.questions, strict=True)
    ]


def make_items(both: CounterfactualPair, scores: dict[tuple[str, str], float]) -> Iterator[Item]:
    """Each question as an AQ at its own image, and as a UQ at the other.

    Args:
        scores: CLIP cosine by (image, text).
    """
    first, second = (scene.image_id for scene in both.truths)
    split = "validation" if hash_uniform("twins", first) < VALIDATION_RATE else "test"
    for question, other in zip(get_questions(both), (second, first), strict=True):
        for image in (question.image_id, other):
            lacking = image == other
            yield Item(
                item_id=make_candidate_id("counterfactual", image, question.question_id)
                if lacking
                else question.question_id,
                subset="counterfactual",
                image_id=image,
                question_id=question.question_id,
                text=question.text,
                unanswerable=lacking,
                answer="" if lacking else question.answer,
                pair_id=question.question_id,
                split=split,
                structural=question.structural,
                semantic=question.semantic,
                detailed=question.detailed,
                category=both.scene_pair.category if lacking else None,
                score=scores[image, question.text],
                pairing_reason="the same question at the other of two images that differ in one thing",
            )


def _write_release(
    folders: DatasetFolders,
    home: Path,
    mark: str,
    made: Sequence[CounterfactualPair],
    images: dict[str, ImageRecord],
) -> None:
    vectors, scores = _embed_with_clip(made, images)
    items = sorted(
        (item for both in made for item in make_items(both, scores)), key=make_release_order(VERSION)
    )
    known = {row.question_id: row for both in made for row in get_questions(both)}
    marked = make_canary(folders.dataset, mark)
    write_subset(home, "counterfactual", items, images, marked, RELEASE_PARAMS)
    write_jsonl(
        home / "provenance.jsonl", (_make_provenance(item, known[item.question_id]) for item in items)
    )
    report, audit = _build_report(mark, made, vectors), audit_subset(items, vectors, AUDIT_PARAMS)
    table = render_attack_table({"counterfactual": audit}, AUDIT_PARAMS.max_text_auroc)
    write_json(home / "counterfactual.json", report)
    write_json(home / "audit.json", PairAudit(subsets={"counterfactual": audit}, warnings=[], table=table))
    write_json(home / "params.json", {"dataset": folders.dataset, "version": VERSION, "seed_sha256": mark})
    write_text(home / "README.md", format_card(report, items, table, marked))
    write_text(
        home / "LICENSE", render_licence(f"{RELEASE_PARAMS.title} {VERSION}", RELEASE_PARAMS, ["counterfactual"])
    )
    with atomic_write(home / "card.png") as file:
        file.write(render_pair_sheet(items, folders.source / "images"))
    build_wheel(home / "scorers", VERSION)
    write_harness_folder(
        home, items, {key: row.path for key, row in images.items()}, VERSION, RELEASE_PARAMS.include_images
    )
    write_checksums(home)


def _make_provenance(item: Item, question: SampleQuestion) -> Provenance:
    told = VerifierResult(
        answerability="unanswerable" if item.unanswerable else "answerable",
        category=item.category,
        evidence_source="truth",
    )
    return Provenance(
        item=item,
        source_text=question.text,
        source_image_id=question.image_id,
        program=question.program,
        verifier_result=told,
        votes_invalid=0,
        votes_valid=0,
        votes_excluded=0,
    )


def _embed_with_clip(
    made: Sequence[CounterfactualPair], images: dict[str, ImageRecord]
) -> tuple[dict[str, np.ndarray], dict[tuple[str, str], float]]:
    """The vector of each image by the sample's CLIP, and the cosine of each image and text of an item."""
    encoder = Encoder(f"local-dir:{DatasetFolders('sample').clip}", device="cpu")
    texts = sorted({question.text for both in made for question in both.questions})
    shown = encoder.stack_batches(
        encoder.encode_images([row.path for row in images.values()], 32), len(images)
    )
    said = dict(zip(texts, encoder.stack_batches(encoder.encode_texts(texts, 128), len(texts)), strict=True))
    vectors = dict(zip(images, shown, strict=True))
    return vectors, {
        (scene.image_id, question.text): round(float(vectors[scene.image_id] @ said[question.text]), 6)
        for both in made
        for scene in both.truths
        for question in both.questions
    }


def _build_report(
    mark: str, made: Sequence[CounterfactualPair], vectors: dict[str, np.ndarray]
) -> PairReport:
    """What the twins are, and whether the altered image of two can be told: by its vector, or by a list of its things with
    their looks and what carries them. Folds are by scene, so that both images of one are on one side."""
    worlds = [(world, both, at) for both in made for at, world in enumerate(both.scene_pair.scenes)]
    labels = np.array([at != both.scene_pair.num_layouts for _, both, at in worlds], int)
    scenes = np.array([both.truths[0].image_id for both in made], object).repeat(2)
    folds = Folds(labels, scenes, AUDIT_PARAMS.folds, AUDIT_PARAMS.seed)
    listed = [
        Counter(
            word
            for thing in world.objects
            for word in (
                thing.kind,
                f"{thing.kind} {thing.color}",
                f"{thing.kind} {thing.placement}",
                str(thing.size),
            )
        )
        for world, _, _ in worlds
    ]
    words = sorted(set().union(*listed))
    things = np.array([[row[word] for word in words] for row in listed], float)
    by_vector, by_things = (
        evaluate_attack(score_by_vectors(table, folds), folds, AUDIT_PARAMS.num_replicates)
        for table in (np.array([vectors[world.image_id] for world, _, _ in worlds]), things)
    )
    return PairReport(
        seed_sha256=mark,
        pairs=2 * len(made),
        categories=dict(
            sorted(Counter(str(both.scene_pair.category) for both in made for _ in both.questions).items())
        ),
        num_excluded=sum(both.num_excluded for both in made),
        embedding_attack=by_vector,
        objects_attack=by_things,
    )


def format_card(report: PairReport, items: Sequence[Item], table: str, marked: str) -> str:
    """README.md of the release."""
    rows = "\n".join(f"| {name} | {count:,} |" for name, count in report.categories.items())
    return f"""# {RELEASE_PARAMS.title} {VERSION}

![Of each kind of alteration a question, at the image where it has an answer and at the one where it has none](card.png)

{format_count(report.pairs, "question")}, each asked of two drawn images that differ in one thing: at one it has an answer, at the other what it
presupposes is missing. Every text and every image is once an AQ and once a UQ, so that neither alone reveals the label.
Made to measure other benchmarks: how do they rank models, and how does this one?

> **Images, questions and verdicts come from code.** No person has judged these items. That an AQ has an answer and a UQ has
> none was decided by the generator's verifier and by a reader of the complete truth that shares no code with it; {format_count(report.num_excluded, "question")}
> of which the two did not agree, or the reader could not tell, were left out.

| what a UQ lacks | pairs |
|---|---|
{rows}

The seed is not told. Its SHA-256 is `{report.seed_sha256}`.

    rgqa-run RELEASE --model MODEL          # as of every release; RELEASE is this folder
    rgqa-score RELEASE PREDICTIONS          # {format_count(len(items), "item")}; thresholds on split validation, figures on split test

## What can be told without looking at both

{table}

Which of two images is the altered one, not the one that it was made from (AUROC, folds by scene): by its CLIP vector
{format_auroc(report.embedding_attack)}, by the list of its things {format_auroc(report.objects_attack)}.

## Canary

Every row carries the string `{marked}`.
"""
