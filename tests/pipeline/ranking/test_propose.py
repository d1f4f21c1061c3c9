from collections import Counter

import pytest

from pipeline.balancing.dev_test import parts
from pipeline.core.errors import UserError
from pipeline.ranking.propose import RankParams, own_scores, propose
from tests.pipeline.ranking.small_world import world

EVEN = RankParams(hard_draw=4, hard_pool=25, easy_last=3, easy_pool=25, cap=2, dev_share=0.0)
PAPER = RankParams(preset="paper", hard_draw=4, hard_pool=10, easy_last=3, easy_pool=25)


def proposed(p):
    questions, vectors = world()
    candidates, report = propose(questions, vectors, parts(vectors.picture_ids, p.dev_share, p.seed), p)
    return questions, vectors, candidates, report


@pytest.mark.parametrize("p", [EVEN, PAPER])
def test_existence_questions_own_questions_and_own_texts_are_never_proposed(p):
    questions, _, candidates, _ = proposed(p)
    assert {c.subset for c in candidates} == {"clip-easy", "clip-hard"}
    asked = {(q.picture_id, q.text) for q in questions}
    for c in candidates:
        assert c.text not in ("Is there a dog?", "Which place is it?")  # the latter is asked of every picture
        assert (c.picture_id, c.text) not in asked


def ranked_by_hand(questions, vectors, picture):
    """Admissible question ids, the most similar first."""
    row = vectors.picture_ids.index(picture)
    own = {q.text for q in questions if q.picture_id == picture}
    score = {
        t: round(float(vectors.texts[i].astype(float) @ vectors.pictures[row].astype(float)), 6)
        for i, t in enumerate(vectors.text_list)
    }
    free = [q for q in questions if q.text not in own and q.detailed != "exist"]
    return [
        (q.question_id, score[q.text]) for q in sorted(free, key=lambda q: (-score[q.text], q.question_id))
    ]


@pytest.mark.parametrize("p", [EVEN, PAPER])
def test_rank_and_score_are_those_among_the_pictures_admissible_questions(p):
    questions, vectors, candidates, _ = proposed(p)
    for c in candidates:
        order = ranked_by_hand(questions, vectors, c.picture_id)
        assert order[c.rank - 1] == (c.question_id, c.score)
        assert c.rank <= p.hard_pool if c.subset == "clip-hard" else c.rank > len(order) - p.easy_pool
        assert c.program[-1].operation == "query"


def test_the_papers_rule_takes_the_very_last_and_draws_from_the_best():
    questions, vectors, candidates, _ = proposed(PAPER)
    for picture in vectors.picture_ids:
        order = [question for question, _ in ranked_by_hand(questions, vectors, picture)]
        easy, hard = (
            {c.question_id for c in candidates if c.subset == s and c.picture_id == picture}
            for s in ("clip-easy", "clip-hard")
        )
        assert easy == set(order[-3:])
        assert len(hard) == 4 and hard <= set(order[:10])


def test_no_cap_leaves_the_papers_rule():
    assert (
        proposed(PAPER)[2]
        == proposed(RankParams(cap=0, hard_draw=4, hard_pool=10, easy_last=3, easy_pool=25))[2]
    )


def test_the_cap_is_never_exceeded_and_pictures_give_as_many_as_they_are_asked():
    questions, _, candidates, report = proposed(EVEN)
    owner = {q.question_id: q.picture_id for q in questions}
    for subset in ("clip-easy", "clip-hard"):
        rows = [c for c in candidates if c.subset == subset]
        assert max(Counter(c.question_id for c in rows).values()) <= 2
        assert Counter(c.picture_id for c in rows) == Counter(owner[c.question_id] for c in rows)
        assert report.subsets[subset].asked_minus_given == {"largest": 0, "sum": 0}
    # 12 pictures with 6 questions that may be proposed, each twice: room for 12 a picture, 3 and 4 are wanted.
    assert (report.subsets["clip-easy"].candidates, report.subsets["clip-hard"].candidates) == (
        36,
        48,
    )


def test_questions_stay_within_their_part():
    p = RankParams(hard_draw=2, hard_pool=40, easy_last=2, easy_pool=40, dev_share=0.5, seed=3)
    questions, vectors, candidates, _ = proposed(p)
    part = parts(vectors.picture_ids, 0.5, 3)
    owner = {q.question_id: q.picture_id for q in questions}
    assert set(part.values()) == {"dev", "test"} and candidates
    assert all(part[c.picture_id] == part[owner[c.question_id]] for c in candidates)


def test_pairs_left_out_are_counted_by_reason():
    _, _, _, report = proposed(EVEN)
    # 12 pictures x 96 questions. Existence: 12 each. Own: 7 x 12. "Which place is it?": 11 others each, 132.
    # The texts i = 3 and 6 are shared by the pictures 2k and 2k + 1: two other questions each, 24.
    assert report.pairs == {
        "all": 1152,
        "existence question": 144,
        "own question": 84,
        "text of an own question": 156,
        "admissible": 1152 - 144 - 84 - 156,
    }


def test_every_question_is_scored_with_its_own_picture():
    questions, vectors = world()
    rows = {row.question_id: row.score for row in own_scores(questions, vectors)}
    assert rows.keys() == {q.question_id for q in questions}
    q = questions[42]
    a, b = (
        vectors.pictures[vectors.picture_ids.index(q.picture_id)],
        vectors.texts[vectors.text_list.index(q.text)],
    )
    assert rows[q.question_id] == round(float(a.astype(float) @ b.astype(float)), 6)


def test_a_set_of_existence_questions_alone_is_refused():
    questions, vectors = world()
    with pytest.raises(UserError, match="no question can be proposed"):
        propose([q for q in questions if q.detailed == "exist"], vectors, {}, PAPER)
