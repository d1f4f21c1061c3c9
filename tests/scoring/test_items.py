import numpy as np

from pipeline.scoring.items import Benchmark, BenchmarkItem, Items


def test_fields_that_no_file_names_are_empty_in_the_table_too():
    items = Items({"id": ["a", "b"], "split": ["validation", "test"], "image": ["n", ""]}, 2)
    assert items["human_answers"].tolist() == [(), ()] and items["gqa_question"].tolist() == [{}, {}]
    assert items.clusters.tolist() == ["n", "b"]
    assert [item.split for item in items.select(np.array([1, 0]))] == ["test", "validation"]
    assert items.with_columns(split=["", ""]).select(np.array([False, True]))["split"].tolist() == [""]
    assert not len(Items.from_rows([])) and not [*Items.from_rows([])]


def test_the_words_of_a_benchmark_are_peoples():
    items = [BenchmarkItem("1", "n", {}, ("Dark red", "red")), BenchmarkItem("2", "n", {"blue": 1.0})]
    assert Benchmark("vqa", "b", "", {}, {"x": Items.from_rows(items)}, frozenset()).human_answer_words() == {
        "dark",
        "red",
    }
