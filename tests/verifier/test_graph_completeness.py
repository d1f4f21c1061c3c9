"""What graphs leave out, by hand: the shares that questions tell, and Bayes' rule on them."""

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


def left_out(**listed):
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


def test_how_complete_graphs_are_is_told_by_what_questions_take_for_granted():
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
    # Things: table and cup of table, cup and lamp. Looks of these two: blue of blue and metal. Relations: on of on, near.
    # One more of each is held to be left out.
    assert estimate_annotation_recall(scenes, asked, LEXICON) == {
        "attribute": 1 / 3,
        "object": 2 / 4,
        "relation": 1 / 3,
    }
    assert estimate_annotation_recall(scenes, asked, LEXICON, {"object": 0.1})["object"] == 0.1
    assert estimate_annotation_recall(scenes, {}, LEXICON) == {}


def test_a_thing_that_is_not_listed_is_there_by_bayes_rule():
    gaps = left_out(object=0.8)
    rate = PresenceModel(gaps._vocabulary).estimate_probability("cow", ["sky"])
    # Of 1,000 images 1,000 x rate / 0.8 show a cow, 1,000 x rate list it.
    show, lists = 1000 * rate / 0.8, 1000 * rate
    assert gaps.estimate_unlisted_objects("cow", ["sky"], 0) == pytest.approx((show - lists) / (1000 - lists))


def test_where_some_are_listed_as_many_are_left_out_in_proportion():
    assert left_out(object=0.8).estimate_unlisted_objects("cow", ["cow"], 4) == pytest.approx(
        1
    )  # of five, four are listed
    assert left_out(object=0.2).estimate_unlisted_objects("cow", ["cow"], 2) == pytest.approx(
        8
    )  # more than one, so no chance


@pytest.mark.parametrize(
    ("name", "shown"), [("unicorn", ["cow"]), ("kite", ["box kite"]), ("place", ["cow"])]
)
def test_of_unheard_of_things_and_of_what_may_go_by_another_name_nobody_can_tell(name, shown):
    assert left_out(object=0.99).estimate_unlisted_objects(name, shown, 0) > 0.9


def test_looks_and_relations_go_by_what_is_listed_of_such_things_and_one_more():
    gaps = left_out(attribute=0.5, relation=0.5)
    brown = (9 + 1) / (50 + 4)
    assert gaps.estimate_attribute_probability("brown", "cow", False) == pytest.approx(brown / 0.5)
    # of 54 cows 10 are listed as brown, as many are so and not listed: 10 of 44
    assert gaps.estimate_attribute_probability("brown", "cow", True) == pytest.approx(10 / 44)
    assert gaps.estimate_relation_probability("kite", "in", "sky", False) == pytest.approx(
        min((40 + 1) / (50 + 4) / 0.5, 0.98)
    )
    assert gaps.estimate_relation_probability("sky", "in", "kite", True) == pytest.approx(
        1 / 53
    )  # 1 of 54, another left out: 1 of 53


def test_where_nothing_is_known_of_completeness_all_may_be_left_out():
    assert (
        left_out().estimate_unlisted_objects("cow", ["sky"], 0) > 0.9
        and left_out().estimate_attribute_probability("brown", "cow", True) > 0.9
    )
    assert math.isfinite(left_out().estimate_unlisted_objects("cow", ["cow"], 1))
