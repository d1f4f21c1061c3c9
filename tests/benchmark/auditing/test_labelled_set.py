"""Sets whose columns are named, and what is wrong with sets."""

import json

import pytest

from pipeline.benchmark.auditing.labelled_set import ColumnOptions, load_labelled_set
from pipeline.benchmark.auditing.row_sources import open_rows
from pipeline.core.errors import UserError

ASKED = ColumnOptions("t", "l", "g")


def source(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return open_rows(str(path))


def rows(*labels, texts=None, images=None):
    return [
        {"t": texts[i] if texts else f"word {i}", "l": label, "g": images[i] if images else i % 2}
        for i, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("labels", "positive", "meaning", "found"),
    [
        (("valid", "invalid"), None, ("valid", "invalid"), [0, 1]),
        ((1.0, 0), None, ("0", "1"), [1, 0]),
        ((True, False), None, ("False", "True"), [1, 0]),
        (("cat", "dog"), None, ("cat", "dog"), [0, 1]),  # the later by the alphabet
        (("cat", "dog"), "cat", ("dog", "cat"), [1, 0]),
        (("a", "b", "c", "b"), "b", ("not b", "b"), [0, 1, 0, 1]),
        (({"a": 1}, {"UQ": 1}), "{'UQ': 1}", ("{'a': 1}", "{'UQ': 1}"), [0, 1]),
    ],
)
def test_two_values_are_two_labels_and_one_against_all_others_is_chosen(
    tmp_path, labels, positive, meaning, found
):
    read = load_labelled_set(
        source(tmp_path / "s", rows(*labels)), "s", ASKED._replace(positive_label=positive)
    )
    assert (read.label_names, read.labels.tolist()) == (meaning, found)


def test_rows_can_be_chosen_by_a_column_and_keep_their_places(tmp_path):
    given = [
        row | {"category": "popular" if i > 1 else "random"} for i, row in enumerate(rows("a", "b", "a", "b"))
    ]
    read = load_labelled_set(
        source(tmp_path / "s", given), "s", ASKED._replace(where=("category", "popular"))
    )
    assert (read.row_indices.tolist(), read.texts) == ([2, 3], ["word 2", "word 3"])
    assert (read.select(read.labels.argsort()[::-1]).row_indices.tolist()) == [3, 2]


@pytest.mark.parametrize(
    ("given", "asked", "message"),
    [
        (rows("a", "b"), ColumnOptions("t", "nosuch", "g"), "nosuch: no such column; there are t, l, g"),
        (rows("a", "b"), ColumnOptions("t"), "give --text-column and --label-column together"),
        (rows("a", "b", "c"), ASKED, r"l has 3 values \('a' \(1\), .*--positive-label VALUE"),
        (rows("a", "b"), ASKED._replace(positive_label="z"), "no row has 'z' in l; the commonest are 'a'"),
        (rows("a", "b"), ASKED._replace(where=("g", "9")), "no row has '9' in g"),
        (rows("a", "a"), ASKED, "wanted two kinds, but none of 2 rows is 'not a'"),
        (rows("a", None), ASKED, "row 2: it has no label"),
        (rows("a", "b", texts=["x", " ?"]), ASKED, "row 2: its text is none, or has no words"),
        (rows("a", "b", texts=["x", 5]), ASKED, "row 2: its text is none"),
        (rows("a", "b", texts=["x", "x " * 2501]), ASKED, "row 2: its text is longer than 5,000 characters"),
        (rows("a", "b"), ColumnOptions(positive_label="a"), "--positive-label is a value of --label-column"),
        ([], ASKED, "it has no rows"),
        (rows("a", "b", images=["x", None]), ASKED, "row 2: it has no image"),
        (rows("a", "b", images=["x", "x"]), ASKED, "all rows have the same one"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, given, asked, message):
    with pytest.raises(UserError, match=message):
        load_labelled_set(source(tmp_path / "s", given), "s", asked)


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    given = [
        {"question_id": number, "image": "p", "text": text, "label": "yes"}
        for number, text in ((7, ""), (7, "Is it?"), (8, "Is it so?"))
    ]
    with pytest.raises(UserError) as error:
        load_labelled_set(source(tmp_path / "s", given), "s")
    assert error.value.problems == [
        "s: 4 problems",
        "row 1: its text is none, or has no words",
        "rows 1, 2: its id is not its alone",
        "labels: wanted two kinds, but none of 3 rows is 'no'; label holds \"yes\" (3); "
        "for other values give --text-column NAME --label-column NAME --positive-label VALUE",
        "images: all rows have the same one; name another column: --image-column NAME",
    ]


def test_a_table_s_nan_is_no_label(tmp_path):
    (tmp_path / "s.csv").write_text("t,l\nIs it?,yes\nIs it so?,\nIt is,no\n")
    with pytest.raises(UserError, match="row 2: it has no label"):
        load_labelled_set(open_rows(str(tmp_path / "s.csv")), "s", ColumnOptions("t", "l"))
