"""Examples stand in the docstrings; here what they do not show."""

from pipeline.language.object_taxonomy import _TAXONOMY, get_kinds, get_main_kind, parse_name_filter


def test_pronouns_are_people_and_compounds_what_their_last_word_is():
    assert "person" in get_kinds("he") and get_main_kind("safety jacket") == "garment"


def test_a_list_without_words_is_anything_and_the_last_exception_holds():
    assert parse_name_filter("") == (frozenset("*"), frozenset())
    assert parse_name_filter("dish, -cup, mug") == (frozenset(("dish", "mug")), frozenset(("cup",)))


def test_no_kind_is_of_itself():
    assert not [kind for kind in _TAXONOMY if kind in _TAXONOMY[kind]]
