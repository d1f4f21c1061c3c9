"""What is ranked: the vectors that embed wrote, checked, and the questions that may be proposed, as arrays.

Two kinds of questions are left out, as in RGQA 3.1: existence questions ("Is there a dog?" is always answerable, with no)
and the picture's own questions; the text of an own question under another id counts as its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pipeline.core.errors import Problems
from pipeline.core.files import read_json
from pipeline.core.records import Question
from pipeline.programs.operations import is_existence

AT_ONCE = 8192  # rows looked at together


class Vectors(NamedTuple):
    """float32 unit vectors [n, d] and [m, d], and what their rows stand for. `texts` is a memory map."""

    pictures: np.ndarray
    picture_ids: list[str]
    texts: np.ndarray
    text_list: list[str]


def read_vectors(embed: Path, texts: Path | None = None) -> Vectors:
    """Read the tables of pictures and texts and check that they fit each other.

    Args:
        embed: the stage's folder. texts: the folder whose texts are read; None: those of embed, too.

    Raises:
        UserError: lists everything that does not fit.
    """
    problems = Problems("vectors that cannot be used (run embed again)")
    pictures, picture_ids = _read(embed / "pictures.npy", embed / "picture_ids.json", problems)
    where = (texts or embed) / "texts.npy"
    of_texts, text_list = _read(where, where.with_suffix(".json"), problems)
    if pictures.ndim == of_texts.ndim == 2 and pictures.shape[1] != of_texts.shape[1]:
        what = f"of {pictures.shape[1]} and {of_texts.shape[1]} dimensions"
        problems.add(f"{embed / 'pictures.npy'}, {where}", what)
    problems.raise_if_any()
    return Vectors(np.array(pictures), picture_ids, of_texts, text_list)


def _read(table: Path, names: Path, problems: Problems) -> tuple[np.ndarray, list[str]]:
    ids = read_json(names, list[str])
    try:
        array = np.asarray(np.load(table, mmap_mode="r"))
    except Exception as error:  # of a damaged header numpy raises whatever its parser raises
        problems.add(str(table), f"{type(error).__name__}: {error}")
        return np.zeros(0), ids
    if array.ndim != 2 or array.dtype != np.float32 or len(array) != len(ids):
        what = f"{array.dtype} {array.shape}, expected float32 with {len(ids)} rows, one for each of {names.name}"
        problems.add(str(table), what)
        return np.zeros(0), ids
    for start in range(0, len(array), AT_ONCE):
        lengths = np.linalg.norm(array[start : start + AT_ONCE], axis=1)
        for row in np.flatnonzero(~(np.abs(lengths - 1) < 0.01)):
            what = f"{ids[start + row]!r} has length {lengths[row]:.4g}, expected 1"
            problems.add(f"{table}, row {start + row}", what)
    return array, ids


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """The questions that may be proposed, in the order of their ids; positions in it name them everywhere else.

    Attributes:
        picture_ids: of all pictures, in the order of their rows.
        text_rows, picture_rows: int32, row of the text's vector and of the question's own picture.
        of_text: bool [texts, questions], the questions of each text. asked: bool [pictures, texts], the texts asked of
            each picture (existence questions included): none of them may be proposed for it. Indices ascend.
        existence: how many questions were left out because they ask for existence.
    """

    questions: tuple[Question, ...]
    picture_ids: Sequence[str]
    text_rows: np.ndarray
    picture_rows: np.ndarray
    of_text: csr_array
    asked: csr_array
    existence: int

    def repeats(self) -> np.ndarray:
        """How many questions have each text: int [texts]."""
        return np.diff(self.of_text.indptr)

    def admissible(self) -> np.ndarray:
        """How many questions may be proposed for each picture: int [pictures]."""
        return np.asarray(len(self.questions) - self.asked @ self.repeats())


def numbered(
    questions: Iterable[Question], picture_ids: Sequence[str], texts: Sequence[str]
) -> tuple[list[Question], np.ndarray, np.ndarray]:
    """The questions asked of `picture_ids`, sorted by id, with the rows of their embedded pictures and texts: int32
    [questions]. Questions of other pictures (other splits) are passed over.

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
    pictures = np.array([picture_row[q.picture_id] for q in asked], np.int32)
    return asked, pictures, np.array([text_row[q.text] for q in asked], np.int32)


def question_table(
    questions: Iterable[Question], picture_ids: Sequence[str], texts: Sequence[str]
) -> QuestionTable:
    """Number the questions asked of `picture_ids` by the rows of the embedded pictures and texts (see `numbered`)."""
    asked, pictures, rows = numbered(questions, picture_ids, texts)
    proposed = np.flatnonzero([not is_existence(question) for question in asked])
    text_rows, places = rows[proposed], np.arange(len(proposed))
    return QuestionTable(
        questions=tuple(asked[number] for number in proposed),
        picture_ids=picture_ids,
        text_rows=text_rows,
        picture_rows=pictures[proposed],
        of_text=csr_array((np.ones(len(proposed), bool), (text_rows, places)), (len(texts), len(proposed))),
        asked=csr_array((np.ones(len(asked), bool), (pictures, rows)), (len(picture_ids), len(texts))),
        existence=len(asked) - len(proposed),
    )
