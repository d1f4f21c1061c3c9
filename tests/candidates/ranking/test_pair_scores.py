from __future__ import annotations

import numpy as np
import pytest

from pipeline.candidates.ranking.pair_scores import (
    compute_quantiles,
    score_edited_questions,
    score_own_questions,
)
from pipeline.candidates.ranking.rank_inputs import Embeddings
from pipeline.core.errors import UserError
from pipeline.core.records import Candidate
from tests.candidates.ranking.small_world import world


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
