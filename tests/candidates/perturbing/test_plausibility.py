"""What is known of no object, with and without the default vocabulary."""

import msgspec
import pytest

from pipeline.candidates.perturbing.plausibility import ObjectConstraints, PlausibilityModel
from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.verifier.vocabulary import load_default_vocabulary

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
    assert model.match_unknown_facts("cart", constraints).all()


def test_with_the_default_vocabulary_it_leaves_objects_of_the_same_kind(vocabulary):
    model = PlausibilityModel(msgspec.structs.replace(vocabulary, has_default=True), NAMES)
    constraints = ObjectConstraints(attributes=(("three-wheeled",),))
    assert model.score_objects(constraints).all()
    # A boat is a vehicle, too, but its main kind is that of watercraft.
    fits = model.match_unknown_facts("cart", constraints)
    assert [name for name, one in zip(NAMES, fits, strict=True) if one] == ["cart"]
    assert not model.match_unknown_facts("hand", constraints).any()
    assert not model.match_unknown_facts("gizmo", constraints).any()


def test_whose_part_something_is_may_be_unknown_of_animals_only(vocabulary):
    model = PlausibilityModel(
        msgspec.structs.replace(
            vocabulary,
            has_default=True,
            objects={
                name: ObjectEntry(name=name, count=10, number="singular", attributes={})
                for name in ("cat", "cow", "cup", "boat")
            },
        ),
        ("boat", "cat", "cow", "cup"),
    )
    part = ObjectConstraints(relations=(("of", "o", "gizmo"),))
    assert model.match_unknown_facts("cat", part).tolist() == [False, True, True, False]
    assert not model.match_unknown_facts("boat", part).any()


def test_what_common_sense_knows_still_decides_with_the_default_vocabulary(vocabulary):
    model = PlausibilityModel(msgspec.structs.replace(vocabulary, has_default=True), NAMES)
    parked = ObjectConstraints(attributes=(("parked",),))
    # "parked, moving | vehicle" (commonsense.py)
    assert [name for name, score in zip(NAMES, model.score_objects(parked), strict=True) if score] == [
        "boat",
        "cart",
        "truck",
    ]
    assert model.match_unknown_facts("cart", parked).all()


@pytest.mark.parametrize(
    ("name", "material", "fits"),
    [
        # People wear rubber boots and gloves, which says nothing about shirts.
        ("shirt", "rubber", False),
        ("shorts", "rubber", False),
        ("boot", "rubber", True),
        ("glove", "rubber", True),
        # Hats and helmets are both headwear.
        ("helmet", "cotton", False),
        ("helmet", "paper", False),
        ("hat", "paper", True),
        # Tracks are iron and floors ceramic, but streets are neither.
        ("street", "iron", False),
        ("sidewalk", "ceramic", False),
        ("track", "iron", True),
        ("floor", "ceramic", True),
    ],
)
def test_a_material_in_the_default_vocabulary_fits_only_some_objects_of_a_kind(name, material, fits):
    default = load_default_vocabulary()
    model = PlausibilityModel(default, sorted(default.objects))
    assert (model.score_attribute(name, material, "material") > 0) == fits
