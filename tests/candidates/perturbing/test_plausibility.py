"""What fits, where little was counted and where much was."""

import numpy as np
import pytest

from pipeline.candidates.perturbing.plausibility import (
    MIN_LIFT,
    PRIOR_STRENGTH,
    ObjectConstraints,
    PlausibilityModel,
)
from pipeline.core.records import ObjectEntry, Vocabulary
from tests.candidates.perturbing.in_memory import NO_WORDS
from tests.candidates.perturbing.small_vocabulary import LOOKS


def model(
    *names: str,
    count: int = 1,
    related: tuple[tuple[str, str, str, int], ...] = (),
    looks: dict[str, dict[str, int]] | None = None,
    kinds: dict[str, tuple[str, ...]] | None = None,
) -> PlausibilityModel:
    """Things of these names, each seen so often, with relations between them and looks."""
    objects = {}
    for name in names:
        subject_of, object_of = {}, {}
        for relation, subject, other, seen in related:
            if subject == name:
                subject_of[relation] = subject_of.get(relation, 0) + seen
            if other == name:
                object_of[relation] = object_of.get(relation, 0) + seen
        objects[name] = ObjectEntry(
            name=name,
            count=count,
            number="singular",
            attributes=(looks or {}).get(name, {}),
            subject_of=subject_of,
            object_of=object_of,
        )
    words = Vocabulary(
        objects=objects,
        attributes={},
        attribute_types=LOOKS,
        relations={},
        categories=kinds or {},
        locations={},
        weathers={},
        relation_counts=related,
    )
    return PlausibilityModel(words, sorted({*names, *(kinds or {})}))


def fitting(one: PlausibilityModel, demanded: ObjectConstraints) -> set[str]:
    return {name for name, fit in zip(one.names, one.score_objects(demanded), strict=True) if fit}


def test_without_counts_common_sense_decides():
    one = model("man", "statue", "zebra", "fence", "hat", "sky", "brick")
    assert fitting(one, ObjectConstraints(relations=(("wearing", "s", "hat"),))) == {"man", "statue"}
    assert fitting(one, ObjectConstraints(relations=(("wearing", "o", "man"),))) == {"hat"}
    assert "sky" not in fitting(one, ObjectConstraints(relations=(("in front of", "o", "man"),)))
    assert fitting(one, ObjectConstraints(attributes=(("young",),))) == {"man", "zebra"}


def test_all_constraints_of_an_object_must_hold_at_once():
    # Elephants may be old, people may wear jeans; who does both is a person.
    one = model("elephant", "man", "couch", "jeans")
    old, wearing = (("old",),), (("wearing", "s", "jeans"),)
    assert fitting(one, ObjectConstraints(attributes=old)) >= {"elephant", "man", "couch"}
    assert fitting(one, ObjectConstraints(attributes=old, relations=wearing)) == {"man"}


def test_two_objects_must_fit_as_a_pair():
    # Cups are on tables, birds on trees.
    one = model("cup", "bird", "table", "tree")
    assert fitting(one, ObjectConstraints(relations=(("on", "s", "tree"),))) == {"bird"}
    assert fitting(one, ObjectConstraints(relations=(("on", "o", "cup"),))) == {"table"}


def test_counts_overrule_common_sense_both_ways():
    # 1,000 things of each of four names, 200 zebras seen in hats, of 400 hats worn; no statue.
    worn = (("wearing", "man", "hat", 200), ("wearing", "zebra", "hat", 200))
    one = model("man", "statue", "zebra", "hat", count=1000, related=worn)
    assert fitting(one, ObjectConstraints(relations=(("wearing", "s", "hat"),))) == {"man", "zebra"}


def test_three_sightings_against_common_sense_are_errors_and_four_are_not():
    # Of three names a third of the sightings is expected.
    assert 3 / (1 + PRIOR_STRENGTH) < MIN_LIFT < 4 / (4 / 3 + PRIOR_STRENGTH)
    for seen, found in ((3, {"man"}), (4, {"man", "fence"})):
        related = (("wearing", "fence", "hat", seen),)
        one = model("man", "fence", "hat", related=related)
        assert fitting(one, ObjectConstraints(relations=(("wearing", "s", "hat"),))) == found


def test_the_lift_is_the_shrunken_ratio_of_seen_to_expected():
    # 30 blue things, 24 of them kites; kites are 20 of 80 things. Of no other thing of its kind anything was seen, so
    # that its lift is (24 + 10 * 1) / (30 / 4 + 10) = 1.942857.
    one = model("kite", "cup", "couch", "car", count=20, looks={"kite": {"blue": 24}, "cup": {"blue": 6}})
    assert PRIOR_STRENGTH == 10
    assert one.score_attribute("kite", "blue", "color") == pytest.approx(34 / 17.5)
    # Of couches none was seen, of 7.5 that are expected.
    assert one.score_attribute("couch", "blue", "color") == pytest.approx(10 / 17.5)


def test_observations_of_its_kind_raise_the_score_of_an_object():
    # Four names of 20 things each; 30 blue ones, all cups. Of its kind a bowl expects 30 / 4 and sees 30: 40 / 17.5, of
    # itself none of 7.5: 10 * 40 / 17.5 / 17.5.
    one = model("cup", "bowl", "couch", "car", count=20, looks={"cup": {"blue": 30}})
    assert one.score_attribute("bowl", "blue", "color") == pytest.approx(10 * (40 / 17.5) / 17.5)


def test_a_category_fits_as_its_members_do_by_how_common_they_are():
    one = model("cup", "vase", "man", kinds={"crockery": ("cup", "vase")}, count=50)
    assert one.score_attribute("crockery", "red", "color") == pytest.approx(1, abs=1e-5)
    assert one.score_attribute("crockery", "young", "age") == 0


def test_an_unknown_fact_fits_nothing():
    assert (
        fitting(model("cup", "bowl", "man"), ObjectConstraints(relations=(("gizmoing", "s", ""),))) == set()
    )


def test_unknown_objects_fit_anything():
    one = PlausibilityModel(NO_WORDS, ["cup"])
    assert one.score_attribute("_", "red", "color") == 1
    assert np.isfinite(one.score_objects(ObjectConstraints())).all()


def test_an_unlisted_attribute_fits_objects_observed_with_it():
    # Common sense allows it of nothing, four names share 24 sightings, all of kites: (24 + 10 * 0) / (24 / 4 + 10) = 1.5.
    one = model("kite", "cup", "couch", "car", looks={"kite": {"gizmoed": 24}})
    assert fitting(one, ObjectConstraints(attributes=(("gizmoed",),))) == {"kite"}
    assert one.score_objects(ObjectConstraints(attributes=(("gizmoed",),)))[
        one.row_by_name["kite"]
    ] == pytest.approx(1.5)
