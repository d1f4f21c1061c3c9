"""Qualification of annotators, its tasks, and leakage of gold answers."""

import subprocess
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from annotation.study import qualification
from annotation.study.gold_leakage import (
    GoldLeakage,
    build_shown_questions,
    find_source_levels,
    measure_gold_leakage,
    measure_source_leakage,
    select_leaks,
)
from annotation.study.qualification import (
    MAX_ATTEMPTS,
    QualificationScore,
    is_correct,
    score_answers,
    select_tasks,
)
from annotation.study.qualification_tasks import build_known_tasks, explain_verdict
from pipeline.core.errors import UserError
from pipeline.core.records import Candidate, SpareGoldQuestion, Task, TaskQuestion
from pipeline.tasks.gold_questions import GoldQuestion
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.task_builder import make_task, make_tasks

# Qualification


V, X, U = "valid", "invalid", "unsure"


def known(key, first, second):
    return {"key": key, "first": {"expected": first}, "second": {"expected": second}}


KNOWN = [known(f"k{number}", V if number % 2 else X, V if number % 3 else X) for number in range(12)]


def test_training_and_each_attempt_have_different_tasks():
    parts = [set(select_tasks(KNOWN, 4, 4, "ann", tried)[1]) for tried in range(MAX_ATTEMPTS)]
    training = {*select_tasks(KNOWN, 4, 4, "ann")[0]}
    assert [len(part) for part in (training, *parts)] == [4, 4, 4]
    assert training | parts[0] | parts[1] == {row["key"] for row in KNOWN}


def test_people_get_different_tests_of_the_same_kinds():
    # A pool of 6 tests of 10 tasks. The kind of a task follows from its place in the test.
    pool = [known(f"k{n}", V if n % 10 < 5 else X, V if n % 10 < 3 else X) for n in range(60)]
    kinds = {row["key"]: (row["first"]["expected"], row["second"]["expected"]) for row in pool}
    tests = [select_tasks(pool, 0, 10, f"person {n}")[1] for n in range(60)]
    assert len({frozenset(test) for test in tests}) == 60
    for test in tests:
        assert Counter(kinds[key] for key in test) == {(V, V): 3, (V, X): 2, (X, X): 5}
    # Each task is drawn about equally often: 60 people, 1 of 6 tasks at each place, 10 expected (standard deviation 2.9).
    uses = Counter(key for test in tests for key in test)
    assert set(uses) == set(kinds) and max(uses.values()) < 24
    assert select_tasks(pool, 0, 10, "person 0")[1] == tests[0]
    # Two people share 10 / 6 tasks on average.
    shared = [len({*one} & {*other}) for one, other in pairwise(tests)]
    assert sum(shared) / len(shared) == pytest.approx(10 / 6, abs=0.6)


def test_test_of_questions_to_be_confirmed_is_the_same_for_all_in_another_order():
    rows = [row | {"first": row["first"] | {"unconfirmed": row["key"]}} for row in KNOWN]
    orders = {name: select_tasks(rows, 4, 4, name)[1] for name in ("ann", "ben", "cyd")}
    assert {frozenset(order) for order in orders.values()} == {frozenset(f"k{n}" for n in range(4, 8))}
    assert len({tuple(order) for order in orders.values()}) == 3
    assert orders["ann"] == select_tasks(rows, 4, 4, "ann")[1]


def test_unsure_counts_as_valid():
    assert [is_correct({"expected": V}, choice) for choice in (V, X, U)] == [True, False, True]
    assert [is_correct({"expected": X}, choice) for choice in (V, X, U)] == [False, True, False]


def test_scores_count_valid_and_invalid_separately():
    rows = [known("a", V, X), known("b", X, X), known("c", V, V)]
    assert score_answers(rows, {"a": (V, X), "b": (X, V), "other": (V, V)}) == QualificationScore(1, 1, 3, 2)
    assert score_answers(rows, {}) == QualificationScore(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("word", "passes"), [(V, False), (X, False), (U, False)], ids=["all valid", "all invalid", "all unsure"]
)
def test_constant_answer_never_passes(word, passes):
    # 9 of 12 known valid: "valid" for everything is right for three of four
    rows = [known(str(n), V, V) for n in range(4)] + [known("x", V, X), known("y", X, X)]
    found = score_answers(rows, {row["key"]: (word, word) for row in rows})
    assert found.num_answered == 12
    assert found.has_passed(0.5) is passes


def test_minimum_accuracy_is_inclusive():
    assert QualificationScore(10, 8, 5, 4).has_passed(0.8)
    assert not QualificationScore(10, 8, 5, 3).has_passed(0.8)
    assert not QualificationScore(10, 7, 5, 5).has_passed(0.8)


def test_module_needs_only_the_standard_library():
    done = subprocess.run(
        [sys.executable, "-I", "-S", qualification.__file__], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


# Qualification tasks


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


def spare(images, known=True):
    """The same questions of further images, which no task contains."""
    source = "own question" if known else "own question, to be confirmed"
    return [
        SpareGoldQuestion(image_id=f"s{n}", question=filter_(f"{kind} {copy} at s{n}", kind, source))
        for n in range(images)
        for kind in (V, X)
        for copy in range(2)
    ]


def test_questions_that_no_task_contains_are_used_first():
    made = build_known_tasks(world(), Images(), 4, 8, seed=1, spare=spare(12))
    assert {row["image"] for row in made[:12]} == {f"/image/s{n}" for n in range(12)}
    assert len(made) == 20  # eight more from the tasks
    made = build_known_tasks(world(), Images(), 4, 8, seed=1, spare=spare(60))
    # As many tests as the questions suffice for, at most six: 4 + 6 * 8 = 52.
    assert [len(part) for part in parts(made, 4, *[8] * 6)] == [4] + [8] * 6
    for part in parts(made, 4, *[8] * 6)[1:]:
        assert pairs(part) == {"ii": 2, "vv": 2, "iv": 4}
    assert {row["image"][:8] for row in made} == {"/image/s"}
    assert len(build_known_tasks(world(), Images(), 4, 8, seed=1, spare=spare(60, known=False))) == 20


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


# Gold leakage


CUES = {
    "repetition": "repeated text",
    "here": "repeated text and image",
    "words": "bag of words, grouped by text",
    "elsewhere": "bag of words, grouped by image",
    "position": "position in the task",
    "order": "position in the task sequence",
}


def measure(table):
    found = {row.cue: row for row in measure_gold_leakage(table)}
    return {name: found[cue] for name, cue in CUES.items()}


def table(*rows):
    """Rows of (annotator, sequence_index, position, image_id, text, role)."""
    return pd.DataFrame(rows, columns=["annotator", "sequence_index", "position", "image_id", "text", "role"])


def stream(count=400, person="ann", seed=0, gold_text="What is f{}?", gold_first=0.5, late=False, uses=1):
    """One task after the other on ten images; each gold question occurs `uses` times, candidates occur once."""
    rng, rows = np.random.default_rng(seed), []
    for order in range(count):
        image, first = f"n{order % 10}", rng.random() < gold_first
        role = "gold" if not late or order >= count / 2 else "repeat"
        rows.append((person, order, int(first), image, f"What is c{order}?", "candidate"))
        rows.append((person, order, int(not first), image, gold_text.format(order % (count // uses)), role))
    return table(*rows)


def test_similar_gold_questions_do_not_leak():
    assert (
        select_leaks(measure_gold_leakage(pd.concat([stream(person="ann"), stream(person="ben", seed=1)])))
        == []
    )


def test_repeated_gold_questions_leak_by_repetition_only():
    found = measure(stream(count=800, uses=4))  # three of four came before, no candidate did: 0.5 + 0.75 / 2
    assert found["repetition"].auroc == pytest.approx(0.875) and found["here"].auroc == pytest.approx(0.875)
    assert {name for name, row in found.items() if row.is_leak} == {"repetition", "here"}


def test_repeats_count_as_candidates():
    again = [("ann", 400 + n, 0, f"n{n % 10}", f"What is c{n}?", "repeat") for n in range(400)]
    found = measure(pd.concat([stream(uses=2), table(*again)]))  # half of either came before
    assert found["repetition"].auroc == pytest.approx(0.5)


def test_repetition_is_counted_per_annotator():
    ben = stream(person="ben")
    ben.loc[ben["role"] == "candidate", "text"] += (
        " Really?"  # only the gold questions are the same as for ann
    )
    assert measure(pd.concat([stream(person="ann"), ben]))["repetition"].auroc == 0.5


def test_text_at_another_image_is_a_repeated_text_only():
    rows = stream(uses=4)
    rows.loc[rows["role"] == "gold", "image_id"] = [f"n{n % 7}" for n in range(400)]
    rows["image_id"] = rows["image_id"] + [f" {n // 200}" for n in range(800)]
    assert measure(rows)["repetition"].auroc == pytest.approx(0.875) and measure(rows)["here"].auroc == 0.5


def test_words_position_and_order_leak_separately():
    assert measure(stream(gold_text="Is there f{}?"))["words"].auroc > 0.99
    assert measure(stream(gold_text="Is there f{}?"))["elsewhere"].auroc > 0.99
    assert measure(stream(gold_first=1.0))["position"].auroc == 1.0  # candidates second, and two-sided
    assert measure(stream(late=True))["order"].auroc == pytest.approx(
        5 / 6, abs=0.01
    )  # 3 of 4 pairs with 400 candidates, all with 200 repeats


def test_interval_contains_the_value_and_grows_with_fewer_images():
    rows = stream(gold_first=0.6)
    many = measure(rows)["position"]
    assert many.low < many.auroc < many.high < 0.75
    rows["image_id"] = "n" + (rows["sequence_index"] % 2).astype(str)
    assert measure(rows)["words"].auroc is None or measure(rows)["position"].high - many.low > 0


def test_without_gold_questions_leakage_is_undefined():
    found = measure_gold_leakage(stream().query("role == 'candidate'"))
    assert {row.auroc for row in found} == {None} and select_leaks(found) == []
    assert {row.auroc for row in measure_gold_leakage(stream().head(0))} == {None}


def test_limit_applies_to_the_upper_end():
    assert not GoldLeakage(cue="", auroc=0.55, low=0.5, high=0.6).is_leak
    assert GoldLeakage(cue="", auroc=0.59, low=0.5, high=0.61).is_leak


def test_public_source_tells_own_questions():
    # Gold: two own questions of n1, one of them reworded, and two of another image. Candidates: a question of another image and
    # three that are not in the source.
    rows = [("n1", "Own A?", "gold"), ("n1", "new B?", "gold"), ("n1", "other?", "gold"), ("n2", "other?", "gold"),
            ("n2", "OTHER?", "candidate"), ("n1", "x?", "candidate"), ("n2", "y?", "candidate"), ("n2", "own b?", "repeat")]  # fmt: skip
    shown = table(*(("ann", n // 2, n % 2, image, text, role) for n, (image, text, role) in enumerate(rows)))
    source = [
        ("n1", "own A?", "own A?"),
        ("n1", "own B?", "new B?"),
        ("n3", "other?", "other?"),
        ("n4", "z", "z"),
    ]
    assert find_source_levels(shown, [row[:2] for row in source]).tolist() == [2, 0, 1, 1, 1, 0, 0, 1]
    wording, meaning = measure_source_leakage(shown, iter(source))
    assert (wording.cue, meaning.cue) == ("public source, by wording", "public source, by meaning")
    # Wording: gold 2, 0, 1, 1; others 1, 0, 0, 1. Wins and half of the ties: 4 + 1 + 3 + 3 of 16.
    assert wording.auroc == pytest.approx(11 / 16, abs=1e-4)
    # Meaning: gold 2, 2, 1, 1; others 1, 0, 0, 1: 4 + 4 + 3 + 3 of 16.
    assert meaning.auroc == pytest.approx(14 / 16, abs=1e-4)


CANDIDATES = [
    Candidate(
        candidate_id=f"n{n // 30}+{n}",
        subset="pt-hard",
        image_id=f"n{n // 30}",
        question_id=str(n),
        text=f"What is {n}?",
    )
    for n in range(600)
]
KNOWN_QUESTIONS = {
    f"n{p}": [
        GoldQuestion(text=f"What is {p} and {n}?", expected_choice=kind, source="own question")
        for n in range(5)
        for kind in ("valid",)
    ]
    + [
        GoldQuestion(text=f"What is {p} or {n}?", expected_choice="invalid", source="foreign question")
        for n in range(5)
    ]
    for p in range(20)
}


def whole(tasks):
    """Measure the leakage for an annotator with all tasks."""
    return measure(
        build_shown_questions(
            [("ann", task.task_id) for task in tasks], {task.task_id: task for task in tasks}
        )
    )


def test_gold_question_with_every_candidate_leaks_by_repetition():
    # As it was before: of the image's ten filters the least used, 30 times: each comes three times, two of them came
    # before, and no candidate ever did: 0.5 + (2 / 3) / 2 = 0.833
    rng = np.random.default_rng(0)
    planted = [
        make_task(row, KNOWN_QUESTIONS[row.image_id][n % 10], candidate_first=bool(rng.random() < 0.5))
        for n, row in enumerate(CANDIDATES)
    ]
    old = whole(planted)
    assert (
        old["repetition"].auroc == pytest.approx(5 / 6, abs=1e-4)
        and old["repetition"].is_leak
        and old["here"].is_leak
    )
    offered = {key: Offer.from_questions(rows) for key, rows in KNOWN_QUESTIONS.items()}
    made = whole(list(make_tasks(CANDIDATES, offered, 0.0, 0.4, seed=0)))
    assert not made["repetition"].is_leak and not made["here"].is_leak
