import numpy as np

from pipeline.scoring.abstention_features import (
    MAX_REPLY_WORDS,
    compute_word_features,
    stem_word,
    tokenize,
    tokenize_pair,
)


def test_words_marks_and_numbers():
    assert tokenize("There’s NO dog,\n42 cats; N/A \\boxed{0}") == [
        *("there", "'s", "no", "dog", ",", "<line>", "<number>", "cats", ";", "n/a", "{", "0", "}"),
    ]
    assert tokenize("can't don't cannot") == ["ca", "n't", "do", "n't", "cannot"]


def test_endings():
    assert [stem_word(word) for word in ("churches", "parties", "walked", "is", "umbrellas")] == [
        *("church", "party", "walk", "is", "umbrella"),
    ]


def test_of_a_long_reply_beginning_and_end_are_kept():
    asked, said = tokenize_pair(
        "What?", " ".join(f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(200))
    )
    assert len(said) == MAX_REPLY_WORDS
    assert (said[0], said[39], said[40], said[-1]) == ("waa", "wbn", "<cut>", "whr")
    assert asked == ["what", "?"]
    assert tokenize_pair("", "") == (["<empty>"], ["<empty>"])


def test_flags():
    asked, said = compute_word_features(["what", "color", "is", "umbrella"], ["no", "umbrellas", "is"])
    # shared with a stem; letter by letter; 1/place from the beginning; from the end; 1
    assert (
        said.tolist()
        == np.float32([[0, 0, 1, 1 / 3, 1], [1, 0, 1 / 2, 1 / 2, 1], [0, 1, 1 / 3, 1, 1]]).tolist()
    )
    assert asked[:, 0].tolist() == [0, 0, 0, 1]
    assert asked[:, 1].tolist() == [0, 0, 1, 0]
