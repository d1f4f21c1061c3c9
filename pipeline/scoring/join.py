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
    """Find what prevents predictions from being scored, apart from faulty rows.

    These are another version of the benchmark, unknown ids, items without a prediction and missing confidences.

    Yields:
        One line for each fault.
    """
    if (
        predictions.benchmark_version
        and benchmark.version
        and predictions.benchmark_version != benchmark.version
    ):
        yield f"made for version {predictions.benchmark_version} of the benchmark, this is {benchmark.version}"
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
        lacking = f": no row has `confidence`, the first has {join_examples(columns, 8)}" if columns else ""
        yield (
            f"no confidences{lacking}. Add them, or a column `abstained` that says for every row whether the model abstained"
            f"{unknown_labels and f' ({unknown_labels})'}, or use --detect-abstention to detect abstentions in the answers"
        )


def _explain_unknown_ids(benchmark: Benchmark, unknown: Sequence[str]) -> Iterator[str]:
    """Explain ids that are not in the benchmark: ids of source questions, ids without their leading zeros, and others."""
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
    """Explain duplicate ids that are those of source questions, of which several items are made."""
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
    """Return for the id of each source question an item that is made from it, such as "clipeasy_n1+0229" for "0229"."""
    made = ((name.rpartition("+"), name) for name in sorted(benchmark.ids, reverse=True))
    return {source: name for (subset, _, source), name in made if subset}


def _zero_padded_ids(benchmark: Benchmark) -> dict[str, str]:
    """Return the ids with leading zeros by their form without them."""
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
    """Explain ids of --validation that are to be scored."""
    if both := sorted(name for name in validation_ids if name in scored_ids):
        yield f"{format_count(len(both), 'id is', 'ids are')} both scored and in --validation: {join_examples(both)}"
    in_split = [items.select(items["split"] == options.split)["id"] for items in benchmark.subsets.values()]
    if misplaced := sorted(set().union(*in_split).intersection(validation_ids)):
        are = format_count(len(misplaced), "id of --validation is", "ids of --validation are")
        yield f"{are} of split {options.split}, which is to be scored: {join_examples(misplaced)}"


def _explain_missing_items(
    benchmark: Benchmark, predictions: Predictions, options: ScoringOptions
) -> Iterator[str]:
    """Explain which scored items have no prediction. Validation items need one if any of them has one."""
    predicted, validation = predictions.index_by_id, (predictions.validation or predictions).index_by_id
    needed: dict[str, list[str]] = {}
    for name, items in benchmark.subsets.items():
        scored, chosen_on = split_items(items, predictions, options)
        ids = chosen_on["id"].tolist()
        needed[name] = scored["id"].tolist() + (ids if any(one in validation for one in ids) else [])
    missing = {
        name: set() if all(map(predicted.__contains__, ids)) else {one for one in ids if one not in predicted}
        for name, ids in needed.items()
    }
    if lost := sorted(name for name in set().union(*missing.values()) if name not in validation):
        wanted = set().union(*needed.values())
        complete = [name for name, ids in missing.items() if not ids]
        hint = (
            f"; did you mean --subset {' --subset '.join(complete)}?"
            if 0 < len(complete) < len(missing)
            else ""
        )
        have = "has" if len(lost) == 1 else "have"
        reasons = Counter(
            predictions.file_info.failures[name] for name in lost if name in predictions.file_info.failures
        )
        why = "".join(f"; {count:,}: {reason}" for reason, count in reasons.most_common(5))
        yield (
            f"{len(lost):,} of {format_count(len(wanted), 'item')} {have} no prediction{why} (--missing wrong counts them as accepted with a "
            f"wrong answer, --missing drop excludes them){hint}: {join_examples(lost)}"
        )


def split_items(items: Items, predictions: Predictions, options: ScoringOptions) -> tuple[Items, Items]:
    """Split items into those that are scored and those on which thresholds are chosen.

    Returns:
        The scored items and the validation items; no validation items if neither the split nor `predictions` name any.
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
    """Join one subset with predictions: the scored items, and the validation items beside them.

    Raises:
        UserError: No scored item has a prediction.
    """
    scored, validation = split_items(items, predictions, options)
    source = predictions.validation or predictions
    answered = validation.isin(source.index_by_id).any()
    return _join_items(scored, predictions, options)._replace(
        validation=_join_items(validation, source, options) if answered else None
    )


def _join_items(items: Items, model: Predictions, options: ScoringOptions) -> JoinedPredictions:
    if options.missing == "drop":
        items = items.select(items.isin(model.index_by_id))
    ids = items["id"].tolist()
    # Predictions are mostly in the order of the items. Otherwise each id is looked up.
    in_order = ids == [*model.index_by_id]
    found = range(len(ids)) if in_order else map(model.index_by_id.get, ids, repeat(-1))
    indices = np.fromiter(found, int, len(ids))
    missing = indices < 0
    if missing.all():
        raise UserError(f"{model.name}: no item of the subset has a prediction")
    # Index -1 is the last answer, "".
    answer: list[str] = np.array([*model.answer, ""], object)[indices].tolist()
    if options.detect_abstention:
        confidence = _classify_answers(items, answer, model)
    elif model.confidence is None:
        # Only answers are scored, so all confidences are equal.
        confidence = np.ones(len(items))
    else:
        confidence = model.confidence[indices]
    if missing.any():
        confidence[missing] = confidence[~missing].max() + 1
    return JoinedPredictions(
        items,
        model,
        answer,
        confidence,
        answerable=items.answerable,
        correct=np.where(
            missing, 0.0, match_answers(answer, items["answers"].tolist(), options.match, options.synonyms)
        ),
        missing=missing,
        has_confidence=options.detect_abstention or model.confidence is not None,
    )


def _classify_answers(items: Items, answer: Sequence[str], model: Predictions) -> np.ndarray:
    """Return the abstention label of each answer, classified from its text if there is none, [n]."""
    labels = np.fromiter(map(model.abstention_labels.get, items["id"], repeat(np.nan)), float, len(items))
    unlabelled: list[int] = np.flatnonzero(np.isnan(labels)).tolist()
    if unlabelled:
        labels[unlabelled] = classify_abstention(
            items["question_text"][unlabelled].tolist(),
            [answer[index] for index in unlabelled],
            items.answer_words,
        )
    return labels
