"""Collect what models, text-only classifiers, annotators and the verifier say about the labels of a set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.benchmark.auditing.attack_evaluation import Folds, group_by_text, score_by_word_ngrams
from pipeline.benchmark.auditing.labelled_set import ColumnOptions, open_labelled_set
from pipeline.benchmark.label_errors.noise_model import NUM_FOLDS, to_normal_scores
from pipeline.benchmark.release.provenance import Provenance
from pipeline.core.errors import UserError, collect_errors, format_count, join_examples
from pipeline.core.json_files import read_jsonl
from pipeline.inference.confidence import read_yes_no
from pipeline.scoring.abstention import classify_abstention
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.joined_predictions import Predictions
from pipeline.scoring.prediction_reader import read_predictions

# A set with fewer rows, or fewer rows of one label, is not examined.
MIN_ROWS, MIN_PER_LABEL = 50, 10
YES_NO = ("no", "yes")


class LabelledItems(NamedTuple):
    """The rows of a set. An item that is in several subsets has a row in each.

    Attributes:
        name: Name of the set.
        version: Version of the release; "" if it states none.
        label_names: Names of the labels 0 and 1.
        ids, subsets, texts, images: [n] columns. The image is "" if it is not known.
        sources: [n] ids of the source questions, or the ids of the rows.
        labels: [n] given labels.
        keys: [n] correct answers by the given label; () if it has none.
        notes: (subset, item id) -> reasons to doubt an item that no model gave.
    """

    name: str
    version: str
    label_names: tuple[str, str]
    ids: list[str]
    subsets: np.ndarray
    texts: list[str]
    images: list[str]
    sources: list[str]
    labels: np.ndarray
    keys: list[tuple[str, ...]]
    notes: Mapping[tuple[str, str], Sequence[str]]


class ModelEvidence(NamedTuple):
    """What one model says.

    Attributes:
        name: Name of the predictions file.
        answers: [n] answers.
        confidence: [n] confidences; None if the file has none.
        scores: [n] how strongly the model speaks for label 1, on any scale.
    """

    name: str
    answers: list[str]
    confidence: np.ndarray | None
    scores: np.ndarray


class SetOptions(NamedTuple):
    """Options that say what to read.

    Attributes:
        subsets: Subsets of a release to read; () for all.
        split: Split to read; None for all splits of a release, and for the only split of another set.
        annotations, config, columns: As for `rgqa audit`. They apply to sets other than a release.
    """

    subsets: Sequence[str] = ()
    split: str | None = None
    annotations: Path | None = None
    config: str | None = None
    columns: ColumnOptions = ColumnOptions()


def load_items(source: str, options: SetOptions = SetOptions()) -> LabelledItems:  # noqa: B008 (immutable)
    """Read a release, or any other set that `rgqa audit` reads.

    Args:
        source: A release, a file, or the name of a data set.
        options: What to read.

    Raises:
        UserError: The set cannot be read, has one label only, or is too small, or an option does not apply to it.
    """
    path = Path(source)
    if is_release_folder(path):
        if options.annotations or options.config or options.columns != ColumnOptions():
            raise UserError(
                f"{source}: --annotations, --config, --where and the options that name columns are for other sets; a release states"
                " its columns. Leave them out"
            )
        items = _load_release(path, options.subsets, options.split)
    else:
        if options.subsets:
            raise UserError(f"{source}: --subset selects subsets of a release's folder; leave it out")
        items = _load_other_set(source, options)
    counts = np.bincount(items.labels, minlength=2)
    if len(items.labels) < MIN_ROWS or counts.min() < MIN_PER_LABEL:
        rarer = int(counts.argmin())
        raise UserError(
            f"{source}: {format_count(len(items.labels), 'row')}, {counts[rarer]:,} of them {items.label_names[rarer]};"
            f" at least {MIN_ROWS} rows and {MIN_PER_LABEL} of each label are needed"
        )
    return items


def is_release_folder(path: Path) -> bool:
    """Return whether a path is the folder of a release."""
    return path.is_dir() and (path / "rgqa").is_dir()


def _load_release(folder: Path, subsets: Sequence[str], split: str | None) -> LabelledItems:
    benchmark = read_benchmark(folder, subsets)
    rows = [(name, item) for name, items in benchmark.subsets.items() for item in items]
    if split and not (rows := [(name, item) for name, item in rows if item.split == split]):
        raise UserError(f"{folder}: no split {split}; there are {', '.join(benchmark.splits) or 'none'}")
    notes: dict[tuple[str, str], list[str]] = {}
    provenance = folder / "provenance.jsonl"
    for made in read_jsonl(provenance, Provenance) if provenance.is_file() else ():
        if found := _explain_verification(made):
            notes[made.item.subset, made.item.item_id] = found
    return LabelledItems(
        benchmark.full_name,
        benchmark.version,
        ("AQ", "UQ"),
        [item.id for _, item in rows],
        np.array([name for name, _ in rows], object),
        [item.question_text for _, item in rows],
        [item.image for _, item in rows],
        [item.id.rpartition("+")[2] for _, item in rows],
        np.array([not item.answers for _, item in rows], int),
        [tuple(item.answers) for _, item in rows],
        notes,
    )


def _explain_verification(made: Provenance) -> list[str]:
    """Return what speaks against the label of an item in its own verification."""
    notes = []
    total = made.votes_valid + made.votes_invalid
    if made.item.unanswerable and made.votes_valid and made.decided_by != "adjudicator":
        notes.append(f"{made.votes_valid} of {format_count(total, 'annotator')} called it answerable")
    result = made.verifier_result
    if result is not None and result.answerability == "answerable":
        notes.append("the verifier finds an answer")
    return notes


def _load_other_set(source: str, options: SetOptions) -> LabelledItems:
    rows = open_labelled_set(source, options.columns, options.annotations, options.config, options.split)
    name, count = Path(source).name, len(rows)
    return LabelledItems(
        name,
        "",
        rows.label_names,
        list(rows.ids),
        np.array([name] * count, object),
        list(rows.texts),
        [""] * count if rows.images is None else list(rows.images),
        list(rows.ids if rows.source_ids is None else rows.source_ids),
        rows.labels,
        [()] * count,
        {},
    )


def load_evidence(items: LabelledItems, paths: Sequence[Path]) -> list[ModelEvidence]:
    """Read the predictions of models and join them with the items.

    Args:
        items: The items.
        paths: Predictions files in any format of `rgqa score`, or folders of `rgqa run`.

    Raises:
        UserError: Lists every fault of every file: a file of another release, unknown ids, missing items.
    """
    problems: list[str] = []
    models: list[ModelEvidence] = []
    for path in paths:
        with collect_errors(problems):
            read = read_predictions(path / "predictions.jsonl" if path.is_dir() else path)
            faults = [*read.faults[1:], *_find_faults(items, read)]
            if faults:
                problems += [f"{path}: does not fit {items.name}", *(f"  {fault}" for fault in faults)]
            else:
                models.append(_join(items, read, path.name if path.is_dir() else read.name))
    if len({path.resolve() for path in paths}) < len(paths):
        problems.append("a predictions file is given twice")
    if problems:
        raise UserError(["predictions that cannot be used", *problems])
    return models


def _find_faults(items: LabelledItems, read: Predictions) -> list[str]:
    faults = []
    if read.benchmark_version and items.version and read.benchmark_version != items.version:
        faults.append(f"made for version {read.benchmark_version}, but this is version {items.version}")
    known = {*items.ids}
    missing = sorted(known - read.index_by_id.keys())
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        hint = "; is it for another release?" if len(missing) == len(known) else ""
        faults.append(
            f"{len(missing):,} of {format_count(len(known), 'item')} {verb} no prediction{hint}: {join_examples(missing)}."
            " Use --subset or --split to examine only items that have one"
        )
    return faults


def _join(items: LabelledItems, read: Predictions, name: str) -> ModelEvidence:
    at = [read.index_by_id[key] for key in items.ids]
    answers = [read.answer[i] for i in at]
    confidence = None if read.confidence is None else read.confidence[at]
    if items.label_names == YES_NO:
        # 1 for yes, -1 for no, 0 for neither.
        says = np.array([2 * read_yes_no(answer) - 1 for answer in answers])
        scores = says * (1.0 if confidence is None else confidence)
    elif confidence is None:
        scores = -classify_abstention(items.texts, answers)
    else:
        scores = -confidence
    return ModelEvidence(name, answers, confidence, scores)


class Features(NamedTuple):
    """The evidence as numbers, in the order of the items.

    Attributes:
        matrix: [n, d] features of the regression.
        groups: [n] groups of items that share a text or a source question.
        text_scores: [n] probability of label 1 by the text alone, minus the proportion of label 1, cross-fitted.
    """

    matrix: np.ndarray
    groups: np.ndarray
    text_scores: np.ndarray


def make_features(
    items: LabelledItems, models: Sequence[ModelEvidence], labels: np.ndarray, seed: int
) -> Features:
    """Turn the evidence on one subset into numbers.

    Args:
        items: The items of one subset.
        models: Evidence on these items.
        labels: [n] given labels.
        seed: Seed of the folds.
    """
    groups = group_by_text(items.texts, items.sources)
    folds = Folds(labels, groups, NUM_FOLDS, seed)
    text_scores = np.nan_to_num(score_by_word_ngrams(items.texts, folds), nan=0.0)
    scores = (
        np.array([to_normal_scores(model.scores) for model in models]).reshape(len(models), len(labels)).T
    )
    columns = [scores, scores**2 - 1, text_scores[:, None]]
    if models:
        columns.append(scores.mean(axis=1, keepdims=True) ** 3)
    return Features(np.hstack(columns), groups, text_scores)


def select_rows(
    items: LabelledItems, models: Sequence[ModelEvidence], keep: np.ndarray
) -> tuple[LabelledItems, list[ModelEvidence]]:
    """Return the rows with these indices."""
    at = keep.tolist()
    chosen = items._replace(
        ids=[items.ids[i] for i in at],
        subsets=items.subsets[keep],
        texts=[items.texts[i] for i in at],
        images=[items.images[i] for i in at],
        sources=[items.sources[i] for i in at],
        labels=items.labels[keep],
        keys=[items.keys[i] for i in at],
    )
    return chosen, [
        ModelEvidence(
            model.name,
            [model.answers[i] for i in at],
            None if model.confidence is None else model.confidence[keep],
            model.scores[keep],
        )
        for model in models
    ]
