import numpy as np

from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import PredictionFileInfo, ScoringOptions
from tests.scoring.conftest import ROWS, answered, model, vqa_answered


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
