from pipeline.candidates.perturbing.object_table import ObjectTable
from tests.candidates.perturbing.small_vocabulary import vocabulary

KINDS = {"person": ("man", "boy", "woman"), "furniture": ("couch", "chair")}


def chosen(table: ObjectTable, rows) -> set[str]:
    return {name for name, row in zip(table.names, rows, strict=True) if row}


def test_names_of_the_same_object_are_confusable_and_man_and_woman_are_not():
    table = ObjectTable(vocabulary("man", "boy", "woman", "couch", "side couch", "chair", kinds=KINDS))
    assert chosen(table, table.match_confusable("man")) == {"man", "boy", "person"}
    assert chosen(table, table.match_confusable("couch")) == {"couch", "side couch", "furniture"}


def test_siblings_share_a_category():
    table = ObjectTable(vocabulary("couch", "chair", "kite", kinds={"furniture": ("couch", "chair")}))
    assert chosen(table, table.match_siblings("couch")) == {"couch", "chair"}


def test_objects_are_weighted_by_questions_and_less_by_images():
    words = vocabulary("cup", "kite", "vase")  # ten of each are shown
    words.presupposed_objects.update(cup=3, kite=1)
    table = ObjectTable(words)
    # Shares of questions plus 0.02 times shares of what is shown: 3/4 + 0.02/3, 1/4 + 0.02/3, 0.02/3
    assert [round(float(weight), 4) for weight in table.sampling_weights] == [0.7567, 0.2567, 0.0067]


def test_neither_a_person_nor_a_place_is_asked_for_by_that_name():
    kinds = {"person": ("man",), "place": ("street",), "furniture": ("chair",)}
    table = ObjectTable(vocabulary("man", "street", "chair", kinds=kinds))
    singular = frozenset({"singular", "mass"})
    assert chosen(table, table.match_number(singular, True)) == {"furniture"}
    assert chosen(table, table.match_number(singular, False)) == {"man", "street", "chair", "person"}


def test_words_for_men_are_never_the_same_person_as_words_for_women():
    men, women = (
        ["man", "boy", "guy", "gentleman", "father", "men", "boys"],
        ["woman", "girl", "lady", "mother", "daughter", "women", "girls"],
    )
    table = ObjectTable(vocabulary(*men, *women, kinds={"person": (*men, *women)}))
    for own, other in ((men, women), (women, men)):
        for name in own:
            assert not chosen(table, table.match_confusable(name)) & set(other), name
            assert chosen(table, table.match_confusable(name)) >= {"person", name}
