import pytest

from pipeline.core.errors import UserError
from pipeline.inference.attribution.item_pairs import find_pair, get_question_text, sample_pairs
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items


def item(name, answer="", split="test", pair="", image="n1", asked="Is it?"):
    return BenchmarkItem(
        name, image, {answer: 1.0} if answer else {}, question_text=asked, split=split, pair_id=pair
    )


def benchmark(**subsets):
    tables = {name: Items.from_rows(items) for name, items in subsets.items()}
    ids = frozenset().union(*(table.ids for table in tables.values()))
    return Benchmark("rgqa", "toy", "1", {}, tables, ids)


PAIRS = benchmark(
    easy=[item("a1", "red", pair="p1"), item("u1", pair="p1"), item("u2", pair="p2"), item("a2", "no", pair="p2")],
    hard=[item("a1", "red", pair="p3"), item("u3", pair="p3"), item("u4", pair="p4", split="validation")],
)  # fmt: skip


@pytest.mark.parametrize("asked", ["u1", "a1"])
def test_a_pair_lists_the_uq_first(asked):
    pair = find_pair(PAIRS, asked)
    assert (pair.subset, [one.id for one in pair.present_items]) == ("easy", ["u1", "a1"])
    assert pair.uq.id == "u1" and not pair.uq.answers
    assert pair.aq.id == "a1" and pair.aq.answers


def test_an_item_without_a_pair_is_returned_alone():
    alone = benchmark(pope=[item("u1"), item("a1", "yes"), item("u2")])
    assert [one.id for one in find_pair(alone, "u2").present_items] == ["u2"]


def test_an_unknown_item_and_one_without_image_or_text_are_rejected():
    with pytest.raises(UserError, match=r"no item x in toy; .*\(easy, hard\)"):
        find_pair(PAIRS, "x")
    with pytest.raises(UserError, match="item b of toy has no image"):
        find_pair(benchmark(easy=[item("b", image="")]), "b")
    with pytest.raises(UserError, match="item b of toy has no text"):
        find_pair(benchmark(easy=[item("b", asked="")]), "b")


def test_gqa_questions_have_a_text_too():
    question = {"question": "What is this?"}
    assert get_question_text(BenchmarkItem("q", "n", {"cup": 1.0}, gqa_question=question)) == "What is this?"


def test_pairs_are_sampled_evenly_from_split_test_and_reproducibly():
    many = benchmark(
        **{
            name: [one for k in range(9) for one in (item(f"{name}u{k}", pair=f"{name}{k}"), item(f"a{k}", "no", pair=f"{name}{k}"))]
            for name in ("one", "two", "three")
        }
    )  # fmt: skip
    drawn = sample_pairs(many, 7)
    assert [pair.subset for pair in drawn] == ["one"] * 3 + ["two"] * 2 + ["three"] * 2
    assert drawn == sample_pairs(many, 7)
    assert {pair.uq.id for pair in drawn} != {
        f"{name}u{k}" for name in ("one", "two", "three") for k in range(3)
    }
    assert {pair.uq.id for pair in sample_pairs(PAIRS, 9)} == {"u1", "u2", "u3"}  # u4 is of split validation
