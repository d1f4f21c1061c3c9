"""Parameters of stage `rank`, and the sizes that fit the data.

Stage `ingest` and `rgqa init` use them, too, to report a data set that is too small before any work. So the module imports no library of the
ranking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Literal, NamedTuple

import msgspec

from pipeline.core.errors import Problems, format_count
from pipeline.core.json_files import content_hash
from pipeline.core.params import AutoCount, CountOrUnlimited, Params, Seed
from pipeline.core.records import CLIP_SUBSETS, Question, Split, Subset

BenchmarkSplit = Literal["validation", "test"]
# RGQA (section 3.1) samples 85 questions per image for CLIP-Hard and takes the last 50 for CLIP-Easy. `auto` never takes more.
MAX_HARD_DRAW, MAX_EASY_LAST = 85, 50
# An image's own questions are its gold questions, and each text is shown at most twice. With n candidates and d own questions, at most
# 2 d n / (n + d) tasks have a gold question (`tasks.second_questions.count_gold_questions`). That is 40 % of the tasks if n = 4 d. PT-Easy and
# PT-Hard make up to 2 d candidates, so 2 d remain for both CLIP subsets.
CLIP_CANDIDATES_PER_QUESTION = 2
# RGQA selects from 2,500 of 12,578 questions.
POOL_DIVISOR = 5
# Questions stay within their split. If a fifth of the images is in validation, ten times as many questions as are selected leave two to choose
# from for each selected one.
MIN_POOL_PER_DRAW = 10
SIZE_NAMES = ("hard_draw", "hard_pool", "easy_last", "easy_pool")


class RankParams(Params):
    """Parameters of stage `rank`.

    Attributes:
        preset: Rule by which ranked pairs become candidates. `balanced` limits how often a question is used,
            and spreads the selection evenly over images. `paper` follows RGQA (section 3.1): questions have
            no limit, CLIP-Hard is purely random, and CLIP-Easy takes the least similar questions.
        hard_draw: Number of questions selected for each image from its `hard_pool` most similar questions.
            They become the candidates of CLIP-Hard. RGQA: 85. `auto`: 1.2 times the questions per image, rounded
            down, at most 85, and at most half of the texts that the image is not asked itself.
        hard_pool: Number of most similar questions of each image from which `hard_draw` questions are
            selected. A smaller pool makes harder candidates. RGQA: 2,500 of 12,578. `auto`: a fifth of all
            questions or 10 times `hard_draw`, at most half of the questions of other images.
        easy_last: Number of questions selected for each image among its least similar questions. They become
            the candidates of CLIP-Easy. RGQA: 50. `auto`: 0.8 times the questions per image, rounded
            up, at most 50, and at most half of the texts that the image is not asked itself.
        easy_pool: Number of least similar questions of each image from which the preset `balanced` selects
            `easy_last` questions. The very last questions of the ranking are the same few for most images.
            `auto`: as for `hard_pool`, with `easy_last`.
        max_question_uses: Maximum number of uses of a question in a subset. 0 means no limit and has the same
            effect as the preset `paper`, which stage `rank` then says.
        validation_proportion: Proportion of the images (0 to 1) assigned to the split validation, on which
            thresholds are chosen.
        seed: Seed of the selection and of the splits.
    """

    preset: Literal["balanced", "paper"] = "balanced"
    hard_draw: AutoCount = "auto"
    hard_pool: AutoCount = "auto"
    easy_last: AutoCount = "auto"
    easy_pool: AutoCount = "auto"
    max_question_uses: CountOrUnlimited = 3
    validation_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    seed: Seed = 0

    @property
    def uses_paper_rule(self) -> bool:
        """Whether pairs are selected as RGQA did, because of `preset` or because there is no limit of uses."""
        return self.preset == "paper" or self.max_question_uses == 0


class SourceSize(NamedTuple):
    """The size of a source.

    Attributes:
        images: Number of images with questions.
        questions: Number of their questions, without existence questions, which are never proposed for other images.
        texts: Number of distinct texts of these questions.
    """

    images: int
    questions: int
    texts: int

    @property
    def questions_per_image(self) -> int:
        """Mean number of questions of an image, rounded down, at least 1."""
        return max(1, self.questions // max(1, self.images))


class RankSizes(NamedTuple):
    """The sizes that `RankParams` leaves to the data. See there."""

    hard_draw: int
    hard_pool: int
    easy_last: int
    easy_pool: int


def choose_rank_sizes(
    size: SourceSize, hard_draw: int | None = None, easy_last: int | None = None
) -> RankSizes:
    """Return the sizes of CLIP-Hard and CLIP-Easy that fit a source.

    With q questions per image, an image gets 2 q candidates of both subsets (`CLIP_CANDIDATES_PER_QUESTION`), three of CLIP-Hard for two of CLIP-Easy
    as in RGQA, and at most half of the texts that it is not asked itself in either. The pools together are at most the questions of other images, so they
    do not overlap.

    Args:
        size: The size of the source.
        hard_draw, easy_last: Given numbers, to which the pools are fitted; None to choose them.

    Example:
        >>> choose_rank_sizes(SourceSize(images=30, questions=150, texts=150))
        RankSizes(hard_draw=6, hard_pool=60, easy_last=4, easy_pool=40)

        With 7 questions per image, 8.4 and 5.6 are rounded. An image has 10 texts that it is not asked itself, so half of them are 5.

        >>> choose_rank_sizes(SourceSize(images=30, questions=210, texts=210))[::2]
        (8, 6)
        >>> choose_rank_sizes(SourceSize(images=30, questions=210, texts=17))[::2]
        (5, 5)
    """
    own = size.questions_per_image
    most = max(1, (size.texts - own) // 2)
    total = CLIP_CANDIDATES_PER_QUESTION * own
    hard = total * 3 // 5
    hard_draw = hard_draw or min(hard, MAX_HARD_DRAW, most)
    easy_last = easy_last or min(total - hard, MAX_EASY_LAST, most)
    half = (size.questions - own) // 2

    def choose_pool(draw: int) -> int:
        return max(draw, min(max(size.questions // POOL_DIVISOR, MIN_POOL_PER_DRAW * draw), half))

    return RankSizes(hard_draw, choose_pool(hard_draw), easy_last, choose_pool(easy_last))


def resolve_rank_sizes(params: RankParams, size: SourceSize) -> RankSizes:
    """Return the sizes of the parameters, with numbers in place of `auto`.

    Raises:
        UserError: More questions are selected than their pool has.
    """
    given = {name: None if (value := getattr(params, name)) == "auto" else value for name in SIZE_NAMES}
    chosen = choose_rank_sizes(size, given["hard_draw"], given["easy_last"])
    sizes = RankSizes(*(given[name] or value for name, value in chosen._asdict().items()))
    problems = Problems("params.yaml, rank")
    for draw, pool in (("hard_draw", "hard_pool"), ("easy_last", "easy_pool")):
        wanted, there = getattr(sizes, draw), getattr(sizes, pool)
        if wanted > there:
            problems.add(
                draw, f"{wanted} is more than {pool}, {there}. Lower it, raise {pool}, or set both to auto."
            )
    problems.raise_if_any()
    return sizes


def assign_splits(
    image_ids: Iterable[str], validation_proportion: float, seed: int
) -> dict[str, BenchmarkSplit]:
    """Assign each image to a split. Thresholds are chosen on validation and applied to test.

    The split depends only on the id of the image and on the seed. So adding or removing images does not
    change the split of any other image.

    Args:
        image_ids: The ids of the images.
        validation_proportion: Expected proportion of the images in validation (0 to 1).
        seed: Seed of the assignment.

    Returns:
        Image id -> "validation" or "test".
    """
    # The salt "part" is the name that the first version used. Another salt would move images between the
    # splits.
    keys = {image: int(content_hash(str(seed), "part", image), 16) for image in image_ids}
    return {
        image: "validation" if key < validation_proportion * 2**64 else "test" for image, key in keys.items()
    }


def find_shortages(
    image_ids: Collection[str], size: SourceSize, subsets: Collection[Subset], params: RankParams
) -> tuple[list[str], list[str]]:
    """Find out whether a source is too small, before any work.

    Args:
        image_ids: The images that have questions.
        size: The size of the source.
        subsets: The subsets that are made.
        params: Parameters of stage `rank`.

    Returns:
        Errors, because of which nothing could be made, and warnings. Each says what it would take.
    """
    errors, warnings = [], []
    clip = [subset for subset in CLIP_SUBSETS if subset in subsets]
    counts: Mapping[str, int] = Counter(
        assign_splits(image_ids, params.validation_proportion, params.seed).values()
    )
    # One other text for each subset.
    least_texts = size.questions_per_image + len(clip)
    names, remedy = " and ".join(clip), "or leave these subsets out: ingest.subsets: [pt-easy, pt-hard]"
    if clip and (size.images < 2 or size.texts < least_texts):
        errors.append(
            f"{format_count(size.images, 'image')} and {format_count(size.texts, 'distinct question')} (existence questions not counted) are too few for {names}, "
            f"which ask questions of other images. They need at least 2 images and {least_texts:,} distinct questions; about 30 images and 150 questions are enough for a small benchmark. "
            f"Add some, {remedy}"
        )
    elif clip and not params.uses_paper_rule and counts.get("test", 0) < 2:
        errors.append(
            f"split test has {format_count(counts.get('test', 0), 'image')} of {size.images:,}, too few for {names}, which ask questions of other "
            f"images of the same split. They need at least 2. Add images, lower rank.validation_proportion ({params.validation_proportion:g}), {remedy}"
        )
    least = 2 if clip else 1
    if not errors and params.validation_proportion and counts.get("validation", 0) < least:
        wanted = -(-least // params.validation_proportion)
        warnings.append(
            f"split validation, on which thresholds are chosen, has {format_count(counts.get('validation', 0), 'image')} of {size.images:,}, and "
            f"{'at least 2 are needed for ' + ' and '.join(clip) if clip else 'at least 1 is needed'}. About {wanted:,.0f} images have so many "
            f"(rank.validation_proportion {params.validation_proportion:g})"
        )
    return errors, warnings


class SizeMeter:
    """Measures a source question by question, and finds out whether it is large enough.

    Attributes:
        image_ids: The images of all questions of the split.
    """

    def __init__(self, split: Split) -> None:
        self._split = split
        self.image_ids: set[str] = set()
        self._num_questions, self._texts = 0, set[int]()

    def add(self, question: Question, asks_existence: bool) -> None:
        """Count a question if it belongs to the split."""
        if question.split == self._split:
            self.image_ids.add(question.image_id)
            if not asks_existence:
                self._num_questions += 1
                # A hash takes less memory than the text.
                self._texts.add(hash(question.text))

    def measure(self) -> SourceSize:
        """Return the size of all questions so far."""
        return SourceSize(len(self.image_ids), self._num_questions, len(self._texts))

    def find_problems(self, subsets: Collection[Subset], params: RankParams, problems: Problems) -> list[str]:
        """Add what the source is too small for to `problems`, and numbers in section `rank` that contradict each other. Return warnings."""
        if not self.image_ids:
            # A source without questions has a problem of its own.
            return []
        errors, warnings = find_shortages(self.image_ids, self.measure(), subsets, params)
        for error in errors:
            problems.add("size", error)
        if not errors and set(CLIP_SUBSETS).intersection(subsets):
            with problems.collect():
                resolve_rank_sizes(params, self.measure())
        return warnings
