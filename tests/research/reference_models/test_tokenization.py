"""Words of questions as numbers."""

from research.reference_models.tokenization import PADDING_ID, UNKNOWN_ID, WordVocabulary, split_words


def test_words_are_in_lower_case_and_without_punctuation():
    assert split_words("What color is the man's T-shirt?") == [
        "what",
        "color",
        "is",
        "the",
        "man's",
        "t",
        "shirt",
    ]


def test_an_unknown_word_is_no_padding():
    table = WordVocabulary.from_texts(["the cup"])
    assert table.encode(["the dragon", "the"]).tolist() == [[3, UNKNOWN_ID], [3, PADDING_ID]]
    assert UNKNOWN_ID != PADDING_ID


def test_words_are_those_of_train_only():
    table = WordVocabulary.from_texts(["red cup", "red dog"], min_count=2)
    assert table.words == ("red",) and len(table) == 3


def test_a_text_without_words_is_one_unknown_word_and_not_nothing():
    assert WordVocabulary.from_texts(["cup"]).encode(["?!"]).tolist() == [[UNKNOWN_ID]]
