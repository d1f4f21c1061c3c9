"""Predictions put beside the items they belong to, by id, never by order."""

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
    """What keeps these predictions from being scored, beside faulty rows: another version of the benchmark, ids that
    are not in the benchmark, items without a prediction, no confidences."""
    if (
        predictions.benchmark_version
        and benchmark.version
        and predictions.benchmark_version != benchmark.version
    ):
        yield f"made for version {predictions.benchmark_version} of the benchmark, this is {benchmark.version}"
    said = predictions.index_by_id.keys()
    validation = predictions.validation.index_by_id.keys() if predictions.validation else frozenset()
    extra = (options.all_questions or {}).keys()
    unknown = sorted({*said, *validation}.difference(benchmark.ids, extra))
    yield from _explain_unknown_ids(benchmark, unknown)
    yield from _explain_repeated_source_ids(benchmark, predictions.file_info.duplicate_ids)
    if predictions.validation:
        yield from _explain_misplaced_ids(benchmark, said, validation, options)
    everything = not (unknown or validation or extra) and len(said) == len(benchmark.ids)
    if options.missing == "error" and not everything:
        yield from _explain_missing_items(benchmark, predictions, options)
    needs_confidences = benchmark.kind == "rgqa" and not options.detect_abstention
    if needs_confidences and predictions.confidence is None and not predictions.faults:
        unknown_labels = describe_unlabelled(predictions)
        columns = predictions.file_info.columns
        lacking = f": no row has `confidence`, the first has {join_examples(columns, 8)}" if columns else ""
        yield (
            f"no confidences{lacking}; give them, say in a column `abstained` whether the model did (for every row"
            f"{unknown_labels and f': {unknown_labels}'}), or take --detect-abstention to read it from the answers"
        )


def _explain_unknown_ids(benchmark: Benchmark, unknown: Sequence[str]) -> Iterator[str]:
    """Ids that are not in the benchmark: those of source questions, those whose leading zeros were lost, and others."""
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
            f"{format_count(len(shortened), 'id')} lost {'its' if is_one else 'their'} leading zeros ({examples}): ids are texts. Write "
            "them in quotes in JSON, and read and write tables with that column as text (pandas: dtype=str)"
        )
    if others:
        yield (
            f"{format_count(len(others), 'id is', 'ids are')} not in the benchmark (is it another version or subset?): "
            f"{join_examples(others)}"
        )


def _explain_repeated_source_ids(benchmark: Benchmark, repeated: Sequence[str]) -> Iterator[str]:
    """Duplicate ids that are those of source questions, of which several items are made."""
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
    """By id of a source question, an item that is made from it: "clipeasy_n1+0229" from "0229"."""
    made = ((name.rpartition("+"), name) for name in sorted(benchmark.ids, reverse=True))
    return {source: name for (subset, _, source), name in made if subset}


def _zero_padded_ids(benchmark: Benchmark) -> dict[str, str]:
    """Ids with leading zeros, by what is left of them once they were a number."""
    return {
        name.lstrip("0"): name
        for name in sorted(benchmark.ids, reverse=True)
        if name.isdecimal() and name[0] == "0"
    }


def _strip_decimal_suffix(name: str) -> str:
    return name.removesuffix(".0")


def _explain_misplaced_ids(
    benchmark: Benchmark, said: Collection[str], validation_ids: Collection[str], options: ScoringOptions
) -> Iterator[str]:
    """Items of --validation that are to be scored."""
    if both := sorted(name for name in validation_ids if name in said):
        yield f"{format_count(len(both), 'id is', 'ids are')} both scored and in --validation: {join_examples(both)}"
    parted = [items.select(items["split"] == options.split)["id"] for items in benchmark.subsets.values()]
    if held_back := sorted(set().union(*parted).intersection(validation_ids)):
        of_split = format_count(len(held_back), "id of --validation is", "ids of --validation are")
        yield f"{of_split} of split {options.split}, which is to be scored: {join_examples(held_back)}"


def _explain_missing_items(
    benchmark: Benchmark, predictions: Predictions, options: ScoringOptions
) -> Iterator[str]:
    """Items that are scored without a prediction; those of validation need one if another of them has one."""
    said, validation = predictions.index_by_id, (predictions.validation or predictions).index_by_id
    needed: dict[str, list[str]] = {}
    for name, items in benchmark.subsets.items():
        scored, chosen_on = split_items(items, predictions, options)
        ids = chosen_on["id"].tolist()
        needed[name] = scored["id"].tolist() + (ids if any(one in validation for one in ids) else [])
    missing = {
        name: set() if all(map(said.__contains__, ids)) else {one for one in ids if one not in said}
        for name, ids in needed.items()
    }
    if lost := sorted(name for name in set().union(*missing.values()) if name not in validation):
        wanted = set().union(*needed.values())
        whole = [name for name, ids in missing.items() if not ids]
        meant = (
            f"; did you mean --subset {' --subset '.join(whole)}?" if 0 < len(whole) < len(missing) else ""
        )
        have = "has" if len(lost) == 1 else "have"
        reasons = Counter(
            predictions.file_info.failures[name] for name in lost if name in predictions.file_info.failures
        )
        why = "".join(f"; {count:,}: {reason}" for reason, count in reasons.most_common(5))
        yield (
            f"{len(lost):,} of {format_count(len(wanted), 'item')} {have} no prediction{why} (--missing wrong counts them as accepted with a "
            f"wrong answer, --missing drop leaves them out){meant}: {join_examples(lost)}"
        )


def split_items(items: Items, predictions: Predictions, options: ScoringOptions) -> tuple[Items, Items]:
    """The items that are scored, and those that thresholds are chosen on; none where nothing says which."""
    split, none = items["split"], np.zeros(len(items), bool)
    parted = options.split != "all" and any(split)
    scored = split == options.split if parted else ~none
    if predictions.validation:
        chosen_on = items.isin(predictions.validation.index_by_id)
        scored = scored & ~chosen_on
    else:
        chosen_on = split == "validation" if parted and options.split == "test" else none
    return items if scored.all() else items.select(scored), items.select(chosen_on)


def join_predictions(items: Items, predictions: Predictions, options: ScoringOptions) -> JoinedPredictions:
    """Join one subset with the predictions: the items that are scored, with those of validation beside them.

    Raises:
        UserError: no item that is to be scored has a prediction.
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
    in_order = ids == [*model.index_by_id]  # as they mostly are; else each is looked up
    found = range(len(ids)) if in_order else map(model.index_by_id.get, ids, repeat(-1))
    places = np.fromiter(found, int, len(ids))
    missing = places < 0
    if missing.all():
        raise UserError(f"{model.name}: no item of the subset has a prediction")
    said: list[str] = np.array([*model.answer, ""], object)[places].tolist()  # place -1 is the last one, ""
    if options.detect_abstention:
        confidence = _classify_answers(items, said, model)
    elif model.confidence is None:  # answers alone are scored: all are alike
        confidence = np.ones(len(items))
    else:
        confidence = model.confidence[places]
    if missing.any():
        confidence[missing] = confidence[~missing].max() + 1
    return JoinedPredictions(
        items,
        model,
        said,
        confidence,
        answerable=items.answerable,
        correct=np.where(
            missing, 0.0, match_answers(said, items["answers"].tolist(), options.match, options.synonyms)
        ),
        missing=missing,
        has_confidence=options.detect_abstention or model.confidence is not None,
    )


def _classify_answers(items: Items, said: Sequence[str], model: Predictions) -> np.ndarray:
    """The words, read where nobody else says whether they abstain, [n]."""
    labels = np.fromiter(map(model.abstention_labels.get, items["id"], repeat(np.nan)), float, len(items))
    open_ones: list[int] = np.flatnonzero(np.isnan(labels)).tolist()
    if open_ones:
        labels[open_ones] = classify_abstention(
            items["question_text"][open_ones].tolist(),
            [said[place] for place in open_ones],
            items.answer_words,
        )
    return labels
