"""The report and the summary as text."""

import math

import numpy as np
import pytest

from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import PredictionFileInfo, ScoringOptions
from pipeline.scoring.model_comparison import ModelComparison, ScoreDifference
from pipeline.scoring.model_report import ModelReport, ScoreReport, score_models
from pipeline.scoring.text_report import format_benchmark_line, format_report, format_subgroups, format_table
from pipeline.scoring.text_summary import format_summary
from tests.scoring.conftest import model as predicted
from tests.scoring.conftest import predictions, run, write

# Text report


def report(groups, **more):
    counts = {
        "items": 3,
        "aqs": 2,
        "uqs": 1,
        "images": 1,
        "missing": 0,
        "excluded": 0,
        "excluded_for_other_models": 0,
        "validation": 0,
        "num_uq_answers": 0,
    }
    model = ModelReport("m", "", {"x": {"counts": counts | more, **groups}})
    return ScoreReport(
        {},
        {"mode": "strict", "match": "vqa"},
        {"name": "b", "kind": "rgqa", "version": "1.0.0", "splits": []},
        [model],
        [],
    )


def lines(*arguments, **more):
    return format_report(report(*arguments, **more)).splitlines()


def test_proportions_are_in_percent_and_undefined_is_a_dash():
    text = lines({"realistic": {"auaf": 0.1275, "ff95": math.nan}, "intervals": {"auaf": [0.1, 0.2]}})
    assert (
        text[0]
        == "benchmark b 1.0.0, mode strict, answers compared with --match vqa; numbers in % unless said otherwise"
    )
    assert text[2:] == [
        "m on x: 2 AQs, 1 UQs, 1 images",
        "  realistic",
        "    AUAF                                        12.75  [10.00, 20.00]",
        "    FF95 (lower)                                    -",
    ]


def test_numbers_that_are_not_proportions_are_not_in_percent():
    groups = {
        "pairs": {"pairs": 1234, "threshold": math.inf, "threshold_source": "validation"},
        "intervals": {},
    }
    assert [line.split() for line in lines(groups)[4:]] == [
        ["pairs", "1,234"],
        ["threshold", "none"],
        ["threshold", "source", "validation"],
    ]


def test_related_scores_are_in_one_line_or_below_each_other():
    groups = {
        "selective": {"coverage_at_risk": {"0.1": 0.5, "0.2": 1.0}, "transfer": {"0.1": {"risk": 0.25}}},
        "gqa": {"accuracy": {"value": 0.5, "items": 1200}, "grounding": {"unavailable": "no file"}},
        "wups": {"unavailable": "no WordNet"},
        "intervals": {},
    }
    assert [" ".join(line.split()) for line in lines(groups)[3:]] == [
        "selective",
        "coverage at risk 0.1: 50.00, 0.2: 100.00",
        "transfer",
        "0.1 risk: 25.00",
        "gqa",
        "accuracy 50.00 of 1,200",
        "grounding: not scored: no file",
        "wups",
        "not scored: no WordNet",
    ]


def test_the_subset_line_names_what_was_not_answered_as_expected():
    (headline,) = lines({"intervals": {}}, missing=1000, num_uq_answers=2)[2:]
    assert "; 1,000 MISSING, counted as accepted with a wrong answer; 2 answers are" in headline


def slices(intervals, **counts):
    row = {"auaf": 0.5, "ff95": math.nan, "facc": 1.0, "auroc": 0.25, "aqs": 1000, "uqs": 20}
    return {"category": {"missing object": row | counts | {"intervals": intervals}}}


@pytest.mark.parametrize(
    ("name", "version", "told"), [("b", "1.0.0", "b 1.0.0"), ("b", "", "b"), ("1.0.0", "1.0.0", "1.0.0")]
)
def test_a_benchmark_is_named_with_its_version_unless_that_is_its_name(name, version, told):
    made = report({})
    made = made._replace(benchmark=made.benchmark | {"name": name, "version": version})
    assert format_benchmark_line(made) == f"benchmark {told}, mode strict, answers compared with --match vqa"


def test_subgroups_are_a_table_with_intervals():
    intervals = {"auaf": (0.4, 0.6)}
    groups = {"subgroups": slices(intervals), "intervals": {}}
    assert lines(groups)[-2].split() == [
        "by",
        "category",
        "AUAF",
        "FF95",
        "(lower)",
        "FACC",
        "AUROC",
        "AQs",
        "UQs",
    ]
    expected = "missing object 50.00 [40.0, 60.0] - 100.00 25.00 1,000 20"
    assert " ".join(lines(groups)[-1].split()) == expected
    assert " ".join(format_subgroups(report(groups)).splitlines()[-1].split()) == expected
    assert (
        lines({"subgroups": {"unavailable": "nothing known"}, "intervals": {}})[-1]
        == "  subgroups: nothing known"
    )


def test_a_subgroup_of_few_items_only_has_its_interval():
    # 19 UQs are few for all but FACC, which is of AQs.
    found = lines({"subgroups": slices({"auaf": (0.1, 0.9), "auroc": (0.0, 1.0)}, uqs=19), "intervals": {}})[
        -1
    ]
    assert " ".join(found.split()) == "missing object [10.0, 90.0] - 100.00 [0.0, 100.0] 1,000 19"


def test_scores_within_others_have_their_intervals_too():
    groups = {
        "selective": {"coverage_at_risk": {"0.1": 0.5}},
        "intervals": {"coverage_at_risk/0.1": (0.25, 0.75)},
    }
    assert [" ".join(line.split()) for line in lines(groups)[4:]] == [
        "coverage at risk",
        "0.1 50.00 [25.00, 75.00]",
    ]


def test_models_are_side_by_side_after_their_differences():
    two = report({"realistic": {"auaf": 0.5}, "intervals": {}})
    (first,) = two.models
    other = ModelReport("n", "", {"x": first.subsets["x"] | {"realistic": {"auaf": 0.75}}})
    change = ScoreDifference(0.25, (0.125, math.nan), 1.0)
    two = two._replace(
        models=[first, other], comparisons=[ModelComparison("n", "m", {"x": {"auaf": change}})]
    )
    text = format_report(two).splitlines()
    assert [line.split() for line in text[-6:]] == [
        ["n", "minus", "m,", "points"],
        ["x", "AUAF", "+25.00"],
        [
            "no",
            "difference",
            "can",
            "be",
            "established:",
            "AUAF",
            "on",
            "x",
            "of",
            "n",
            "or",
            "m",
            "is",
            "undefined",
            "in",
            "too",
            "many",
            "bootstrap",
            "replicates",
        ],
        [],
        ["m", "n"],
        ["x", "AUAF", "50.00", "75.00"],
    ]


def test_columns_are_as_wide_as_they_need():
    assert list(format_table([["", "AUAF"], ["a b", "-"]], " ")) == ["      AUAF", " a b     -"]


# Text summary


SUBSETS = ("clip-easy", "clip-hard", "pt-easy", "pt-hard")


def benchmark(subsets=SUBSETS, items=80):
    """Subsets of pairs of an AQ and a UQ, half of each on validation."""
    found = {
        subset: Items.from_rows(
            BenchmarkItem(
                f"{subset}{i}",
                f"n{i // 2}",
                {} if i % 2 else {"red": 1.0},
                pair_id=f"p{i // 2}",
                split="validation" if i % 4 < 2 else "test",
            )
            for i in range(items)
        )
        for subset in subsets
    }
    return Benchmark(
        "rgqa", "b", "1.0.0", {}, found, frozenset(item.id for row in found.values() for item in row)
    )


def said(name, of, seed=0, share=0.5):
    """Answers right as often as `share` says, confidences in two decimals that lean to AQs."""
    rng = np.random.default_rng(seed)
    items = [item for row in of.subsets.values() for item in row]
    return predicted(
        {
            item.id: (
                "red" if rng.random() < share else "blue",
                round(float(rng.random() * 0.7 + 0.3 * bool(item.answers)), 2),
            )
            for item in items
        },
        name,
    )


def screen(models, of=None, **options):
    of = of or benchmark()
    report = score_models(
        of,
        [said(model[0], of, *model[1:]) for model in models],
        ScoringOptions(bootstrap=50)._replace(**options),
    )
    return report, format_summary(report)


def test_one_model_fits_on_a_screen_with_all_that_matters():
    report, text = screen([("vilt",)])
    lines = text.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    (model,) = report.models
    assert model.mean
    row = next(line for line in lines if line.startswith("mean of 4"))
    low, high = model.mean["intervals"]["auaf"]
    assert row.split()[3:6] == [
        f"{100 * model.mean['realistic']['auaf']:.2f}",
        f"[{100 * low:.1f},",
        f"{100 * high:.1f}]",
    ]
    assert [line.split()[0] for line in lines[5:9]] == list(SUBSETS)
    # Of 80 items each subset has 40 on validation, 40 on test: 20 pairs of 20 images.
    pairs = model.subsets["pt-hard"]["pairs"]
    assert lines[14].split()[:5] == ["pt-hard", "20", "20", "20", "20"]
    assert f"{100 * pairs['dual_accuracy_at_threshold']:.2f}" in lines[14].split()
    assert lines[14].endswith(f"{pairs['threshold']:g}  validation (40)")
    assert lines[-1].startswith("more: --full") and "vqa" in lines[0] and "50 times" in lines[1]


def test_without_validation_the_threshold_is_the_options():
    _, text = screen([("vilt",)], split="all", threshold=0.25)
    assert text.splitlines()[11].endswith("0.25  --threshold")
    _, text = screen([("vilt",)], split="all")
    assert text.splitlines()[11].endswith("0.5  the default")


def test_without_replicates_there_are_no_intervals():
    _, text = screen([("vilt",)], bootstrap=0)
    assert "[" not in text and "no intervals" in text
    _, text = screen([("vilt",)], mode="published")
    assert "[" not in text and "mode published gives no intervals" in text


def test_warnings_are_a_line_each_and_not_repeated():
    of = benchmark()
    model = predicted(dict.fromkeys(of.ids, ("red", 0.5)))
    text = format_summary(score_models(of, [model], ScoringOptions(bootstrap=0)))
    (warning,) = [line for line in text.splitlines() if "WARNING" in line]
    assert warning.startswith("WARNING clip-easy and 3 more: all confidences are 0.5") and len(warning) <= 100
    of = benchmark(("x",))
    model = predicted(dict.fromkeys(of.ids, ("red", 0.5)))
    assert "\nWARNING x: all confidences are 0.5" in format_summary(
        score_models(of, [model], ScoringOptions(bootstrap=0))
    )


def test_warnings_that_differ_only_in_numbers_are_not_repeated():
    of = benchmark()
    # Outside [0, 1]; UQs, which have odd numbers, are above AQs but for a few of the last two subsets.
    low = {i for i in of.ids if i.startswith("pt") and i[-1] == "3"}
    model = predicted({i: ("red", 1.4 if i in low else 1.5 + int(i[-1]) % 2 / 10) for i in of.ids})
    lines = format_summary(score_models(of, [model], ScoringOptions(bootstrap=0))).splitlines()
    warnings = [line for line in lines if line.startswith("WARNING")]
    assert [line.partition(":")[0] for line in warnings] == ["WARNING clip-easy and 3 more"] * 2


def test_missing_answers_are_reported_for_their_subset():
    of = benchmark()
    lost = next(item.id for item in of.subsets["pt-easy"] if item.split == "test")
    model = predicted({i: ("red", float(i[-1])) for i in of.ids if i != lost})
    text = format_summary(score_models(of, [model], ScoringOptions(bootstrap=0, missing="wrong")))
    assert "pt-easy: 1 MISSING, counted as accepted with a wrong answer" in text


def test_two_models_are_compared_in_numbers_and_words():
    report, text = screen([("good", 0, 0.9), ("bad", 1, 0.4)])
    lines = text.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    change = report.comparisons[0].scores["mean"]["auaf"]
    assert change.interval
    low, high = change.interval
    assert f"2 minus 1  {100 * change.difference:.2f} [{100 * low:.1f}, {100 * high:.1f}]" in text
    # Nine in ten against four in ten of 40 AQs: no draw of images makes up for that.
    assert f"good is better than bad: {-100 * change.difference:.1f} points of mean AUAF" in " ".join(
        text.split()
    )
    assert " ".join(text.split()).count("(lower is better)") == 1 and "simultaneous" not in text


def test_intervals_of_many_models_are_simultaneous_and_the_summary_stays_short():
    _, text = screen([(f"model-{i}", i, 0.2 + 0.1 * i) for i in range(4)])
    lines = text.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    assert sum("minus" in line for line in lines) == 6 and "all 6 pairs are simultaneous" in text
    _, text = screen([(f"model-{i}", i) for i in range(6)], bootstrap=20)  # 15 pairs
    assert len(text.splitlines()) <= 40 and "8 more pairs: --full" in text


def test_the_summary_says_how_a_log_was_read():
    of = benchmark()
    log = said("m", of)._replace(file_info=PredictionFileInfo("lmms-eval", "doc_id", "resps"))
    assert "m: read as lmms-eval: id from doc_id, answer from resps" in format_summary(
        score_models(of, [log], ScoringOptions(bootstrap=0))
    )


@pytest.mark.parametrize("several", [True, False])
def test_names_are_never_truncated_and_leave_space_for_the_scores(several):
    """Fault of 1.8: names that differ in the middle were shown as the same."""
    subset = "a-subset-with-a-very-long-name-of-its-own"
    of = benchmark((subset, "b"))
    names = [f"2026-11-22_samples_rgqa_{i}_of_a_long_run_of_a_model_with_a_long_name" for i in range(2)]
    _, text = screen([(name, i) for i, name in enumerate(names[: 1 + several])], of)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100 and "..." not in text
    for number, name in enumerate(names[: 1 + several], 1):
        assert f"{number} {name}" in lines if several else name in lines
    if not several:
        # Its numbers stand in the line below, in the columns of the others.
        below = lines[lines.index(subset) + 1]
        assert below.startswith("    ") and lines[lines.index(subset) + 2].startswith("b")


def test_short_names_are_beside_their_scores():
    _, text = screen([("vilt", 0), ("a-name-of-twenty-five-chars", 1)], bootstrap=0)
    assert any(line.startswith("2 a-name-of-twenty-five-chars  ") for line in text.splitlines())


def test_long_warnings_are_wrapped_not_truncated():
    of = benchmark(("x",))
    model = predicted(dict.fromkeys(of.ids, ("red", 0.5)), "m" * 60)
    text = format_summary(score_models(of, [model, said("n", of)], ScoringOptions(bootstrap=0)))
    assert "..." not in text and max(map(len, text.splitlines())) <= 100
    assert "Is it the right column?" in " ".join(text.split())


def test_published_mode_has_no_intervals():
    _, text = screen([(f"m{i}", i) for i in range(3)], mode="published")
    assert "simultaneous" not in text and "without an interval" in text


def test_a_single_file_says_why_dual_accuracy_is_unavailable():
    of = benchmark(("x",))
    of = of._replace(subsets={"x": of.subsets["x"].with_columns(pair_id=[""] * 80, split=[""] * 80)})
    _, text = screen([("m",)], of)
    assert "dual accuracy: the benchmark does not name the pairs of AQs and UQs" in text
    assert "mean" not in text


def test_a_subset_without_pairs_has_a_dash_beside_one_with_them():
    of = benchmark(("x", "y"))
    of.subsets["y"] = of.subsets["y"].with_columns(pair_id=[""] * 80)
    _, text = screen([("m",)], of)
    (row,) = [line for line in text.splitlines() if line.startswith("y   20   20")]
    assert row.split() == ["y", "20", "20", "20", *"-----"]
    assert text.count("no dual accuracy of y: the benchmark does not name") == 1


def test_too_few_pairs_are_counted_and_have_no_score():
    of = benchmark(("x", "y"))  # of 40 pairs 20 are on test
    of.subsets["x"] = of.subsets["x"].select(np.arange(80) != 3)  # the UQ of a pair of test
    _, text = screen([("m",)], of)
    (row,) = [line for line in text.splitlines() if line.startswith("x   20   19")]
    assert row.split() == ["x", "20", "19", "20", "19", *"----"]
    assert "no dual accuracy of x: too few pairs (19)" in text


def test_a_benchmark_of_answers_shows_scores_of_answers(tmp_path, capsys):
    people = [{"question_id": i, "answers": [{"answer": "red"}] * 4} for i in range(4)]
    rows = [{"question_id": i, "answer": "red" if i else "blue"} for i in range(4)]
    run(
        write(tmp_path / "vqa.json", {"annotations": people}),
        write(tmp_path / "m.json", rows),
        "--bootstrap",
        0,
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split() == ["m", "VQA", "accuracy", "exact", "match", "token", "F1", "ANLS"]
    assert lines[4].split() == ["vqa", *["75.00"] * 4] and lines[6].split() == ["items", "images"]


@pytest.mark.parametrize("several", [False, True])
def test_scores_of_a_resource_are_shown_below(release, tmp_path, capsys, several):
    study = write(tmp_path / "h.json", [{"question_id": "a2", "accepted": True}])
    models = [write(tmp_path / f"{name}.json", predictions()) for name in ("m", "n")[: 1 + several]]
    run(release, *models, "--bootstrap", 0, "--resource", f"human-judgments={study}")
    text = capsys.readouterr().out
    assert "m on pt-hard\n  human\n" in text and ("n on pt-hard\n  human\n" in text) == several
