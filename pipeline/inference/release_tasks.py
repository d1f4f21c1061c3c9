"""The questions of a release as tasks of inspect_ai.

    inspect eval rgqa/clip_hard -T release=RELEASE -T prompt=short-answer -T confidence=token-probability
    --model MODEL

`rgqa-score RELEASE LOG.eval` reads the log. docs/guides/run_a_model.md describes the parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from ..core.errors import UserError, format_count
from ..scoring.benchmark_reader import read_benchmark
from ..scoring.items import Benchmark, BenchmarkItem
from ..scoring.matching import match_answers
from ..scoring.realistic_vqa import realistic_scores
from .confidence_methods import get_confidence_method
from .prompt_solver import PromptedRun, ask_question
from .prompts import UNANSWERABLE, get_prompt, sample_few_shot_examples
from .release_images import ReleaseImages

# Maximum length of a reply in tokens.
DEFAULT_MAX_TOKENS = 64
SPLITS = ("test", "validation", "all")


def release_task(
    release: str | Path = ".",
    subsets: str | Collection[str] = (),
    split: str = "test",
    prompt: str = "abstain",
    confidence: str = "abstention",
    max_image_size: int = 1024,
    images: str | Path = "",
    shots: int = 0,
    seed: int = 0,
    num_replies: int = 10,
    use_num_choices: bool = True,
    no_image: bool = False,
    limit: int = 0,
) -> Task:
    """Return the task that asks each distinct question of a release once.

    The questions of a pair (a UQ and its AQ) are asked one after the other. The order of the pairs is random
    and does not depend on subset or label, so the first hundred questions are a random sample.

    Args:
        release: Folder of the release.
        subsets: Names of the subsets; empty for all subsets.
        split: "test", "validation" or "all". If the benchmark has no splits, all questions are asked.
        prompt: Name of the prompt.
        confidence: Name of the confidence method.
        max_image_size: Maximum length of the longer side of the images, in pixels; 0 for the original size.
        images: Folder of the images; "" to read them from the tables of the release.
        shots: Number of examples from split validation before each question. It must be even.
        seed: Random seed of the examples and of the replies.
        num_replies: Number of replies to each question with `confidence="self-consistency"`.
        use_num_choices: Whether these replies are requested at once. Use false for a server that rejects such
            requests.
        no_image: Whether the questions are asked without images.
        limit: Maximum number of questions; 0 for all. Only complete pairs are asked.

    Raises:
        UserError: The release cannot be read, or has no such subset, split or images; there is no such prompt
            or confidence method; or the first pair has more questions than `limit`.
    """
    release = Path(release).resolve()
    benchmark = read_benchmark(release, [subsets] if isinstance(subsets, str) else subsets)
    rows = _distinct_questions(benchmark)
    examples = sample_few_shot_examples([row.item for row in rows], shots, seed)
    asked, pairs = _order_by_pair(
        _select_split(rows, split, {example.id for example in examples}), rows, limit
    )
    image_ids = {item.image for item in [*(row.item for row in asked), *examples]}
    folder = Path(images).resolve() if images else None
    prompted_run = PromptedRun(
        get_prompt(prompt),
        get_confidence_method(confidence),
        None if no_image else ReleaseImages(release, image_ids, folder=folder, max_image_size=max_image_size),
        examples,
        num_replies,
        use_num_choices,
        seed,
        frozenset().union(*(items.answer_words for items in benchmark.subsets.values())),
    )
    return Task(
        MemoryDataset([row.to_sample() for row in asked], name=benchmark.name, location=str(release)),
        solver=ask_question(prompted_run),
        scorer=rgqa(),
        config=GenerateConfig(temperature=0, max_tokens=DEFAULT_MAX_TOKENS, seed=seed),
        fail_on_error=False,
        version=benchmark.version or 0,
        metadata=prompted_run.log_metadata | {"split": split, "pairs": pairs},
    )


class DistinctQuestion(NamedTuple):
    """A question about an image, which several items may share.

    Attributes:
        item: The first item with the question.
        item_ids: Ids of all items with the question.
        subsets: Names of the subsets that have the question.
        pairs: Pairs of these items, each as (subset, pair id).
    """

    item: BenchmarkItem
    item_ids: list[str]
    subsets: list[str]
    pairs: list[tuple[str, str]]

    def to_sample(self) -> Sample:
        """Return the question as a sample of inspect_ai."""
        return Sample(
            input=self.item.question_text,
            target=[*self.item.answers] or UNANSWERABLE,
            id=self.item.id,
            metadata={
                "image_id": self.item.image,
                "answers": {**self.item.answers},
                "item_ids": self.item_ids,
                "subsets": self.subsets,
            },
        )


def _select_split(
    rows: Sequence[DistinctQuestion], split: str, examples: Collection[str]
) -> list[DistinctQuestion]:
    """Return the questions of a split, without the few-shot examples.

    Raises:
        UserError: There is no such split, or the split has no questions.
    """
    if split not in SPLITS:
        raise UserError(f"split is {split!r}, wanted {', '.join(SPLITS)}")
    left = [row for row in rows if row.item.id not in examples]
    if asked := [row for row in left if split == "all" or row.item.split in (split, "")]:
        return asked
    raise UserError(
        f"--split {split}: the benchmark has no items of this split; choose from {', '.join(SPLITS)}"
    )


def _distinct_questions(benchmark: Benchmark) -> list[DistinctQuestion]:
    """Return each question about an image once, sorted by the hash of the id of its first item."""
    rows: dict[tuple[str, str], DistinctQuestion] = {}
    for subset, items in benchmark.subsets.items():
        for item in items:
            row = rows.setdefault((item.image, item.question_text), DistinctQuestion(item, [], [], []))
            if item.pair_id:
                row.pairs.append((subset, item.pair_id))
            for names, name in ((row.item_ids, item.id), (row.subsets, subset)):
                if name not in names:
                    names.append(name)
    return sorted(rows.values(), key=lambda row: _random_sort_key(row.item.id))


def _random_sort_key(name: str) -> bytes:
    """Return a sort key that gives a random order, the same on every machine."""
    return sha256(name.encode()).digest()


def _order_by_pair(
    rows: Sequence[DistinctQuestion], all_rows: Sequence[DistinctQuestion], limit: int
) -> tuple[list[DistinctQuestion], int]:
    """Order questions so that the questions of a pair follow each other, and pairs are in random order.

    Args:
        rows: The questions to ask, in random order.
        all_rows: The questions of the whole benchmark.
        limit: Maximum number of questions, of which only complete pairs are used; 0 to use all questions in
            `rows`.

    Returns:
        The questions, and the number of complete pairs among them. A question without a pair is treated as a
        pair of its own, but is not counted.

    Raises:
        UserError: The first pair has more questions than `limit`.
    """
    ids = {row.item.id for row in rows}
    broken = {pair for row in all_rows if row.item.id not in ids for pair in row.pairs}
    groups: dict[tuple[str, str], list[DistinctQuestion]] = {}
    for row in rows:
        for pair in row.pairs or [("", row.item.id)]:
            if pair not in broken:
                groups.setdefault(pair, []).append(row)
    chosen: dict[str, DistinctQuestion] = {}
    for pair in sorted(groups, key=lambda pair: _random_sort_key(pair[1])):
        new = {row.item.id: row for row in groups[pair] if row.item.id not in chosen}
        if limit and len(chosen) + len(new) > limit:
            if not chosen:
                raise UserError(
                    f"--limit {limit}: a pair (a UQ and its AQ) has {format_count(len(new), 'question')}; set --limit to {len(new)} or more"
                )
            break
        chosen |= new
    if not limit:
        chosen |= {row.item.id: row for row in rows if row.item.id not in chosen}
    # A pair that several subsets share counts once.
    members = {frozenset(row.item.id for row in group) for pair, group in groups.items() if pair[0]}
    return [*chosen.values()], sum(chosen.keys() >= pair_ids for pair_ids in members)


@metric
def release_scores() -> Metric:
    """Compute AUAF, FF95, FACC and AUROC over all samples with an answer."""

    def compute_scores(scores: list[SampleScore]) -> Value:
        values: list[Any] = [score.score.value for score in scores]
        columns = ([value[name] for value in values] for name in ("confidence", "correct", "answerable"))
        found = realistic_scores(*columns) if values else {}
        return {name: found.get(name, nan) for name in ("auaf", "ff95", "facc", "auroc")}

    return compute_scores


@scorer(metrics=[release_scores()])
def rgqa() -> Scorer:
    """Score the reply of `ask_question`: whether it abstains, and whether its answer is correct."""

    async def score(state: TaskState, target: Target) -> Score:
        answer, metadata = state.output.completion, state.metadata
        return Score(
            value={
                "confidence": metadata["confidence"],
                "detected_abstention": int(metadata["detected_abstention"]),
                "correct": float(match_answers([answer], [metadata["answers"]], "vqa")[0]),
                "answerable": int(bool(metadata["answers"])),
            },
            answer=answer,
            metadata={"prediction": answer, "raw_replies": metadata["raw_replies"]},
        )

    return score
