"""Join predictions with the items of a benchmark by id, never by order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import repeat

import numpy as np

from ..core.errors import UserError, format_count, join_examples
from .abstention import classify_abstention
from .abstention_labels import describe_unlabelled
from .items import Benchmark, Items
from .joined_predictions import JoinedPredictions, Predictions, ScoringOptions
from .matching import match_answers


def find_faults(benchmark: Benchmark, predictions: Predictions, options: ScoringOptions) -> Iterator[str]:
    """Find the faults that prevent predictions from being scored.

    The faults are predictions for another version of the benchmark, unknown ids, missing predictions and
    missing confidences. Faulty rows of the file are reported by the reader.

    Yields:
        One line for each fault.
    """
    if (
        predictions.benchmark_version
        and benchmark.version
        and predictions.benchmark_version != benchmark.version
    ):
        yield f"made for version {predictions.benchmark_version} of the benchmark, but this is version {benchmark.version}"
    predicted = predictions.index_by_id.keys()
    validation = predictions.validation.index_by_id.keys() if predictions.validation else frozenset()
    extra = (options.all_questions or {}).keys()
    unknown = sorted({*predicted, *validation}.difference(benchmark.ids, extra))
    yield from _explain_unknown_ids(benchmark, unknown)
    yield from _explain_repeated_source_ids(benchmark, predictions.file_info.duplicate_ids)
    if predictions.validation:
        yield from _explain_misplaced_ids(benchmark, predicted, validation, options)
    is_complete = not (unknown or validation or extra) and len(predicted) == len(benchmark.ids)
    if options.missing == "error" and not is_complete:
        yield from _explain_missing_items(benchmark, predictions, options)
    needs_confidences = benchmark.kind == "rgqa" and not options.detect_abstention
    if needs_confidences and predictions.confidence is None and not predictions.faults:
        unknown_labels = describe_unlabelled(predictions)
        columns = predictions.file_info.columns
        lacking = (
            f": no row has `confidence` (columns of the first row: {join_examples(columns, 8)})"
            if columns
            else ""
        )
        yield (
            f"no confidences{lacking}. Add them, or a column `abstained` that says for every row whether the model abstained"
            f"{unknown_labels and f' ({unknown_labels})'}, or use --detect-abstention to detect abstentions in the answers"
        )


def _explain_unknown_ids(benchmark: Benchmark, unknown: Sequence[str]) -> Iterator[str]:
    """Explain ids that are not in the benchmark, such as ids of source questions or ids without their leading
    zeros.
    """
    if not unknown:
        return
    of_source, padded = _item_by_source_id(benchmark), _zero_padded_ids(benchmark)
    sources = [name for name in unknown if name in of_source]
    shortened = [name for name in unknown if name not in of_source and _strip_decimal_suffix(name) in padded]
    others = [name for name in unknown if name not in {*sources, *shortened}]
    if sources:
        yield _explain_source_ids(sources, of_source[sources[0]])
    if shortened:
        is_one = len(shortened) == 1
        examples = join_examples(
            [f"{name} for {padded[_strip_decimal_suffix(name)]}" for name in shortened], 3
        )
        yield (
            f"{format_count(len(shortened), 'id')} lost {'its' if is_one else 'their'} leading zeros ({examples}): ids are strings. Write "
            "them in quotes in JSON, and read and write tables with that column as text (pandas: dtype=str)"
        )
    if others:
        yield (
            f"{format_count(len(others), 'id is', 'ids are')} not in the benchmark (is it another version or subset?): "
            f"{join_examples(others)}"
        )


def _explain_repeated_source_ids(benchmark: Benchmark, repeated: Sequence[str]) -> Iterator[str]:
    """Explain duplicate ids if they are ids of source questions, because several items can have the same
    source question.
    """
    of_source = _item_by_source_id(benchmark) if repeated else {}
    if sources := [name for name in repeated if name in of_source]:
        yield _explain_source_ids(sources, of_source[sources[0]])


def _explain_source_ids(sources: Sequence[str], item: str) -> str:
    are = format_count(len(sources), "id is that of a source question", "ids are those of source questions")
    return (
        f"{are}, which several items may share: {join_examples(sources)}. Use the id of the item, such as {item}: "
        "`item_id` of the release's tables (data/*.parquet), `question_id` of rgqa/*.json"
    )


def _item_by_source_id(benchmark: Benchmark) -> dict[str, str]:
    """Map the id of each source question to the id of an item made from it, such as "0229" to
    "clipeasy_n1+0229".
    """
    made = ((name.rpartition("+"), name) for name in sorted(benchmark.ids, reverse=True))
    return {source: name for (subset, _, source), name in made if subset}


def _zero_padded_ids(benchmark: Benchmark) -> dict[str, str]:
    """Map each id without its leading zeros to the full id."""
    return {
        name.lstrip("0"): name
        for name in sorted(benchmark.ids, reverse=True)
        if name.isdecimal() and name[0] == "0"
    }


def _strip_decimal_suffix(name: str) -> str:
    return name.removesuffix(".0")


def _explain_misplaced_ids(
    benchmark: Benchmark,
    scored_ids: Collection[str],
    validation_ids: Collection[str],
    options: ScoringOptions,
) -> Iterator[str]:
    """Explain ids in --validation that also belong to the scored items."""
    if shared := sorted(name for name in validation_ids if name in scored_ids):
        yield f"{format_count(len(shared), 'id is', 'ids are')} both scored and in --validation: {join_examples(shared)}"
    scored_split_ids = [
        items.select(items["split"] == options.split)["id"] for items in benchmark.subsets.values()
    ]
    if misplaced := sorted(set().union(*scored_split_ids).intersection(validation_ids)):
        are = format_count(len(misplaced), "id of --validation is", "ids of --validation are")
        yield f"{are} of split {options.split}, which is the scored split: {join_examples(misplaced)}"


def _explain_missing_items(
    benchmark: Benchmark, predictions: Predictions, options: ScoringOptions
) -> Iterator[str]:
    """Explain which items have no prediction.

    Validation items need predictions only if some of them have predictions.
    """
    predicted, validation = predictions.index_by_id, (predictions.validation or predictions).index_by_id
    needed: dict[str, list[str]] = {}
    for name, items in benchmark.subsets.items():
        scored, chosen_on = split_items(items, predictions, options)
        ids = chosen_on["id"].tolist()
        needed[name] = scored["id"].tolist() + (ids if any(item_id in validation for item_id in ids) else [])
    missing = {
        name: set()
        if all(map(predicted.__contains__, ids))
        else {item_id for item_id in ids if item_id not in predicted}
        for name, ids in needed.items()
    }
    if missing_ids := sorted(name for name in set().union(*missing.values()) if name not in validation):
        needed_ids = set().union(*needed.values())
        complete = [name for name, ids in missing.items() if not ids]
        hint = (
            f". Did you mean --subset {' --subset '.join(complete)}?"
            if 0 < len(complete) < len(missing)
            else ""
        )
        have = "has" if len(missing_ids) == 1 else "have"
        reasons = Counter(
            predictions.file_info.failures[name]
            for name in missing_ids
            if name in predictions.file_info.failures
        )
        why = "".join(f"; {count:,}: {reason}" for reason, count in reasons.most_common(5))
        yield (
            f"{len(missing_ids):,} of {format_count(len(needed_ids), 'item')} {have} no prediction{why}: {join_examples(missing_ids)} "
            f"(--missing wrong counts them as accepted with a wrong answer, --missing drop excludes them){hint}"
        )


def split_items(items: Items, predictions: Predictions, options: ScoringOptions) -> tuple[Items, Items]:
    """Split items into the items that are scored and the validation items, on which thresholds are chosen.

    Returns:
        The scored items and the validation items. There are no validation items if neither the split nor
        `predictions` names any.
    """
    split, none = items["split"], np.zeros(len(items), bool)
    has_splits = options.split != "all" and any(split)
    scored = split == options.split if has_splits else ~none
    if predictions.validation:
        chosen_on = items.isin(predictions.validation.index_by_id)
        scored = scored & ~chosen_on
    else:
        chosen_on = split == "validation" if has_splits and options.split == "test" else none
    return items if scored.all() else items.select(scored), items.select(chosen_on)


def join_predictions(items: Items, predictions: Predictions, options: ScoringOptions) -> JoinedPredictions:
    """Join the items of one subset with predictions: the scored items and, in `validation`, the validation
    items.

    Raises:
        UserError: No scored item has a prediction.
    """
    scored, validation = split_items(items, predictions, options)
    source = predictions.validation or predictions
    answered = validation.isin(source.index_by_id).any()
    return _join_items(scored, predictions, options)._replace(
        validation=_join_items(validation, source, options) if answered else None
    )


def _join_items(items: Items, predictions: Predictions, options: ScoringOptions) -> JoinedPredictions:
    if options.missing == "drop":
        items = items.select(items.isin(predictions.index_by_id))
    ids = items["id"].tolist()
    # Predictions are usually in the order of the items. Otherwise each id is looked up.
    in_order = ids == [*predictions.index_by_id]
    positions = range(len(ids)) if in_order else map(predictions.index_by_id.get, ids, repeat(-1))
    indices = np.fromiter(positions, int, len(ids))
    missing = indices < 0
    if missing.all():
        raise UserError(f"{predictions.name}: no item of the subset has a prediction")
    # A missing prediction has index -1, so its answer is the appended "".
    answer: list[str] = np.array([*predictions.answer, ""], object)[indices].tolist()
    if options.detect_abstention:
        confidence = _compute_answered_labels(items, answer, predictions)
    elif predictions.confidence is None:
        # Scores that use confidences are not computed, so any constant will do.
        confidence = np.ones(len(items))
    else:
        confidence = predictions.confidence[indices]
    if missing.any():
        # A missing prediction counts as accepted first, so its confidence is above all others.
        confidence[missing] = confidence[~missing].max() + 1
    return JoinedPredictions(
        items,
        predictions,
        answer,
        confidence,
        answerable=items.answerable,
        correct=np.where(
            missing, 0.0, match_answers(answer, items["answers"].tolist(), options.match, options.synonyms)
        ),
        missing=missing,
        has_confidence=options.detect_abstention or predictions.confidence is not None,
    )


def _compute_answered_labels(items: Items, answer: Sequence[str], predictions: Predictions) -> np.ndarray:
    """Return for each answer 1 if it answers and 0 if it abstains: its label, or else the result of the
    classifier, [n].
    """
    labels = np.fromiter(
        map(predictions.abstention_labels.get, items["id"], repeat(np.nan)), float, len(items)
    )
    unlabelled: list[int] = np.flatnonzero(np.isnan(labels)).tolist()
    if unlabelled:
        labels[unlabelled] = classify_abstention(
            items["question_text"][unlabelled].tolist(),
            [answer[index] for index in unlabelled],
            items.answer_words,
        )
    return labels
