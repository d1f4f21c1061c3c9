import pytest

from pipeline.core.errors import Problems, UserError
from pipeline.core.rank_params import (
    RankParams,
    RankSizes,
    SizeMeter,
    SourceSize,
    choose_rank_sizes,
    find_shortages,
    resolve_rank_sizes,
)
from pipeline.core.records import SUBSETS, Question, Split, Subset
from pipeline.tasks.second_questions import count_gold_questions

IDS = [f"n{number}" for number in range(100)]
PT: tuple[Subset, ...] = ("pt-easy", "pt-hard")


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        # 5 questions per image: 10 candidates, 6 and 4. Pools: 10 times as many, less than half of the 145 other questions (72).
        (SourceSize(30, 150, 150), RankSizes(6, 60, 4, 40)),
        # One question per image: 2 candidates. A fifth of the questions is more than 10 times 1.
        (SourceSize(10_000, 10_000, 9_000), RankSizes(1, 2_000, 1, 2_000)),
        # 13 per image: 26 candidates, 15 and 11. A fifth of 780 is 156, 10 times 15 is 150, 10 times 11 is 110.
        (SourceSize(60, 780, 780), RankSizes(15, 156, 11, 156)),
        # RGQA: 31 per image, 62 candidates, 37 and 25; a fifth of 12,578.
        (SourceSize(398, 12_578, 12_578), RankSizes(37, 2_515, 25, 2_515)),
        # Never more than RGQA: 85 and 50 of 100 per image.
        (SourceSize(100, 10_000, 10_000), RankSizes(85, 2_000, 50, 2_000)),
        # 2 images with 3 questions: of the 3 others, 1 for each subset.
        (SourceSize(2, 6, 6), RankSizes(1, 1, 1, 1)),
        # The same 5 questions at every image: none is left, but a number is.
        (SourceSize(30, 150, 5), RankSizes(1, 30, 1, 30)),
        (SourceSize(1, 0, 0), RankSizes(1, 1, 1, 1)),
    ],
)
def test_sizes_follow_from_images_questions_and_texts(size, expected):
    assert choose_rank_sizes(size) == expected


@pytest.mark.parametrize("own", [1, 2, 5, 13, 31])
def test_candidates_of_an_image_leave_40_percent_of_its_tasks_a_gold_question(own):
    sizes = choose_rank_sizes(SourceSize(100, 100 * own, 100 * own))
    # With the two edits of each of its own questions.
    candidates = sizes.hard_draw + sizes.easy_last + 2 * own
    assert candidates == 4 * own
    assert count_gold_questions(candidates, own, 0.4) == min(round(0.4 * candidates), 8 * own // 5)


def test_pools_together_are_no_longer_than_the_ranking():
    for images in (2, 3, 10, 30, 500):
        for own in (1, 2, 5, 20):
            size = SourceSize(images, images * own, images * own)
            sizes = choose_rank_sizes(size)
            if (images - 1) * own >= 2:
                assert sizes.hard_pool + sizes.easy_pool <= (images - 1) * own
                assert sizes.hard_draw <= sizes.hard_pool and sizes.easy_last <= sizes.easy_pool


def test_a_number_overrides_and_auto_fits_to_it():
    size = SourceSize(30, 150, 150)
    # 10 times 20 is more than half of the 145 other questions.
    assert resolve_rank_sizes(RankParams(hard_draw=20), size) == RankSizes(20, 72, 4, 40)
    assert resolve_rank_sizes(RankParams(hard_draw=2, easy_pool=50), size) == RankSizes(2, 30, 4, 50)
    given = RankSizes(10, 400, 8, 500)
    assert resolve_rank_sizes(RankParams(**given._asdict()), size) == given


def test_a_selection_larger_than_its_pool_is_refused():
    with pytest.raises(UserError) as caught:
        resolve_rank_sizes(RankParams(hard_draw=40, hard_pool=25, easy_pool=2), SourceSize(30, 150, 150))
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == ["hard_draw", "easy_last"]


@pytest.mark.parametrize(
    ("images", "size", "subsets", "said"),
    [
        (1, SourceSize(1, 5, 5), SUBSETS, "1 image and 5 distinct questions"),
        # One own question, and one for each subset.
        (2, SourceSize(2, 2, 2), SUBSETS, "at least 2 images and 3 distinct questions"),
        (30, SourceSize(30, 150, 5), SUBSETS, "at least 2 images and 7 distinct questions"),
        (30, SourceSize(30, 150, 5), ("clip-hard", *PT), "at least 2 images and 6 distinct questions"),
    ],
)
def test_a_source_that_is_too_small_for_clip_subsets_is_an_error_that_says_what_it_takes(
    images, size, subsets, said
):
    (error,), warnings = find_shortages(IDS[:images], size, subsets, RankParams())
    assert said in error and "ingest.subsets: [pt-easy, pt-hard]" in error and not warnings
    errors, _ = find_shortages(IDS[:images], size, PT, RankParams())
    assert not errors


def test_a_split_with_one_image_is_reported():
    size = SourceSize(3, 15, 15)
    # All images are in validation, so test has none.
    (error,), _ = find_shortages(IDS[:3], size, SUBSETS, RankParams(validation_proportion=1.0))
    assert "split test has 0 images of 3" in error
    # The paper's rule asks questions of any split.
    assert not find_shortages(IDS[:3], size, SUBSETS, RankParams(validation_proportion=1.0, preset="paper"))[
        0
    ]
    # All in test: nothing is missing if no validation is wanted.
    assert find_shortages(IDS[:3], size, SUBSETS, RankParams(validation_proportion=0.0)) == ([], [])
    errors, (warning,) = find_shortages(IDS[:3], size, SUBSETS, RankParams(validation_proportion=0.001))
    # 2 images at a proportion of 0.001.
    assert not errors and "split validation" in warning and "About 2,000 images" in warning
    assert find_shortages(IDS, SourceSize(100, 500, 500), SUBSETS, RankParams()) == ([], [])


def ask(number, image, text, split: Split = "testdev"):
    return Question(question_id=str(number), image_id=image, split=split, text=text, answer="x")


def test_existence_questions_and_other_splits_are_not_counted():
    meter = SizeMeter("testdev")
    for question, asks_existence in (
        (ask(1, "a", "What?"), False),
        (ask(2, "b", "What?"), False),
        (ask(3, "c", "Is there a dog?"), True),
        (ask(4, "d", "Where?", "train"), False),
    ):
        meter.add(question, asks_existence)
    assert meter.measure() == SourceSize(3, 2, 1)
    problems = Problems("x")
    assert meter.find_problems(PT, RankParams(validation_proportion=0), problems) == [] and not problems.lines
    meter.find_problems(SUBSETS, RankParams(validation_proportion=0), problems)
    assert len(problems.lines) == 1


def test_a_source_without_questions_has_a_problem_of_its_own():
    problems = Problems("x")
    assert SizeMeter("val").find_problems(SUBSETS, RankParams(), problems) == [] and not problems.lines
