"""Sets whose columns the user names, and invalid sets."""

import json

import pytest

from pipeline.benchmark.auditing.labelled_set import ColumnOptions, load_labelled_set
from pipeline.benchmark.auditing.row_sources import open_rows
from pipeline.core.errors import UserError

OPTIONS = ColumnOptions("t", "l", "g")


def source(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return open_rows(str(path))


def rows(*labels, texts=None, images=None):
    return [
        {"t": texts[i] if texts else f"word {i}", "l": label, "g": images[i] if images else i % 2}
        for i, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("labels", "positive", "label_names", "expected"),
    [
        (("valid", "invalid"), None, ("valid", "invalid"), [0, 1]),
        ((1.0, 0), None, ("0", "1"), [1, 0]),
        ((True, False), None, ("False", "True"), [1, 0]),
        (
            ("cat", "dog"),
            None,
            ("cat", "dog"),
            [0, 1],
        ),  # The later one in alphabetical order is the positive label.
        (("cat", "dog"), "cat", ("dog", "cat"), [1, 0]),
        (("a", "b", "c", "b"), "b", ("not b", "b"), [0, 1, 0, 1]),
        (({"a": 1}, {"UQ": 1}), "{'UQ': 1}", ("{'a': 1}", "{'UQ': 1}"), [0, 1]),
    ],
)
def test_two_values_are_the_labels_or_one_value_against_all_others(
    tmp_path, labels, positive, label_names, expected
):
    read = load_labelled_set(
        source(tmp_path / "s", rows(*labels)), "s", OPTIONS._replace(positive_label=positive)
    )
    assert (read.label_names, read.labels.tolist()) == (label_names, expected)


def test_rows_are_selected_by_a_column_and_keep_their_indices(tmp_path):
    given = [
        row | {"category": "popular" if i > 1 else "random"} for i, row in enumerate(rows("a", "b", "a", "b"))
    ]
    read = load_labelled_set(
        source(tmp_path / "s", given), "s", OPTIONS._replace(where=("category", "popular"))
    )
    assert (read.row_indices.tolist(), read.texts) == ([2, 3], ["word 2", "word 3"])
    assert (read.select(read.labels.argsort()[::-1]).row_indices.tolist()) == [3, 2]


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (
            rows("a", "b"),
            ColumnOptions("t", "nosuch", "g"),
            "nosuch: no such column; the columns are t, l, g",
        ),
        (rows("a", "b"), ColumnOptions("t"), "give --text-column and --label-column together"),
        (rows("a", "b", "c"), OPTIONS, r"l has 3 values \('a' \(1\), .*--positive-label VALUE"),
        (rows("a", "b"), OPTIONS._replace(positive_label="z"), "no row has 'z' in l; the commonest are 'a'"),
        (rows("a", "b"), OPTIONS._replace(where=("g", "9")), "no row has '9' in g"),
        (rows("a", "a"), OPTIONS, "none of 2 rows is 'not a'"),
        (rows("a", None), OPTIONS, "row 2: the label is missing"),
        (rows("a", "b", texts=["x", " ?"]), OPTIONS, "row 2: the text is missing or has no words"),
        (rows("a", "b", texts=["x", 5]), OPTIONS, "row 2: the text is missing"),
        (
            rows("a", "b", texts=["x", "x " * 2501]),
            OPTIONS,
            "row 2: the text is longer than 5,000 characters",
        ),
        (rows("a", "b"), ColumnOptions(positive_label="a"), "--positive-label is a value of --label-column"),
        ([], OPTIONS, "no rows"),
        (rows("a", "b", images=["x", None]), OPTIONS, "row 2: the image is missing"),
        (rows("a", "b", images=["x", "x"]), OPTIONS, "all rows have the same image"),
    ],
)
def test_an_invalid_set_is_refused(tmp_path, given, options, message):
    with pytest.raises(UserError, match=message):
        load_labelled_set(source(tmp_path / "s", given), "s", options)


def test_all_problems_are_reported_together(tmp_path):
    given = [
        {"question_id": number, "image": "p", "text": text, "label": "yes"}
        for number, text in ((7, ""), (7, "Is it?"), (8, "Is it so?"))
    ]
    with pytest.raises(UserError) as error:
        load_labelled_set(source(tmp_path / "s", given), "s")
    assert error.value.problems == [
        "s: 4 problems",
        "row 1: the text is missing or has no words",
        "rows 1, 2: the id occurs more than once",
        "labels: two labels are needed, but none of 3 rows is 'no'; label has the values \"yes\" (3); "
        "for other values give --text-column NAME --label-column NAME --positive-label VALUE",
        "images: all rows have the same image; name another column with --image-column",
    ]


def test_an_empty_cell_is_not_a_label(tmp_path):
    (tmp_path / "s.csv").write_text("t,l\nIs it?,yes\nIs it so?,\nIt is,no\n")
    with pytest.raises(UserError, match="row 2: the label is missing"):
        load_labelled_set(open_rows(str(tmp_path / "s.csv")), "s", ColumnOptions("t", "l"))
