"""Presence probabilities, cooccurrence and completeness of graphs."""

import math

import numpy as np
import pytest

from pipeline.candidates.perturbing.object_table import ObjectTable
from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.cooccurrence import count_cooccurrences
from pipeline.verifier.graph_completeness import EstimatedGraphCompleteness, estimate_annotation_recall
from pipeline.verifier.presence_model import MAX_PROBABILITY, PresenceModel, get_known_names
from tests.notation import LEXICON, answered_question, facts, scene

# Presence model
# Presence probabilities, compared with calculations by hand.


CATEGORIES = {"furniture": ("couch", "table")}
IMAGES = [("couch", "table")] * 30 + [("cow",)] * 20 + [("cow", "sky")] * 10 + [("kite", "sky")] * 40


def vocabulary(images=IMAGES, partial=False, max_pairs=1000, attributes_by_name=None, types=None, names=()):
    names = sorted({name for image in images for name in image}.union(names))
    attributes_by_name, types = attributes_by_name or {}, types or {}
    return Vocabulary(
        objects={
            name: ObjectEntry(
                name=name,
                count=sum(name in image for image in images),
                number="singular",
                attributes=attributes_by_name.get(name, {}),
            )
            for name in names
        },
        attributes={word: sum(has.get(word, 0) for has in attributes_by_name.values()) for word in types},
        attribute_types=types,
        relations={},
        categories=CATEGORIES,
        locations={},
        weathers={},
        cooccurrence=count_cooccurrences(
            images, {*names, *CATEGORIES}, Lexicon(CATEGORIES, types), partial, max_pairs
        ),
    )


def test_names_have_the_order_of_the_object_table():
    assert PresenceModel(vocabulary()).names == ObjectTable(vocabulary()).names


def test_without_known_objects_the_base_rate_is_used():
    # 30 of 100 images show a couch: (30 + 4 * 0.02) / (100 + 4); categories count by their members.
    presence = PresenceModel(vocabulary())
    assert presence.estimate_probability("couch", ()) == pytest.approx(30.08 / 104)
    assert presence.estimate_probability("furniture", ()) == pytest.approx(30.08 / 104)
    assert presence.estimate_probabilities(())[presence.index_by_name["kite"]] == pytest.approx(40.08 / 104)


def test_cooccurrence_changes_the_probability():
    # By chance 0.5 * 40 = 20 of the images with a kite show sky, 40 do: lift (40 + 4) / (20 + 4).
    presence = PresenceModel(vocabulary())
    odds = (50.08 / 104) / (1 - 50.08 / 104) * 44 / 24
    assert presence.estimate_probability("sky", ("kite",)) == pytest.approx(odds / (1 + odds))
    assert presence.estimate_probability("couch", ("kite",)) < presence.estimate_probability("couch", ())


def test_the_lift_of_two_known_objects_is_divided_by_the_square_root_of_two():
    # Cows and couches by chance: 30 * 30 / 100 = 9 images, sky 50 * 30 / 100 = 15; never with a couch.
    presence = PresenceModel(vocabulary())
    moved = math.log(30.08 / 73.92) + (math.log(4 / 13) + math.log(4 / 19)) / math.sqrt(2)
    assert presence.estimate_probability("couch", ("cow", "sky")) == pytest.approx(1 / (1 + math.exp(-moved)))


def test_known_objects_and_their_categories_have_the_maximum_probability():
    presence = PresenceModel(vocabulary())
    assert (
        presence.estimate_probability("tables", ("table",))
        == presence.estimate_probability("furniture", ("table",))
        == MAX_PROBABILITY
    )
    assert presence.estimate_probability("couch", ("table",)) < MAX_PROBABILITY


def test_unlisted_pairs_get_the_highest_count_below_the_minimum():
    few, all_ = (PresenceModel(vocabulary(max_pairs=max_pairs)) for max_pairs in (4, 1000))
    # The pair of cow and sky, with 10 images, is left out, so that at max_pairs 10 are assumed. By chance 15
    # would show both.
    assert vocabulary(max_pairs=4).cooccurrence.min_pair_count == 11
    assert (
        few.estimate_probability("sky", ("cow",))
        == all_.estimate_probability("sky", ("cow",))
        < few.estimate_probability("sky", ())
    )
    # By chance 9 images would show couch and cow, which is below 10. In truth there is none.
    assert (
        all_.estimate_probability("couch", ("cow",))
        < few.estimate_probability("couch", ("cow",))
        == few.estimate_probability("couch", ())
    )


def test_rates_of_partial_graphs_are_raised():
    # 1.8 of 20 objects of an image are mentioned: the exponent is the root of 20 / 1.8.
    counted = vocabulary(partial=True)
    assert counted.cooccurrence.mean_names_per_image == 1.8
    rate = 1 - (1 - 30.08 / 104) ** math.sqrt(20 / 1.8)
    assert PresenceModel(counted).estimate_probability("couch", ()) == pytest.approx(rate)


def test_without_published_graphs_common_objects_have_minimum_rates():
    images = [*IMAGES, *([("ground", "man")])]
    assert PresenceModel(vocabulary(images)).estimate_probability("ground", ()) < 0.05
    assert PresenceModel(vocabulary(images, partial=True)).estimate_probability(
        "ground", ()
    ) == pytest.approx(0.5)
    # An image of a man shows hair.
    presence = PresenceModel(vocabulary([*images, ("hair",)], partial=True))
    assert (
        presence.estimate_probability("hair", ("couch",))
        < 0.6
        < presence.estimate_probability("hair", ("man",))
    )


def test_an_unknown_name_is_rare():
    assert 0 < PresenceModel(vocabulary()).estimate_probability("unicorn", ("cow",)) < 0.02


def test_attribute_rates_are_relative_to_the_type():
    types = {"red": "color", "blue": "color", "wood": "material"}
    attributes_by_name = {"couch": {"red": 6, "blue": 2, "wood": 30}, "table": {"blue": 8}}
    presence = PresenceModel(vocabulary(attributes_by_name=attributes_by_name, types=types))
    # Of all 16 colors 6 are red: (6 + 0.5) / (16 + 2). Of 8 couches 6 are, with 4 pseudocounts at that rate.
    assert presence.estimate_attribute_presence("red", "couch") == pytest.approx((6 + 4 * 6.5 / 18) / 12)
    assert (
        presence.estimate_attribute_presence("red", "table")
        < presence.estimate_attribute_presence("red", "furniture")
        < presence.estimate_attribute_presence("red", "couch")
    )


def test_an_empty_vocabulary_gives_no_names():
    empty = Vocabulary(
        objects={}, attributes={}, attribute_types={}, relations={}, categories={}, locations={}, weathers={}
    )
    assert np.array_equal(PresenceModel(empty).estimate_probabilities(("cow",)), np.zeros(0))
    assert 0 < PresenceModel(empty).estimate_probability("cow", ()) < 0.1


def test_known_names_are_the_most_specific_ones():
    assert get_known_names(facts("dogs 1: wet", "couch 2: on 1", "dog 3")) == {"dog", "couch"}
    assert get_known_names(None) == frozenset()


# Cooccurrence
# Cooccurrence counts, compared with counts by hand.


FURNITURE = Lexicon({"furniture": ("couch", "table")}, {})
COUNTED_IMAGES = [("couch", "table", "dogs"), ("dog", "table"), ("kite",), ("kite", "table")]
NAMES = ("couch", "table", "dog", "dogs", "kite", "furniture")


def test_images_are_counted_by_the_lemmas_of_names_and_by_categories():
    shown = count_cooccurrences(COUNTED_IMAGES, NAMES, FURNITURE, is_partial=False)
    assert shown.image_counts == {"couch": 1, "dog": 2, "furniture": 3, "kite": 2, "table": 3}
    # The mean number of names is (3 + 2 + 1 + 2) / 4.
    assert (shown.num_images, shown.from_questions, shown.mean_names_per_image) == (4, False, 2.0)


def test_pairs_are_counted_once_in_the_order_of_the_alphabet():
    assert count_cooccurrences(COUNTED_IMAGES, NAMES, FURNITURE, is_partial=True).pair_counts == {
        "couch": {"dog": 1, "furniture": 1, "table": 1},
        "dog": {"furniture": 2, "table": 2},
        "furniture": {"kite": 1, "table": 3},
        "kite": {"table": 1},
    }


def test_the_rarest_pairs_are_left_out_and_the_minimum_count_is_reported():
    shown = count_cooccurrences(COUNTED_IMAGES, NAMES, FURNITURE, is_partial=False, max_pairs=4)
    assert shown.pair_counts == {"dog": {"furniture": 2, "table": 2}, "furniture": {"table": 3}}
    assert shown.min_pair_count == 2


def test_singular_and_plural_count_as_one_name():
    assert (
        count_cooccurrences([("dog", "dogs")], NAMES, FURNITURE, is_partial=False).mean_names_per_image == 1.0
    )


def test_without_images_the_counts_are_empty():
    assert count_cooccurrences([], NAMES, FURNITURE, is_partial=False).image_counts == {}


# Graph completeness
# Annotation recall and Bayes' rule, compared with calculations by hand.


PARTLY_ANNOTATED_IMAGES = [("cow", "sky")] * 50 + [("kite", "sky")] * 50
OBJECTS = {
    "cow": ObjectEntry(name="cow", count=50, number="singular", attributes={"brown": 9}),
    "kite": ObjectEntry(name="kite", count=50, number="singular", attributes={}),
    "sky": ObjectEntry(name="sky", count=100, number="mass", attributes={}),
}


def make_completeness(**listed):
    return EstimatedGraphCompleteness(
        Vocabulary(
            objects=OBJECTS,
            attributes={"brown": 9},
            attribute_types={"brown": "color"},
            relations={"in": 40},
            categories={},
            locations={},
            weathers={},
            relation_counts=(("in", "kite", "sky", 40),),
            cooccurrence=count_cooccurrences(
                PARTLY_ANNOTATED_IMAGES, set(OBJECTS), Lexicon({}, {}), is_partial=False
            ),
            annotation_recall=listed,
        )
    )


def test_annotation_recall_is_estimated_from_presuppositions():
    scenes = [scene("table 1: red", "cup 2: blue; on 1", complete=False)]
    asked = {
        "p": [
            answered_question("select: table (1)->relate: cup,on,s (2) [0]->query: color [1]", "blue", "q1"),
            answered_question("select: cup (2)->query: material [0]", "metal", "q2"),
            answered_question("select: lamp (3)->query: color [0]", "red", "q3"),
            answered_question(
                "select: cup (2)->relate: table,near,s (1) [0]->query: hposition [1]", "left", "q4"
            ),
            answered_question("select: lamp (-)->exist: ? [0]", "no", "q5"),
        ]
    }
    # The graph lists 2 of 3 objects (table, cup, lamp), 1 of 2 attributes of listed objects (blue, metal) and
    # 1 of 2 relations (on, near). One more fact of each kind is counted as missing.
    assert estimate_annotation_recall(scenes, asked, LEXICON) == {
        "attribute": 1 / 3,
        "object": 2 / 4,
        "relation": 1 / 3,
    }
    assert estimate_annotation_recall(scenes, asked, LEXICON, {"object": 0.1})["object"] == 0.1
    assert estimate_annotation_recall(scenes, {}, LEXICON) == {}


def test_unlisted_objects_are_estimated_by_bayes_rule():
    gaps = make_completeness(object=0.8)
    rate = PresenceModel(gaps._vocabulary).estimate_probability("cow", ["sky"])
    # Of 1,000 images 1,000 x rate / 0.8 show a cow, 1,000 x rate list it.
    show, lists = 1000 * rate / 0.8, 1000 * rate
    assert gaps.estimate_unlisted_objects("cow", ["sky"], 0) == pytest.approx((show - lists) / (1000 - lists))


def test_listed_objects_imply_a_proportional_number_of_unlisted_ones():
    # Four of five objects are listed.
    assert make_completeness(object=0.8).estimate_unlisted_objects("cow", ["cow"], 4) == pytest.approx(1)
    # Two of ten objects are listed. This is a number of objects, which may exceed 1.
    assert make_completeness(object=0.2).estimate_unlisted_objects("cow", ["cow"], 2) == pytest.approx(8)


@pytest.mark.parametrize(
    ("name", "shown"), [("unicorn", ["cow"]), ("kite", ["box kite"]), ("place", ["cow"])]
)
def test_unknown_and_ambiguous_names_get_the_maximum_probability(name, shown):
    assert make_completeness(object=0.99).estimate_unlisted_objects(name, shown, 0) > 0.9


def test_attribute_and_relation_probabilities_use_smoothed_rates():
    gaps = make_completeness(attribute=0.5, relation=0.5)
    brown = (9 + 1) / (50 + 4)
    assert gaps.estimate_attribute_probability("brown", "cow", False) == pytest.approx(brown / 0.5)
    # Of 54 cows 10 are listed as brown, and as many are brown but not listed: 10 of 44.
    assert gaps.estimate_attribute_probability("brown", "cow", True) == pytest.approx(10 / 44)
    assert gaps.estimate_relation_probability("kite", "in", "sky", False) == pytest.approx(
        min((40 + 1) / (50 + 4) / 0.5, 0.98)
    )
    # 1 of 54 pairs is counted and another one is left out: 1 of 53.
    assert gaps.estimate_relation_probability("sky", "in", "kite", True) == pytest.approx(1 / 53)


def test_without_recall_everything_may_be_make_completeness():
    assert (
        make_completeness().estimate_unlisted_objects("cow", ["sky"], 0) > 0.9
        and make_completeness().estimate_attribute_probability("brown", "cow", True) > 0.9
    )
    assert math.isfinite(make_completeness().estimate_unlisted_objects("cow", ["cow"], 1))
