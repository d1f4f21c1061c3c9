from pipeline.language.word_lists import (
    DEFINITE_DETERMINERS,
    DETERMINERS,
    FRAME_WORDS,
    INDEFINITE_DETERMINERS,
    PARTITIVE_NOUNS,
    PRONOUN_REFERENTS,
    UNINFORMATIVE_NAMES,
    WILDCARD_NAMES,
    parse_groups,
    parse_headed_groups,
    parse_words,
)


def test_a_name_may_continue_on_the_next_line():
    assert parse_words("\ncup, side\ntable,\nlamp\n") == {"cup", "side table", "lamp"}


def test_groups_end_with_a_line_or_a_semicolon():
    assert parse_groups("\na, b; c\nd\n;\n") == [["a", "b"], ["c"], ["d"]]


def test_heads_stand_before_a_colon():
    assert parse_headed_groups("\non: under, behind; off: on\n") == {
        "on": ("under", "behind"),
        "off": ("on",),
    }
    assert parse_headed_groups("") == {}


def test_a_determiner_is_definite_or_not():
    assert not DEFINITE_DETERMINERS & INDEFINITE_DETERMINERS
    assert {"the", "a"} <= DETERMINERS


def test_frame_words_and_partitives():
    assert {"color", "side", "kind", "photo"} <= FRAME_WORDS
    assert FRAME_WORDS.isdisjoint({"cup", "man", "table"})
    assert {"slice", "pair"} <= PARTITIVE_NOUNS


def test_pronouns_mean_a_person_or_anything():
    assert PRONOUN_REFERENTS["she"][0] == "woman" and PRONOUN_REFERENTS["he"][0] == "man"
    assert PRONOUN_REFERENTS.keys() < UNINFORMATIVE_NAMES
    assert WILDCARD_NAMES.isdisjoint(PRONOUN_REFERENTS)
    assert {"_", "this"} <= WILDCARD_NAMES & UNINFORMATIVE_NAMES
