"""Choose the questions of a release that a model is asked, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..core.errors import UserError, format_count
from ..scoring.items import Benchmark, BenchmarkItem
from .confidence_methods import get_confidence_method
from .encoded_images import EncodedImages
from .prompts import Prompt, get_prompt, sample_few_shot_examples
from .question_dialog import PromptedRun
from .release_images import ReleaseImages

SPLITS = ("test", "validation", "all")


class ReleaseQuestions(NamedTuple):
    """The questions of a release that a model is asked.

    Attributes:
        benchmark: The release.
        rows: The questions, in the order in which they are asked.
        num_pairs: Number of complete pairs among them.
        prompted_run: How they are asked.
    """

    benchmark: Benchmark
    rows: Sequence[DistinctQuestion]
    num_pairs: int
    prompted_run: PromptedRun


def choose_questions(
    benchmark: Benchmark,
    release: Path,
    split: str = "test",
    prompt: str | Prompt = "abstain",
    confidence: str = "abstention",
    max_image_size: int = 1024,
    images: str | Path = "",
    shots: int = 0,
    seed: int = 0,
    num_replies: int = 10,
    max_tokens: int = 0,
    no_image: bool = False,
    limit: int = 0,
    prompt_texts: Mapping[str, str] = MappingProxyType({}),
    open_images: Callable[[Collection[str]], EncodedImages] | None = None,
) -> ReleaseQuestions:
    """Choose the distinct questions of a release that are asked, each once.

    The questions of a pair (a UQ and its AQ) are asked one after the other. The order of the pairs is random
    and does not depend on subset or label, so the first hundred questions are a random sample.

    Args:
        benchmark: The release, with the subsets that are asked.
        release: Its folder.
        split: "test", "validation" or "all". If the benchmark has no splits, all questions are asked.
        prompt: The prompt, or its name.
        confidence: Name of the confidence method.
        max_image_size: Maximum length of the longer side of the images, in pixels; 0 for the original size.
        images: Folder of the images; "" to read them from the tables of the release.
        shots: Number of examples from split validation before each question. It must be even.
        seed: Random seed of the examples and of the replies.
        num_replies: Number of replies to each question with `confidence="self-consistency"`.
        max_tokens: Maximum length of a reply in tokens; 0 for the default of the prompt.
        no_image: Whether the questions are asked without images.
        limit: Maximum number of questions; 0 for all. Only complete pairs are asked.
        prompt_texts: Item id -> the text that is asked in place of the item's question, for sets whose authors word each question.
        open_images: Opens the images of these ids; None to read them from `images` or the release.

    Raises:
        UserError: The release has no such split or images, there is no such prompt or confidence method, or the first pair has
            more questions than `limit`.
    """
    rows = _distinct_questions(benchmark, prompt_texts)
    examples = sample_few_shot_examples([row.item for row in rows], shots, seed)
    asked, num_pairs = _order_by_pair(
        _select_split(rows, split, {example.id for example in examples}), rows, limit
    )
    image_ids = {item.image for item in [*(row.item for row in asked), *examples] if item.image}
    encoded: EncodedImages | None = None
    if open_images and not no_image:
        encoded = open_images(image_ids)
    elif not no_image:
        folder = Path(images).resolve() if images else None
        encoded = ReleaseImages(release, image_ids, folder=folder, max_image_size=max_image_size)
    asking = get_prompt(prompt) if isinstance(prompt, str) else prompt
    prompted_run = PromptedRun(
        asking,
        get_confidence_method(confidence),
        encoded,
        examples,
        num_replies,
        max_tokens=max_tokens or asking.max_tokens,
        seed=seed,
        answer_words=frozenset().union(*(items.answer_words for items in benchmark.subsets.values())),
    )
    return ReleaseQuestions(benchmark, asked, num_pairs, prompted_run)


class DistinctQuestion(NamedTuple):
    """A question about an image, which several items may share.

    Attributes:
        item: The first item with the question.
        item_ids: Ids of all items with the question.
        subsets: Names of the subsets that have the question.
        pairs: Pairs of these items, each as (subset, pair id).
        prompt_text: The text that is asked in place of the item's question; "" to ask the question.
    """

    item: BenchmarkItem
    item_ids: list[str]
    subsets: list[str]
    pairs: list[tuple[str, str]]
    prompt_text: str = ""

    @property
    def asked_text(self) -> str:
        """The text that is asked: that of the set's authors, or the question."""
        return self.prompt_text or self.item.question_text

    @property
    def id(self) -> str:
        """Id of the first item, which is the id of the question."""
        return self.item.id


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


def _distinct_questions(benchmark: Benchmark, prompt_texts: Mapping[str, str]) -> list[DistinctQuestion]:
    """Return each question about an image once, sorted by the hash of the id of its first item."""
    rows: dict[tuple[str, str], DistinctQuestion] = {}
    for subset, items in benchmark.subsets.items():
        for item in items:
            text = prompt_texts.get(item.id, "")
            row = rows.setdefault(
                (item.image, text or item.question_text), DistinctQuestion(item, [], [], [], text)
            )
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
