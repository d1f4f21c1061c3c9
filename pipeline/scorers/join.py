"""Predictions put beside the items they belong to, by id, never by order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .abstention import is_abstention
from .items import UNANSWERABLE, Answered, Benchmark, BenchmarkItem, Options, Predictions
from .matching import verdicts
from .validation import InputError

SHOWN = 20


def faults(benchmark: Benchmark, predictions: Predictions, options: Options) -> Iterator[str]:
    """What keeps these predictions from being scored, beside faulty rows: another version of the benchmark, ids that
    are not in the benchmark, items without a prediction, no confidences."""
    if predictions.version and benchmark.version and predictions.version != benchmark.version:
        yield f"made for version {predictions.version} of the benchmark, this is {benchmark.version}"
    known = benchmark.ids | (options.all_questions or {}).keys()
    if unknown := sorted(predictions.answers.keys() - known):
        yield f"{len(unknown)} ids are not in the benchmark (is it another version or subset?): {_some(unknown)}"
    subsets = {name: {item.id for item in items} for name, items in benchmark.subsets.items()}
    wanted = frozenset().union(*subsets.values())
    whole = [name for name, ids in subsets.items() if ids <= predictions.answers.keys()]
    meant = f"; did you mean --subset {' --subset '.join(whole)}?" if 0 < len(whole) < len(subsets) else ""
    if (missing := sorted(wanted - predictions.answers.keys())) and options.missing == "refuse":
        yield (
            f"{len(missing)} of {len(wanted)} items have no prediction (--missing wrong counts them as accepted with a "
            f"wrong answer, --missing drop leaves them out){meant}: {_some(missing)}"
        )
    needs_confidences = benchmark.kind == "rgqa" and not options.free_text
    if needs_confidences and predictions.confidence is None and not predictions.faults:
        yield "no confidences; give them, or --free-text to read abstentions from the answers"


def join(items: Sequence[BenchmarkItem], model: Predictions, options: Options) -> Answered:
    """Join one subset with the predictions.

    Raises:
        InputError: no item of the subset has a prediction.
    """
    if options.missing == "drop":
        items = [item for item in items if item.id in model.answers]
    missing = np.array([item.id not in model.answers for item in items], bool)
    if missing.all():
        raise InputError(f"{model.name}: no item of the subset has a prediction")
    said = [model.answers.get(item.id, "") for item in items]
    if options.free_text:
        confidence = np.array([float(not is_abstention(text)) for text in said])
    elif model.confidence is None:  # answers alone are scored: all are alike
        confidence = np.ones(len(items))
    else:
        confidence = np.array([model.confidence.get(item.id, 0.0) for item in items])
    if missing.any():
        confidence[missing] = confidence[~missing].max() + 1
    answers = [item.answers for item in items]
    labels = [next(iter(item.answers), UNANSWERABLE) for item in items]
    literal = [text == label for text, label in zip(said, labels, strict=True)]
    return Answered(
        items,
        model,
        said,
        confidence,
        answerable=np.array([bool(item.answers) for item in items], bool),
        correct=np.where(missing, 0.0, verdicts(said, answers, options.match, options.synonyms)),
        literal=np.array(literal, bool) & ~missing,
        missing=missing,
        confident=options.free_text or model.confidence is not None,
    )


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:SHOWN]) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")
