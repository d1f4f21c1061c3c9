from collections import Counter

import pytest

from research.studies.reply_dataset import Reply, read_replies


def test_most_of_writer_and_readers_decide():
    row = Reply(question="q", reply="r", style="plain", written="answers", read=("refuses", "refuses"))
    assert row.label == "refuses"
    assert Reply(question="q", reply="r", style="plain", written="answers").label == "answers"


@pytest.mark.parametrize("part", ["train", "dev", "held_out"])
def test_both_sorts_are_in_every_style(part):
    rows = read_replies(part)
    count = Counter((row.style, row.label) for row in rows)
    assert len(count) == 36  # 18 styles
    assert min(count.values()) >= 6
    assert {row.label for row in rows} == {"answers", "refuses"}


def test_no_row_stands_in_two_parts():
    rows = [
        {(row.question.lower(), row.reply.lower()) for row in read_replies(part)}
        for part in ("train", "dev", "held_out")
    ]
    assert [len(a & b) for a, b in ((rows[0], rows[1]), (rows[0], rows[2]), (rows[1], rows[2]))] == [0, 0, 0]
