import math

import pytest

from pipeline.scoring.model_comparison import ModelComparison, ScoreDifference
from pipeline.scoring.model_report import ModelReport, ScoreReport
from pipeline.scoring.text_report import format_benchmark_line, format_report, format_subgroups, format_table


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
        == "benchmark b 1.0.0, mode strict, answers compared by vqa; numbers in % unless said otherwise"
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
    assert format_benchmark_line(made) == f"benchmark {told}, mode strict, answers compared by vqa"


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
