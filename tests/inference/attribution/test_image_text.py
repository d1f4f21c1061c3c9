import json
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from pipeline.core.errors import UserError
from pipeline.inference.attribution.image_text import (
    ImageWord,
    make_word_marks,
    parse_ocr_result,
    read_image_words,
    recognize_words,
)

SOUP = {"text": "soup", "box": [10, 20, 60, 40], "score": 0.9}


def written(folder, content):
    path = folder / "words.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_words_are_read_for_one_image_or_by_image_id(tmp_path):
    soup = ImageWord("soup", (10, 20, 60, 40), 0.9)
    assert read_image_words(written(tmp_path, [SOUP]), "n1") == [soup]
    assert read_image_words(written(tmp_path, {"n1": [SOUP], "n2": []}), "n1") == [soup]
    assert read_image_words(written(tmp_path, {"n1": [SOUP]}), "n3") == []


def test_all_faults_of_a_file_are_listed(tmp_path):
    rows = [
        SOUP,
        {"text": "tin", "box": [60, 20, 50, 40]},  # x, y, width and height
        {"text": "jar", "box": [1, 2, 3]},
        {"text": "lid", "box": [1, 2, 3, 4], "score": 7},
        "soup",
        {"word": "soup", "box": [1, 2, 3, 4]},
    ]
    with pytest.raises(UserError) as found:
        read_image_words(written(tmp_path, rows), "n1")
    lines = found.value.problems
    assert "5 problems" in lines[0] and "left, top, right, bottom" in lines[0]
    assert "word 2 'tin'" in lines[1] and "edge first" in lines[1]
    assert [line.split(":")[0] for line in lines[2:]] == ["word 3", "word 4 'lid'", "word 5", "word 6"]


@pytest.mark.parametrize("content", ["{", '"soup"', '{"n1": 3}'])
def test_a_file_of_another_format_is_rejected(tmp_path, content):
    with pytest.raises(UserError):
        read_image_words(written(tmp_path, content), "n1")
    with pytest.raises(UserError, match="no such file"):
        read_image_words(tmp_path / "none.json", "n1")


def test_marks_of_words_are_fractions_of_the_image():
    (mark,) = make_word_marks([ImageWord("soup", (10, 20, 60, 40), 0.9)], (100, 80), "words.json")
    assert mark == ("soup", (0.1, 0.25, 0.6, 0.5), 0.9)


def test_words_of_a_larger_image_are_rejected():
    with pytest.raises(UserError, match=r"which has 100 x 80 pixels"):
        make_word_marks([ImageWord("soup", (10, 20, 160, 40))], (100, 80), "words.json")


def test_tilted_boxes_become_upright_and_no_words_are_an_empty_list():
    corners = np.array([[[20.0, 23], [186, 25], [185, 81], [19, 79]]])
    read = SimpleNamespace(boxes=corners, txts=("SOUP 42",), scores=(0.95,))
    assert parse_ocr_result(read) == [ImageWord("SOUP 42", (19, 23, 186, 81), 0.95)]
    assert parse_ocr_result(SimpleNamespace(boxes=None, txts=None, scores=None)) == []


def test_rapidocr_reads_a_word_and_its_position(tmp_path):
    pytest.importorskip("rapidocr")
    image = Image.new("RGB", (320, 120), "white")
    ImageDraw.Draw(image).text((30, 30), "SOUP 42", fill="black", font=ImageFont.load_default(36))
    image.save(tmp_path / "soup.png")
    (word,) = recognize_words(tmp_path / "soup.png")
    left, top, right, bottom = word.box
    assert word.text == "SOUP 42" and word.score > 0.8
    assert left <= 35 and top <= 45 and right >= 170 and bottom >= 60 and right < 240 and bottom < 100


def test_a_missing_rapidocr_is_a_message_with_the_install_command(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "rapidocr", None)
    with pytest.raises(UserError, match="--ocr-words FILE"):
        recognize_words(tmp_path / "soup.png")
