import json
import math

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import PredictionFileInfo, ScoringOptions
from pipeline.scoring.model_report import SCORE_GROUPS, ModelReport, score_models
from pipeline.scoring.version import VERSION
from tests.scoring.conftest import ROWS, model, predictions, refused, run, scored, write

pytestmark = pytest.mark.usefixtures("few_pairs_are_enough")  # the release here has three


def test_a_release_is_scored_subset_by_subset_and_on_average(release, tmp_path):
    found = scored(
        tmp_path, release, write(tmp_path / "m.json", predictions()), "--bootstrap", 50, "--split", "all"
    )
    report = found["models"][0]
    # By confidence: a1 right, a2 wrong, u2, a3 right (letter case aside), u1, u3. ACC: 1/3 .. at FPR 0; 2/3 from FPR 1/3 on.
    # AUAF = 1/3 (trapezoid 1/3 -> 1/3) / 3 + (2/3) x 2/3; AUROC: a1, a2 beat 3 UQs, a3 beats 2: 8/9.
    easy = report["subsets"]["clip-easy"]
    assert easy["realistic"]["auaf"] == pytest.approx(1 / 9 + 4 / 9)
    assert easy["realistic"]["auroc"] == pytest.approx(8 / 9)
    assert report["mean"]["realistic"]["auaf"] == pytest.approx(5 / 9)
    assert easy["counts"] == {
        "items": 6,
        "aqs": 3,
        "uqs": 3,
        "images": 3,
        "missing": 0,
        "excluded": 0,
        "excluded_for_other_models": 0,
        "validation": 0,
        "num_uq_answers": 0,
    }
    assert easy["pairs"]["dual_accuracy"] == pytest.approx(1 - 1 / 3)  # p2's AQ is wrong
    assert found["benchmark"]["version"] == "1.0.0" and len(report["sha256"]) == 64
    assert found["versions"]["rgqa_scorers"] == VERSION
    low, high = easy["intervals"]["auroc"]
    assert 0 <= low <= 8 / 9 <= high <= 1
    assert set(report["mean"]["intervals"]) == set(easy["intervals"]) >= {"auaf", "dual_accuracy"}


def test_published_mode_gives_the_scripts_thirteen_numbers(release, tmp_path):
    words = "--mode", "published", "--subset", "clip-easy"
    found = scored(tmp_path, release, write(tmp_path / "m.json", predictions()), *words)["models"][0]
    numbers = found["subsets"]["clip-easy"]["realistic"]
    assert len(numbers) == 13 and found["subsets"]["clip-easy"]["intervals"] == {}
    # Letter by letter "Dog" is wrong: of 3 AQs one is right. Accepted above 0.5: a1, a2, u2, a3.
    assert numbers["facc"] == pytest.approx(1 / 3) and numbers["accuracy_accept"] == 0.25
    assert numbers["f1"] == pytest.approx(6 / 7)


def test_models_are_compared_in_pairs(release, tmp_path, capsys):
    better = [
        {**row, "confidence": row["confidence"] + (row["questionId"][0] == "a")} for row in predictions()
    ]
    first = write(tmp_path / "m.json", predictions())
    found = scored(
        tmp_path, release, first, write(tmp_path / "n.json", better), "--bootstrap", 100, "--split", "all"
    )["comparisons"]
    row = found[0]["scores"]["clip-easy"]["auroc"]
    assert (found[0]["model"], found[0]["baseline"]) == ("n", "m")
    assert row["difference"] == pytest.approx(1 / 9)
    assert row["interval"][0] >= 0 and 0 < row["proportion_better"] <= 1
    assert "2 minus 1" in capsys.readouterr().out
    # FF95 of n is 0 in every repetition, of m 0 or more: lower is better.
    ff95 = found[0]["scores"]["clip-easy"]["ff95"]
    assert ff95["difference"] < 0 and ff95["interval"][1] <= 0 and ff95["proportion_better"] > 0
    # A model against itself: no difference in any repetition.
    same = write(tmp_path / "same.json", predictions())
    report = scored(tmp_path, release, first, same, "--bootstrap", 100, "--split", "all")
    rows = report["comparisons"][0]["scores"]["clip-easy"]
    assert all(row["difference"] == 0 and row.get("interval", [0, 0]) == [0, 0] for row in rows.values())
    assert "interval" in rows["auaf"] and "interval" in rows["dual_accuracy"]


def test_the_number_of_items_of_each_file_is_reported(release, tmp_path, capsys):
    full = write(tmp_path / "full.json", predictions())
    small = write(tmp_path / "small.json", predictions()[:4])  # of 6 items
    found = scored(tmp_path, release, full, small, "--missing", "drop", "--bootstrap", 0, "--split", "all")
    assert found["compared_items"] == {
        "num_compared": 4,
        "num_total": 6,
        "num_predicted": {"full": 6, "small": 4},
    }
    of_full, of_small = (report["subsets"]["clip-easy"]["counts"] for report in found["models"])
    assert (of_full["excluded"], of_full["excluded_for_other_models"]) == (2, 2)
    assert (of_small["excluded"], of_small["excluded_for_other_models"]) == (2, 0)
    shown = " ".join(capsys.readouterr().out.split())
    assert "4 of 6 items" in shown and "full has all" in shown and "small has 4" in shown
    run(release, full, small, "--missing", "drop", "--bootstrap", "0", "--split", "all", "--full")
    shown = capsys.readouterr().out
    assert "full has all, small has 4" in shown
    assert not [
        line for line in shown.splitlines() if line.startswith("full on") and "without a prediction" in line
    ]
    again = write(tmp_path / "again.json", predictions())
    assert "compared" not in scored(tmp_path, release, full, again, "--missing", "drop", "--bootstrap", 0)


def test_models_are_compared_on_the_items_that_all_have_answered(release, tmp_path):
    first = write(tmp_path / "m.json", predictions())
    fewer = write(tmp_path / "n.json", [row for row in predictions() if row["questionId"] != "a2"])
    found = scored(tmp_path, release, first, fewer, "--missing", "drop", "--bootstrap", 20, "--split", "all")
    # But for a2, which is wrong, both say the same: without it in both there is no difference, in no draw of images.
    for report in found["models"]:
        counts = report["subsets"]["clip-easy"]["counts"]
        assert (counts["items"], counts["excluded"], counts["missing"]) == (5, 1, 0)
    rows = found["comparisons"][0]["scores"]["clip-easy"]
    assert all(row["difference"] == 0 and row.get("interval", [0, 0]) == [0, 0] for row in rows.values())


def test_models_need_the_same_validation_items(tmp_path, capsys):
    people = [{"question_id": i, "answers": [{"answer": "red"}] * 4} for i in range(4)]
    benchmark = write(tmp_path / "vqa.json", {"annotations": people})
    rows = [{"question_id": i, "answer": "red", "confidence": 0.5} for i in range(4)]
    files = [write(tmp_path / f"{n}.json", rows[2:]) for n in "mn"]
    devs = [
        word
        for n, validation in (("d", rows[:2]), ("e", rows[:1]))
        for word in ("--validation", write(tmp_path / f"{n}.json", validation))
    ]
    assert "are for different items" in refused(capsys, benchmark, *files, *devs)


def test_groups_are_computed_when_asked_for(release, tmp_path):
    path = write(tmp_path / "m.json", predictions())
    splits = scored(tmp_path, release, path, "--scores", "pairs,subgroups", "--bootstrap", 0)["models"][0][
        "subsets"
    ]
    assert set(splits["clip-easy"]) == {"counts", "pairs", "subgroups", "intervals"}


def test_scores_that_do_not_fit_are_refused(release, tmp_path, capsys):
    path = write(tmp_path / "m.json", predictions())
    assert "--scores: no nonsense" in refused(capsys, release, path, "--scores", "nonsense")
    text = refused(capsys, release, path, "--scores", "masses")
    assert (
        "1.0.0: scores `masses` do not apply to such a benchmark; there are abstention, answerability, calibration"
        in text
    )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([{"red": 1.0}, {"blue": 1.0}], "has no UQs"),
        ([{"UQ": 1.0}, {"UQ": 1.0}], "has no AQs"),
        ([], "has no items"),
    ],
)
def test_a_benchmark_with_one_kind_of_question_is_refused(tmp_path, capsys, labels, expected):
    rows = [
        {"img_id": "n", "question_id": str(i), "sent": "?", "label": label} for i, label in enumerate(labels)
    ]
    said = [
        {"questionId": str(i), "prediction": "red", "confidence": 0.5} for i in range(max(len(labels), 1))
    ]
    assert expected in refused(capsys, write(tmp_path / "b.json", rows), write(tmp_path / "m.json", said))


def test_two_files_of_one_name_are_refused(release, tmp_path, capsys):
    path = write(tmp_path / "m.json", predictions())
    assert "two predictions files have the same name: " in refused(capsys, release, path, path)


@pytest.mark.parametrize(("ids", "told"), [(["0", "1"], True), (["a1", "1"], False)])
def test_a_log_without_items_of_the_benchmark_gets_a_hint(ids, told):
    subset = Items.from_rows([BenchmarkItem("a1", "n", {"red": 1.0}), BenchmarkItem("u1", "n", {})])
    benchmark = Benchmark("rgqa", "b", "", {}, {"x": subset}, frozenset({"a1", "u1"}))
    log = model(dict.fromkeys(ids, ("red", 0.5)))._replace(
        file_info=PredictionFileInfo("VLMEvalKit", "index", "prediction")
    )
    with pytest.raises(UserError) as caught:
        score_models(benchmark, [log], ScoringOptions(bootstrap=0))
    assert (
        "m: read as VLMEvalKit: id from index, answer from prediction, no confidence" in caught.value.problems
    )
    assert any("VLMEvalKit's column `index`" in line for line in caught.value.problems) == told


def test_uq_is_never_silently_an_answer(release, tmp_path, capsys):
    path = write(tmp_path / "m.json", [{**row, "prediction": "uq"} for row in predictions()])
    found = scored(tmp_path, release, path, "--bootstrap", 0, "--split", "all")
    assert '6 answers are "UQ"' in capsys.readouterr().out
    assert found["models"][0]["mean"]["realistic"]["facc"] == 0.0


def test_the_efficiency_of_a_run_is_beside_its_scores(release, tmp_path, capsys):
    (tmp_path / "log.jsonl").write_text('{"seconds": 2}\n{"seconds": 4}\n')
    path = write(tmp_path / "m.json", predictions())
    found = scored(
        tmp_path, release, path, "--bootstrap", 0, "--resource", f"run-log={tmp_path / 'log.jsonl'}"
    )
    assert found["models"][0]["efficiency"]["latency_mean"] == 3.0
    assert "latency mean                                    3\n" in capsys.readouterr().out


def test_gqa_questions_are_a_benchmark_of_answers(tmp_path, capsys):
    types = {"structural": "query", "semantic": "attr"}
    question = {"imageId": "n", "question": "?", "answer": "red", "types": types, "entailed": []}
    path = write(tmp_path / "q.json", {str(i): question for i in range(4)})
    rows = [{"questionId": str(i), "prediction": "red" if i else "blue"} for i in range(4)]
    found = scored(tmp_path, path, write(tmp_path / "m.json", rows), "--bootstrap", 0, "--full")["models"][0][
        "subsets"
    ]["q"]
    assert found["gqa"]["accuracy"] == {"value": 0.75, "items": 4} and found["answers"]["exact_match"] == 0.75
    assert "unavailable" in found["selective"] and "needs GQA's file of choices" in capsys.readouterr().out


def test_vqa_annotations_are_a_benchmark_of_answers(tmp_path):
    people = [{"answer": text} for text in ["red"] * 3 + ["blue"] * 7]
    path = write(tmp_path / "a.json", {"annotations": [{"question_id": 7, "image_id": 1, "answers": people}]})
    (tmp_path / "v.txt").write_text("red 1 0\nblue 1 0\n")
    rows = write(tmp_path / "m.json", [{"question_id": 7, "answer": "red", "confidence": 0.8}])
    found = scored(tmp_path, path, rows, "--resource", f"word-vectors={tmp_path / 'v.txt'}")["models"][0][
        "subsets"
    ]["a"]
    assert found["answers"]["vqa_accuracy"] == pytest.approx(0.9)
    assert found["masses"]["ma"] == pytest.approx(3 / 7) and found["masses"]["s"] == pytest.approx(6 / 9)
    assert found["masses"]["masses_0.9"] == 1.0
    # The paper's rule: right is the commonest answer, blue. ECE of a wrong answer at 0.8.
    assert found["calibration"]["correct"]["ece"] == pytest.approx(0.8)


def test_the_mean_precedes_the_subsets_and_has_their_common_scores(release, tmp_path):
    found = scored(
        tmp_path, release, write(tmp_path / "m.json", predictions()), "--bootstrap", 0, "--split", "all"
    )
    mean = found["models"][0]["mean"]
    # The same six items twice: the mean is that of either. Without validation no threshold for effective reliability.
    easy = found["models"][0]["subsets"]["clip-easy"]
    assert mean["pairs"] == {
        name: easy["pairs"][name] for name in ("dual_accuracy", "dual_accuracy_at_threshold")
    }
    assert mean["selective"]["coverage_at_risk/0.1"] == easy["selective"]["coverage_at_risk"]["0.1"]
    assert not [name for name in mean["selective"] if "reliability" in name]
    report = ModelReport("m", "", {"x": {}}, {"realistic": {"auaf": 1.0}})
    assert list(report.scores_by_subset) == ["mean", "x"] and list(
        ModelReport("m", "", {"x": {}}).scores_by_subset
    ) == ["x"]


def test_subsets_without_pairs_do_not_stop_the_mean():
    # The first subset says which questions belong together, the second does not: no mean of dual accuracy.
    items = [BenchmarkItem(i, p, {} if a == "UQ" else {a: 1.0}, pair_id=pair) for i, p, a, pair, *_ in ROWS]
    subsets = {"x": Items.from_rows(items), "y": Items.from_rows(item._replace(pair_id="") for item in items)}
    benchmark = Benchmark("rgqa", "b", "", {}, subsets, frozenset(item.id for item in items))
    found = score_models(
        benchmark, [model({row[0]: (row[-2], row[-1]) for row in ROWS})], ScoringOptions(bootstrap=5)
    )
    (report,) = found.models
    assert "dual_accuracy" in report.subsets["x"]["intervals"]
    assert report.mean and set(report.mean["intervals"]) == set(report.subsets["y"]["intervals"])


def test_every_group_is_in_the_documentation():
    from tests.closure import ROOT

    text = (ROOT / "docs/reference/scores.md").read_text()
    listed = text.partition("`--scores` takes groups: ")[2].partition(".")[0]
    assert set(listed.replace("\n", " ").split(", ")) == {*SCORE_GROUPS, "efficiency"}


def test_a_report_is_plain_json_but_for_what_is_undefined(release, tmp_path):
    with pytest.raises(UserError):  # no model's file is whole
        score_models(
            Benchmark("rgqa", "b", "", {}, {"x": Items.from_rows([])}, frozenset()), [], ScoringOptions()
        )
    run(release, write(tmp_path / "m.json", predictions()), "--json", tmp_path / "s.json", "--bootstrap", 0)
    assert not any(
        math.isnan(v)
        for v in json.loads((tmp_path / "s.json").read_text())["models"][0]["mean"]["realistic"].values()
    )
