"""Examples stand in the docstrings; here what they do not show."""

from pipeline.language.object_taxonomy import _KINDS, classes, listed, main_kind


def test_pronouns_are_people_and_compounds_what_their_last_word_is():
    assert "person" in classes("he") and main_kind("safety jacket") == "garment"


def test_a_list_without_words_is_anything_and_the_last_exception_holds():
    assert listed("") == (frozenset("*"), frozenset())
    assert listed("dish, -cup, mug") == (frozenset(("dish", "mug")), frozenset(("cup",)))


def test_no_kind_is_of_itself():
    assert not [kind for kind in _KINDS if kind in _KINDS[kind]]
