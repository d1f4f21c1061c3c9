import numpy as np
import pandas as pd
import pytest

from annotation.study.gold_leakage import (
    GoldLeakage,
    build_shown_questions,
    measure_gold_leakage,
    select_leaks,
)
from pipeline.core.records import Candidate
from pipeline.tasks.gold_questions import GoldQuestion
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.task_builder import make_task, make_tasks

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
KNOWN = {
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
    """Measure the leakage for an annotator who sees all tasks."""
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
        make_task(row, KNOWN[row.image_id][n % 10], candidate_first=bool(rng.random() < 0.5))
        for n, row in enumerate(CANDIDATES)
    ]
    old = whole(planted)
    assert (
        old["repetition"].auroc == pytest.approx(5 / 6, abs=1e-4)
        and old["repetition"].is_leak
        and old["here"].is_leak
    )
    offered = {key: Offer.from_questions(rows) for key, rows in KNOWN.items()}
    made = whole(list(make_tasks(CANDIDATES, offered, 0.0, 0.4, seed=0)))
    assert not made["repetition"].is_leak and not made["here"].is_leak
