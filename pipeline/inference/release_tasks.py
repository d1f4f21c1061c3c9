"""The items of a release as tasks of inspect_ai: what is asked, and what its log says of each item.

    inspect eval rgqa/clip_hard -T release=RELEASE -T prompt=word -T recipe=token-probability --model MODEL

`rgqa-score RELEASE LOG.eval` reads the log as it stands. docs/running.md has the parameters.
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

DEFAULT_MAX_TOKENS = 64  # of a reply, at most
SPLITS = ("test", "validation", "all")


def release_task(
    release: str | Path = ".",
    subsets: str | Collection[str] = (),
    split: str = "test",
    prompt: str = "refuse",
    confidence: str = "refusal",
    max_image_size: int = 1024,
    images: str | Path = "",
    shots: int = 0,
    seed: int = 0,
    num_replies: int = 10,
    use_num_choices: bool = True,
    no_image: bool = False,
    limit: int = 0,
) -> Task:
    """The questions of a release, each once, pair by pair (a UQ with its AQ), in an order that does not depend on subset
    or label: the first hundred are a random sample.

    Args:
        release: its folder. subsets: their names; none: all. part: "test", "validation" or "all"; a benchmark without parts is asked as a whole.
        pixels: of an image's longer side, at most; 0: as it is. images: their folder; "": the release's tables.
        shots: how many examples from split validation stand before each question. seed: of their drawing, and of the model's.
        samples: how often recipe agreement asks; at_once: by one request, as far as the server can.
        blind: without the image. limit: the first pairs, as long as they have no more questions than this; 0: all.

    Raises:
        UserError: the release cannot be read, or has no such subset, part or images; no such prompt or recipe; a single
            pair has more questions than `limit`.
    """
    release = Path(release).resolve()
    benchmark = read_benchmark(release, [subsets] if isinstance(subsets, str) else subsets)
    rows = _distinct_questions(benchmark)
    examples = sample_few_shot_examples([row.item for row in rows], shots, seed)
    asked, pairs = _order_by_pair(
        _select_split(rows, split, {example.id for example in examples}), rows, limit
    )
    shown = {item.image for item in [*(row.item for row in asked), *examples]}
    folder = Path(images).resolve() if images else None
    interview = PromptedRun(
        get_prompt(prompt),
        get_confidence_method(confidence),
        None if no_image else ReleaseImages(release, shown, folder=folder, max_image_size=max_image_size),
        examples,
        num_replies,
        use_num_choices,
        seed,
        frozenset().union(*(items.answer_words for items in benchmark.subsets.values())),
    )
    return Task(
        MemoryDataset([row.to_sample() for row in asked], name=benchmark.name, location=str(release)),
        solver=ask_question(interview),
        scorer=rgqa(),
        config=GenerateConfig(temperature=0, max_tokens=DEFAULT_MAX_TOKENS, seed=seed),
        fail_on_error=False,
        version=benchmark.version or 0,
        metadata=interview.log_metadata | {"split": split, "pairs": pairs},
    )


class DistinctQuestion(NamedTuple):
    """A question on an image.

    Attributes:
        ids: of all items that ask it. subsets: that have it.
        pairs: of these items, each with its subset.
    """

    item: BenchmarkItem
    item_ids: list[str]
    subsets: list[str]
    pairs: list[tuple[str, str]]

    def to_sample(self) -> Sample:
        """As inspect_ai takes it; the question is its input."""
        return Sample(
            input=self.item.question_text,
            target=[*self.item.answers] or UNANSWERABLE,
            id=self.item.id,
            metadata={
                "image": self.item.image,
                "answers": {**self.item.answers},
                "items": self.item_ids,
                "subsets": self.subsets,
            },
        )


def _select_split(
    rows: Sequence[DistinctQuestion], split: str, examples: Collection[str]
) -> list[DistinctQuestion]:
    """Those that are asked.

    Raises:
        UserError: none is, or there is no such part.
    """
    if split not in SPLITS:
        raise UserError(f"part is {split!r}, wanted {', '.join(SPLITS)}")
    left = [row for row in rows if row.item.id not in examples]
    if asked := [row for row in left if split == "all" or row.item.split in (split, "")]:
        return asked
    raise UserError(f"no items of split {split}")


def _distinct_questions(benchmark: Benchmark) -> list[DistinctQuestion]:
    """Each question on an image once, in the order of the hashes of ids."""
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
    """A place in an order that looks random and is the same on every machine."""
    return sha256(name.encode()).digest()


def _order_by_pair(
    rows: Sequence[DistinctQuestion], all_rows: Sequence[DistinctQuestion], limit: int
) -> tuple[list[DistinctQuestion], int]:
    """Order rows so that the questions of a pair follow each other, pairs in random order.

    Args:
        rows: Those that are asked, in random order. every: those of the whole benchmark.
        limit: Take pairs as long as they have no more rows than this; 0: all of `rows`.

    Returns:
        The rows, and the number of pairs of which all questions are among them. A row without a pair is taken as one by
        itself, but not counted.

    Raises:
        UserError: A pair has more questions than `limit`.
    """
    there = {row.item.id for row in rows}
    broken = {pair for row in all_rows if row.item.id not in there for pair in row.pairs}
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
                    f"limit is {limit}, but a pair (a UQ with its AQ) has {format_count(len(new), 'question')}; take {len(new)} or more"
                )
            break
        chosen |= new
    if not limit:
        chosen |= {row.item.id: row for row in rows if row.item.id not in chosen}
    # Subsets may share pairs, which count once.
    members = {frozenset(row.item.id for row in group) for pair, group in groups.items() if pair[0]}
    return [*chosen.values()], sum(chosen.keys() >= ids for ids in members)


@metric
def release_scores() -> Metric:
    """AUAF, FF95, FACC and AUROC of all samples that have an answer."""

    def scores_of(scores: list[SampleScore]) -> Value:
        values: list[Any] = [score.score.value for score in scores]
        columns = ([value[name] for value in values] for name in ("confidence", "correct", "answerable"))
        found = realistic_scores(*columns) if values else {}
        return {name: found.get(name, nan) for name in ("auaf", "ff95", "facc", "auroc")}

    return scores_of


@scorer(metrics=[release_scores()])
def rgqa() -> Scorer:
    """What `ask` found, beside whether the answer is the right one."""

    async def score(state: TaskState, target: Target) -> Score:
        said, found = state.output.completion, state.metadata
        return Score(
            value={
                "confidence": found["confidence"],
                "refused": int(found["refused"]),
                "correct": float(match_answers([said], [found["answers"]], "vqa")[0]),
                "answerable": int(bool(found["answers"])),
            },
            answer=said,
            metadata={"prediction": said, "raw": found["raw"]},
        )

    return score
