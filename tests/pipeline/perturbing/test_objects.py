"""What the vocabulary says of objects, and what of it is taken for an error of annotation."""

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.perturbing.objects import ObjectTable


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
