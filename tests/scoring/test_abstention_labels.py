import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.abstention_labels import add_external_labels, parse_labels
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.prediction_reader import read_predictions
from tests.scoring.conftest import ROWS, refused, run, scored, write


def said(tmp_path, *rows, name="m.json"):
    return read_predictions(
        write(tmp_path / name, [{"id": str(n), "prediction": "x", **row} for n, row in enumerate(rows)])
    )


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ({"abstained": True}, 0.0),
        ({"abstained": False}, 1.0),
        ({"abstained": "True"}, 0.0),
        ({"abstained": 0}, 1.0),
        ({"p_answerable": 0.25}, 0.25),
        ({"p_answerable": 0.25, "abstained": True}, 0.25),
    ],
)
def test_columns(row, label):
    assert parse_labels([{"question_id": 7, **row}], numbers_as_text=False) == ({"7": label}, [])


def test_numbers_of_a_table_are_text():
    assert parse_labels([{"id": "a", "p_answerable": "0.5", "abstained": ""}], numbers_as_text=True) == (
        {"a": 0.5},
        [],
    )


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"abstained": "perhaps"}, "0: abstained is 'perhaps', expected true or false"),
        ({"p_answerable": 1.5}, "0: p_answerable is 1.5, expected a number from 0 to 1"),
        ({"p_answerable": True}, "0: p_answerable is True, expected a number from 0 to 1"),
        ({"p_answerable": "0.5"}, "0: p_answerable is '0.5', expected a number from 0 to 1"),
        ({"p_answerable": 10**400}, f"0: p_answerable is {10**400}, expected a number from 0 to 1"),
        ({"p_answerable": float("nan")}, "0: p_answerable is nan, expected a number from 0 to 1"),
    ],
)
def test_labels_that_are_none_are_faults(row, fault):
    assert parse_labels([{"id": "0", **row}], numbers_as_text=False) == ({}, [fault])


def test_labels_of_all_rows_are_the_confidence_where_there_is_no_other(tmp_path):
    assert said(tmp_path, {"abstained": True}, {"abstained": False}).confidence.tolist() == [0.0, 1.0]
    some = said(tmp_path, {"abstained": True}, {})
    assert some.confidence is None
    assert some.abstention_labels == {"0": 0.0}
    both = said(tmp_path, {"abstained": True, "confidence": 0.4}, {"abstained": False, "confidence": 0.3})
    assert both.confidence.tolist() == [0.4, 0.3]


def test_labels_override_detected_abstentions(tmp_path):
    items = [
        BenchmarkItem("0", "p", {"red": 1.0}, question_text="Red?"),
        BenchmarkItem("1", "p", {}, question_text="Red?"),
    ]
    rows = [{"prediction": "I cannot tell.", "abstained": False}, {"prediction": "I cannot tell."}]
    joined = join_predictions(
        Items.from_rows(items), said(tmp_path, *rows), ScoringOptions(detect_abstention=True)
    )
    assert joined.confidence.tolist() == [1.0, 0.0]


def test_external_labels_take_precedence_over_the_files_own(tmp_path):
    model = said(tmp_path, {"abstained": True}, {"abstained": True})
    judge = write(tmp_path / "judge.json", [{"id": "1", "abstained": False}])
    assert add_external_labels(model, judge).abstention_labels == {"0": 0.0, "1": 1.0}


def test_every_fault_of_a_label_file_is_listed(tmp_path):
    model = said(tmp_path, {}, {})
    rows = [{"id": "7", "abstained": True}, {"id": "1", "abstained": "maybe"}, {"id": "0", "abstained": True}]
    rows.append({"id": "0", "abstained": False})
    with pytest.raises(UserError) as caught:
        add_external_labels(model, write(tmp_path / "judge.json", rows))
    assert caught.value.problems[1:] == [
        "1: abstained is 'maybe', expected true or false",
        "0: occurs 2 times",
        "1 id has no prediction in m: 7",
    ]
    with pytest.raises(UserError, match="no row has item_id and p_answerable or abstained"):
        add_external_labels(model, write(tmp_path / "judge.json", [{"id": "1"}]))


def test_the_command_takes_a_label_file_for_each_model(release, tmp_path, capsys):
    rows = [{"question_id": row[0], "answer": row[6]} for row in ROWS]
    model = write(tmp_path / "m.json", rows)
    labels = [{"question_id": row[0], "abstained": row[2] == "UQ"} for row in ROWS]  # a perfect model
    judge = write(tmp_path / "judge.json", labels)
    found = scored(tmp_path, release, model, "--abstention-labels", judge, "--bootstrap", 0, "--split", "all")
    assert found["models"][0]["subsets"]["clip-easy"]["realistic"]["auroc"] == 1.0
    assert "--abstention-labels is given 2 times for 1 predictions file" in refused(
        capsys, release, model, "--abstention-labels", judge, "--abstention-labels", judge
    )


def test_external_labels_override_confidences_made_from_the_files_own_labels(tmp_path):
    model = said(tmp_path, {"abstained": True}, {"abstained": True})
    judge = write(tmp_path / "judge.json", [{"id": "1", "abstained": False}])
    assert add_external_labels(model, judge, detect_abstention=False).confidence.tolist() == [0.0, 1.0]


def test_labels_of_some_answers_are_reported_and_labels_without_effect_are_refused(release, tmp_path, capsys):
    rows = [{"question_id": row[0], "answer": row[6], "confidence": row[7]} for row in ROWS]
    judge = write(tmp_path / "judge.json", [{"question_id": "a1", "abstained": False}])
    sure = write(tmp_path / "sure.json", rows)
    assert "sure has confidences, which take precedence. Remove --abstention-labels" in refused(
        capsys, release, sure, "--abstention-labels", judge
    )
    run(release, sure, "--abstention-labels", judge, "--detect-abstention", "--bootstrap", 0)
    assert (
        "and 1 more: 5 of 6 have no label: their abstentions are detected from the text"
        in capsys.readouterr().out
    )
    for row in rows:
        del row["confidence"]
    message = refused(capsys, release, write(tmp_path / "m.json", rows), "--abstention-labels", judge)
    assert "(5 of 6 have no label), or use --detect-abstention" in message
