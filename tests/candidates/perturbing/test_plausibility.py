"""What is known of no object, with and without the default vocabulary."""

import msgspec
import pytest

from pipeline.candidates.perturbing.plausibility import ObjectConstraints, PlausibilityModel
from pipeline.core.records import ObjectEntry, Vocabulary

NAMES = ("boat", "cart", "cup", "hand", "truck")


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary(
        objects={name: ObjectEntry(name=name, count=10, number="singular", attributes={}) for name in NAMES},
        attributes={},
        attribute_types={},
        relations={},
        categories={},
        locations={},
        weathers={},
    )


def test_an_attribute_that_nobody_knows_fits_no_object_of_a_data_set_of_its_own(vocabulary):
    model = PlausibilityModel(vocabulary, NAMES)
    constraints = ObjectConstraints(attributes=(("three-wheeled",),))
    assert not model.score_objects(constraints).any()
    assert not model.has_unknown_facts(constraints)


def test_with_the_default_vocabulary_it_leaves_objects_of_the_same_kind(vocabulary):
    model = PlausibilityModel(msgspec.structs.replace(vocabulary, has_default=True), NAMES)
    constraints = ObjectConstraints(attributes=(("three-wheeled",),))
    assert model.score_objects(constraints).all() and model.has_unknown_facts(constraints)
    # A boat is a vehicle, too, but its main kind is that of watercraft.
    assert [name for name, fits in zip(NAMES, model.match_main_kind("cart"), strict=True) if fits] == ["cart"]
    assert not model.match_main_kind("hand").any() and not model.match_main_kind("gizmo").any()


def test_what_common_sense_knows_still_decides_with_the_default_vocabulary(vocabulary):
    model = PlausibilityModel(msgspec.structs.replace(vocabulary, has_default=True), NAMES)
    parked = ObjectConstraints(attributes=(("parked",),))
    # "parked, moving | vehicle" (commonsense.py)
    assert [name for name, score in zip(NAMES, model.score_objects(parked), strict=True) if score] == [
        "boat",
        "cart",
        "truck",
    ]
    assert not model.has_unknown_facts(parked)
