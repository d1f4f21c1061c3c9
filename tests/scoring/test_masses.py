import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from pipeline.core.errors import UserError
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.masses import (
    load_spacy_vectors,
    load_word_vectors,
    majority,
    masses,
    read_vector_file,
    score_masses,
    semantic_subjectivity,
    subjectivity,
)
from tests.scoring.conftest import answered, vqa_answered

# MaSSeS, Table 2: frequencies, those that SeS groups, prediction, MA, S, SeS, MaSSeS. The paper cuts off some values
# (5/9 = 0.55, 7/9 = 0.77) and rounds others: within 0.01.
TABLE = [
    (
        {"yellow": 5, "orange": 4, "light orange": 1},
        {"yellow", "orange", "light orange"},
        "yellow",
        1.0,
        0.44,
        1.0,
        1.0,
    ),
    ({"refrigerator": 6, "fridge": 4}, {"refrigerator", "fridge"}, "refrigerator", 1.0, 0.55, 1.0, 1.0),
    (
        {"tennis rackets": 4, "tennis racket": 2, "tennis racquet": 1, "racket": 2, "racquets": 1},
        {"tennis rackets", "tennis racket", "tennis racquet"},
        "tennis rackets",
        1.0,
        0.33,
        0.67,
        0.67,
    ),
    (
        {
            "hot dogs": 5,
            "hot dog": 2,
            "hot dogs and fries": 1,
            "hot dog fries": 1,
            "hot dog and onion rings": 1,
        },
        {"hot dogs", "hot dog", "hot dogs and fries", "hot dog fries", "hot dog and onion rings"},
        "hot dog",
        0.4,
        0.44,
        1.0,
        1.0,
    ),
    (
        {
            "christmas tree": 6,
            "tree": 1,
            "chritmas tree shaped santaclauses": 1,
            "christmas tree santas": 1,
            "santas": 1,
        },
        {"christmas tree", "tree", "chritmas tree shaped santaclauses", "christmas tree santas"},
        "christmas tree",
        1.0,
        0.55,
        0.89,
        0.89,
    ),
    (
        {"white": 6, "green": 2, "light green": 1, "very light green": 1},
        {"green", "light green", "very light green"},
        "white",
        1.0,
        0.55,
        0.55,
        0.55,
    ),
    (
        {"ginger peach": 5, "ginger peach tea": 2, "ginger peach herbal tea": 1, "unanswerable": 2},
        {"ginger peach", "ginger peach tea", "ginger peach herbal tea"},
        "unanswerable",
        0.4,
        0.44,
        0.77,
        0.19,
    ),
    (
        {"beef": 5, "beef flavored broth": 2, "beef flavored": 1, "beef flavor": 1, "this beef flavor": 1},
        {"beef", "beef flavored broth", "beef flavored", "beef flavor", "this beef flavor"},
        "unanswerable",
        0.0,
        0.44,
        1.0,
        0.0,
    ),
]


def patterns():
    return [pytest.param(*row, id=row[2]) for row in TABLE]


@pytest.mark.parametrize(("counts", "group", "said", "ma", "s", "ses", "score"), patterns())
def test_table_2_of_the_paper(counts, group, said, ma, s, ses, score):
    # An answer becomes one word, so that the table's groups can be given as vectors; those outside have none.
    people = [answer.replace(" ", "_") for answer, n in counts.items() for _ in range(n)]
    vectors = {answer.replace(" ", "_"): np.array([1.0, 0.0]) for answer in group}
    said = said.replace(" ", "_")
    assert majority([said], [people])[0] == pytest.approx(ma)
    assert subjectivity([people])[0] == pytest.approx(s, abs=0.01)
    assert semantic_subjectivity([people], vectors)[0] == pytest.approx(ses, abs=0.01)
    assert masses([said], [people], vectors)[0] == pytest.approx(score, abs=0.01)


@pytest.mark.parametrize(("counts", "group", "said", "ma", "s", "ses", "score"), patterns())
def test_s_is_scipys_wasserstein_distance_normalised(counts, group, said, ma, s, ses, score):
    people = [answer for answer, n in counts.items() for _ in range(n)]
    n = len(people)
    frequencies = [*counts.values()] + [0] * (n - len(counts))
    distance = wasserstein_distance(frequencies, [max(frequencies)] * n)
    # The distance runs from 0 (all apart) to n - 1 (all agree).
    assert subjectivity([people])[0] == pytest.approx(distance / (n - 1))


def test_with_one_human_answer_s_is_undefined():
    assert np.isnan(subjectivity([["yes"]])).all() and np.isnan(masses(["yes"], [["yes"]])).all()
    assert majority(["yes"], [["yes"]]).tolist() == [1.0]


def test_answers_merge_by_the_cosine_with_the_centroid_of_different_answers():
    # cat (1, 0) and dog (0, 1): centroid (1/2, 1/2), cosine 0.7071 with either; however often people say them.
    vectors = {"cat": np.array([1.0, 0.0]), "dog": np.array([0.0, 1.0])}
    people = [["cat"] * 3 + ["dog"]]
    assert semantic_subjectivity(people, vectors, threshold=0.7).tolist() == [1.0]
    assert semantic_subjectivity(people, vectors, threshold=0.71) == pytest.approx([2 / 3])
    # Opposite vectors have no centroid: cosine counts as 0, so they merge at threshold 0 alone.
    opposite = {"cat": np.array([1.0, 0.0]), "dog": np.array([-1.0, 0.0])}
    assert semantic_subjectivity([["cat", "dog"]], opposite, threshold=0.0).tolist() == [1.0]
    assert semantic_subjectivity([["cat", "dog"]], opposite, threshold=0.1).tolist() == [0.0]


def test_a_report_has_masses_with_and_without_word_vectors():
    joined = vqa_answered([["red"] * 6 + ["blue"] * 4], ["blue"])
    plain = score_masses(joined, ScoringOptions())
    # MA = 4 / 6, S = 5 / 9.
    assert plain["ma"] == pytest.approx(4 / 6) and plain["ma_x_s"] == pytest.approx(4 / 6 * 5 / 9)
    assert "--resource word-vectors=FILE" in plain["ses"]["unavailable"]
    # Cosine with the centroid of red and blue is 1 / sqrt(2) = 0.707: they merge at 0.7 and not at 0.9.
    vectors = {"red": np.array([1.0, 0.0]), "blue": np.array([0.0, 1.0])}
    merged = score_masses(joined, ScoringOptions(word_vectors=vectors))
    assert merged["ses_0.7"] == merged["masses_0.7"] == 1.0
    assert merged["ses_0.9"] == pytest.approx(5 / 9) and merged["masses_0.9"] == plain["ma_x_s"]


def test_masses_needs_human_answers():
    assert "several human answers" in score_masses(answered(), ScoringOptions())["unavailable"]


def test_word_vectors_are_read_with_and_without_word2vecs_first_line(tmp_path):
    for first in ("", "2 3\n"):
        (tmp_path / "v.txt").write_text(first + "cat 1 0 0.5\ndog 0 1 2\n")
        found = read_vector_file(tmp_path / "v.txt", {"cat", "dog", "cow"})
        assert {word: vector.tolist() for word, vector in found.items()} == {
            "cat": [1, 0, 0.5],
            "dog": [0, 1, 2],
        }
    assert list(read_vector_file(tmp_path / "v.txt", {"dog"})) == ["dog"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat 1 2\ndog 1\n", "line 2: 1 number"),
        ("", "has no vectors"),
        ("cat 1 x\n", "line 1: not a word"),
        ("cat 1 1_0\n", "line 1: not a word"),
        ("cat 1 2\ndog nan 1\n", "line 2: a number is NaN"),
        ("cat 1 -inf\n", "line 1: a number is NaN"),
    ],
)
def test_broken_vector_files_are_refused(tmp_path, text, expected):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(UserError, match=expected):
        read_vector_file(tmp_path / "v.txt", {"cat", "dog"})


def test_vectors_are_a_file_or_a_model_of_spacy(tmp_path):
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0 1\n")
    assert list(load_word_vectors(str(tmp_path / "v.txt"), {"cat", "cow"})) == ["cat"]
    with pytest.raises(UserError, match=r"no-such-model: no such spaCy model|needs spacy"):
        load_word_vectors("no-such-model", set())


def test_only_words_with_a_vector_are_taken_from_a_spacy_model(tmp_path):
    spacy = pytest.importorskip("spacy")
    model = spacy.blank("en")
    model.vocab.set_vector("cat", np.array([1.0, 0.0], np.float32))
    model.to_disk(tmp_path / "model")
    vectors = load_word_vectors(str(tmp_path / "model"), {"cat", "dog"})
    assert {word: vector.tolist() for word, vector in vectors.items()} == {"cat": [1.0, 0.0]}
    spacy.blank("en").to_disk(tmp_path / "bare")
    with pytest.raises(UserError, match="this spaCy model has no word vectors"):
        load_spacy_vectors(str(tmp_path / "bare"), {"cat"})
