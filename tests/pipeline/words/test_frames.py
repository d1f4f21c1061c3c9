from pipeline.words.frames import (
    ANYTHING,
    DEFINITE,
    DETERMINERS,
    FRAME_NOUNS,
    INDEFINITE,
    PERSONS,
    PORTIONS,
    PRONOUNS,
)


def test_a_determiner_is_definite_or_not():
    assert not DEFINITE & INDEFINITE
    assert {"the", "a"} <= DETERMINERS


def test_words_of_the_question_are_no_things():
    assert {"color", "side", "kind", "photo"} <= FRAME_NOUNS
    assert FRAME_NOUNS.isdisjoint({"cup", "man", "table"})
    assert {"slice", "pair"} <= PORTIONS


def test_pronouns_mean_a_person_or_anything():
    assert PERSONS["she"][0] == "woman" and PERSONS["he"][0] == "man"
    assert PERSONS.keys() < PRONOUNS
    assert ANYTHING.isdisjoint(PERSONS)  # a man is not anything
    assert {"_", "this"} <= ANYTHING & PRONOUNS
