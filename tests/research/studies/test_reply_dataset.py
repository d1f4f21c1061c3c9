from collections import Counter

import pytest

from research.studies.reply_dataset import Reply, read_replies


def test_the_label_is_that_of_the_majority():
    row = Reply(question="q", reply="r", style="plain", written="answers", read=("refuses", "refuses"))
    assert row.label == "refuses"
    assert Reply(question="q", reply="r", style="plain", written="answers").label == "answers"


@pytest.mark.parametrize("split", ["train", "dev", "held_out"])
def test_both_labels_are_in_every_style(split):
    rows = read_replies(split)
    count = Counter((row.style, row.label) for row in rows)
    assert len(count) == 36  # 18 styles
    assert min(count.values()) >= 6
    assert {row.label for row in rows} == {"answers", "refuses"}


def test_no_row_is_in_two_splits():
    rows = [
        {(row.question.lower(), row.reply.lower()) for row in read_replies(split)}
        for split in ("train", "dev", "held_out")
    ]
    assert [len(a & b) for a, b in ((rows[0], rows[1]), (rows[0], rows[2]), (rows[1], rows[2]))] == [0, 0, 0]
