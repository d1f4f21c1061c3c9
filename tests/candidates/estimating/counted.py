"""A small vocabulary, counted by hand."""

from pipeline.core.records import ObjectCooccurrence, ObjectEntry, Vocabulary

TYPES = {"red": "color", "blue": "color", "green": "color", "wood": "material"}


def entry(name, count, looks=None, subject_of=None, object_of=None):
    return ObjectEntry(
        name=name,
        count=count,
        number="singular",
        attributes=looks or {},
        subject_of=subject_of or {},
        object_of=object_of or {},
    )


def vocabulary(partial=False, images=100):
    """Of 100 images 40 show a cup (60 cups in all), 20 a table, 16 of them with a cup; 50 show a dog, 2 a zebra."""
    objects = [
        entry("cup", 60, {"red": 30, "blue": 10}, {"on": 20}),
        entry("table", 20, {"wood": 10}, {}, {"on": 20}),
        entry("dog", 50, {"green": 2}, {"to the left of": 10}, {"to the left of": 10}),
        entry("zebra", 2),
    ]
    return Vocabulary(
        objects={one.name: one for one in objects},
        attributes={"red": 30, "blue": 10, "green": 2, "wood": 10},
        attribute_types=TYPES,
        relations={"on": 20, "to the left of": 10},
        categories={},
        locations={},
        weathers={},
        presupposed_objects={"cup": 5, "dog": 5},
        cooccurrence=ObjectCooccurrence(
            num_images=images,
            from_questions=partial,
            mean_names_per_image=2.0,
            image_counts={"cup": 40, "table": 20, "dog": 50, "zebra": 2},
            pair_counts={"cup": {"table": 16, "dog": 10}, "dog": {"table": 10}},
        ),
    )
