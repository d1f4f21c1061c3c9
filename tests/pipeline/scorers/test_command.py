"""Files in, table and JSON out, and every fault told at once."""

import csv
import json
import math

import numpy as np
import pytest

from pipeline.scorers import auaf, auroc
from pipeline.scorers.bootstrap import clusters, draws, interval
from pipeline.scorers.command import main

ROWS = [  # id, picture, answer, pair, part, category, said, confidence
    ("a1", "n1", "red", "p1", "dev", None, "red", 0.9),
    ("u1", "n1", "UQ", "p1", "dev", "missing object", "blue", 0.2),
    ("a2", "n2", "yes", "p2", "test", None, "no", 0.8),
    ("u2", "n2", "UQ", "p2", "test", "wrong attribute", "no", 0.7),
    ("a3", "n3", "dog", "p3", "test", None, "Dog", 0.6),
    ("u3", "n3", "UQ", "p3", "test", "missing object", "cat", 0.1),
]


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "1.0.0"
    (folder / "rgqa").mkdir(parents=True)
    rows = [{"img_id": p, "question_id": i, "sent": "?", "label": {a: 1.0}} for i, p, a, *_ in ROWS]
    items = [
        {
            "item": {
                "item_id": i,
                "subset": s,
                "category": c,
                "edits": [{"kind": "object"}] if a == "UQ" else [],
                "structural": "query",
                "semantic": "attr",
                "detailed": "",
                "part": part,
                "pair_id": pair,
            }
        }
        for s in ("clip-easy", "pt-hard")
        for i, p, a, pair, part, c, *_ in ROWS
    ]
    for subset in ("clip-easy", "pt-hard"):
        (folder / "rgqa" / f"{subset}.json").write_text(json.dumps(rows))
    (folder / "provenance.jsonl").write_text("\n".join(map(json.dumps, items)))
    (folder / "params.json").write_text(json.dumps({"version": "1.0.0"}))
    return folder


def predictions(rows=ROWS):
    return [{"questionId": i, "prediction": said, "confidence": c} for i, *_, said, c in rows]


def write(path, value):
    path.write_text(json.dumps(value))
    return path


def run(*arguments):
    main([str(a) for a in arguments])


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == 1
    return capsys.readouterr().err


def test_a_release_is_scored_subset_by_subset_and_on_average(release, tmp_path, capsys):
    run(
        release,
        write(tmp_path / "m.json", predictions()),
        "--bootstrap",
        50,
        "--json",
        tmp_path / "s.json",
        "--out",
        tmp_path / "out",
    )
    found = json.loads((tmp_path / "s.json").read_text())
    model = found["models"][0]
    # By confidence: a1 right, a2 wrong, u2, a3 right (letter case aside), u1, u3. ACC: 1/3 .. at FPR 0; 2/3 from FPR 1/3 on.
    # AUAF = 1/3 (trapezoid 1/3 -> 1/3) / 3 + (2/3) x 2/3; AUROC: a1, a2 beat 3 UQs, a3 beats 2: 8/9.
    easy = model["subsets"]["clip-easy"]
    assert easy["realistic"]["auaf"] == pytest.approx(1 / 9 + 4 / 9) and easy["realistic"][
        "auroc"
    ] == pytest.approx(8 / 9)
    assert model["mean"]["realistic"]["auaf"] == pytest.approx(5 / 9)
    assert easy["counts"] == {"items": 6, "aqs": 3, "uqs": 3, "pictures": 3, "missing": 0, "says_uq": 0}
    assert easy["pairs"]["dual_accuracy"] == pytest.approx(1 - 1 / 3)  # p2's AQ is wrong
    # category "missing object": u1, u3 against all AQs: all AQs above both.
    assert (
        easy["by"]["category"]["missing object"]["auroc"] == 1.0
        and easy["by"]["category"]["wrong attribute"]["uqs"] == 1
    )
    assert easy["by"]["edit"]["object"]["uqs"] == 3
    assert found["benchmark"]["version"] == "1.0.0" and len(model["sha256"]) == 64
    low, high = easy["intervals"]["auroc"]
    assert 0 <= low <= 8 / 9 <= high <= 1
    assert (tmp_path / "out" / "scores.json").read_text() == (tmp_path / "s.json").read_text()
    assert capsys.readouterr().out == (tmp_path / "out" / "scores.txt").read_text()


def test_all_file_forms_and_any_order_give_the_same_numbers(release, tmp_path, capsys):
    rows = [{"question_id": i, "answer": said, "confidence": c} for i, *_, said, c in reversed(ROWS)]
    (tmp_path / "j.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with (tmp_path / "c.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["question_id", "answer", "confidence"])
        table.writeheader()
        table.writerows(rows)
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "p.parquet")
    write(tmp_path / "m.json", predictions())
    write(tmp_path / "o.json", {"version": "1.0.0", "predictions": predictions()})
    found = []
    for name in ("m.json", "o.json", "j.jsonl", "c.csv", "p.parquet"):
        run(release, tmp_path / name, "--bootstrap", 20, "--json", tmp_path / "s.json")
        found.append(json.loads((tmp_path / "s.json").read_text())["models"][0]["subsets"])
    assert all(subsets == found[0] for subsets in found)


def test_a_subsets_own_file_is_a_benchmark_too(release, tmp_path):
    run(
        release / "rgqa" / "clip-easy.json",
        write(tmp_path / "m.json", predictions()),
        "--bootstrap",
        0,
        "--json",
        tmp_path / "s.json",
    )
    found = json.loads((tmp_path / "s.json").read_text())["models"][0]["subsets"]["clip-easy"]
    assert (
        found["realistic"]["auaf"] == pytest.approx(5 / 9)
        and "absent" in found["pairs"]
        and "absent" in found["by"]
    )


def test_every_fault_of_every_file_is_told_at_once(release, tmp_path, capsys):
    bad = [
        {"questionId": "a1", "prediction": "red", "confidence": math.nan},
        {"questionId": "u1", "prediction": "red", "confidence": math.inf},
        {"questionId": "a2", "prediction": "red", "confidence": "high"},
        {"questionId": "u2", "prediction": 3, "confidence": 0.5},
        {"questionId": "a3", "prediction": "red", "confidence": True},
        {"questionId": "a3", "prediction": "red", "confidence": 1},
        {"prediction": "x"},
    ]
    text = refused(capsys, release, write(tmp_path / "m.json", bad), tmp_path / "none.json")
    for expected in (
        "m.json: 7 faults",
        "(a1): confidence is nan",
        "(u1): confidence is inf",
        "(a2): confidence is 'high'",
        "(u2): the answer is 3",
        "(a3): confidence is True",
        "id a3 stands there twice",
        "row 7: has prediction; wanted an id",
        "none.json: no such file",
    ):
        assert expected in text


def test_unknown_and_missing_ids_and_another_version_are_refused_together(release, tmp_path, capsys):
    rows = [*predictions()[1:], {"questionId": "zz", "prediction": "red", "confidence": 0.5}]
    text = refused(capsys, release, write(tmp_path / "m.json", {"version": "0.9.0", "predictions": rows}))
    assert "made for version 0.9.0 of the benchmark, this is 1.0.0" in text
    assert "1 ids are not in the benchmark" in text and "zz" in text
    assert "1 of 6 items have no prediction" in text and "a1" in text


def test_unknown_ids_are_told_together_with_faulty_rows_and_with_those_of_other_files(
    release, tmp_path, capsys
):
    bad = write(
        tmp_path / "m.json", [{"questionId": "zz", "prediction": "red", "confidence": "high"}, *predictions()]
    )
    worse = write(
        tmp_path / "w.json",
        [*predictions()[1:], {"questionId": "yy", "prediction": "red", "confidence": None}],
    )
    text = refused(capsys, release, bad, worse)
    for expected in (
        "m.json: 1 faults",
        "row 1 (zz): confidence is 'high'",
        "m: 1 ids are not in the benchmark",
        "w.json: 1 faults",
        "1 rows have no confidence, others have one",
        "w: 1 ids are not in the benchmark",
        "w: 1 of 6 items have no prediction",
    ):
        assert expected in text
    assert "no confidences" not in text  # there are some; the faulty ones are told by row


def test_missing_predictions_count_as_rejected_when_allowed_and_the_headline_says_so(
    release, tmp_path, capsys
):
    run(
        release,
        write(tmp_path / "m.json", predictions()[1:]),
        "--allow-missing",
        "--bootstrap",
        0,
        "--subset",
        "clip-easy",
        "--json",
        tmp_path / "s.json",
    )
    assert "1 MISSING, counted as rejected" in capsys.readouterr().out
    found = json.loads((tmp_path / "s.json").read_text())["models"][0]["subsets"]["clip-easy"]
    # a1 is accepted last, and wrong: a2 wrong, u2, a3 right, u1, u3, a1. AUROC: a2 beats 3, a3 2, a1 0 of 9.
    assert found["realistic"]["auroc"] == pytest.approx(5 / 9) and found["realistic"][
        "facc"
    ] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([{"red": 1.0}, {"blue": 1.0}], "has no UQs"),
        ([{"UQ": 1.0}, {"UQ": 1.0}], "has no AQs"),
        ([{"uq": 1.0}, {"red": 1.0}], "write UQ in capitals"),
        ([{"UQ": 1.0, "red": 1.0}, {"red": 1.0}], "both UQ and an answer"),
        ([{}, {"red": 1.0}], "label is {}"),
        ([], "has no items"),
    ],
)
def test_faulty_benchmarks_are_refused(tmp_path, capsys, labels, expected):
    bench = write(
        tmp_path / "b.json",
        [
            {"img_id": "n", "question_id": str(i), "sent": "?", "label": label}
            for i, label in enumerate(labels)
        ],
    )
    rows = [
        {"questionId": str(i), "prediction": "red", "confidence": 0.5} for i in range(max(len(labels), 1))
    ]
    assert expected in refused(capsys, bench, write(tmp_path / "m.json", rows))


def test_uq_is_never_silently_an_answer(release, tmp_path, capsys):
    rows = [{**row, "prediction": "uq"} for row in predictions()]
    run(release, write(tmp_path / "m.json", rows), "--bootstrap", 0, "--json", tmp_path / "s.json")
    assert '6 answers read "UQ": never right as an answer' in capsys.readouterr().out
    assert json.loads((tmp_path / "s.json").read_text())["models"][0]["mean"]["realistic"]["facc"] == 0.0


def test_free_text_reads_abstentions_and_tells_wrong_and_missed_ones_apart(release, tmp_path, capsys):
    said = ["red", "I cannot tell.", "unanswerable", "no", "dog", "There is no cat in the picture."]
    rows = [{"question_id": row[0], "answer": text} for row, text in zip(ROWS, said, strict=True)]
    path = write(tmp_path / "m.json", rows)
    assert "no confidences; give them, or --free-text" in refused(capsys, release, path)
    run(release, path, "--free-text", "--bootstrap", 0, "--json", tmp_path / "s.json")
    found = json.loads((tmp_path / "s.json").read_text())["models"][0]["subsets"]["clip-easy"]
    assert found["abstention"] == {
        "abstentions": 3,
        "wrong": 1,
        "missed": 1,
        "wrong_share": pytest.approx(1 / 3),
        "missed_share": pytest.approx(1 / 3),
    }


def test_parity_gives_the_scripts_thirteen_numbers(release, tmp_path):
    run(
        release,
        write(tmp_path / "m.json", predictions()),
        "--mode",
        "parity",
        "--subset",
        "clip-easy",
        "--json",
        tmp_path / "s.json",
    )
    found = json.loads((tmp_path / "s.json").read_text())["models"][0]["subsets"]["clip-easy"]["realistic"]
    assert len(found) == 13
    # Letter by letter "Dog" is wrong: of 3 AQs one is right. Accepted above 0.5: a1, a2, u2, a3.
    assert (
        found["facc"] == pytest.approx(1 / 3)
        and found["accuracy_accept"] == 0.25
        and found["f1"] == pytest.approx(6 / 7)
    )


def test_models_are_compared_in_pairs(release, tmp_path, capsys):
    better = [
        {**row, "confidence": row["confidence"] + (row["questionId"][0] == "a")} for row in predictions()
    ]
    run(
        release,
        write(tmp_path / "m.json", predictions()),
        write(tmp_path / "n.json", better),
        "--bootstrap",
        100,
        "--json",
        tmp_path / "s.json",
    )
    found = json.loads((tmp_path / "s.json").read_text())["differences"]
    row = found[0]["scores"]["clip-easy"]["auroc"]
    assert (found[0]["model"], found[0]["against"]) == ("n", "m") and row["difference"] == pytest.approx(
        1 / 9
    )
    assert row["interval"][0] >= 0 and row["share_better"] <= 1
    assert "n minus m" in capsys.readouterr().out
    # A model against itself: no difference in any repetition.
    same = write(tmp_path / "same.json", predictions())
    run(release, tmp_path / "m.json", same, "--bootstrap", 100, "--json", tmp_path / "s.json")
    rows = json.loads((tmp_path / "s.json").read_text())["differences"][0]["scores"]["clip-easy"]
    assert all(row["difference"] == 0 and row["interval"] == [0, 0] for row in rows.values())


def test_gqa_questions_are_a_benchmark_of_answers(tmp_path, capsys):
    questions = {
        str(i): {
            "imageId": "n",
            "question": "?",
            "answer": "red",
            "types": {"structural": "query", "semantic": "attr"},
            "entailed": [],
        }
        for i in range(4)
    }
    rows = [{"questionId": str(i), "prediction": "red" if i else "blue"} for i in range(4)]
    run(
        write(tmp_path / "q.json", questions),
        write(tmp_path / "m.json", rows),
        "--bootstrap",
        0,
        "--json",
        tmp_path / "s.json",
    )
    found = json.loads((tmp_path / "s.json").read_text())["models"][0]["subsets"]["q"]
    assert found["gqa"]["accuracy"] == {"value": 0.75, "items": 4} and found["answers"]["exact_match"] == 0.75
    assert "absent" in found["selective"] and "needs GQA's file of choices" in capsys.readouterr().out


def test_vqa_annotations_are_a_benchmark_of_answers(tmp_path):
    people = ["red"] * 3 + ["blue"] * 7
    annotations = {
        "annotations": [{"question_id": 7, "image_id": 1, "answers": [{"answer": a} for a in people]}]
    }
    (tmp_path / "v.txt").write_text("red 1 0\nblue 1 0\n")
    rows = [{"question_id": 7, "answer": "red", "confidence": 0.8}]
    run(
        write(tmp_path / "a.json", annotations),
        write(tmp_path / "m.json", rows),
        "--vectors",
        tmp_path / "v.txt",
        "--json",
        tmp_path / "s.json",
    )
    found = json.loads((tmp_path / "s.json").read_text())["models"][0]["subsets"]["a"]
    assert found["answers"]["vqa_accuracy"] == pytest.approx(0.9)
    assert (
        found["masses"]["ma"] == pytest.approx(3 / 7)
        and found["masses"]["s"] == pytest.approx(6 / 9)
        and found["masses"]["masses_0.9"] == 1.0
    )
    # The paper's rule: right is the commonest answer, blue. ECE of a wrong answer at 0.8.
    assert found["calibration"]["right"]["ece"] == pytest.approx(0.8)


def test_people_are_compared_on_their_own_items(release, tmp_path):
    study = [
        {"question_id": "a1", "accepted": True},
        {"question_id": "a2", "accepted": True},
        {"question_id": "u2", "accepted": False},
    ]
    run(
        release,
        write(tmp_path / "m.json", predictions()),
        "--human",
        write(tmp_path / "h.json", study),
        "--bootstrap",
        0,
        "--json",
        tmp_path / "s.json",
    )
    found = json.loads((tmp_path / "s.json").read_text())["models"][0]["subsets"]["clip-easy"]["human"]
    # People take all AQs and reject u2. On these items the model does too; on all, to take a3 it takes u2: 2 of 3.
    assert found["rejection_accuracy"] == 1.0 and found["model_rejection_accuracy"] == 1.0
    assert found["model_rejection_accuracy_on_all_items"] == pytest.approx(2 / 3)


def test_scores_that_do_not_fit_are_refused(release, tmp_path, capsys):
    path = write(tmp_path / "m.json", predictions())
    assert "no scores called nonsense" in refused(capsys, release, path, "--scores", "nonsense")
    assert "scores `masses` are not for such a benchmark" in refused(
        capsys, release, path, "--scores", "masses"
    )
    assert "no subset x; there are clip-easy, pt-hard" in refused(capsys, release, path, "--subset", "x")


def test_the_bootstrap_resamples_pictures_with_all_their_items():
    # Picture n1 holds items 0 and 1: whatever is drawn, they have one weight.
    count, (place,) = clusters([["n1", "n1", "n2"]])
    weights = np.concatenate(list(draws(count, 500, 0, 3)))
    assert weights.shape == (500, 2) and (weights.sum(axis=1) == 2).all() and place.tolist() == [0, 0, 1]
    # Each count is binomial(2, 1/2): mean 1, standard error 0.03.
    assert weights.mean(axis=0) == pytest.approx([1, 1], abs=0.12)


def test_a_repetition_is_the_score_of_the_drawn_items(release):
    from pipeline.scorers.benchmark import read_benchmark
    from pipeline.scorers.join import join
    from pipeline.scorers.predictions import Predictions
    from pipeline.scorers.realistic_part import repeat

    rows = read_benchmark(release).subsets["clip-easy"]
    model = Predictions("m", "", {row[0]: row[6] for row in ROWS}, {row[0]: row[7] for row in ROWS}, "")
    joined = join(rows, model)
    weights = np.array([[2, 1, 0], [1, 0, 2], [0, 0, 3]], float)
    found = repeat(joined, np.array([0, 0, 1, 1, 2, 2]))(weights)
    for i, drawn in enumerate(weights.astype(int)):
        again = np.repeat(np.arange(6), np.repeat(drawn, 2))
        arguments = joined.confidence[again], joined.correct[again], joined.answerable[again]
        assert found["auaf"][i] == pytest.approx(auaf(*arguments)) and found["auroc"][i] == pytest.approx(
            auroc(arguments[0], arguments[2])
        )


def test_an_interval_is_the_middle_95_percent():
    assert interval(np.arange(1001) / 1000) == pytest.approx((0.025, 0.975))
    assert all(math.isnan(bound) for bound in interval(np.array([1.0, math.nan])))
