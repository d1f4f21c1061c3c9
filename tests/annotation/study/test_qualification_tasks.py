from collections import Counter
from itertools import pairwise

import pytest

from annotation.study.qualification import MAX_ATTEMPTS
from annotation.study.qualification_tasks import build_known_tasks, explain_verdict
from pipeline.core.errors import UserError
from pipeline.core.records import Task, TaskQuestion

V, X = "valid", "invalid"


def filter_(text, expected, source="own question", why=""):
    return TaskQuestion(
        key=text, text=text, role="gold", expected_choice=expected, gold_source=source, gold_explanation=why
    )


def task(image, question, block=0):
    asked = TaskQuestion(key="c", text=f"candidate at {image}", role="candidate", candidate_id=image)
    key = f"{image}-{question.text}"
    return Task(
        task_id=key, image_id=image, subset="pt-easy", first=asked, second=question, priority_block=block
    )


def world(images=20, block=lambda number: 0):
    """Images that each have two valid and two invalid questions that are known, and a template of both kinds."""
    rows = []
    for number in range(images):
        for kind in (V, X):
            known = [filter_(f"{kind} {copy} at {number}", kind) for copy in range(2)]
            known.append(filter_(f"template {kind} at {number}", kind, "template"))
            rows += [task(f"p{number}", question, block(number)) for question in known]
    return rows


class Images(dict):
    def __missing__(self, key):
        return f"/image/{key}"


def pairs(rows):
    return Counter("".join(sorted(row[name]["expected"][0] for name in ("first", "second"))) for row in rows)


def parts(rows, *sizes):
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    assert ends[-1] == len(rows)
    return [rows[a:b] for a, b in pairwise(ends)]


def test_all_kinds_of_pairs_occur_in_fixed_proportions():
    made = build_known_tasks(world(), Images(), num_training=4, num_test=8, seed=1)
    assert MAX_ATTEMPTS == 2
    for part in parts(made, 4, 8, 8):
        quarter = len(part) // 4
        assert pairs(part) == {"ii": quarter, "vv": quarter, "iv": len(part) // 2}


def test_each_image_is_used_once_and_templates_are_avoided():
    made = build_known_tasks(world(), Images(), 4, 8, seed=1)
    assert len({row["image"] for row in made}) == len(made) == 20
    assert len({row["key"] for row in made}) == 20
    assert not [row for row in made if "template" in row["first"]["text"] + row["second"]["text"]]


def test_image_without_the_pair_gives_another_pair():
    rows = [task(f"p{n}", filter_(f"{n} {c}", V)) for n in range(6) for c in range(2)]
    assert pairs(build_known_tasks(rows, Images(), 2, 2, seed=1)) == {"vv": 6}


def test_template_is_used_if_an_image_has_nothing_else():
    rows = [
        task(f"p{n}", filter_(f"{n} {kind}", kind, source))
        for n in range(3)
        for kind, source in ((V, "own question"), (X, "template"))
    ]
    assert pairs(build_known_tasks(rows, Images(), 1, 1, seed=1)) == {"iv": 3}


def test_known_tasks_come_from_tasks_with_lowest_priority():
    made = build_known_tasks(world(20, block=lambda number: number // 10), Images(), 2, 4, seed=1)
    assert {row["image"] for row in made} == {f"/image/p{number}" for number in range(10, 20)}


def test_order_of_verdicts_and_images_depend_on_the_seed():
    made = [build_known_tasks(world(), Images(), 2, 2, seed) for seed in range(10)]
    assert {row["first"]["expected"] for rows in made for row in rows} == {V, X}
    assert len({rows[0]["image"] for rows in made}) > 3


def test_result_does_not_depend_on_task_order():
    assert build_known_tasks(world()[::-1], Images(), 4, 8, 3) == build_known_tasks(
        world(), Images(), 4, 8, 3
    )


def test_too_few_images_are_reported_with_numbers():
    with pytest.raises(UserError, match=r"too few images with two gold questions: 13 of 14"):
        build_known_tasks(world(13), Images(), 4, 5, seed=1)


def test_explanations_of_known_verdicts():
    assert (
        explain_verdict(filter_("q", X, why="no dog in the image"))
        == "It has no answer here: no dog in the image."
    )
    assert explain_verdict(filter_("q", V, why="red")) == "It has an answer: red."
    assert explain_verdict(filter_("q", V)) == "It has an answer, and only one is right."
    assert explain_verdict(filter_("q", X)) == "It has no answer here: it assumes something that is not true."
    row = build_known_tasks(world(3), Images(), 1, 1, 1)[0]
    assert row["first"]["explanation"] == explain_verdict(filter_("", row["first"]["expected"]))
