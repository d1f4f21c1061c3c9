"""Presence by hand: base rates, what is shown together, what is nearly everywhere."""

import math

import numpy as np
import pytest

from pipeline.candidates.perturbing.object_table import ObjectTable
from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.cooccurrence import count_cooccurrences
from pipeline.verifier.presence_model import MAX_PROBABILITY, PresenceModel, get_known_names
from tests.notation import facts

CATEGORIES = {"furniture": ("couch", "table")}
IMAGES = [("couch", "table")] * 30 + [("cow",)] * 20 + [("cow", "sky")] * 10 + [("kite", "sky")] * 40


def vocabulary(images=IMAGES, partial=False, most=1000, looks=None, types=None, names=()):
    names = sorted({name for image in images for name in image}.union(names))
    looks, types = looks or {}, types or {}
    return Vocabulary(
        objects={
            name: ObjectEntry(
                name=name,
                count=sum(name in image for image in images),
                number="singular",
                attributes=looks.get(name, {}),
            )
            for name in names
        },
        attributes={word: sum(has.get(word, 0) for has in looks.values()) for word in types},
        attribute_types=types,
        relations={},
        categories=CATEGORIES,
        locations={},
        weathers={},
        cooccurrence=count_cooccurrences(
            images, {*names, *CATEGORIES}, Lexicon(CATEGORIES, types), partial, most
        ),
    )


def test_names_stand_in_the_order_of_the_table_of_objects():
    assert PresenceModel(vocabulary()).names == ObjectTable(vocabulary()).names


def test_without_evidence_the_base_rate_counts():
    # 30 of 100 images show a couch: (30 + 4 * 0.02) / (100 + 4); categories count by their members.
    presence = PresenceModel(vocabulary())
    assert presence.estimate_probability("couch", ()) == pytest.approx(30.08 / 104)
    assert presence.estimate_probability("furniture", ()) == pytest.approx(30.08 / 104)
    assert presence.estimate_probabilities(())[presence.index_by_name["kite"]] == pytest.approx(40.08 / 104)


def test_what_is_shown_together_raises_and_what_is_not_lowers():
    # By chance 0.5 * 40 = 20 of the images with a kite show sky, 40 do: lift (40 + 4) / (20 + 4).
    presence = PresenceModel(vocabulary())
    odds = (50.08 / 104) / (1 - 50.08 / 104) * 44 / 24
    assert presence.estimate_probability("sky", ("kite",)) == pytest.approx(odds / (1 + odds))
    assert presence.estimate_probability("couch", ("kite",)) < presence.estimate_probability("couch", ())


def test_two_known_things_count_as_many_times_as_the_root_of_two():
    # Cows and couches by chance: 30 * 30 / 100 = 9 images, sky 50 * 30 / 100 = 15; never with a couch.
    presence = PresenceModel(vocabulary())
    moved = math.log(30.08 / 73.92) + (math.log(4 / 13) + math.log(4 / 19)) / math.sqrt(2)
    assert presence.estimate_probability("couch", ("cow", "sky")) == pytest.approx(1 / (1 + math.exp(-moved)))


def test_what_is_known_and_its_categories_are_there():
    presence = PresenceModel(vocabulary())
    assert (
        presence.estimate_probability("tables", ("table",))
        == presence.estimate_probability("furniture", ("table",))
        == MAX_PROBABILITY
    )
    assert presence.estimate_probability("couch", ("table",)) < MAX_PROBABILITY


def test_of_pairs_that_were_left_out_the_most_that_they_can_have_been_counts():
    few, all_ = (PresenceModel(vocabulary(most=most)) for most in (4, 1000))
    # Of five pairs cow and sky, 10 images, is left out: then at most 10 are taken. By chance 15 showed both.
    assert vocabulary(most=4).cooccurrence.min_pair_count == 11
    assert (
        few.estimate_probability("sky", ("cow",))
        == all_.estimate_probability("sky", ("cow",))
        < few.estimate_probability("sky", ())
    )
    # Couch and cow: by chance 9 images, and that may be. In truth there is none.
    assert (
        all_.estimate_probability("couch", ("cow",))
        < few.estimate_probability("couch", ("cow",))
        == few.estimate_probability("couch", ())
    )


def test_of_partial_graphs_rates_are_raised_to_what_questions_leave_unsaid():
    # 1.8 things an image named of 20: the exponent is the root of 20 / 1.8.
    told = vocabulary(partial=True)
    assert told.cooccurrence.mean_names_per_image == 1.8
    rate = 1 - (1 - 30.08 / 104) ** math.sqrt(20 / 1.8)
    assert PresenceModel(told).estimate_probability("couch", ()) == pytest.approx(rate)


def test_where_no_graph_was_published_the_ground_is_nearly_everywhere():
    images = [*IMAGES, *([("ground", "man")])]
    assert PresenceModel(vocabulary(images)).estimate_probability("ground", ()) < 0.05
    assert PresenceModel(vocabulary(images, partial=True)).estimate_probability(
        "ground", ()
    ) == pytest.approx(0.5)
    # and who is there has hair
    told = PresenceModel(vocabulary([*images, ("hair",)], partial=True))
    assert told.estimate_probability("hair", ("couch",)) < 0.6 < told.estimate_probability("hair", ("man",))


def test_a_name_that_was_never_seen_is_rare():
    assert 0 < PresenceModel(vocabulary()).estimate_probability("unicorn", ("cow",)) < 0.02


def test_a_look_counts_among_those_of_its_type():
    types = {"red": "color", "blue": "color", "wood": "material"}
    looks = {"couch": {"red": 6, "blue": 2, "wood": 30}, "table": {"blue": 8}}
    presence = PresenceModel(vocabulary(looks=looks, types=types))
    # Of all 16 colours 6 are red: (6 + 0.5) / (16 + 2); of 8 couches' 6, with 4 borrowed at that share.
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


def test_what_the_evidence_lists_is_known_by_its_most_particular_names():
    assert get_known_names(facts("dogs 1: wet", "couch 2: on 1", "dog 3")) == {"dog", "couch"}
    assert get_known_names(None) == frozenset()
