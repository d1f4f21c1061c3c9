"""Pairs of items in attribution, their panels, and text in images."""

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
from pipeline.inference.attribution.item_pairs import find_pair, get_question_text, sample_pairs
from pipeline.inference.attribution.panels import Attribution, Panel
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items

# Item pairs


def item(name, answer="", split="test", pair="", image="n1", asked="Is it?"):
    return BenchmarkItem(
        name, image, {answer: 1.0} if answer else {}, question_text=asked, split=split, pair_id=pair
    )


def benchmark(**subsets):
    tables = {name: Items.from_rows(items) for name, items in subsets.items()}
    ids = frozenset().union(*(table.ids for table in tables.values()))
    return Benchmark("rgqa", "toy", "1", {}, tables, ids)


PAIRS = benchmark(
    easy=[item("a1", "red", pair="p1"), item("u1", pair="p1"), item("u2", pair="p2"), item("a2", "no", pair="p2")],
    hard=[item("a1", "red", pair="p3"), item("u3", pair="p3"), item("u4", pair="p4", split="validation")],
)  # fmt: skip


@pytest.mark.parametrize("asked", ["u1", "a1"])
def test_a_pair_lists_the_uq_first(asked):
    pair = find_pair(PAIRS, asked)
    assert (pair.subset, [one.id for one in pair.present_items]) == ("easy", ["u1", "a1"])
    assert pair.uq.id == "u1" and not pair.uq.answers
    assert pair.aq.id == "a1" and pair.aq.answers


def test_an_item_without_a_pair_is_returned_alone():
    alone = benchmark(pope=[item("u1"), item("a1", "yes"), item("u2")])
    assert [one.id for one in find_pair(alone, "u2").present_items] == ["u2"]


def test_an_unknown_item_and_one_without_image_or_text_are_rejected():
    with pytest.raises(UserError, match=r"no item x in toy; .*\(easy, hard\)"):
        find_pair(PAIRS, "x")
    with pytest.raises(UserError, match="item b of toy has no image"):
        find_pair(benchmark(easy=[item("b", image="")]), "b")
    with pytest.raises(UserError, match="item b of toy has no text"):
        find_pair(benchmark(easy=[item("b", asked="")]), "b")


def test_gqa_questions_have_a_text_too():
    question = {"question": "What is this?"}
    assert get_question_text(BenchmarkItem("q", "n", {"cup": 1.0}, gqa_question=question)) == "What is this?"


def test_pairs_are_sampled_evenly_from_split_test_and_reproducibly():
    many = benchmark(
        **{
            name: [one for k in range(9) for one in (item(f"{name}u{k}", pair=f"{name}{k}"), item(f"a{k}", "no", pair=f"{name}{k}"))]
            for name in ("one", "two", "three")
        }
    )  # fmt: skip
    drawn = sample_pairs(many, 7)
    assert [pair.subset for pair in drawn] == ["one"] * 3 + ["two"] * 2 + ["three"] * 2
    assert drawn == sample_pairs(many, 7)
    assert {pair.uq.id for pair in drawn} != {
        f"{name}u{k}" for name in ("one", "two", "three") for k in range(3)
    }
    assert {pair.uq.id for pair in sample_pairs(PAIRS, 9)} == {"u1", "u2", "u3"}  # u4 is of split validation


# Panels


def test_a_panel_is_found_by_its_method():
    panels = tuple(Panel(name, name.title(), np.ones((1, 1))) for name in ("attention", "grad-cam"))
    sighting = Attribution("red", 0.9, panels)
    assert sighting.get_panel("grad-cam") is panels[1]
    with pytest.raises(KeyError):
        sighting.get_panel("rollout")


# Image text


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
