"""Write the files of one subset of a release.

The files are a JSON file in the format of RGQA, Parquet tables, and reference predictions with their scores.
"""

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
    """A row in the format of RGQA.

    Attributes:
        img_id: Id of the image.
        question_id: Id of the item.
        sent: Text of the question.
        label: {"UQ": 1.0} for an unanswerable question, {answer: 1.0} for an answerable question.
        canary: The canary string. Programs that read the files of RGQA ignore this additional field.
        unjudged: As in `Item`. The field is missing if annotators judged the question, or a person wrote it.
    """

    img_id: str
    question_id: str
    sent: str
    label: dict[str, float]
    canary: str
    unjudged: str | msgspec.UnsetType = msgspec.UNSET


class Prediction(Record):
    """The answer of a model, and its confidence that the question is answerable."""

    questionId: str
    prediction: str
    confidence: float


class ReferenceScores(Record):
    """Scores of one file of predictions on one subset.

    Attributes:
        auaf, ff95, facc, auroc: The scores, from 0 to 1, or None if a score is undefined.
        aqs, uqs: Number of answerable and of unanswerable questions.
    """

    auaf: float | None
    ff95: float | None
    facc: float | None
    auroc: float | None
    aqs: int
    uqs: int


def make_release_order(version: str) -> Callable[[Item], bytes]:
    """Return the sort key of the items of a release: a hash of version and item id.

    The order is random but reproducible, so the first rows of a file are a random sample of it.
    """
    return lambda item: sha256(f"{version}\x1f{item.item_id}".encode()).digest()


def write_subset(
    folder: Path,
    subset: Subset,
    items: Sequence[Item],
    images: Mapping[str, ImageRecord],
    canary: str,
    p: ReleaseParams,
) -> None:
    """Write all files of a subset into the folder of a release. The subset has at least one item."""
    with atomic_write(folder / "rgqa" / f"{subset}.json") as file:
        for number, row in enumerate(make_rgqa_rows(items, canary)):
            file.write((b",\n" if number else b"[\n") + msgspec.json.encode(row))
        file.write(b"\n]\n")
    for split in ("validation", "test"):
        if members := [item for item in items if item.split == split]:
            write_subset_table(
                folder / "data" / f"{subset}-{split}.parquet", members, images, canary, p.include_images
            )
    expected = {}
    for name, predictions in make_reference_predictions(items, p.num_folds, p.seed).items():
        write_json(folder / "reference_predictions" / subset / f"{name}.json", predictions)
        expected[name] = score_predictions(items, predictions)
    write_json(folder / "reference_predictions" / subset / "expected.json", expected)


def make_rgqa_rows(items: Iterable[Item], canary: str) -> Iterator[RgqaRow]:
    """Yield the rows of one subset in RGQA's format, in the order of the items."""
    for item in items:
        yield RgqaRow(
            img_id=item.image_id,
            question_id=item.item_id,
            sent=item.text,
            label={"UQ" if item.unanswerable else item.answer: 1.0},
            canary=canary,
            unjudged=item.unjudged,
        )


def make_reference_predictions(items: Sequence[Item], folds: int, seed: int) -> dict[str, list[Prediction]]:
    """Return predictions with known scores.

    The predictions serve to check a copy of a release and a scorer. They are also baselines:

    - `constant`: always "yes" with confidence 0.5. Its AUAF is half the proportion of answerable questions
      whose answer is "yes", and its AUROC is 0.5.
    - `text_only`: the confidence is the out-of-fold score of word n-grams. The answer is the most frequent
      answer to questions about other images with the same first two words.
    - `clip_score`: the confidence is the CLIP score, and the answers are those of `text_only`. These
      predictions exist only if every item has a CLIP score.

    Args:
        items: The items of one subset.
        folds: Number of cross-validation folds of `text_only`.
        seed: Seed of the folds.

    Returns:
        Name -> predictions.
    """
    # This import loads scikit-learn, which is not needed for checking a release.
    from pipeline.benchmark.auditing.attack_evaluation import Folds, score_by_word_ngrams

    labels = np.array([item.unanswerable for item in items], int)
    pairs = Folds(labels, np.array([item.pair_id for item in items]), folds, seed)
    answerable_scores = np.nan_to_num(1 - score_by_word_ngrams([item.text for item in items], pairs), nan=0.5)
    answers = _text_only_answers(items)
    columns: dict[str, tuple[list[str], list[float]]] = {
        "constant": (["yes"] * len(items), [0.5] * len(items)),
        "text_only": (answers, np.round(answerable_scores, 6).tolist()),
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
    """Score predictions by item id. An answer is right if it equals the answer of the item, ignoring case."""
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
    """Return for each item an answer that a text-only baseline gives.

    This is the most frequent answer to answerable questions about other images with the same first two words.
    If there is no such question, the answer is "yes".
    """
    starts = [" ".join(item.text.lower().split()[:2]) for item in items]
    all_images: dict[str, Counter[str]] = defaultdict(Counter)
    own_image: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for item, start in zip(items, starts, strict=True):
        if not item.unanswerable:
            all_images[start][item.answer] += 1
            own_image[start, item.image_id][item.answer] += 1
    answers = []
    for item, start in zip(items, starts, strict=True):
        rest = all_images[start] - own_image[start, item.image_id]
        answers.append(min(rest, key=lambda answer: (-rest[answer], answer), default="yes"))
    return answers
