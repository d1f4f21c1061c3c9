"""Cooccurrence counts, compared with counts by hand."""

from pipeline.language.lexicon import Lexicon
from pipeline.verifier.cooccurrence import count_cooccurrences

LEXICON = Lexicon({"furniture": ("couch", "table")}, {})
IMAGES = [("couch", "table", "dogs"), ("dog", "table"), ("kite",), ("kite", "table")]
NAMES = ("couch", "table", "dog", "dogs", "kite", "furniture")


def test_images_are_counted_by_the_lemmas_of_names_and_by_categories():
    shown = count_cooccurrences(IMAGES, NAMES, LEXICON, is_partial=False)
    assert shown.image_counts == {"couch": 1, "dog": 2, "furniture": 3, "kite": 2, "table": 3}
    # The mean number of names is (3 + 2 + 1 + 2) / 4.
    assert (shown.num_images, shown.from_questions, shown.mean_names_per_image) == (4, False, 2.0)


def test_pairs_are_counted_once_in_the_order_of_the_alphabet():
    assert count_cooccurrences(IMAGES, NAMES, LEXICON, is_partial=True).pair_counts == {
        "couch": {"dog": 1, "furniture": 1, "table": 1},
        "dog": {"furniture": 2, "table": 2},
        "furniture": {"kite": 1, "table": 3},
        "kite": {"table": 1},
    }


def test_the_rarest_pairs_are_left_out_and_the_minimum_count_is_reported():
    shown = count_cooccurrences(IMAGES, NAMES, LEXICON, is_partial=False, max_pairs=4)
    assert shown.pair_counts == {"dog": {"furniture": 2, "table": 2}, "furniture": {"table": 3}}
    assert shown.min_pair_count == 2


def test_singular_and_plural_count_as_one_name():
    assert (
        count_cooccurrences([("dog", "dogs")], NAMES, LEXICON, is_partial=False).mean_names_per_image == 1.0
    )


def test_without_images_the_counts_are_empty():
    assert count_cooccurrences([], NAMES, LEXICON, is_partial=False).image_counts == {}
