import re

from research.studies.kinds.wordnet_choices import KINDS, MEANT_SENSES, SYNONYMS, parse_entries, parse_words


def test_entries_are_separated_by_lines_or_semicolons():
    assert list(parse_entries("a: x#1\nb c: y#2 z#1; d: w#1")) == [
        ("a", "x#1"),
        ("b c", "y#2 z#1"),
        ("d", "w#1"),
    ]


def test_senses_without_a_name_get_the_first_lemma():
    assert list(parse_entries("a_b#2; c#1 d#1 but e#1")) == [("a b", "a_b#2"), ("c", "c#1 d#1 but e#1")]


def test_every_sense_is_a_word_with_the_number_of_its_sense():
    specs = [
        spec for text in (KINDS, MEANT_SENSES) for _, rest in parse_entries(text) for spec in rest.split()
    ]
    assert all(re.fullmatch(r"[^#\s]+#\d+", spec) for spec in {*specs, *parse_words(SYNONYMS)} - {"but"})


def test_no_kind_and_no_sense_is_chosen_twice():
    for text in (KINDS, MEANT_SENSES):
        names = [name for name, _ in parse_entries(text)]
        assert len(names) == len(set(names))
