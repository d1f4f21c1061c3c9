"""The files of one subset of a release: RGQA's own JSON, which other people's tools read; Parquet tables
(`subset_table`); sanity predictions with their scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np

from pipeline.benchmark.release.parquet_table import write_subset_table
from pipeline.core.atomic_files import atomic_write
from pipeline.core.json_files import write_json
from pipeline.core.records import ImageRecord, Item, Record, Subset
from pipeline.core.release_params import ReleaseParams
from pipeline.scoring import auaf, auroc, facc, ff95


class RgqaRow(Record):
    """A row of a subset: `label` is {"UQ": 1.0} or {answer: 1.0}. `canary` is ours; readers of RGQA ignore it."""

    img_id: str
    question_id: str
    sent: str
    label: dict[str, float]
    canary: str


class Prediction(Record):
    """A model's answer and its confidence that the question is answerable; higher = accept."""

    questionId: str
    prediction: str
    confidence: float


class ReferenceScores(Record):
    """AUAF, FF95, FACC and AUROC of one predictions file on one subset, as fractions; null where undefined."""

    auaf: float | None
    ff95: float | None
    facc: float | None
    auroc: float | None
    aqs: int
    uqs: int


def make_release_order(version: str) -> Callable[[Item], bytes]:
    """What items are sorted by, a hash of version and id: wherever a file is cut off, what stands before is a fair small
    sample of it."""
    return lambda item: sha256(f"{version}\x1f{item.item_id}".encode()).digest()


def write_subset(
    home: Path,
    subset: Subset,
    items: Sequence[Item],
    images: Mapping[str, ImageRecord],
    canary: str,
    p: ReleaseParams,
) -> None:
    """Write the files of a subset that has items."""
    with atomic_write(home / "rgqa" / f"{subset}.json") as file:
        for number, row in enumerate(make_rgqa_rows(items, canary)):
            file.write((b",\n" if number else b"[\n") + msgspec.json.encode(row))
        file.write(b"\n]\n")
    for split in ("validation", "test"):
        if members := [item for item in items if item.split == split]:
            write_subset_table(
                home / "data" / f"{subset}-{split}.parquet", members, images, canary, p.include_images
            )
    expected = {}
    for name, predictions in make_reference_predictions(items, p.num_folds, p.seed).items():
        write_json(home / "sanity" / subset / f"{name}.json", predictions)
        expected[name] = score_predictions(items, predictions)
    write_json(home / "sanity" / subset / "expected.json", expected)


def make_rgqa_rows(items: Iterable[Item], canary: str) -> Iterator[RgqaRow]:
    """The rows of one subset, in the order of the items."""
    for item in items:
        yield RgqaRow(
            img_id=item.image_id,
            question_id=item.item_id,
            sent=item.text,
            label={"UQ" if item.unanswerable else item.answer: 1.0},
            canary=canary,
        )


def make_reference_predictions(items: Sequence[Item], folds: int, seed: int) -> dict[str, list[Prediction]]:
    """Predictions whose scores anyone can check. They prove that a release arrived whole and that a scorer reads it as
    we do; they are baselines, not models.

    constant   always "yes" with confidence 0.5: AUAF is half the share of AQs that "yes" answers, AUROC 0.5.
    blind      out-of-fold word n-grams of the text for the confidence; the commonest answer to questions with the
               same first two words, among the other folds' images, for the answer.
    clip_score the CLIP score as confidence, the same answers; only where every item's score is known.
    """
    # Late, as it loads scikit-learn, which checking a release does not need.
    from pipeline.benchmark.auditing.attack_evaluation import Folds, score_by_word_ngrams

    labels = np.array([item.unanswerable for item in items], int)
    pairs = Folds(labels, np.array([item.pair_id for item in items]), folds, seed)
    blind = np.nan_to_num(1 - score_by_word_ngrams([item.text for item in items], pairs), nan=0.5)
    answers = _text_only_answers(items)
    columns: dict[str, tuple[list[str], list[float]]] = {
        "constant": (["yes"] * len(items), [0.5] * len(items)),
        "blind": (answers, np.round(blind, 6).tolist()),
    }
    scores = [item.score for item in items if item.score is not None]
    if len(scores) == len(items):
        columns["clip_score"] = (answers, scores)
    return {
        name: [
            Prediction(questionId=item.item_id, prediction=answer, confidence=confidence)
            for item, answer, confidence in zip(items, *column, strict=True)
        ]
        for name, column in columns.items()
    }


def score_predictions(items: Sequence[Item], predictions: Sequence[Prediction]) -> ReferenceScores:
    """Score predictions, joined by id; an answer is right when it equals the item's, letter case aside."""
    by_id = {prediction.questionId: prediction for prediction in predictions}
    rows = [by_id[item.item_id] for item in items]
    confidence = np.array([row.confidence for row in rows])
    answerable = np.array([not item.unanswerable for item in items])
    correct = np.array(
        [row.prediction.lower() == item.answer.lower() for row, item in zip(rows, items, strict=True)]
    )
    values = {score.__name__: score(confidence, correct, answerable) for score in (auaf, ff95, facc)}
    values["auroc"] = auroc(confidence, answerable)
    defined = {name: None if np.isnan(value) else round(value, 6) for name, value in values.items()}
    return ReferenceScores(**defined, aqs=int(answerable.sum()), uqs=int((~answerable).sum()))


def _text_only_answers(items: Sequence[Item]) -> list[str]:
    """For each item the commonest answer to AQs of *other images* with the same first two words, else "yes"."""
    starts = [" ".join(item.text.lower().split()[:2]) for item in items]
    everywhere: dict[str, Counter[str]] = defaultdict(Counter)
    here: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for item, start in zip(items, starts, strict=True):
        if not item.unanswerable:
            everywhere[start][item.answer] += 1
            here[start, item.image_id][item.answer] += 1
    answers = []
    for item, start in zip(items, starts, strict=True):
        rest = everywhere[start] - here[start, item.image_id]
        answers.append(min(rest, key=lambda answer: (-rest[answer], answer), default="yes"))
    return answers
