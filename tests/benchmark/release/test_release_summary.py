from msgspec.structs import replace

from pipeline.benchmark.release.release_summary import compute_mean_words, count_items, count_subset
from pipeline.core.records import Item
from tests.benchmark.release.card_facts import facts


def test_subsets_are_counted_separately(items):
    others = [replace(item, subset="pt-easy") for item in items]
    found = count_subset("clip-hard", [*items, *others[:3]])
    assert (found.uqs, found.aqs, found.distinct_uq_texts, found.images) == (4, 4, 4, 2)
    assert found.mean_words == 3  # 3, 3, 2 and 4 words


def test_items_of_several_subsets_are_one_item_but_several_rows(items):
    both = [*items, *(replace(item, subset="pt-easy") for item in items if not item.unanswerable)]
    found = count_items(both)
    assert (found["items"], found["images"]) == (8, 2) and facts(both).num_rows == 12
    assert found["tables"] == (("clip-hard", "validation"), ("clip-hard", "test"), ("pt-easy", "validation"))


def test_the_mean_length_is_in_words():
    # 5 and 2 words
    rows = [
        Item(
            item_id=str(i),
            subset="pt-hard",
            image_id="n1",
            question_id="1",
            text=text,
            unanswerable=True,
            answer="",
            pair_id="p",
            split="test",
        )
        for i, text in enumerate(("What color is the cup?", "Is it?"))
    ]
    assert compute_mean_words(rows) == 3.5
