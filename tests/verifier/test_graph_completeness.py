"""Annotation recall and Bayes' rule, compared with calculations by hand."""

import math

import pytest

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.cooccurrence import count_cooccurrences
from pipeline.verifier.graph_completeness import EstimatedGraphCompleteness, estimate_annotation_recall
from pipeline.verifier.presence_model import PresenceModel
from tests.notation import LEXICON, answered_question, scene

IMAGES = [("cow", "sky")] * 50 + [("kite", "sky")] * 50
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
            cooccurrence=count_cooccurrences(IMAGES, set(OBJECTS), Lexicon({}, {}), is_partial=False),
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
