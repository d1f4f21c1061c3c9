"""Read the words in an image, from a file or with rapidocr (extra `ocr`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pipeline.core.errors import Problems, UserError
from pipeline.core.images import load_rgb
from pipeline.core.json_files import read_json
from pipeline.inference.attribution.panels import BoxMark

EXPECTED_FORMAT = "a list of {text, box, score} with box [left, top, right, bottom] in pixels, or an object that maps image ids to such lists"


class ImageWord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A word in an image.

    Attributes:
        text: The word.
        box: Left, top, right, bottom in pixels.
        score: Confidence of the text recognition, 0 to 1.
    """

    text: str
    box: tuple[float, float, float, float]
    score: float = 1.0


def read_image_words(path: Path, image: str) -> list[ImageWord]:
    """Read the words of an image from a file.

    Args:
        path: A JSON file: a list of words, or an object that maps image ids to such lists. An image that is not
            in the object has no words.
        image: Id of the image.

    Raises:
        UserError: The file cannot be read, or has another format. All faults are listed.
    """
    content = read_json(path)
    rows = content.get(image, []) if isinstance(content, dict) else content
    if not isinstance(rows, list):
        raise UserError(f"{path}: wanted {EXPECTED_FORMAT}")
    problems, words = Problems(f"{path}: wanted {EXPECTED_FORMAT}"), []
    for number, row in enumerate(rows, 1):
        try:
            word = msgspec.convert(row, ImageWord)
        except msgspec.ValidationError as error:
            problems.add(f"word {number}", str(error))
            continue
        left, top, right, bottom = word.box
        if not (left < right and top < bottom):
            problems.add(
                f"word {number} {word.text!r}",
                f"box {list(word.box)} is empty or has its right or lower edge first; wanted left, top, right, bottom, not width and height",
            )
        if not 0 <= word.score <= 1:
            problems.add(f"word {number} {word.text!r}", f"score {word.score:g}, wanted 0 to 1")
        words.append(word)
    problems.raise_if_any()
    return words


def recognize_words(image: Path) -> list[ImageWord]:
    """Recognize the words in an image with rapidocr.

    Raises:
        UserError: rapidocr is not installed, or the image cannot be read.
    """
    try:
        from rapidocr import RapidOCR  # pyright: ignore[reportMissingImports] - an extra
    except ImportError as error:
        raise UserError(
            'reading words in images needs rapidocr, which is not installed: pip install "rgqa-pipeline[ocr]"; or give the words with --ocr-words FILE'
        ) from error
    try:
        upright = np.asarray(load_rgb(image))
    except (OSError, ValueError) as error:
        raise UserError(f"{image}: {error}; restore it") from error
    # rapidocr takes arrays in the order blue, green, red, as OpenCV does.
    return parse_ocr_result(
        RapidOCR(params={"Global.log_level": "error"})(np.ascontiguousarray(upright[..., ::-1]))
    )


def parse_ocr_result(ocr_result: Any) -> list[ImageWord]:
    """Convert a result of rapidocr to words.

    The result has `boxes` [n, 4, 2] (four corners in pixels), `txts` and `scores`. All three are None if
    there are no words.
    """
    if ocr_result.boxes is None:
        return []
    rows = zip(ocr_result.txts, ocr_result.boxes, ocr_result.scores, strict=True)
    return [
        ImageWord(text, (*map(float, corners.min(0)), *map(float, corners.max(0))), float(score))  # pyright: ignore[reportArgumentType]
        for text, corners, score in rows
    ]


def make_word_marks(words: Sequence[ImageWord], size: tuple[int, int], source: str) -> tuple[BoxMark, ...]:
    """Convert words to marks, with boxes as fractions of the image.

    Args:
        words: The words.
        size: Width and height of the image in pixels.
        source: Where the words are from, such as a file name, for messages.

    Raises:
        UserError: A box is outside of the image.
    """
    width, height = size
    problems = Problems(f"{source}: boxes outside of the image, which has {width} x {height} pixels")
    for word in words:
        if word.box[0] < 0 or word.box[1] < 0 or word.box[2] > width or word.box[3] > height:
            problems.add(repr(word.text), f"box {list(word.box)}")
    problems.raise_if_any()
    return tuple(
        BoxMark(
            word.text,
            (word.box[0] / width, word.box[1] / height, word.box[2] / width, word.box[3] / height),
            word.score,
        )
        for word in words
    )
