"""What the vocabulary says of objects, and what of it is taken for an error of annotation."""

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.perturbing.objects import Demands, ObjectTable


def table(**wearing: int) -> ObjectTable:
    """A world of 40 things of each name, of which so many wear something."""
    objects = {
        name: ObjectEntry(
            name=name,
            count=40,
            number="singular",
            attributes={},
            subject_of={"wearing": count} if count else {},
        )
        for name, count in wearing.items()
    }
    return ObjectTable(
        Vocabulary(
            objects=objects,
            attributes={},
            attribute_types={},
            relations={},
            categories={},
            places={},
            weathers={},
        )
    )


def wearers(found: ObjectTable) -> set[str]:
    shares = found.share("relation", "wearing", "s")
    return {name for name, share in zip(found.names, shares, strict=True) if share}


def test_a_common_relation_seen_a_single_time_of_a_name_is_an_error():
    # 18 + 2 + 1 = 21 sightings; two boys of 40, 0.05, are more than a quarter of 21/120 = 0.175
    assert wearers(table(man=18, boy=2, racket=1)) == {"man", "boy"}


def test_a_rare_relation_counts_from_the_first_sighting():
    # 5 + 1 sightings in all say too little to call the single one an error; 1/40 > 0.25 * 6/80
    assert wearers(table(man=5, boy=1)) == {"man", "boy"}


def test_what_is_seen_much_more_rarely_of_a_name_than_of_all_is_an_error():
    # 2/40 = 0.05 is less than a quarter of 42/80 = 0.525
    assert wearers(table(man=40, fence=2)) == {"man"}


TYPES = {"red": "color", "blue": "color", "wood": "material"}


def fitting_table() -> ObjectTable:
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
    objects = fitting_table()
    things = {"shirt", "hat", "vest", "brick"}
    return [
        {one for one, weight in zip(objects.names, weights, strict=True) if weight} & things
        for weights in objects.levels(name, demanded)
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
