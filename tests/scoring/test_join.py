import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.join import find_faults, join_predictions
from pipeline.scoring.joined_predictions import ScoringOptions
from tests.scoring.conftest import ROWS, answered, model, predictions, refused, scored, write

ITEMS = Items.from_rows([BenchmarkItem("a", "n", {"dog": 1.0, "Big  dog": 0.5}), BenchmarkItem("u", "n", {})])


def test_predictions_find_their_items_by_id_whatever_the_order():
    said = {"u": ("UQ", 0.1), "zz": ("?", 0.2), "a": ("DOG", 0.9)}
    joined = join_predictions(ITEMS, model(said), ScoringOptions())
    assert joined.answer == ["DOG", "UQ"] and joined.confidence.tolist() == [0.9, 0.1]
    assert joined.answerable.tolist() == [True, False] and not joined.missing.any()


@pytest.mark.parametrize(
    ("said", "match", "worth", "literal"),
    [
        ("dog", "vqa", 1.0, True),
        ("Dog. ", "vqa", 1.0, False),
        ("the dog", "vqa", 1.0, False),
        ("Dog", "exact", 0.0, False),
        ("big dog", "vqa", 0.5, False),  # letter case and spaces aside the second label
        ("big dog", "exact", 0.0, False),
        ("cat", "vqa", 0.0, False),
        ("UQ", "vqa", 0.0, False),
    ],
)
def test_an_answer_is_worth_what_its_label_says(said, match, worth, literal):
    joined = join_predictions(ITEMS, model({"a": (said, 0.5), "u": (said, 0.5)}), ScoringOptions(match=match))
    assert joined.correct.tolist() == [worth, 0.0]
    assert joined.is_literal_match.tolist() == [literal, said == "UQ"]


def test_missing_predictions_are_wrong_and_accepted_before_all_others():
    joined = join_predictions(ITEMS, model({"a": ("dog", 3.0)}), ScoringOptions(missing="wrong"))
    assert joined.missing.tolist() == [False, True] and joined.answer == ["dog", ""]
    assert joined.confidence.tolist() == [3.0, 4.0] and joined.correct.tolist() == [1.0, 0.0]
    assert joined.is_literal_match.tolist() == [True, False]


def test_a_missing_answer_to_an_aq_does_not_help_to_separate_aqs_from_uqs():
    joined = join_predictions(ITEMS, model({"u": ("red", -3.0)}), ScoringOptions(missing="wrong"))
    assert joined.confidence.tolist() == [-2.0, -3.0] and joined.correct.tolist() == [0.0, 0.0]
    assert joined.metric_inputs[0][0] < joined.metric_inputs[0][1] == -3.0


def test_missing_predictions_can_be_dropped():
    joined = join_predictions(ITEMS, model({"u": ("red", -3.0)}), ScoringOptions(missing="drop"))
    assert [item.id for item in joined.items] == ["u"] and not joined.missing.any()


def test_without_confidences_all_items_are_equal_unless_abstention_is_detected():
    said = model({"a": ("dog", None), "u": ("I cannot tell.", None)})
    plain, free = (
        join_predictions(ITEMS, said, ScoringOptions()),
        join_predictions(ITEMS, said, ScoringOptions(detect_abstention=True)),
    )
    assert plain.confidence.tolist() == [1.0, 1.0] and not plain.has_confidence
    assert free.confidence.tolist() == [1.0, 0.0] and free.has_confidence


def test_a_subset_without_any_prediction_is_refused():
    with pytest.raises(UserError, match="m: no item of the subset has a prediction"):
        join_predictions(ITEMS, model({"zz": ("red", 1.0)}), ScoringOptions())


def test_some_items_are_taken_with_all_that_belongs_to_them():
    at = answered().select(np.array([False, True, False, False, True, False]))
    assert [item.id for item in at.items] == ["u1", "a3"] and at.answer == ["blue", "Dog"]
    assert at.confidence.tolist() == [0.2, 0.6] and at.correct.tolist() == [0.0, 1.0]
    assert [item.id for item in answered().select(np.array([4, 1])).items] == ["a3", "u1"]


def test_unknown_and_missing_ids_and_another_version_are_refused_together(release, tmp_path, capsys):
    rows = [*predictions()[1:], {"questionId": "zz", "prediction": "red", "confidence": 0.5}]
    text = refused(capsys, release, write(tmp_path / "m.json", {"version": "0.9.0", "predictions": rows}))
    assert "made for version 0.9.0 of the benchmark, this is 1.0.0" in text
    assert "1 id is not in the benchmark" in text and "zz" in text
    assert "1 of 6 items has no prediction" in text and "a1" in text


def test_unknown_ids_are_listed_together_with_faulty_rows_and_with_those_of_other_files(
    release, tmp_path, capsys
):
    row = {"questionId": "zz", "prediction": "red", "confidence": "high"}
    bad = write(tmp_path / "m.json", [row, *predictions()])
    rows = [*predictions()[1:], {"questionId": "yy", "prediction": "red", "confidence": None}]
    text = refused(capsys, release, bad, write(tmp_path / "w.json", rows))
    for expected in (
        "m.json: 1 fault",
        "row 1 (zz): confidence is 'high'",
        "m: 1 id is not in the benchmark",
        "w.json: 1 fault",
        "1 row has no `confidence`, others have one (row 6)",
        "w: 1 id is not in the benchmark",
        "w: 1 of 6 items has no prediction",
    ):
        assert expected in text
    assert "no confidences" not in text  # there are some; the faulty ones are listed by row


def test_ids_of_subsets_not_chosen_and_of_the_unbalanced_file_are_known():
    benchmark = Benchmark("rgqa", "b", "", {}, {"x": ITEMS}, frozenset({"a", "u", "other"}))
    said = model(dict.fromkeys(("a", "u", "other", "entailed"), ("red", 0.5)))
    assert [*find_faults(benchmark, said, ScoringOptions())] == [
        "1 id is not in the benchmark (is it another version or subset?): entailed"
    ]
    assert [*find_faults(benchmark, said, ScoringOptions(all_questions={"entailed": {}}))] == []


def test_predictions_for_complete_subsets_get_a_hint():
    items = {name: Items.from_rows([BenchmarkItem(name, "n", {})]) for name in ("x", "y", "z")}
    benchmark = Benchmark("rgqa", "b", "", {}, items, frozenset(items))

    def hint(*names):
        (fault,) = find_faults(benchmark, model(dict.fromkeys(names, ("red", 0.5))), ScoringOptions())
        return fault.partition("excludes them)")[2].partition(": ")[0]

    assert hint("x") == "; did you mean --subset x?"
    assert hint("x", "z") == "; did you mean --subset x --subset z?"
    benchmark = benchmark._replace(subsets={"x": Items.from_rows(BenchmarkItem(i, "n", {}) for i in "xy")})
    assert hint("x") == ""  # no subset is whole


def test_of_many_ids_five_are_shown():
    benchmark = Benchmark("rgqa", "b", "", {}, {"x": ITEMS}, frozenset({"a", "u"}))
    said = model({f"z{i:02}": ("red", 0.5) for i in range(23)})
    (unknown,) = find_faults(benchmark, said, ScoringOptions(missing="wrong"))
    assert unknown.startswith("23 ids") and unknown.endswith("z04 and 18 more")


def test_confidences_are_needed_where_questions_can_be_rejected():
    benchmark = Benchmark("rgqa", "b", "", {}, {"x": ITEMS}, frozenset({"a", "u"}))
    said = model({"a": ("red", None), "u": ("red", None)})
    assert ["no confidences" in line for line in find_faults(benchmark, said, ScoringOptions())] == [True]
    assert [*find_faults(benchmark, said, ScoringOptions(detect_abstention=True))] == []
    assert [*find_faults(benchmark._replace(kind="gqa"), said, ScoringOptions())] == []


@pytest.mark.parametrize(("left_out", "facc", "auroc"), [("a1", 1 / 3, 5 / 9), ("u3", 2 / 3, 5 / 9)])
def test_omitting_predictions_does_not_help(release, tmp_path, capsys, left_out, facc, auroc):
    # a1 0.9 right, u1 0.2, a2 0.8 wrong, u2 0.7, a3 0.6 right, u3 0.1: AUROC 8/9, FACC 2/3.
    # Without a1: wrong and last of all: a2 beats 3 UQs, a3 two, a1 none: 5/9. Without u3: accepted before all: 2 + 2 + 1 = 5.
    rows = [row for row in predictions() if row["questionId"] != left_out]
    path = write(tmp_path / "m.json", rows)
    words = "--allow-missing", "--bootstrap", 0, "--subset", "clip-easy", "--split", "all"
    found = scored(tmp_path, release, path, *words)["models"][0]["subsets"]["clip-easy"]
    assert "1 MISSING, counted as accepted with a wrong answer" in capsys.readouterr().out
    assert found["realistic"]["facc"] == pytest.approx(facc)
    assert found["realistic"]["auroc"] == pytest.approx(auroc)
    assert len(ROWS) == found["counts"]["items"]


def test_dropped_items_are_reported(release, tmp_path, capsys):
    path = write(tmp_path / "m.json", predictions()[1:])
    words = "--missing", "drop", "--bootstrap", 0, "--subset", "clip-easy", "--split", "all"
    found = scored(tmp_path, release, path, *words)["models"][0]["subsets"]["clip-easy"]
    assert "1 without a prediction EXCLUDED" in capsys.readouterr().out
    # a2 wrong, u2, a3 right, u1, u3: a2 beats 3, a3 2 of 6.
    assert found["realistic"]["auroc"] == pytest.approx(5 / 6) and found["counts"]["items"] == 5


def test_a_release_is_scored_on_its_test_split_with_validation_beside_it():
    joined = answered(split="test")
    assert [item.id for item in joined.items] == ["a2", "u2", "a3", "u3"]
    assert joined.validation and [item.id for item in joined.validation.items] == ["a1", "u1"]
    validation = answered(split="validation")
    assert [item.id for item in validation.items] == ["a1", "u1"] and validation.validation is None
    assert answered(split="all").validation is None and len(answered(split="all").items) == 6


def test_items_predicted_for_validation_are_not_scored():
    said = model({"a": ("dog", 0.9)})._replace(validation=model({"u": ("red", 0.2)}))
    joined = join_predictions(ITEMS, said, ScoringOptions())
    assert [item.id for item in joined.items] == ["a"] and joined.validation
    assert joined.validation.answer == ["red"] and joined.validation.confidence.tolist() == [0.2]


def test_validation_items_need_no_predictions_unless_some_have_one(release, tmp_path, capsys):
    without_validation = [row for row in predictions() if row["questionId"] not in ("a1", "u1")]
    found = scored(tmp_path, release, write(tmp_path / "m.json", without_validation), "--bootstrap", 0)
    selective = found["models"][0]["subsets"]["clip-easy"]["selective"]
    assert "no items to choose a threshold on" in selective["threshold_transfer"]["unavailable"]
    half = [row for row in predictions() if row["questionId"] != "u1"]
    assert "1 of 6 items has no prediction" in refused(capsys, release, write(tmp_path / "m.json", half))


def test_an_item_cannot_be_scored_and_chosen_on():
    benchmark = Benchmark("vqa", "b", "", {}, {"x": ITEMS}, frozenset({"a", "u"}))
    said = model({"a": ("dog", 0.9), "u": ("red", 0.2)})._replace(validation=model({"u": ("red", 0.2)}))
    assert [*find_faults(benchmark, said, ScoringOptions())] == ["1 id is both scored and in --validation: u"]


def test_scored_items_cannot_be_validation_items(release, tmp_path, capsys):
    rows = predictions()
    test, validation = (
        write(tmp_path / "m.json", rows[:-1]),
        write(tmp_path / "validation.json", rows[-1:]),
    )  # u3 is of split test
    assert "1 id of --validation is of split test, which is to be scored: u3" in refused(
        capsys, release, test, "--validation", validation
    )


def test_the_subset_line_says_how_many_items_thresholds_are_from(release, tmp_path, capsys):
    scored(tmp_path, release, write(tmp_path / "m.json", predictions()), "--bootstrap", 0, "--full")
    assert "4 items" not in (text := capsys.readouterr().out) and "; thresholds from 2 others" in text
