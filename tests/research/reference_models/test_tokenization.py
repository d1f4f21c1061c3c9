"""Words of questions as numbers."""

from research.reference_models.tokenization import PADDING, UNKNOWN, WordTable, words


def test_words_are_in_lower_case_and_without_marks():
    assert words("What color is the man's T-shirt?") == ["what", "color", "is", "the", "man's", "t", "shirt"]


def test_an_unknown_word_is_not_taken_for_padding():
    table = WordTable.learned(["the cup"])
    assert table.numbers(["the dragon", "the"]).tolist() == [[3, UNKNOWN], [3, PADDING]]
    assert UNKNOWN != PADDING


def test_words_are_those_of_train_alone():
    table = WordTable.learned(["red cup", "red dog"], least=2)
    assert table.known == ("red",) and len(table) == 3


def test_a_text_without_words_is_one_unknown_word_and_not_nothing():
    assert WordTable.learned(["cup"]).numbers(["?!"]).tolist() == [[UNKNOWN]]
