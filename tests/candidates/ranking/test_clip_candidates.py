from collections import Counter

import numpy as np
import pytest

from pipeline.candidates.ranking.clip_candidates import count_pairs, propose_candidates, summarize_selection
from pipeline.candidates.ranking.pair_selection import SelectedPairs
from pipeline.candidates.ranking.rank_inputs import build_question_table
from pipeline.candidates.ranking.topk import Extreme
from pipeline.core.errors import UserError
from pipeline.core.rank_params import RankParams, assign_splits
from pipeline.core.records import Question
from tests.candidates.ranking.small_world import world

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
