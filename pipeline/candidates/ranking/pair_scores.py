"""Compute CLIP scores of single pairs of an image and a text.

The score of a pair is the same as in the ranking (`topk`): the cosine, rounded to millionths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pipeline.candidates.ranking.exact_scores import score_pairs
from pipeline.candidates.ranking.rank_inputs import Embeddings, index_questions
from pipeline.core.errors import Problems
from pipeline.core.records import Candidate, EditedQuestionScore, Question, SourceQuestionScore

QUANTILE_LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def compute_quantiles(scores: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Return quantiles of scores, rounded to 6 places. The result is empty if there are no scores."""
    values = np.quantile(scores, QUANTILE_LEVELS).tolist() if len(scores) else ()
    return {f"{q:.2f}": round(value, 6) for q, value in zip(QUANTILE_LEVELS, values, strict=False)}


def score_own_questions(questions: Iterable[Question], vectors: Embeddings) -> list[SourceQuestionScore]:
    """Return the score of every question with its own image, sorted by question id."""
    own = index_questions(questions, vectors.image_ids, vectors.text_strings)
    scores = score_pairs(vectors.image_vectors, vectors.text_vectors, own.image_rows, own.text_rows).tolist()
    return [
        SourceQuestionScore(question_id=key, score=score / 1e6)
        for key, score in zip(own.ids, scores, strict=True)
    ]


def score_edited_questions(edited: Sequence[Candidate], vectors: Embeddings) -> list[EditedQuestionScore]:
    """Return the score of every edited question with its image, in the order of `edited`.

    The score is None if the text of the question has no vector.

    Raises:
        UserError: Some candidates belong to images that were not embedded.
    """
    names = vectors.image_ids, vectors.text_strings
    image_row, text_row = ({name: row for row, name in enumerate(rows)} for rows in names)
    problems = Problems("candidates of images without a vector (run the stage embed again)")
    for candidate in edited:
        if candidate.image_id not in image_row:
            problems.add(candidate.candidate_id, f"image {candidate.image_id} was not embedded")
    problems.raise_if_any()
    known = [candidate for candidate in edited if candidate.text in text_row]
    images = np.array([image_row[candidate.image_id] for candidate in known], np.int32)
    texts = np.array([text_row[candidate.text] for candidate in known], np.int32)
    scores = iter(score_pairs(vectors.image_vectors, vectors.text_vectors, images, texts).tolist())
    return [
        EditedQuestionScore(
            candidate_id=c.candidate_id, score=next(scores) / 1e6 if c.text in text_row else None
        )
        for c in edited
    ]
