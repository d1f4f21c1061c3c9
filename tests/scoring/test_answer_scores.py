"""Scores of answers: accuracy, matching, WUPS and probability masses."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from pipeline.core.errors import UserError
from pipeline.scoring import anls, exact_match, normalize_answer, token_f1, vqa3_plus, vqa_accuracy
from pipeline.scoring.answer_scores import (
    compute_item_scores,
    edit_distance,
    most_frequent_answer,
    score_answers,
)
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
from pipeline.scoring.matching import NORMALIZERS, match_answers
from pipeline.scoring.normalize import fold_case
from pipeline.scoring.wups import Taxonomy, read_wordnet, score_wups, wups
from tests.scoring.conftest import answered, vqa_answered

# Answer scores


def test_with_human_answers_the_scores_of_vqa_are_given_too():
    # Three of ten people said red: 0.9; VQA3+ the same. As a string it is one of the right answers.
    joined = vqa_answered([["red"] * 3 + ["blue"] * 7, ["cat"] * 10], ["red", "a dog"])
    scores = score_answers(joined, ScoringOptions())
    assert scores["vqa_accuracy"] == pytest.approx(0.45) and scores["vqa3_plus"] == pytest.approx(0.45)
    assert scores["exact_match"] == 0.5 and scores["normalized_match"] == 0.5
    assert scores["vqa_accuracy_corrected"] == pytest.approx(0.45)


def test_without_human_answers_the_label_counts():
    scores = compute_item_scores(answered().select(np.array([0, 2, 4])))
    assert set(scores) >= {"exact_match", "normalized_match", "token_f1", "anls", "anls_no_threshold"}
    assert not {"vqa_accuracy", "vqa_accuracy_corrected", "vqa3_plus"} & set(scores)
    # red - red, no - yes, Dog - dog.
    assert scores["exact_match"].tolist() == [1, 0, 0] and scores["token_f1"].tolist() == [1, 0, 1]


def test_matching_is_worked_out_by_hand():
    assert exact_match(["Red", "red"], [["red"], ["blue", "red"]]).tolist() == [0, 1]
    assert exact_match(["The red!"], [["red"]], normalization="squad").tolist() == [1]
    # VQA's evaluation writes digits, SQuAD's does not.
    assert [exact_match(["two"], [["2"]], normalization=form).tolist() for form in ("official", "squad")] == [
        [1],
        [0],
    ]
    # 2 of 4 words and 2 of 3: 2 x 2 / 7. Repeated words count as often as in both.
    assert token_f1(["man on red horse", "no no"], [["man with horse"], ["no"]]) == pytest.approx(
        [4 / 7, 2 / 3]
    )
    assert token_f1(["", "", "a"], [[""], ["dog"], ["the"]]).tolist() == [1, 0, 1]
    # One letter of five replaced: 0.8. Three of five: 0.4, below the field's threshold.
    assert anls(["horse"], [["house"]]) == pytest.approx([0.8])
    assert anls(["abcde"], [["abxyz"]]).tolist() == [0] and anls(
        ["abcde"], [["abxyz"]], threshold=0
    ) == pytest.approx([0.4])
    assert anls(["", " A b"], [[""], ["a  B"]]).tolist() == [1, 1]


@given(st.text("ab", max_size=6), st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_edit_distance_is_a_distance(a, b, c):
    assert edit_distance(a, b) == edit_distance(b, a) and (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


WORDS = st.sampled_from(["red", "blue", "dark red"])


@given(
    WORDS,
    st.lists(WORDS, min_size=2, max_size=10),
    st.sampled_from(["official", "official-2017", "corrected"]),
)
def test_vqa_accuracy_is_the_mean_over_all_ways_to_omit_one_answer(said, people, form):
    left = itertools.combinations(people, len(people) - 1)
    expected = np.mean([min(rest.count(said) / 3, 1) for rest in left])
    assert vqa_accuracy([said], [people], normalization=form)[0] == pytest.approx(expected)


@pytest.mark.parametrize(("agree", "expected"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)])
def test_with_ten_human_answers_accuracy_is_as_the_papers_say(agree, expected):
    people = [["red"] * agree + ["blue"] * (10 - agree)]
    assert vqa_accuracy(["red"], people)[0] == pytest.approx(expected)
    assert vqa3_plus(["red"], people)[0] == pytest.approx(expected)


def test_where_people_agree_official_compares_letter_by_letter_and_corrected_does_not():
    people = [["the dog"] * 10, ["two"] * 10]
    assert vqa_accuracy(["the dog", "two"], people).tolist() == [1, 1]
    assert vqa_accuracy(["dog", "2"], people).tolist() == [0, 0]
    assert vqa_accuracy(["dog", "2"], people, normalization="corrected").tolist() == [1, 1]
    # Until 2021 the prediction lost its article and became a digit, and people's answers did not.
    assert vqa_accuracy(["the dog", "two"], people, normalization="official-2017").tolist() == [0, 0]


def test_where_people_differ_both_are_normalised_since_2021():
    # Five of ten agree: min(4/3, 1) and min(5/3, 1) are both 1.
    people = [["two"] * 5 + ["3"] * 5]
    assert vqa_accuracy(["two"], people).tolist() == vqa_accuracy(["2."], people).tolist() == [1]
    assert vqa_accuracy(["two"], people, normalization="official-2017").tolist() == [0]


def test_corrected_takes_a_full_stop_away_where_official_does():
    assert vqa_accuracy(["pm"], [["p.m."] * 10], normalization="corrected").tolist() == [1]


def test_one_human_answer_leaves_none():
    assert vqa_accuracy(["red"], [["red"]]).tolist() == [0.0]
    assert np.isnan(vqa_accuracy(["red"], [["red"]], normalization="corrected"))[0]


def test_the_most_frequent_answer_of_several_is_the_first_by_letter():
    assert most_frequent_answer(["b", "a", "c", "b", "a"]) == "a"


# Matching


@pytest.mark.parametrize(
    ("said", "exact", "vqa", "squad"),
    [
        ("kitchen", 1, 1, 1),
        ("Kitchen.", 0, 1, 1),
        ("the kitchen", 0, 1, 1),
        ("kitchen's", 0, 0, 0),
        ("'kitchen'", 0, 0, 1),  # VQA leaves apostrophes
        ("kitchens", 0, 0, 0),
    ],
)
def test_each_match_mode_ignores_what_it_states(said, exact, vqa, squad):
    for form, expected in zip(NORMALIZERS, (exact, vqa, squad), strict=True):
        assert match_answers([said], [{"kitchen": 1.0}], form).tolist() == [expected]


def test_an_unanswerable_question_has_no_right_answer():
    assert match_answers(["UQ", ""], [{}, {}], "squad").tolist() == [0, 0]


def test_of_several_labels_the_first_that_matches_counts():
    assert match_answers(["Dog"], [{"dog": 0.3, "DOG": 1.0}], "vqa").tolist() == [0.3]


def test_synonyms_are_looked_up_on_both_sides_once_normalised():
    assert match_answers(
        ["Sofa.", "couch"], [{"couch": 1.0}, {"sofa": 1.0}], "vqa", {"sofa": "Couch"}
    ).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("text", "official", "corrected"),
    [
        ("The Dog", "dog", "dog"),
        ("two cats", "2 cats", "2 cats"),
        ("none", "0", "0"),
        ("dont know", "don't know", "don't know"),
        ("black-and-white", "black and white", "black and white"),
        (
            "black- and-white",
            "black andwhite",
            "black and white",
        ),  # a mark beside a space anywhere makes all of its kind vanish
        ("1,000", "1000", "1000"),
        ("1,000 red/blue", "1000 redblue", "1000 red blue"),  # a number with a comma: all marks vanish
        ("3.5", "3.5", "3.5"),
        ("yes.", "yes", "yes"),
        ("no . 1", "no 1", "no 1"),
        ("...." * 9, "....", ""),  # Python's flag is passed as the count: 32 full stops go
        ("Im here", "im here", "i'm here"),
        ("somebody'd", "somebodyd", "somebody'd"),
        ("a\nb", "b", "b"),
        ("youd've", "you'd've", "you'd've"),
        ("y'alld've", "y'all'd've", "y'all'd've"),
        ("(a) dog", "dog", "dog"),
        ("12:30", "12:30", "12:30"),
    ],
)
def test_normalisation(text, official, corrected):
    assert normalize_answer(text) == official
    assert normalize_answer(text, normalization="corrected") == corrected


def test_letter_case_and_spaces_aside_texts_are_the_same():
    assert fold_case("  Dark\tRED ") == fold_case("dark red") == "dark red" and fold_case(
        "dark-red"
    ) != fold_case("dark red")


# WUPS


# entity - animal - dog - puppy
#                 - cat
#        - artefact - hot dog, "dog" in its second sense (a frankfurter, say)
LINES = """  1 A licence stands on top of WordNet's files.
00000001 03 n 01 entity 0 002 ~ 00000002 n 0000 ~ 00000006 n 0000 | all there is
00000002 03 n 01 animal 0 001 @ 00000001 n 0000 | lives
00000003 05 n 02 dog 0 domestic_dog 0 002 @ 00000002 n 0000 ~ 00000005 n 0000 | barks
00000004 05 n 01 cat 0 001 @ 00000002 n 0000 | purrs
00000005 05 n 01 puppy 0 001 @ 00000003 n 0000 | small
00000006 06 n 01 artefact 0 001 @ 00000001 n 0000 | made
00000007 13 n 02 hot_dog 0 dog 1 001 @ 00000006 n 0000 | eaten
00000008 18 n 01 Rex 0 001 @i 00000003 n 0000 | a dog of that name
"""


@pytest.fixture
def taxonomy(tmp_path):
    (tmp_path / "data.noun").write_text(LINES)
    return read_wordnet(tmp_path)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("dog", "cat", 4 / 6),  # common: animal, depth 2; one step down to each: 2 x 2 / (1 + 1 + 2 x 2)
        ("puppy", "dog", 6 / 7),  # common: dog, depth 3; one step and none
        ("puppy", "cat", 4 / 7),  # animal: two steps and one
        ("hot dog", "dog", 1.0),  # the same sense, the second of "dog"
        ("hot dog", "cat", 2 / 6),  # entity, depth 1; two steps down to either
        ("domestic dog", "dog", 1.0),
        ("rex", "dog", 6 / 7),
        ("cat", "cat", 1.0),
        ("unheard", "unheard", 1.0),
        ("unheard", "cat", 0.0),
    ],
)
def test_wu_palmer_in_a_small_taxonomy(taxonomy, one, other, expected):
    assert taxonomy.similarity(one, other) == pytest.approx(expected)
    assert taxonomy.similarity(other, one) == pytest.approx(expected)


def test_acm_is_the_mean_over_human_answers_and_mcm_the_best(taxonomy):
    people = [["dog", "cat", "cat"]]
    assert wups(["puppy"], people, taxonomy, threshold=0.0)[0] == pytest.approx((6 / 7 + 4 / 7 + 4 / 7) / 3)
    assert wups(["puppy"], people, taxonomy, threshold=0.0, consensus="max")[0] == pytest.approx(6 / 7)
    # Below the threshold a tenth is left.
    assert wups(["puppy"], people, taxonomy, threshold=0.8)[0] == pytest.approx((6 / 7 + 0.1 * 4 / 7 * 2) / 3)
    assert wups(["Dog "], people, taxonomy)[0] == pytest.approx((1 + 2 * 0.1 * 4 / 6) / 3)


def test_a_sense_with_two_parents_takes_the_nearer_way():
    # d is a kind of b (a kind of the root a) and of the root itself: one step to a, depth 1 + longest way below a.
    found = Taxonomy({"d": ("d",), "c": ("c",)}, {"a": (), "b": ("a",), "d": ("b", "a"), "c": ("a",)})
    assert found.similarity("d", "c") == pytest.approx(2 * 1 / (1 + 1 + 2 * 1))


def test_wordnet_may_come_in_two_parts(tmp_path):
    lines = LINES.splitlines(keepends=True)
    (tmp_path / "data.noun1").write_text("".join(lines[:4]))
    (tmp_path / "data.noun2").write_text("".join(lines[4:]))
    assert read_wordnet(tmp_path).similarity("dog", "cat") == pytest.approx(4 / 6)


def test_a_folder_without_wordnet_is_refused(tmp_path):
    with pytest.raises(UserError, match="no data.noun in it"):
        read_wordnet(tmp_path)
    (tmp_path / "data.noun").write_text("not wordnet\n")
    with pytest.raises(UserError, match="line 1: not a line of WordNet"):
        read_wordnet(tmp_path)


def test_a_report_has_both_means_at_both_thresholds(taxonomy):
    joined = vqa_answered([["dog", "cat"]], ["dog"])
    scores = score_wups(joined, ScoringOptions(wordnet=taxonomy))
    # dog - dog 1, dog - cat 4/6, a tenth of it below 0.9.
    assert scores == pytest.approx(
        {"acm_0.9": (1 + 0.4 / 6) / 2, "acm_0.0": (1 + 4 / 6) / 2, "mcm_0.9": 1, "mcm_0.0": 1}
    )
    assert "--resource wordnet=FOLDER" in score_wups(joined, ScoringOptions())["unavailable"]


def test_the_consensus_is_mean_or_max(taxonomy):
    with pytest.raises(ValueError, match="consensus is 'median', expected 'mean'"):
        wups(["dog"], [["dog"]], taxonomy, consensus="median")


# Masses


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
