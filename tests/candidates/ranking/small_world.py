"""A small set of images and questions with vectors."""

import numpy as np

from pipeline.candidates.ranking.rank_inputs import Embeddings
from pipeline.core.records import Question, Step

IMAGES, EACH = 12, 8


def world():
    """12 images with 8 questions each: of every image the first asks for existence, the second is "Which place is
    it?" for all; every third of the others is also asked, word for word, of the next image."""
    questions = []
    for p in range(IMAGES):
        for i in range(EACH):
            text = (
                "Is there a dog?"
                if i == 0
                else "Which place is it?"
                if i == 1
                else f"What is {p if i % 3 else p // 2 * 2}-{i}?"
            )
            last = "exist" if i == 0 else "query"
            questions.append(
                Question(
                    question_id=f"0{p:02d}{i}",
                    image_id=f"n{p:02d}",
                    split="testdev",
                    text=text,
                    answer="x",
                    detailed="exist" if i == 0 else "what",
                    program=(
                        Step(operation="select", argument="x (1)", dependencies=()),
                        Step(operation=last, argument="?", dependencies=()),
                    ),
                )
            )
    ids, texts = sorted({q.image_id for q in questions}), sorted({q.text for q in questions})
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, 24)).astype(np.float32) for n in (len(ids), len(texts)))
    return questions, Embeddings(
        a / np.linalg.norm(a, axis=1, keepdims=True), ids, b / np.linalg.norm(b, axis=1, keepdims=True), texts
    )
