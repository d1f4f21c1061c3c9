import json

import numpy as np
import pytest

from pipeline.candidates.ranking.rank_inputs import build_question_table, load_embeddings
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.records import Question, Step
from tests.candidates.ranking.small_world import world


@pytest.fixture
def embedded(tmp_path):
    """The vectors of the small world as embed writes them."""
    _, vectors = world()
    for name, value in (("image_ids", vectors.image_ids), ("texts", vectors.text_strings)):
        write_json(tmp_path / f"{name}.json", value)
    np.save(tmp_path / "images.npy", vectors.image_vectors)
    np.save(tmp_path / "texts.npy", vectors.text_vectors)
    return tmp_path


def test_vectors_are_read_as_they_were_written(embedded):
    vectors = load_embeddings(embedded)
    assert (
        np.array_equal(vectors.text_vectors, world()[1].text_vectors)
        and vectors.image_ids == world()[1].image_ids
    )


def test_vectors_that_do_not_fit_are_all_named(embedded):
    texts = np.load(embedded / "texts.npy")
    texts[3] *= 2
    texts[5, 0] = np.nan
    np.save(embedded / "texts.npy", texts)
    np.save(embedded / "images.npy", np.zeros((2, 24), np.float32))
    with pytest.raises(UserError) as caught:
        load_embeddings(embedded)
    text = str(caught.value)
    named = world()[1].text_strings
    assert "(2, 24), expected float32 with 12 rows" in text and "row 5" in text
    assert f"texts.npy, row 3: {named[3]!r} has length 2, expected 1" in text
    (embedded / "images.npy").write_bytes(b"")
    with pytest.raises(UserError, match="images.npy"):
        load_embeddings(embedded)
    (embedded / "texts.json").write_text(json.dumps(["a"]))
    with pytest.raises(UserError, match="expected float32 with 1 row"):
        load_embeddings(embedded)


def test_texts_may_lie_in_another_folder_and_must_fit_all_the_same(embedded, tmp_path):
    other = tmp_path / "similarity"
    other.mkdir()
    write_json(other / "texts.json", ["edited"])
    np.save(other / "texts.npy", np.eye(1, 24, dtype=np.float32))
    assert load_embeddings(embedded, other).text_strings == ["edited"]
    np.save(other / "texts.npy", np.eye(1, 9, dtype=np.float32))
    with pytest.raises(UserError, match="similarity/texts.npy: 24 and 9 dimensions"):
        load_embeddings(embedded, other)
    np.save(other / "texts.npy", np.zeros((0, 24), np.float32))
    write_json(other / "texts.json", [])
    assert load_embeddings(embedded, other).text_vectors.shape == (0, 24)


def question(question_id="1", image_id="a", text="What color is the cup?", detailed="", steps=()):
    program = tuple(
        Step(operation=operation, argument="", dependencies=dependencies) for operation, dependencies in steps
    )
    return Question(
        question_id=question_id,
        image_id=image_id,
        split="testdev",
        text=text,
        answer="x",
        detailed=detailed,
        program=program,
    )


def test_the_table_numbers_questions_by_id_and_knows_what_each_image_was_asked():
    # Image a is asked x (twice, under two ids) and an existence question e; image b is asked y and x.
    rows = [
        question("3", "b", "y"),
        question("1", "a", "x"),
        question("2", "b", "x"),
        question("0", "a", "e", "exist"),
        question("4", "a", "x"),
        question("9", "other", "z"),
    ]
    table = build_question_table(rows, ["a", "b"], ["e", "x", "y"])
    assert table.question_ids == ["1", "2", "3", "4"]
    assert table.text_rows.tolist() == [1, 1, 2, 1]
    assert table.image_rows.tolist() == [0, 1, 1, 0]
    assert [table.questions_by_text[[t]].indices.tolist() for t in range(3)] == [
        [],
        [0, 1, 3],
        [2],
    ]
    assert [table.texts_by_image[[p]].indices.tolist() for p in range(2)] == [
        [0, 1],
        [1, 2],
    ]
    assert table.num_existence == 1
    # For a: only y (x is its own text, also under b's id). For b: nothing.
    assert table.count_eligible().tolist() == [1, 0]


def test_texts_that_were_not_embedded_are_all_named():
    with pytest.raises(UserError) as caught:
        build_question_table(
            [question("1", text="x"), question("2", text="y"), question("3", text="z")], ["a"], ["y"]
        )
    assert len(caught.value.problems) == 3  # the heading and two texts
    assert caught.value.problems[1].startswith("1: ") and caught.value.problems[2].startswith("3: ")
