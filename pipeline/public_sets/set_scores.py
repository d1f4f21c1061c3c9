"""Score predictions on a public set: the authors' scores with intervals, and the scores of this project where questions have no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.core.errors import UserError, format_count, join_examples
from pipeline.core.no_answer_texts import is_no_answer, normalize_words
from pipeline.public_sets.author_prompts import (
    TDIUC_ABSURD_ANSWER,
    UNANSWERABLE,
    mm_upd_letters,
    parse_replies,
)
from pipeline.public_sets.author_scores import MAIN_SCORES, score_set
from pipeline.public_sets.items import SetItem
from pipeline.public_sets.open_set import PublicSet
from pipeline.scoring.bootstrap import percentile_interval
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from pipeline.scoring.leaderboard.several_sets import MIN_CLUSTERS

# Sets whose groups (`SetItem.group`) are sets of their own: each is a subset.
SETS_WITH_SUBSETS = ("RGQA", "POPE", "RePOPE", "MM-UPD", "TUBench")
# Options of MM-UPD that say that no other option answers the question.
REFUSING_OPTIONS = ("none of the above", "the image and question are irrelevant")
# Default number of half-samples for the intervals of the authors' scores.
DEFAULT_NUM_SAMPLES = 200
# The answer to an answerable question of a set that states no answers (CP-Bench): any answer is right.
ANY_ANSWER = "answered"
# Number of equal human answers from which an answer is right (VQA accuracy).
MIN_AGREEING_ANSWERS = 3


def make_benchmark(public_set: PublicSet) -> Benchmark:
    """Return a public set as a benchmark, for the engine of `rgqa run` and for the scores of this project.

    Its kind is "rgqa" if some questions have an answer and others do not, else "vqa".
    """
    groups: dict[str, list[BenchmarkItem]] = {}
    for item in public_set.items:
        is_subset = public_set.name in SETS_WITH_SUBSETS and item.group
        groups.setdefault(item.group if is_subset else public_set.name, []).append(
            _to_benchmark_item(public_set.name, item)
        )
    labels = {item.is_answerable for item in public_set.items}
    subsets = {name: Items.from_rows(groups[name]) for name in sorted(groups)}
    return Benchmark(
        "rgqa" if {True, False} <= labels else "vqa",
        public_set.name,
        "",
        public_set.sha256,
        subsets,
        frozenset(item.id for item in public_set.items),
    )


def _to_benchmark_item(set_name: str, item: SetItem) -> BenchmarkItem:
    answers: dict[str, float] = {}
    if item.is_answerable is not False:
        counts = Counter(answer for answer in item.answers if not is_no_answer(answer))
        several = len(item.answers) > 1
        answers = {
            answer: min(count / MIN_AGREEING_ANSWERS, 1.0) if several else 1.0
            for answer, count in counts.items()
        }
        # CP-Bench states no answers, and all annotators of VizWiz may say that a question has none, although it counts as answerable.
        answers = answers or {ANY_ANSWER: 1.0}
    return BenchmarkItem(
        item.id,
        item.image,
        answers,
        item.answers if len(item.answers) > 1 else (),
        item.question,
        pair_id=item.pair_id,
    )


def select_groups(benchmark: Benchmark, names: Collection[str]) -> Benchmark:
    """Select subsets by name; all for no names.

    Raises:
        UserError: There is no such subset.
    """
    if unknown := [name for name in names if name not in benchmark.subsets]:
        raise UserError(
            f"--subset {', '.join(unknown)}: no such subset of {benchmark.name}; there are {', '.join(benchmark.subsets)}"
        )
    return benchmark._replace(
        subsets={name: items for name, items in benchmark.subsets.items() if not names or name in names}
    )


def find_abstentions(set_name: str, items: Sequence[SetItem], parsed: Sequence[str]) -> np.ndarray:
    """Return which replies abstain by what the set's authors take as such: a letter or a word, [n] booleans.

    Replies in free text are not examined here, so False may also mean unknown.
    """

    def abstains(item: SetItem, reply: str) -> bool:
        if set_name == "MM-UPD":
            option = item.options.get(reply)
            refusals = mm_upd_letters(item).refusals
            return reply in refusals if option is None else normalize_words(option) in REFUSING_OPTIONS
        return reply in (UNANSWERABLE, "reject", TDIUC_ABSURD_ANSWER)

    return np.array([abstains(item, reply) for item, reply in zip(items, parsed, strict=True)], bool)


class ParsedPredictions(NamedTuple):
    """Predictions of a model on a public set.

    Attributes:
        items: The items that are scored.
        parsed: What each reply says by the authors' rules, [n]; of a missing prediction, that of an empty reply.
        confidence: [n] confidences that the questions are answerable; None if the predictions have none.
        num_missing: Number of items without a prediction.
    """

    items: list[SetItem]
    parsed: list[str]
    confidence: np.ndarray | None
    num_missing: int

    def select(self, places: Sequence[int] | np.ndarray) -> ParsedPredictions:
        """Return the items with these indices."""
        confidence = None if self.confidence is None else self.confidence[places]
        items, parsed = [self.items[i] for i in places], [self.parsed[i] for i in places]
        return ParsedPredictions(items, parsed, confidence, self.num_missing)


def parse_predictions(
    public_set: PublicSet, predictions: Predictions, item_ids: Collection[str], missing: str = "error"
) -> ParsedPredictions:
    """Read predictions by the authors' rules.

    Args:
        public_set: The set.
        predictions: The predictions.
        item_ids: Ids of the items that are scored.
        missing: What happens to items without a prediction: "error", "wrong" (read as an empty reply) or "drop".

    Raises:
        UserError: Items have no prediction, or predictions are for unknown items.
    """
    items = [item for item in public_set.items if item.id in item_ids]
    index = predictions.index_by_id
    problems = [*predictions.faults]
    known = {item.id for item in public_set.items}
    if unknown := sorted(name for name in index if name not in known):
        problems.append(
            f"{predictions.name}: {format_count(len(unknown), 'id is', 'ids are')} not in {public_set.name}: {join_examples(unknown)}"
            f" (ids of the set: {join_examples(sorted(known), 3)})"
        )
    lacking = [item.id for item in items if item.id not in index]
    if lacking and missing == "error":
        problems.append(
            f"{predictions.name}: {len(lacking):,} of {format_count(len(items), 'item')} have no prediction: {join_examples(lacking)}"
            " (--missing wrong reads them as empty replies, --missing drop leaves them out)"
        )
    if problems:
        raise UserError(["cannot score", *problems])
    if missing == "drop":
        items = [item for item in items if item.id in index]
    if not items:
        raise UserError(f"{predictions.name}: no item of {public_set.name} has a prediction")
    replies = [predictions.answer[index[item.id]] if item.id in index else "" for item in items]
    confidence = None
    if predictions.confidence is not None:
        places = [index.get(item.id, -1) for item in items]
        confidence = np.where(np.array(places) < 0, 1.0, predictions.confidence[places])
    parsed = parse_replies(public_set.name, items, replies)
    return ParsedPredictions(items, parsed, confidence, len(lacking))


def to_scored_predictions(
    public_set: PublicSet, predictions: Predictions, read: ParsedPredictions
) -> Predictions:
    """Return predictions whose answers are the readings by the authors' rules, for the scores of this project.

    The confidence is 0 where a reply abstains by these rules.
    """
    abstains = find_abstentions(public_set.name, read.items, read.parsed)
    answers, confidence = list(predictions.answer), predictions.confidence
    if confidence is not None:
        confidence = confidence.copy()
    for item, reply, is_abstention in zip(read.items, read.parsed, abstains, strict=True):
        row = predictions.index_by_id.get(item.id)
        if row is None:
            continue
        answers[row] = reply if item.answers else ANY_ANSWER
        if is_abstention:
            answers[row] = UNANSWERABLE
            if confidence is not None:
                confidence[row] = 0.0
    return predictions._replace(answer=answers, confidence=confidence)


def compute_author_scores(public_set: PublicSet, read: ParsedPredictions) -> dict[str, float]:
    """Compute the scores that the authors of a set define."""
    confidence = None if read.confidence is None else read.confidence.tolist()
    return score_set(public_set.name, read.items, read.parsed, confidence=confidence)


def find_clusters(items: Sequence[SetItem]) -> np.ndarray:
    """Return the cluster of each item, [n] numbers: items with the same image, or of the same pair or group, are in one cluster."""
    parents = list(range(len(items)))

    def find(place: int) -> int:
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    first: dict[tuple[str, str], int] = {}
    for place, item in enumerate(items):
        for key in (("image", item.image), ("pair", item.pair_id)):
            if key[1]:
                parents[find(place)] = find(first.setdefault(key, place))
    return np.unique([find(place) for place in range(len(items))], return_inverse=True)[1]


def iterate_half_samples(clusters: np.ndarray, count: int, seed: int) -> Iterator[np.ndarray]:
    """Yield random halves of the clusters, as indices of their items.

    A statistic on half of n clusters, drawn without replacement, varies as much as on a bootstrap sample of n clusters: for a mean, both
    variances are s^2 / n (Shao and Tu, The Jackknife and Bootstrap, 1995, section 2.3: the delete-d jackknife with d = n / 2). No item
    occurs twice, so scores of pairs and groups can be computed as the authors do.
    """
    rng, num = np.random.default_rng(seed), int(clusters.max()) + 1
    for _ in range(count):
        chosen = np.zeros(num, bool)
        chosen[rng.permutation(num)[: (num + 1) // 2]] = True
        yield np.flatnonzero(chosen[clusters])


def sample_author_scores(
    public_set: PublicSet, reads: Sequence[ParsedPredictions], count: int, seed: int
) -> list[dict[str, np.ndarray]]:
    """Compute the authors' scores of several models on the same random halves of the clusters.

    Args:
        public_set: The set.
        reads: Predictions of each model, on the same items.
        count: Number of half-samples.
        seed: Seed.

    Returns:
        Of each model, score -> [count] values, NaN where a score is undefined on a half; empty with fewer than `MIN_CLUSTERS` clusters.
    """
    clusters = find_clusters(reads[0].items)
    if clusters.max() + 1 < MIN_CLUSTERS:
        return [{} for _ in reads]
    found: list[dict[str, list[float]]] = [{} for _ in reads]
    for number, places in enumerate(iterate_half_samples(clusters, count, seed)):
        for scores, read in zip(found, reads, strict=True):
            for name, value in compute_author_scores(public_set, read.select(places)).items():
                scores.setdefault(name, [np.nan] * number).append(value)
            for values in scores.values():
                values.extend([np.nan] * (number + 1 - len(values)))
    return [{name: np.array(values) for name, values in scores.items()} for scores in found]


def compute_intervals(samples: Mapping[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of each score from its values on samples."""
    return {name: percentile_interval(values) for name, values in samples.items()}


def get_main_score(set_name: str) -> str:
    """Return the name of the score that a set's authors put first; "" if they publish none."""
    return MAIN_SCORES.get(set_name, "")


class AuthorScores(NamedTuple):
    """The authors' scores of one model.

    Attributes:
        model: Name of the model.
        scores: Score -> value.
        intervals: Score -> 95 % interval; empty without intervals.
        num_items, num_missing: Numbers of scored items, and of those without a prediction.
    """

    model: str
    scores: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    num_items: int
    num_missing: int

    def to_json(self) -> dict[str, Any]:
        """Return the scores as JSON: undefined numbers are null."""

        def number(value: float) -> float | None:
            return float(value) if np.isfinite(value) else None

        return {
            "model": self.model,
            "items": self.num_items,
            "missing": self.num_missing,
            "scores": {name: number(value) for name, value in self.scores.items()},
            "intervals": {name: [number(end) for end in ends] for name, ends in self.intervals.items()},
        }
