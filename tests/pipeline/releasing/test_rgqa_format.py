import json

from pipeline.releasing.rgqa_format import rgqa_rows


def test_the_rows_are_in_rgqas_own_format(release):
    # RGQA's released files: a UQ is {"label": {"UQ": 1.0}} with an id like clipeasy_n460556+202082119, an AQ has its GQA id.
    for path in sorted((release / "rgqa").glob("*.json")):
        for row in json.loads(path.read_text()):
            assert set(row) == {"img_id", "question_id", "sent", "label", "canary"}
            if row["label"] == {"UQ": 1.0}:
                prefix, question = row["question_id"].split("+")
                assert prefix == f"{path.stem.replace('-', '')}_{row['img_id']}" and question.isalnum()
            else:
                assert "+" not in row["question_id"] and list(row["label"].values()) == [1.0]


def test_rows_keep_the_order_of_the_items_and_carry_the_canary(items):
    rows = rgqa_rows(items, "canary")
    assert [row.question_id for row in rows] == [item.item_id for item in items]
    assert [row.label for row in rows[:2]] == [{"yes": 1.0}, {"UQ": 1.0}]
    assert {row.canary for row in rows} == {"canary"}
