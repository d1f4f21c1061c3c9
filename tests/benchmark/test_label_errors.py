"""Tests of `rgqa doubt` (pipeline/benchmark/label_errors)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.benchmark.auditing.labelled_set import ColumnOptions, make_column_options
from pipeline.benchmark.label_errors.evidence import SetOptions, load_evidence, load_items
from pipeline.benchmark.label_errors.label_doubt import doubt_labels
from pipeline.benchmark.label_errors.noise_model import LAPSE_RATE, fit_label_noise
from pipeline.cli.doubt import write_doubt
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from tests.benchmark.label_error_sets import write_pope


def test_models_that_contradict_a_label_make_it_doubtful(tmp_path: Path) -> None:
    path, wrong = write_pope(tmp_path)
    items = load_items(str(path))
    found = doubt_labels(items, load_evidence(items, [tmp_path / f"{name}.json" for name in "abc"]))
    named = {item.item_id for item in found.items[: len(wrong)]}
    assert len(named & wrong) >= 0.8 * len(wrong)
    assert "3 of 3 models take it as" in found.items[0].reasons[0]
    # 5 % of the labels were turned over.
    assert found.total.low <= len(wrong) / 400 <= found.total.high
    assert not found.advice


def test_noise_rates_are_recovered_from_calibrated_log_odds() -> None:
    # The log odds are those of the truth, so the model is exact. Of true 0, 10 % are given as 1; of true 1, 4 % as 0.
    rng = np.random.default_rng(1)
    log_odds = rng.normal(0, 4, 20_000)
    truth = rng.random(20_000) < 1 / (1 + np.exp(-log_odds))
    given = np.where(truth, rng.random(20_000) >= 0.04, rng.random(20_000) < 0.1).astype(int)
    fitted = fit_label_noise(log_odds, given, np.full(20_000, "all", object))
    assert fitted.flips["all"] == pytest.approx([0.1, 0.04], abs=0.01)
    wrong = given != truth
    sure = (fitted.wrong > 0.4) & (fitted.wrong < 0.6)
    assert wrong[sure].mean() == pytest.approx(fitted.wrong[sure].mean(), abs=0.08)


def test_a_copy_of_a_model_adds_nothing(tmp_path: Path) -> None:
    path, _ = write_pope(tmp_path)
    (tmp_path / "copy.json").write_bytes((tmp_path / "b.json").read_bytes())
    items = load_items(str(path))
    one = doubt_labels(items, load_evidence(items, [tmp_path / "b.json"]))
    two = doubt_labels(items, load_evidence(items, [tmp_path / "b.json", tmp_path / "copy.json"]))
    # With an independent second model the sum of squares would rise much more.
    first, second = (np.array([item.probability for item in each.items]) for each in (one, two))
    assert np.abs(np.sort(first) - np.sort(second)).max() < 0.1
    assert "one model" in one.advice[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing", [{"question_id": "0", "prediction": "yes"}], "399 of 400 items have no prediction"),
        ("other", [{"question_id": "x", "prediction": "yes"}], "another release"),
        ("empty", [], "no rows"),
    ],
)
def test_predictions_that_do_not_fit_are_one_message(
    tmp_path: Path, name: str, content: list[dict[str, str]], message: str
) -> None:
    path, _ = write_pope(tmp_path)
    wrong = tmp_path / f"{name}.json"
    wrong.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        write_doubt(str(path), [wrong])


def test_a_set_with_one_label_is_refused(tmp_path: Path) -> None:
    path, _ = write_pope(tmp_path)
    path.write_text(path.read_text().replace('"no"', '"yes"'))
    with pytest.raises(UserError, match="two labels are needed"):
        write_doubt(str(path), [tmp_path / "a.json"])


def test_the_queue_is_sorted_and_complete(tmp_path: Path) -> None:
    path, _ = write_pope(tmp_path)
    write_doubt(str(path), [tmp_path / "a.json"], out=tmp_path / "queue.csv")
    lines = (tmp_path / "queue.csv").read_text().splitlines()
    assert len(lines) == 401
    probabilities = [float(line.split(",")[1]) for line in lines[1:]]
    assert probabilities == sorted(probabilities, reverse=True)


def test_the_strongest_evidence_is_misleading_at_the_lapse_rate() -> None:
    # As above, but on a proportion of the items the evidence says the opposite of the truth.
    rng = np.random.default_rng(2)
    log_odds = rng.normal(0, 6, 20_000)
    lapses = rng.random(20_000) < LAPSE_RATE
    truth = (rng.random(20_000) < 1 / (1 + np.exp(-log_odds))) != lapses
    given = np.where(truth, rng.random(20_000) >= 0.04, rng.random(20_000) < 0.1).astype(int)
    fitted = fit_label_noise(log_odds, given, np.full(20_000, "all", object))
    assert fitted.flips["all"] == pytest.approx([0.1, 0.04], abs=0.01)
    # A label that sure evidence contradicts is wrong with the odds f (1 - e) to (1 - f) e: .1 x .9925 to .9 x .0075 is 94 %, and
    # .04 x .9925 to .96 x .0075 is 85 %. Without lapses both would be 100 %.
    for label, probability in ((1, 0.936), (0, 0.846)):
        contradicted = (given == label) & (np.abs(log_odds) > 8) & ((log_odds > 0) != (label == 1))
        assert (given != truth)[contradicted].mean() == pytest.approx(probability, abs=0.04)
        assert fitted.wrong[contradicted].mean() == pytest.approx(probability, abs=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"where": "category=popular"}, "popular"),
        ({"where": "popular"}, "expected COLUMN=VALUE"),
        ({"where": "=popular"}, "expected COLUMN=VALUE"),
        ({"where": "category=none"}, "no row has 'none' in category"),
    ],
)
def test_rows_are_chosen_as_in_an_audit(tmp_path: Path, options: dict[str, str], message: str) -> None:
    path, _ = write_pope(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    named = [row | {"category": "popular" if number < 120 else "random"} for number, row in enumerate(rows)]
    path.write_text("\n".join(map(json.dumps, named)))
    if message == "popular":
        items = load_items(str(path), SetOptions(columns=make_column_options(**options)))
        assert items.ids == [str(number) for number in range(120)]
    else:
        with pytest.raises(UserError, match=message):
            load_items(str(path), SetOptions(columns=make_column_options(**options)))


def test_questions_and_annotations_of_vqa_are_joined(tmp_path: Path) -> None:
    questions, annotations = tmp_path / "questions.json", tmp_path / "annotations.json"
    number = range(60)
    write_json(
        questions,
        {"questions": [{"question_id": i, "image_id": i // 2, "question": f"Is it {i}?"} for i in number]},
    )
    kinds = [
        {"question_id": i, "answer_type": "yes/no", "multiple_choice_answer": "yes" if i % 2 else "no"}
        for i in number
    ]
    write_json(annotations, {"annotations": kinds})
    items = load_items(str(questions), SetOptions(annotations=annotations))
    assert items.label_names == ("no", "yes") and items.labels.tolist() == [0, 1] * 30
    with pytest.raises(UserError, match="leave out --config and --split"):
        load_items(str(questions), SetOptions(annotations=annotations, config="x"))


@pytest.mark.parametrize(
    "options",
    [
        SetOptions(annotations=Path("a.json")),
        SetOptions(config="x"),
        SetOptions(columns=ColumnOptions(where=("a", "b"))),
        SetOptions(columns=ColumnOptions(image="image")),
    ],
)
def test_options_for_other_sets_are_refused_for_a_release(tmp_path: Path, options: SetOptions) -> None:
    (tmp_path / "rgqa").mkdir()
    with pytest.raises(UserError, match="are for other sets"):
        load_items(str(tmp_path), options)
