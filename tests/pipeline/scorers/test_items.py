from pipeline.scorers.items import Benchmark, BenchmarkItem
from tests.pipeline.scorers.conftest import ROWS, answered


def test_the_right_answers_are_peoples_one_by_one_or_the_labels():
    assert BenchmarkItem("1", "n", {"red": 1.0, "dark red": 0.5}).right == ["red", "dark red"]
    assert BenchmarkItem("1", "n", {"red": 1.0}, ("red", "red", "blue")).right == ["red", "red", "blue"]
    assert BenchmarkItem("1", "n", {}).right == []


def test_the_words_of_a_benchmark_are_peoples():
    items = [BenchmarkItem("1", "n", {}, ("Dark red", "red")), BenchmarkItem("2", "n", {"blue": 1.0})]
    assert Benchmark("vqa", "b", "", {}, {"x": items}, frozenset()).words() == {"dark", "red"}


def test_items_are_paired_where_each_names_its_pair():
    assert answered().paired[-1].tolist() == ["p1", "p1", "p2", "p2", "p3", "p3"]
    assert answered().has_pairs
    assert not answered([(*ROWS[0][:3], "", *ROWS[0][4:]), *ROWS[1:]]).has_pairs
