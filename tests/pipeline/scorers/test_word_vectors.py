import numpy as np
import pytest

from pipeline.scorers.validation import InputError
from pipeline.scorers.word_vectors import read_vectors, spacy_vectors, vectors_of


def test_word_vectors_are_read_with_and_without_word2vecs_first_line(tmp_path):
    for first in ("", "2 3\n"):
        (tmp_path / "v.txt").write_text(first + "cat 1 0 0.5\ndog 0 1 2\n")
        found = read_vectors(tmp_path / "v.txt")
        assert {word: vector.tolist() for word, vector in found.items()} == {
            "cat": [1, 0, 0.5],
            "dog": [0, 1, 2],
        }
    assert list(read_vectors(tmp_path / "v.txt", {"dog"})) == ["dog"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat 1 2\ndog 1\n", "line 2: 1 numbers"),
        ("", "holds no vectors"),
        ("cat 1 x\n", "line 1: not a word"),
    ],
)
def test_broken_vector_files_are_refused(tmp_path, text, expected):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(InputError, match=expected):
        read_vectors(tmp_path / "v.txt")


def test_vectors_are_a_file_or_a_model_of_spacy(tmp_path):
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0 1\n")
    assert list(vectors_of(str(tmp_path / "v.txt"), {"cat", "cow"})) == ["cat"]
    with pytest.raises(InputError, match=r"no-such-model: no such spaCy model|needs spacy"):
        vectors_of("no-such-model", set())
    with pytest.raises(InputError, match="no such file"):
        read_vectors(tmp_path / "none.txt")


def test_of_a_spacy_model_the_words_with_a_vector_are_taken(tmp_path):
    spacy = pytest.importorskip("spacy")
    model = spacy.blank("en")
    model.vocab.set_vector("cat", np.array([1.0, 0.0], np.float32))
    model.to_disk(tmp_path / "model")
    vectors = vectors_of(str(tmp_path / "model"), {"cat", "dog"})
    assert {word: vector.tolist() for word, vector in vectors.items()} == {"cat": [1.0, 0.0]}
    spacy.blank("en").to_disk(tmp_path / "bare")
    with pytest.raises(InputError, match="this spaCy model has no word vectors"):
        spacy_vectors(str(tmp_path / "bare"), {"cat"})
