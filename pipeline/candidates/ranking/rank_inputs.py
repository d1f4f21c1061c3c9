"""Load the inputs of the ranking: the vectors of the stage embed, and the questions that may be proposed.

As in RGQA (Zhang et al., section 3.1), two kinds of questions are never proposed for an image. Existence
questions are always answerable, because the answer to "Is there a dog?" may be "no". The image's own
questions are answerable, too. A question of another image that has the text of an own question counts as own.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pipeline.core.errors import Problems, format_count
from pipeline.core.json_files import read_json
from pipeline.core.rank_params import SourceSize
from pipeline.core.records import Question
from pipeline.language.functional_programs import is_existence_question

# Number of rows whose length is checked at once.
NORM_CHECK_CHUNK_ROWS = 8192


class Embeddings(NamedTuple):
    """The vectors of images and texts.

    Attributes:
        image_vectors: Unit vectors of the images, float32 [n, d].
        image_ids: The image id of each row of `image_vectors`.
        text_vectors: Unit vectors of the texts, float32 [m, d], as a memory map.
        text_strings: The text of each row of `text_vectors`.
        npy_paths: The files of the image vectors and of the text vectors, or None if they come from no file.
    """

    image_vectors: np.ndarray
    image_ids: list[str]
    text_vectors: np.ndarray
    text_strings: list[str]
    npy_paths: tuple[Path, Path] | None = None


def load_embeddings(embed_dir: Path, text_dir: Path | None = None) -> Embeddings:
    """Read the vectors of images and texts, and check that they fit together.

    Args:
        embed_dir: Folder of the stage embed.
        text_dir: Folder with the vectors of the texts. None means `embed_dir`.

    Raises:
        UserError: Some vectors cannot be used. The message lists all faults.
    """
    problems = Problems("vectors that cannot be used (run the stage embed again)")
    table, where = embed_dir / "images.npy", (text_dir or embed_dir) / "texts.npy"
    images, image_ids = _load_table(table, embed_dir / "image_ids.json", problems)
    of_texts, text_list = _load_table(where, where.with_suffix(".json"), problems)
    if images.ndim == of_texts.ndim == 2 and images.shape[1] != of_texts.shape[1]:
        what = f"{images.shape[1]} and {of_texts.shape[1]} dimensions"
        problems.add(f"{table}, {where}", what)
    problems.raise_if_any()
    return Embeddings(np.array(images), image_ids, of_texts, text_list, (table.absolute(), where.absolute()))


def _load_table(table: Path, names: Path, problems: Problems) -> tuple[np.ndarray, list[str]]:
    ids = read_json(names, list[str])
    try:
        array = np.asarray(np.load(table, mmap_mode="r"))
    except Exception as error:
        # For a damaged header numpy raises the error of its parser, which can be of any type.
        problems.add(str(table), f"{type(error).__name__}: {error}")
        return np.zeros(0), ids
    if array.ndim != 2 or array.dtype != np.float32 or len(array) != len(ids):
        expected = f"expected float32 with {format_count(len(ids), 'row')}, one per entry of {names.name}"
        problems.add(str(table), f"{array.dtype} {array.shape}, {expected}")
        return np.zeros(0), ids
    for start in range(0, len(array), NORM_CHECK_CHUNK_ROWS):
        lengths = np.linalg.norm(array[start : start + NORM_CHECK_CHUNK_ROWS], axis=1)
        for row in np.flatnonzero(~(np.abs(lengths - 1) < 0.01)):
            what = f"{ids[start + row]!r} has length {lengths[row]:.4g}, expected 1"
            problems.add(f"{table}, row {start + row}", what)
    return array, ids


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """The questions that may be proposed, sorted by id.

    Other arrays refer to a question by its position in this table.

    Attributes:
        question_ids: Ids of the questions.
        image_ids: Ids of all images, in the order of their rows.
        text_rows: Row of the vector of each question's text, int32 [questions].
        image_rows: Row of each question's own image, int32 [questions].
        questions_by_text: The questions with each text, bool [texts, questions]. Indices ascend.
        texts_by_image: The texts of each image's own questions, including existence questions, bool
            [images, texts]. None of these texts may be proposed for the image. Indices ascend.
        num_existence: Number of existence questions, which are not in the table.
    """

    question_ids: Sequence[str]
    image_ids: Sequence[str]
    text_rows: np.ndarray
    image_rows: np.ndarray
    questions_by_text: csr_array
    texts_by_image: csr_array
    num_existence: int

    def count_questions_per_text(self) -> np.ndarray:
        """Return the number of questions with each text, int [texts]."""
        return np.diff(self.questions_by_text.indptr)

    def count_eligible(self) -> np.ndarray:
        """Return the number of questions that may be proposed for each image, int [images]."""
        return np.asarray(len(self.question_ids) - self.texts_by_image @ self.count_questions_per_text())

    def measure_size(self) -> SourceSize:
        """Return the numbers from which the sizes of the subsets follow."""
        num_texts = int((self.count_questions_per_text() > 0).sum())
        return SourceSize(len(self.image_ids), len(self.question_ids), num_texts)

    def without_ids(self) -> QuestionTable:
        """Return a copy without ids, texts and own images of the questions.

        The copy has everything that ranking needs, and it is sent to other processes faster.
        """
        empty = self.text_rows[:0]
        return replace(self, question_ids=(), image_ids=(), text_rows=empty, image_rows=empty)


class QuestionColumns(NamedTuple):
    """Questions in the order of their ids.

    Attributes:
        ids: Ids of the questions.
        image_rows, text_rows: Rows of the vectors of each question's own image and text, int32 [questions].
        asks_existence: Whether each question is an existence question, bool [questions].
    """

    ids: list[str]
    image_rows: np.ndarray
    text_rows: np.ndarray
    asks_existence: np.ndarray


def index_questions(
    questions: Iterable[Question], image_ids: Sequence[str], texts: Sequence[str]
) -> QuestionColumns:
    """Return the questions about `image_ids` as arrays. Questions about other images are skipped.

    Raises:
        UserError: The texts of some questions were not embedded.
    """
    image_row = {image: row for row, image in enumerate(image_ids)}
    text_row = {text: row for row, text in enumerate(texts)}
    problems = Problems("questions without a vector (run the stage embed again)")
    ids, images, rows, existence = list[str](), array("i"), array("i"), bytearray()
    for question in questions:
        if question.image_id in image_row:
            ids.append(question.question_id)
            images.append(image_row[question.image_id])
            rows.append(text_row.get(question.text, -1))
            existence.append(is_existence_question(question))
            if rows[-1] < 0:
                problems.add(question.question_id, f"its text {question.text!r} was not embedded")
    problems.raise_if_any()
    order = sorted(range(len(ids)), key=ids.__getitem__)
    columns = np.array(images), np.array(rows), np.frombuffer(existence, bool)
    return QuestionColumns([ids[i] for i in order], *(column[order] for column in columns))


def build_question_table(
    questions: Iterable[Question], image_ids: Sequence[str], texts: Sequence[str]
) -> QuestionTable:
    """Build the table of the questions about `image_ids` that may be proposed.

    Raises:
        UserError: The texts of some questions were not embedded.
    """
    columns = index_questions(questions, image_ids, texts)
    proposed = np.flatnonzero(~columns.asks_existence)
    text_rows, positions = columns.text_rows[proposed], np.arange(len(proposed))
    shape = len(image_ids), len(texts)
    return QuestionTable(
        question_ids=[columns.ids[number] for number in proposed],
        image_ids=image_ids,
        text_rows=text_rows,
        image_rows=columns.image_rows[proposed],
        questions_by_text=csr_array(
            (np.ones(len(proposed), bool), (text_rows, positions)), (len(texts), len(proposed))
        ),
        texts_by_image=csr_array(
            (np.ones(len(columns.ids), bool), (columns.image_rows, columns.text_rows)), shape
        ),
        num_existence=len(columns.ids) - len(proposed),
    )
