"""Objects that replace each other in plain questions."""

from __future__ import annotations

import pytest

from pipeline.candidates.perturbing.contrasts import (
    find_common_contrasts,
    find_contrasts,
    find_kin,
    find_listed_names,
    infer_setting,
    suits_setting,
)
from pipeline.core.records import Vocabulary
from pipeline.verifier.vocabulary import add_default_vocabulary
from tests.candidates.perturbing.in_memory import NO_WORDS

# Names that viewers of photographs confused.
CONFUSED = [
    ("bed", "couch"),
    ("dresser", "bookcase"),
    ("cup", "bowl"),
    ("house", "building"),
    ("road", "sidewalk"),
    ("leaf", "flower"),
    ("car", "truck"),
]


@pytest.mark.parametrize(("one", "other"), [*CONFUSED, *((b, a) for a, b in CONFUSED)])
def test_kin_do_not_replace_each_other(one, other):
    assert other in find_kin(one) and other not in find_contrasts(one)


@pytest.fixture(scope="module")
def words() -> Vocabulary:
    return add_default_vocabulary(NO_WORDS, 1.0)


def test_no_contrast_is_kin(words):
    for name in words.objects:
        assert find_contrasts(name).isdisjoint(find_kin(name))


def test_most_listed_names_of_the_default_vocabulary_have_contrasts_in_it(words):
    listed = [name for name in words.objects if find_listed_names(name)]
    known = [name for name in listed if find_contrasts(name) & words.objects.keys()]
    assert len(listed) > 300
    assert len(known) > 0.9 * len(listed)


def test_guests_of_a_place_are_not_replaced_by_its_residents():
    # A bus may stand in place of a sign that has a word on it, but no balloon in place of a bus.
    assert "bus" in find_contrasts("sign")
    assert "balloon" not in find_contrasts("bus")


def test_special_names_are_found_by_general_ones():
    assert "bicycle" in find_contrasts("convertible")
    assert find_contrasts("magazine rack") == frozenset()  # "rack" alone may be many things


def test_parts_have_no_common_contrast():
    assert not any(find_common_contrasts(name, "outdoors") for name in ("stripe", "whisker", "nose", "wheel"))


def test_the_setting_is_that_of_most_names():
    assert infer_setting({"bed", "pillow", "car"}) == "indoors"
    assert infer_setting({"road", "car", "lamp"}) == "outdoors"
    assert infer_setting(set()) == ""
    assert not suits_setting("tractor", "indoors") and suits_setting("tractor", "")
