from pipeline.language.word_lists import (
    ANYTHING,
    DEFINITE,
    DETERMINERS,
    FRAME_NOUNS,
    INDEFINITE,
    PERSONS,
    PORTIONS,
    PRONOUNS,
    groups,
    heads,
    words,
)


def test_a_word_may_be_parted_by_a_line_s_end():
    assert words("\ncup, side\ntable,\nlamp\n") == {"cup", "side table", "lamp"}


def test_groups_end_with_a_line_or_a_semicolon():
    assert groups("\na, b; c\nd\n;\n") == [["a", "b"], ["c"], ["d"]]


def test_heads_stand_before_a_colon():
    assert heads("\non: under, behind; off: on\n") == {"on": ("under", "behind"), "off": ("on",)}
    assert heads("") == {}


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
