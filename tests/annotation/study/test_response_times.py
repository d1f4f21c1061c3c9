import pandas as pd

from annotation.study.answers_table import QualityRules, build_answers_table
from annotation.study.response_times import describe_if_too_fast, summarize_by_annotator, summarize_times
from tests.annotation.study.conftest import V, task, verdict


def given(who, seconds, gaps=None):
    gaps = gaps or [None] * len(seconds)
    return [
        verdict(f"{n:02}", who, V, V, n, duration_seconds=one, seconds_since_previous=other)
        for n, (one, other) in enumerate(zip(seconds, gaps, strict=True))
    ]


def found(*people):
    tasks = {f"{n:02}": task(f"{n:02}") for n in range(40)}
    return summarize_by_annotator(
        build_answers_table(tasks, [row for rows in people for row in rows]), QualityRules()
    )


def test_quartiles_of_known_times():
    # 2, 4, 6, 8, 100: the quartiles are the second, third and fourth; a lunch break moves none of them.
    row = summarize_times(pd.Series([4, None, 100, 2, 8, 6, float("nan")], dtype=float), fast_seconds=4)
    assert (row.num_timed, row.lower_quartile, row.median, row.upper_quartile, row.num_fast) == (
        5,
        4,
        6,
        8,
        1,
    )
    empty = summarize_times(pd.Series([None, None], dtype=float), 3)
    assert (empty.num_timed, empty.median, empty.num_fast) == (0, None, 0)


def test_fast_annotators_are_found_by_either_clock():
    slow, quick = [9.0] * 40, [1.0] * 21 + [9.0] * 19  # 21 of 40 are more than half, 20 are not
    rows = found(
        given("careful", slow, slow),
        given("fast", quick),
        given("batch", slow, quick),
        given("limit", [1.0] * 20 + [9.0] * 20),
        given("few", [1.0] * 19),
        given("unknown", [None] * 40),
    )
    text = "21 of 40 tasks in under 3 s, median 1.0 s"
    assert {name: describe_if_too_fast(row, QualityRules()) for name, row in rows.items()} == {
        "batch": text,
        "careful": "",
        "fast": text,
        "few": "",
        "limit": "",
        "unknown": "",
    }


def test_long_pause_has_no_effect():
    (row,) = found(given("a", [9.0] * 39 + [3600.0], [None, *[9.0] * 38, 3600.0])).values()
    assert (row.median, row.num_timed, row.num_fast) == (9, 40, 0)
