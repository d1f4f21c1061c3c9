"""Items joined with predictions, and validation of inputs."""

import gc

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring import vqa_accuracy
from pipeline.scoring.input_validation import (
    check_arrays,
    check_fractions,
    check_strings,
    parse_each_row,
    parse_json,
    parse_json_lines,
    pause_garbage_collection,
    read_bytes,
    read_json_object,
)
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.join import find_faults, join_predictions
from pipeline.scoring.joined_predictions import PredictionFileInfo, ScoringOptions
from tests.scoring.conftest import ROWS, answered, model, predictions, refused, scored, vqa_answered, write

# Join


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
    assert "made for version 0.9.0 of the benchmark, but this is version 1.0.0" in text
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
        "1 row has no `confidence`, but other rows have one (row 6)",
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

    assert hint("x") == ". Did you mean --subset x?"
    assert hint("x", "z") == ". Did you mean --subset x --subset z?"
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
    assert "1 id of --validation is of split test, which is the scored split: u3" in refused(
        capsys, release, test, "--validation", validation
    )


def test_the_subset_line_says_how_many_items_thresholds_are_from(release, tmp_path, capsys):
    scored(tmp_path, release, write(tmp_path / "m.json", predictions()), "--bootstrap", 0, "--full")
    assert (
        "4 items" not in (text := capsys.readouterr().out)
        and "; thresholds chosen on 2 validation items" in text
    )


# Joined predictions


def test_reference_answers_are_the_human_answers_or_the_labels():
    items = Items.from_rows(
        [BenchmarkItem("1", "n", {"red": 1.0, "dark red": 0.5}), BenchmarkItem("2", "n", {})]
    )
    said = model({"1": ("red", 0.5), "2": ("UQ", 0.1)})
    assert join_predictions(items, said, ScoringOptions()).reference_answers == [["red", "dark red"], []]
    assert vqa_answered([["red", "red", "blue"]], ["red"]).reference_answers == [["red", "red", "blue"]]


def test_items_are_paired_where_each_names_its_pair():
    assert answered().paired_metric_inputs[-1].tolist() == ["p1", "p1", "p2", "p2", "p3", "p3"]
    assert answered().has_pairs
    assert not answered([(*ROWS[0][:3], "", *ROWS[0][4:]), *ROWS[1:]]).has_pairs


def test_the_description_of_a_file_names_missing_fields():
    (line,) = PredictionFileInfo("plain CSV", "id", "answer").describe()
    assert line == "read as plain CSV: id from id, answer from answer, no confidence"
    assert PredictionFileInfo().describe() == ["read as : no id, no answer, no confidence"]


def test_fields_that_no_file_names_are_empty_in_the_table_too():
    items = Items({"id": ["a", "b"], "split": ["validation", "test"], "image": ["n", ""]}, 2)
    assert items["human_answers"].tolist() == [(), ()] and items["gqa_question"].tolist() == [{}, {}]
    assert items.clusters.tolist() == ["n", "b"]
    assert [item.split for item in items.select(np.array([1, 0]))] == ["test", "validation"]
    assert items.with_columns(split=["", ""]).select(np.array([False, True]))["split"].tolist() == [""]
    assert not len(Items.from_rows([])) and not [*Items.from_rows([])]


def test_the_words_of_a_benchmark_are_those_of_human_answers():
    items = [BenchmarkItem("1", "n", {}, ("Dark red", "red")), BenchmarkItem("2", "n", {"blue": 1.0})]
    assert Benchmark("vqa", "b", "", {}, {"x": Items.from_rows(items)}, frozenset()).human_answer_words() == {
        "dark",
        "red",
    }


# Input validation


def test_arrays_come_back_in_the_order_named():
    first, second, third = check_arrays(a=[1, 2], b=[True, False], c=(0.5, 1.0))
    assert [first.dtype.kind, second.dtype.kind, third.dtype.kind] == ["i", "b", "f"]
    assert [array.dtype.kind for array in check_arrays(empty=[])] == ["f"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": [[1]], "b": [1]}, "a has 2 dimensions, expected 1"),
        ({"a": [1, 2], "b": [1]}, "lengths differ: a 2, b 1"),
        ({"a": ["x"]}, "a has type <U1, expected numbers or booleans"),
        ({"a": [1.0, float("nan"), float("inf")]}, "a has 2 NaN or infinite values"),
        ({"a": ["x"], "b": [float("nan")]}, "a has type <U1, expected numbers or booleans; b has 1 NaN"),
    ],
)
def test_wrong_arrays_are_refused_with_everything_that_is_wrong(arguments, expected):
    with pytest.raises(ValueError) as caught:
        check_arrays(**arguments)
    assert expected in str(caught.value)


def test_fractions_lie_between_0_and_1():
    (accuracy,) = check_fractions(accuracy=[True, False])
    assert accuracy.dtype.kind == "f" and accuracy.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="accuracy has 2 values outside"):
        check_fractions(accuracy=[-0.1, 0.5, 1.1])
    with pytest.raises(ValueError, match="a has 1 NaN"):
        check_fractions(a=[float("nan")])


def test_rows_are_parsed_one_by_one_and_every_fault_says_where():
    def make(row):
        if row < 0:
            raise UserError(["below 0", "no good"])
        return 2 * row

    assert parse_each_row([1, 2], "row", make) == ([2, 4], [])
    assert parse_each_row([1, -1, 3], "file, row", make) == (
        [2, 6],
        ["file, row 2: below 0", "file, row 2: no good"],
    )


@pytest.mark.parametrize(
    ("predictions", "answers", "expected"),
    [
        (["a"], ["a"], "^answers has a string, expected a list of answers for each prediction$"),
        (["a"], [[]], "1 empty list"),
        ([1], [["a"]], "another type"),
        (["a"], [["a", 2]], "answers has 1 value of another type"),
        (["a", "b"], [["a"]], "lengths differ"),
    ],
)
def test_wrong_answers_are_refused(predictions, answers, expected):
    for function in (check_strings, vqa_accuracy):
        with pytest.raises(ValueError, match=expected):
            function(predictions, answers)


def test_an_error_of_the_input_keeps_its_lines_apart():
    assert UserError("one").problems == ["one"]
    assert UserError(line for line in "ab").problems == ["a", "b"] and str(UserError(["a", "b"])) == "a\nb"


def test_an_unreadable_file_is_reported_in_one_line(tmp_path):
    with pytest.raises(UserError, match=r"none\.json: no such file$"):
        read_bytes(tmp_path / "none.json")
    with pytest.raises(UserError, match="cannot be read"):
        read_bytes(tmp_path)
    with pytest.raises(UserError, match=r"x\.json: not valid JSON .*truncated"):
        parse_json(b'{"a": ', "x.json")
    assert parse_json(b'{"a": [1]}', "x.json") == {"a": [1]}


def test_lines_are_numbered_and_empty_ones_skipped():
    assert list(parse_json_lines(b'1\n\n{"a": 2}\r\n  \n', "x.jsonl")) == [(1, 1), (3, {"a": 2})]
    with pytest.raises(UserError, match=r"x\.jsonl, line 2: not valid JSON"):
        list(parse_json_lines(b"1\n{", "x.jsonl"))


@pytest.mark.parametrize(
    "text", ['{"a": 1, "b": 2, "a": 1}', '[{"a": 1, "a": 2}]', '{"x": [{"a": {}, "a": 3}]}']
)
def test_a_duplicate_key_of_an_object_is_refused(text):
    with pytest.raises(UserError, match=r"^x\.json: .*key a twice"):
        parse_json(text.encode(), "x.json")
    with pytest.raises(UserError, match=r"^x\.jsonl, line 2: .*key a twice"):
        list(parse_json_lines(f'{{"a": ["a", {{"a": 1}}]}}\n{text}'.encode(), "x.jsonl"))


def test_a_file_that_should_map_ids_and_does_not_is_refused(tmp_path):
    (tmp_path / "choices.json").write_text("[1]")
    with pytest.raises(UserError, match="choices.json: expected an object by id, got a list"):
        read_json_object(tmp_path / "choices.json")


def test_of_many_lines_the_broken_one_is_named():
    lines = ['{"a": 1}'] * 2000
    assert len(list(parse_json_lines("\n".join(lines).encode(), "x"))) == 2000
    for broken in ('{"a": 1}, {"a": 1}', "[1", '{"a": 1'):
        with pytest.raises(UserError, match="x, line 1501: not valid JSON"):
            list(parse_json_lines("\n".join([*lines[:1500], broken, *lines]).encode(), "x"))


def test_the_garbage_collector_is_restored():
    with pytest.raises(ZeroDivisionError), pause_garbage_collection():
        assert not gc.isenabled()
        _ = 1 / 0
    assert gc.isenabled()
