"""Candidates by CLIP, their inputs, and the scores of pairs."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from pipeline.candidates.ranking.clip_candidates import (
    count_pairs,
    keep_below,
    propose_candidates,
    separate_extremes,
    summarize_selection,
)
from pipeline.candidates.ranking.pair_scores import (
    compute_quantiles,
    score_edited_questions,
    score_own_questions,
)
from pipeline.candidates.ranking.pair_selection import SelectedPairs
from pipeline.candidates.ranking.rank_inputs import Embeddings, build_question_table, load_embeddings
from pipeline.candidates.ranking.topk import Extreme
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.rank_params import RankParams, assign_splits
from pipeline.core.records import Candidate, Question, Step
from tests.candidates.ranking.small_world import world

# CLIP candidates


EVEN = RankParams(
    hard_draw=4, hard_pool=25, easy_last=3, easy_pool=25, max_question_uses=2, validation_proportion=0.0
)
PAPER = RankParams(preset="paper", hard_draw=4, hard_pool=10, easy_last=3, easy_pool=25)


def proposed(p):
    questions, vectors = world()
    candidates, report = propose_candidates(
        questions, vectors, assign_splits(vectors.image_ids, p.validation_proportion, p.seed), p
    )
    return questions, vectors, candidates, report


@pytest.mark.parametrize("p", [EVEN, PAPER])
def test_existence_questions_own_questions_and_own_texts_are_never_proposed(p):
    questions, _, candidates, _ = proposed(p)
    assert {c.subset for c in candidates} == {"clip-easy", "clip-hard"}
    asked = {(q.image_id, q.text) for q in questions}
    for c in candidates:
        assert c.text not in ("Is there a dog?", "Which place is it?")  # the latter is asked of every image
        assert (c.image_id, c.text) not in asked


def ranked_by_hand(questions, vectors, image):
    """Admissible question ids, the most similar first."""
    row = vectors.image_ids.index(image)
    own = {q.text for q in questions if q.image_id == image}
    score = {
        t: round(float(vectors.text_vectors[i].astype(float) @ vectors.image_vectors[row].astype(float)), 6)
        for i, t in enumerate(vectors.text_strings)
    }
    free = [q for q in questions if q.text not in own and q.detailed != "exist"]
    return [
        (q.question_id, score[q.text]) for q in sorted(free, key=lambda q: (-score[q.text], q.question_id))
    ]


@pytest.mark.parametrize("p", [EVEN, PAPER])
def test_rank_and_score_are_those_among_the_images_admissible_questions(p):
    questions, vectors, candidates, _ = proposed(p)
    for c in candidates:
        order = ranked_by_hand(questions, vectors, c.image_id)
        assert order[c.rank - 1] == (c.question_id, c.score)
        assert c.rank <= p.hard_pool if c.subset == "clip-hard" else c.rank > len(order) - p.easy_pool


def test_the_papers_rule_takes_the_bottom_and_samples_from_the_top():
    questions, vectors, candidates, _ = proposed(PAPER)
    for image in vectors.image_ids:
        order = [question for question, _ in ranked_by_hand(questions, vectors, image)]
        easy, hard = (
            {c.question_id for c in candidates if c.subset == s and c.image_id == image}
            for s in ("clip-easy", "clip-hard")
        )
        assert easy == set(order[-3:])
        assert len(hard) == 4 and hard <= set(order[:10])


def test_without_a_limit_of_uses_the_papers_rule_applies():
    assert (
        proposed(PAPER)[2]
        == proposed(RankParams(max_question_uses=0, hard_draw=4, hard_pool=10, easy_last=3, easy_pool=25))[2]
    )


def test_the_limit_of_uses_holds_and_images_give_as_many_questions_as_they_receive():
    questions, _, candidates, report = proposed(EVEN)
    owner = {q.question_id: q.image_id for q in questions}
    for subset in ("clip-easy", "clip-hard"):
        rows = [c for c in candidates if c.subset == subset]
        assert max(Counter(c.question_id for c in rows).values()) <= 2
        assert Counter(c.image_id for c in rows) == Counter(owner[c.question_id] for c in rows)
        assert report["subsets"][subset]["received_minus_given"] == {"largest": 0, "sum": 0}
    # 12 images with 6 questions that may be proposed, each twice: up to 12 per image. 3 and 4 are wanted.
    assert tuple(report["subsets"][subset]["candidates"] for subset in ("clip-easy", "clip-hard")) == (
        36,
        48,
    )


@pytest.mark.parametrize(
    "p",
    [
        EVEN,
        PAPER,
        RankParams(max_question_uses=2, validation_proportion=0.0),
        # The ranking of an image has at most 96 - 12 - 12 - 6 questions, so these pools overlap.
        RankParams(hard_draw=12, hard_pool=60, easy_last=12, easy_pool=60, validation_proportion=0.0),
        RankParams(hard_draw=70, hard_pool=2500, easy_last=50, easy_pool=2500, validation_proportion=0.3),
        RankParams(preset="paper", hard_draw=70, hard_pool=2500, easy_last=50, easy_pool=2500),
        RankParams(hard_draw=20, hard_pool=96, easy_last=2, easy_pool=2, max_question_uses=9),
    ],
)
def test_the_subsets_share_no_pair_and_easy_ones_score_below_hard_ones(p):
    _, _, candidates, _ = proposed(p)
    scores = {subset: {} for subset in ("clip-easy", "clip-hard")}
    for row in candidates:
        scores[row.subset].setdefault(row.image_id, []).append(row.score)
    both = scores["clip-easy"].keys() & scores["clip-hard"].keys()
    assert len(both) >= 4
    assert all(max(scores["clip-easy"][key]) < min(scores["clip-hard"][key]) for key in both)


def test_the_report_says_what_auto_came_to_and_where_pools_were_limited():
    *_, report = proposed(RankParams(easy_last=2, validation_proportion=0.0))
    # 12 images with 6 questions that may be proposed and "Which place is it?": 84; 7 per image: 14 candidates, 8 of them hard. Half of the 77 others is 38.
    # Texts: of i = 2, 4, 5, 7 one per image, of i = 3, 6 one per two images, and one for all: 48 + 12 + 1.
    assert report["sizes"] == {
        "hard_draw": 8,
        "hard_pool": 38,
        "easy_last": 2,
        "easy_pool": 20,
        "auto": ["hard_draw", "hard_pool", "easy_pool"],
        "from": {"images": 12, "questions": 84, "texts": 61},
    }
    # 84 - 7 own, 11 times "Which place is it?" and 2 shared texts: 64 are left.
    assert report["images_with_limited_pools"] == 0
    *_, report = proposed(RankParams(hard_draw=4, hard_pool=40, easy_last=2, easy_pool=25))
    assert report["images_with_limited_pools"] == 12


def test_overlapping_extremes_are_divided_in_the_ratio_of_their_lengths():
    # The rankings of two images: 5 questions, and 2 questions (4 and 3). Four at the top, two at the bottom.
    top = Extreme(np.array([[0, 1, 2, 3], [4, 3, -1, -1]]), np.array([[9, 8, 7, 6], [9, 8, 0, 0]]))
    bottom = Extreme(np.array([[4, 3], [3, 4]]), np.array([[5, 6], [8, 9]]))
    top, bottom, num_limited = separate_extremes(top, bottom, np.array([5, 2]))
    # 5 x 4 / 6 = 3 at the top, 2 at the bottom; 2 x 4 / 6 = 1 and 1.
    assert top.questions.tolist() == [[0, 1, 2, -1], [4, -1, -1, -1]]
    assert bottom.questions.tolist() == [[4, 3], [3, -1]] and num_limited == 2


def test_questions_of_the_bottom_with_the_score_of_a_selected_one_are_left_out():
    top = Extreme(np.array([[0, 1], [2, 3]]), np.array([[9, 7], [9, 8]]))
    bottom = Extreme(np.array([[4, 5], [4, 5]]), np.array([[6, 7], [6, 7]]))
    selected = SelectedPairs(np.array([0]), np.array([1]), "exact", 1)
    # Of the second image nothing is selected.
    assert keep_below(bottom, top, selected).questions.tolist() == [[4, -1], [4, 5]]


def test_questions_stay_within_their_split():
    p = RankParams(hard_draw=2, hard_pool=40, easy_last=2, easy_pool=40, validation_proportion=0.5, seed=3)
    questions, vectors, candidates, _ = proposed(p)
    split = assign_splits(vectors.image_ids, 0.5, 3)
    owner = {q.question_id: q.image_id for q in questions}
    assert set(split.values()) == {"validation", "test"} and candidates
    assert all(split[c.image_id] == split[owner[c.question_id]] for c in candidates)


def test_excluded_pairs_are_counted_by_reason():
    _, _, _, report = proposed(EVEN)
    # 12 images x 96 questions. Existence: 12 each. Own: 7 x 12. "Which place is it?": 11 others each, 132.
    # The texts i = 3 and 6 are shared by the images 2k and 2k + 1: two other questions each, 24.
    assert report["pairs"] == {
        "all": 1152,
        "existence question": 144,
        "own question": 84,
        "text of an own question": 156,
        "eligible": 1152 - 144 - 84 - 156,
    }


def test_a_set_of_existence_questions_alone_is_refused():
    questions, vectors = world()
    with pytest.raises(UserError, match="no question can be proposed"):
        propose_candidates([q for q in questions if q.detailed == "exist"], vectors, {}, PAPER)


IDS = [f"n{i}" for i in range(2000)]


def test_the_validation_proportion_is_about_the_requested_one():
    # 2,000 images, share 0.2: 400 expected, standard deviation 18.
    assert 330 < sum(split == "validation" for split in assign_splits(IDS, 0.2, 0).values()) < 470
    assert set(assign_splits(IDS, 0.0, 0).values()) == {"test"}
    assert set(assign_splits(IDS, 1.0, 0).values()) == {"validation"}


def test_the_split_of_an_image_depends_only_on_its_id_and_the_seed():
    whole = assign_splits(IDS, 0.2, 0)
    assert all(split == whole[image] for image, split in assign_splits(IDS[500:700], 0.2, 0).items())
    assert whole != assign_splits(IDS, 0.2, 1)


ASKED = [("1", "a", "x"), ("2", "a", "y"), ("3", "b", "z"), ("4", "c", "x")]
QUESTIONS = [
    Question(question_id=i, image_id=p, split="testdev", text=t, answer="x", detailed="query")
    for i, p, t in ASKED
]
TABLE = build_question_table(QUESTIONS, ["a", "b", "c"], ["x", "y", "z"])


def test_the_summary_measures_how_evenly_candidates_are_distributed():
    # Candidates: question 3 at a; 1 and 2 at b.
    end = Extreme(np.array([[2, -1], [0, 1], [-1, -1]]), np.array([[100_000, 0], [200_000, 300_000], [0, 0]]))
    drawn = SelectedPairs(np.array([0, 1, 1]), np.array([0, 0, 1]), "exact", 4)
    figures = summarize_selection(drawn, end, TABLE, 2)
    # Asked: a once, b twice, c never. Given: a twice, b once, c never.
    assert figures["received"] == {"least": 0, "mean": 1.0, "most": 2} == figures["given"]
    assert figures["received_minus_given"] == {"largest": 1, "sum": 2}
    assert figures["images_with_fewer_than_wanted"] == 2 and figures["questions_by_use_count"] == {"1": 3}
    assert (figures["upper_bound"], figures["short_of_upper_bound"], figures["distinct_texts"]) == (
        4,
        0.25,
        3,
    )  # 1 of 4 is missing
    assert figures["score_quantiles"]["0.50"] == 0.2


def test_excluded_and_eligible_pairs_are_all_pairs():
    # 3 images x 4 questions; 4 are an image's own, and x of a and c is the text of an own question once each.
    assert count_pairs(TABLE) == {
        "all": 12,
        "existence question": 0,
        "own question": 4,
        "text of an own question": 2,
        "eligible": 6,
    }


# Rank inputs


@pytest.fixture
def embedded(tmp_path):
    """The vectors of the small world as embed writes them."""
    _, vectors = world()
    for name, value in (("image_ids", vectors.image_ids), ("texts", vectors.text_strings)):
        write_json(tmp_path / f"{name}.json", value)
    np.save(tmp_path / "images.npy", vectors.image_vectors)
    np.save(tmp_path / "texts.npy", vectors.text_vectors)
    return tmp_path


def test_vectors_are_read_as_they_were_written(embedded):
    vectors = load_embeddings(embedded)
    assert (
        np.array_equal(vectors.text_vectors, world()[1].text_vectors)
        and vectors.image_ids == world()[1].image_ids
    )


def test_vectors_that_do_not_fit_are_all_named(embedded):
    texts = np.load(embedded / "texts.npy")
    texts[3] *= 2
    texts[5, 0] = np.nan
    np.save(embedded / "texts.npy", texts)
    np.save(embedded / "images.npy", np.zeros((2, 24), np.float32))
    with pytest.raises(UserError) as caught:
        load_embeddings(embedded)
    text = str(caught.value)
    named = world()[1].text_strings
    assert "(2, 24), expected float32 with 12 rows" in text and "row 5" in text
    assert f"texts.npy, row 3: {named[3]!r} has length 2, expected 1" in text
    (embedded / "images.npy").write_bytes(b"")
    with pytest.raises(UserError, match="images.npy"):
        load_embeddings(embedded)
    (embedded / "texts.json").write_text(json.dumps(["a"]))
    with pytest.raises(UserError, match="expected float32 with 1 row"):
        load_embeddings(embedded)


def test_texts_may_lie_in_another_folder_and_must_fit_all_the_same(embedded, tmp_path):
    other = tmp_path / "similarity"
    other.mkdir()
    write_json(other / "texts.json", ["edited"])
    np.save(other / "texts.npy", np.eye(1, 24, dtype=np.float32))
    assert load_embeddings(embedded, other).text_strings == ["edited"]
    np.save(other / "texts.npy", np.eye(1, 9, dtype=np.float32))
    with pytest.raises(UserError, match="similarity/texts.npy: 24 and 9 dimensions"):
        load_embeddings(embedded, other)
    np.save(other / "texts.npy", np.zeros((0, 24), np.float32))
    write_json(other / "texts.json", [])
    assert load_embeddings(embedded, other).text_vectors.shape == (0, 24)


def question(question_id="1", image_id="a", text="What color is the cup?", detailed="", steps=()):
    program = tuple(
        Step(operation=operation, argument="", dependencies=dependencies) for operation, dependencies in steps
    )
    return Question(
        question_id=question_id,
        image_id=image_id,
        split="testdev",
        text=text,
        answer="x",
        detailed=detailed,
        program=program,
    )


def test_the_table_numbers_questions_by_id_and_knows_what_each_image_was_asked():
    # Image a is asked x (twice, under two ids) and an existence question e; image b is asked y and x.
    rows = [
        question("3", "b", "y"),
        question("1", "a", "x"),
        question("2", "b", "x"),
        question("0", "a", "e", "exist"),
        question("4", "a", "x"),
        question("9", "other", "z"),
    ]
    table = build_question_table(rows, ["a", "b"], ["e", "x", "y"])
    assert table.question_ids == ["1", "2", "3", "4"]
    assert table.text_rows.tolist() == [1, 1, 2, 1]
    assert table.image_rows.tolist() == [0, 1, 1, 0]
    assert [table.questions_by_text[[t]].indices.tolist() for t in range(3)] == [
        [],
        [0, 1, 3],
        [2],
    ]
    assert [table.texts_by_image[[p]].indices.tolist() for p in range(2)] == [
        [0, 1],
        [1, 2],
    ]
    assert table.num_existence == 1
    # For a: only y (x is its own text, also under b's id). For b: nothing.
    assert table.count_eligible().tolist() == [1, 0]


def test_texts_that_were_not_embedded_are_all_named():
    with pytest.raises(UserError) as caught:
        build_question_table(
            [question("1", text="x"), question("2", text="y"), question("3", text="z")], ["a"], ["y"]
        )
    assert len(caught.value.problems) == 3  # the heading and two texts
    assert caught.value.problems[1].startswith("1: ") and caught.value.problems[2].startswith("3: ")


# Pair scores


def test_every_question_is_scored_with_its_own_image():
    questions, vectors = world()
    rows = {row.question_id: row.score for row in score_own_questions(questions, vectors)}
    assert rows.keys() == {q.question_id for q in questions}
    q = questions[42]
    a, b = (
        vectors.image_vectors[vectors.image_ids.index(q.image_id)],
        vectors.text_vectors[vectors.text_strings.index(q.text)],
    )
    assert rows[q.question_id] == round(float(a.astype(float) @ b.astype(float)), 6)


def edited(number: int, image: str, text: str) -> Candidate:
    return Candidate(
        candidate_id=f"pteasy_{image}+{number}",
        subset="pt-easy",
        image_id=image,
        question_id=str(number),
        text=text,
    )


# Images along two axes, and two texts; scores are what arithmetic says.
AXES = Embeddings(
    np.eye(2, dtype=np.float32),
    ["n1", "n2"],
    np.array([[0.6, -0.8], [1, 0]], np.float32),
    ["Is it red?", "Is it blue?"],
)


def test_an_edited_question_is_scored_by_the_cosine_with_its_image():
    rows = [edited(1, "n1", "Is it red?"), edited(2, "n2", "Is it red?"), edited(3, "n2", "Is it blue?")]
    # (0.6, -0.8) . (1, 0) = 0.6, . (0, 1) = -0.8; (1, 0) . (0, 1) = 0
    found = [(row.candidate_id, row.score) for row in score_edited_questions(rows, AXES)]
    assert found == [("pteasy_n1+1", 0.6), ("pteasy_n2+2", -0.8), ("pteasy_n2+3", 0.0)]
    assert score_edited_questions([], AXES) == []


def test_a_text_without_a_vector_has_no_score_and_the_others_keep_theirs():
    rows = [edited(1, "n1", "Is it green?"), edited(2, "n2", "Is it red?"), edited(3, "n1", "Is it green?")]
    assert [row.score for row in score_edited_questions(rows, AXES)] == [None, -0.8, None]


def test_a_text_that_was_not_edited_would_get_the_score_that_rank_gave_it():
    questions, vectors = world()
    own = {row.question_id: row.score for row in score_own_questions(questions, vectors)}
    rows = [edited(int(q.question_id), q.image_id, q.text) for q in questions]
    assert [row.score for row in score_edited_questions(rows, vectors)] == [
        own[q.question_id] for q in questions
    ]


def test_candidates_at_images_that_were_not_embedded_are_all_named():
    rows = [edited(1, "n1", "Is it red?"), edited(2, "n8", "Is it red?"), edited(3, "n9", "Is it red?")]
    with pytest.raises(UserError, match="2 problems") as caught:
        score_edited_questions(rows, AXES)
    assert "pteasy_n8+2: image n8 was not embedded" in caught.value.problems


def test_no_scores_have_no_quantiles():
    assert compute_quantiles([]) == {}
