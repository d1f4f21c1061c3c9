import pytest

from annotation.study.answers_table import QualityRules
from annotation.study.assignment_params import AnnotateParams, StudySizes, choose_study_sizes, count_tasks
from annotation.study.qualification import MAX_ATTEMPTS
from pipeline.core.errors import UserError
from pipeline.core.records import Task, TaskQuestion


@pytest.mark.parametrize(
    ("num_tasks", "num_gold_images", "expected"),
    [
        # A tenth of the tasks, a tenth and a fifth of the images.
        (600, 30, StudySizes(60, 3, 6, 0.2)),
        # At least 20, 2 and 4: 2 + 2 x 4 = 10 images.
        (50, 10, StudySizes(20, 2, 4, 0.2)),
        # 2 + 2 x 4 is more than 9, so there is no test.
        (50, 9, StudySizes(20, 2, 0, 0.2)),
        (5, 1, StudySizes(20, 1, 0, 0.2)),
        (0, 0, StudySizes(20, 0, 0, 0.2)),
        # At most 100, 6 and 10.
        (5_509, 160, StudySizes(100, 6, 10, 0.0454)),
    ],
)
def test_sizes_follow_from_tasks_and_images_with_gold_questions(num_tasks, num_gold_images, expected):
    assert choose_study_sizes(num_tasks, num_gold_images) == expected


@pytest.mark.parametrize("num_gold_images", range(200))
def test_there_are_enough_images_for_the_known_tasks(num_gold_images):
    sizes = choose_study_sizes(1_000, num_gold_images)
    known = sizes.training_tasks + MAX_ATTEMPTS * sizes.qualification_tasks
    assert known <= num_gold_images
    # Half of the images are left for quality control.
    assert num_gold_images < 20 or known <= num_gold_images / 2


def make_task(number, image, text):
    candidate = TaskQuestion(key=f"c{number}", text="What?", role="candidate", candidate_id=f"c{number}")
    gold = TaskQuestion(key=f"g{number}", text=text, role="gold", expected_choice="valid")
    return Task(task_id=f"t{number}", image_id=image, subset="pt-easy", first=candidate, second=gold)


# Only image a has two different gold questions.
TASKS = [
    make_task(1, "a", "Where?"),
    make_task(2, "a", "Who?"),
    make_task(3, "b", "Where?"),
    make_task(4, "b", "Where?"),
]


def test_images_with_two_different_gold_questions_are_counted():
    assert count_tasks(TASKS) == (4, 1)


def test_numbers_override_each_size():
    assert AnnotateParams().resolve_sizes(TASKS) == StudySizes(20, 1, 0, 0.2)
    given = AnnotateParams(wave_size=7, qualification_tasks=3)
    assert given.resolve_sizes(TASKS) == StudySizes(7, 1, 3, 0.2)
    assert AnnotateParams(training_tasks=0).resolve_sizes(TASKS).training_tasks == 0


SIZES = StudySizes(20, 0, 0, 0.0)


def test_voting_that_would_end_before_a_candidate_can_be_released_is_refused():
    with pytest.raises(
        UserError, match=r"annotate\.min_posterior is 0\.9, lower than collect\.min_posterior, 0\.95"
    ):
        AnnotateParams(min_posterior=0.9).to_assignment_rules(SIZES, QualityRules())
    # A majority needs no posterior, and equal values release what voting has decided.
    for quality in (QualityRules(aggregation="majority"), QualityRules(min_posterior=0.9)):
        rules = AnnotateParams(min_posterior=0.9).to_assignment_rules(SIZES, quality)
        assert rules.min_posterior == 0.9
