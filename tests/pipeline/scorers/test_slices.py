from pipeline.scorers.items import BenchmarkItem, Options
from pipeline.scorers.join import join
from pipeline.scorers.slices import by_group
from tests.pipeline.scorers.conftest import answered, model


def test_uqs_of_a_category_are_set_against_all_aqs():
    # By confidence: a1, a2, u2, a3, u1, u3. "missing object" is u1 and u3: all AQs are above both.
    slices = by_group(answered(), Options())["category"]
    assert list(slices) == ["missing object", "wrong attribute"]
    assert slices["missing object"]["auroc"] == 1.0
    assert (slices["missing object"]["aqs"], slices["missing object"]["uqs"]) == (3, 2)
    # "wrong attribute" is u2, above a3 and below the others: 2 of 3.
    assert slices["wrong attribute"]["auroc"] == 2 / 3 and slices["wrong attribute"]["uqs"] == 1


def test_an_edit_counts_where_it_is_one_of_several_and_a_question_type_for_both_kinds():
    items = [
        BenchmarkItem("a", "n", {"red": 1.0}, edits=("object",), structural="query"),
        BenchmarkItem("b", "n", {"red": 1.0}, structural="verify"),
        BenchmarkItem("u", "n", {}, edits=("attribute", "object"), structural="query"),
        BenchmarkItem("v", "n", {}, edits=("attribute",), structural="query"),
    ]
    said = model({"a": ("red", 0.4), "b": ("red", 0.9), "u": ("red", 0.5), "v": ("red", 0.1)})
    slices = by_group(join(items, said, Options()), Options())
    assert {kind: row["uqs"] for kind, row in slices["edit"].items()} == {"attribute": 2, "object": 1}
    # An AQ's own edits play no part: "object" is u against both AQs, of which one is above it.
    assert slices["edit"]["object"]["auroc"] == 0.5 and slices["edit"]["object"]["aqs"] == 2
    # "query": a against u and v.
    assert slices["structural"]["query"] == {
        "auaf": 0.5, "ff95": 0.5, "facc": 1.0, "auroc": 0.5, "aqs": 1, "uqs": 2
    }  # fmt: skip
    assert slices["structural"]["verify"]["uqs"] == 0 and "category" not in slices


def test_a_benchmark_that_says_nothing_of_its_items_has_no_slices():
    items = [BenchmarkItem("a", "n", {"red": 1.0}), BenchmarkItem("u", "n", {})]
    joined = join(items, model({"a": ("red", 1.0), "u": ("red", 0.0)}), Options())
    assert "does not say of what kind" in by_group(joined, Options())["absent"]
