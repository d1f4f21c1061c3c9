import pytest

from pipeline.core.errors import UserError
from research.studies.kinds.wordnet_files import WORDNET_FILES, WordNet

# Two synsets in WordNet's own format: a couch is a seat; the word "couch" is also tagged twice as a verb.
DATA = """  1 This is the licence.
00000001 06 n 02 couch 0 sofa 0 001 @ 00000002 n 0000 | a soft seat
00000002 06 n 01 seat 0 000 | a seat, an ethnic slur to nobody
"""
INDEX = """  1 This is the licence.
couch n 1 1 @ 1 0 00000001
sofa n 1 1 @ 1 0 00000001
seat n 1 0 1 0 00000002
"""
COUNTS = "couch%1:06:00:: 1 7\ncouch%2:30:00:: 1 2\n"


@pytest.fixture
def wordnet(tmp_path):
    for name, text in zip(WORDNET_FILES, (DATA, INDEX, COUNTS), strict=True):
        (tmp_path / name).write_text(text)
    return WordNet(tmp_path)


def test_senses_have_words_and_hypernyms(wordnet):
    assert wordnet.senses["00000001"].words == ("couch", "sofa")
    assert wordnet.hypernym_closure("00000001") == {"00000001", "00000002"}
    assert wordnet.hypernym_closure("00000002") == {"00000002"}


def test_a_sense_is_found_by_its_number(wordnet):
    assert wordnet.synset_by_sense == {"couch#1": "00000001", "sofa#1": "00000001", "seat#1": "00000002"}


def test_tags_are_counted_for_nouns_by_sense_and_for_the_rest_together(wordnet):
    assert (wordnet.sense_counts["couch#1"], wordnet.sense_counts["sofa#1"]) == (7, 0)
    assert wordnet.other_pos_counts["couch"] == 2


def test_definitions_say_what_is_everyday_and_what_offends(wordnet):
    assert wordnet.mentions["seat"] == 2  # of two definitions
    assert wordnet.senses["00000002"].is_offensive and not wordnet.senses["00000001"].is_offensive


def test_all_files_that_are_missing_are_named(tmp_path):
    with pytest.raises(UserError) as caught:
        WordNet(tmp_path)
    assert len(caught.value.problems) == 1 + len(WORDNET_FILES)
