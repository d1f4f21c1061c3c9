"""Which questions may be proposed for which picture, as arrays.

Two kinds are left out, as in RGQA 3.1: existence questions ("Is there a dog?" is always answerable, with no) and the
picture's own questions; the text of an own question under another id counts as its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.errors import Problems
from pipeline.core.records import Question
from pipeline.programs.existence_questions import is_existence


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """The questions that may be proposed, in the order of their ids; positions in it name them everywhere else.

    Attributes:
        picture_ids: of all pictures, in the order of their rows.
        text_rows, picture_rows: int32, row of the text's vector and of the question's own picture.
        text_start, of_text: the questions of text t are of_text[text_start[t]:text_start[t + 1]], ascending.
        asked_start, asked: the texts asked of picture i (existence questions included) are
            asked[asked_start[i]:asked_start[i + 1]], ascending: none of them may be proposed for it.
        existence: how many questions were left out because they ask for existence.
    """

    questions: tuple[Question, ...]
    picture_ids: Sequence[str]
    text_rows: np.ndarray
    picture_rows: np.ndarray
    text_start: np.ndarray
    of_text: np.ndarray
    asked_start: np.ndarray
    asked: np.ndarray
    existence: int

    @property
    def by_text(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.text_start, self.of_text, self.asked_start, self.asked

    def repeats(self) -> np.ndarray:
        """How many questions have each text: int64 [texts]."""
        return np.diff(self.text_start)

    def admissible(self) -> np.ndarray:
        """How many questions may be proposed for each picture: int64 [pictures]."""
        owners = np.repeat(np.arange(len(self.picture_ids)), np.diff(self.asked_start))
        not_own = np.bincount(owners, self.repeats()[self.asked], len(self.picture_ids))
        return len(self.questions) - not_own.astype(np.int64)


def question_table(
    questions: Sequence[Question], picture_ids: Sequence[str], texts: Sequence[str]
) -> QuestionTable:
    """Number the questions asked of `picture_ids` by the rows of the embedded pictures and texts.

    Questions of other pictures (other splits) are passed over.

    Raises:
        UserError: questions whose text was not embedded.
    """
    picture_row = {picture: row for row, picture in enumerate(picture_ids)}
    text_row = {text: row for row, text in enumerate(texts)}
    asked = sorted((q for q in questions if q.picture_id in picture_row), key=lambda q: q.question_id)
    problems = Problems("questions without a vector (run embed again)")
    for question in asked:
        if question.text not in text_row:
            problems.add(question.question_id, f"its text {question.text!r} was not embedded")
    problems.raise_if_any()

    proposed = [q for q in asked if not is_existence(q)]
    text_rows = np.array([text_row[q.text] for q in proposed], np.int32)
    pairs = sorted({(picture_row[q.picture_id], text_row[q.text]) for q in asked})
    own_picture, own_text = np.array(pairs, np.int32).reshape(-1, 2).T.copy()
    return QuestionTable(
        questions=tuple(proposed),
        picture_ids=picture_ids,
        text_rows=text_rows,
        picture_rows=np.array([picture_row[q.picture_id] for q in proposed], np.int32),
        text_start=_starts(text_rows, len(texts)),
        of_text=np.argsort(text_rows, kind="stable").astype(np.int32),
        asked_start=_starts(own_picture, len(picture_ids)),
        asked=own_text,
        existence=len(asked) - len(proposed),
    )


def _starts(rows: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))]).astype(np.int64)
