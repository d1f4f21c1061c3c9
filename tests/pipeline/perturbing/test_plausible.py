"""From what was seen of a name itself to what only its category was seen with: ever more fits, never what makes no sense."""

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.perturbing.demands import Demands
from pipeline.perturbing.objects import ObjectTable
from pipeline.perturbing.plausible import fitting_levels

TYPES = {"red": "color", "blue": "color", "wood": "material"}


def table() -> ObjectTable:
    """Of ten things each: shirts are red and worn, hats blue and held, vests unseen; bricks are blue."""
    seen = {
        "shirt": ({"red": 5}, {"wearing": 5}),
        "hat": ({"blue": 5}, {"holding": 5}),
        "vest": ({}, {}),
        "brick": ({"blue": 5}, {}),
    }
    objects = {
        name: ObjectEntry(name=name, count=10, number="singular", attributes=looks, object_of=relations)
        for name, (looks, relations) in seen.items()
    }
    return ObjectTable(
        Vocabulary(
            objects=objects,
            attributes={},
            attribute_types=TYPES,
            relations={},
            places={},
            weathers={},
            categories={"clothing": ("shirt", "hat", "vest", "coat")},
        )
    )


def fitting(demanded: Demands, name: str = "coat") -> list[set[str]]:
    found = table()
    things = {"shirt", "hat", "vest", "brick"}
    return [
        {one for one, weight in zip(found.names, weights, strict=True) if weight} & things
        for weights in fitting_levels(found, TYPES, name, demanded)
    ]


def test_a_colour_is_asked_for_exactly_then_any_colour_then_that_of_the_category():
    exact, by_class, by_category, own, _ = fitting(Demands(attributes=(("red",),)))
    assert (exact, by_class) == ({"shirt"}, {"shirt", "hat", "brick"})
    assert by_category == {"shirt", "hat", "brick", "vest"}
    assert own == {"shirt", "hat", "vest"}


def test_what_one_wears_is_worn_by_exact_word_then_by_its_like_then_as_its_category_is():
    exact, by_class, by_category, *_ = fitting(Demands(relations=(("worn on", "o"),)))
    assert exact == set()
    assert by_class == {"shirt"}  # "wearing" says the same of it
    assert by_category == {"shirt", "hat", "vest"}  # other clothing, and no brick


def test_places_are_open_to_anything():
    exact, *_ = fitting(Demands(relations=(("to the left of", "s"), ("sitting near", "o"))))
    assert exact == {"shirt", "hat", "vest", "brick"}
    assert (
        fitting(Demands(relations=(("sitting near", "s"),)))[0] == set()
    )  # who sits there must be able to sit


def test_only_its_own_kind_takes_the_place_of_an_owner():
    assert fitting(Demands(kin=True)) == [{"shirt", "hat", "vest"}]
