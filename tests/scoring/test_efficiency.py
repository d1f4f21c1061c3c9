import json
import math

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.efficiency import compute_efficiency, read_run_log


def test_efficiency_is_worked_out_by_hand(tmp_path):
    found = compute_efficiency([1.0, 2.0, 3.0], [2, 2, 2], [10, 30, 20])
    assert (
        found["latency_p50"] == 2.0 and found["items_per_second"] == 1.0 and found["peak_memory_bytes"] == 30
    )
    # Overlapping requests: from 0 to 4 seconds, 2 items.
    (tmp_path / "log.jsonl").write_text('{"seconds": 3, "start": 0}\n{"seconds": 3, "start": 1}\n')
    log = read_run_log(tmp_path / "log.jsonl")
    assert log["items_per_second"] == 0.5 and math.isnan(log["peak_memory_bytes"]) and log["requests"] == 2


def test_percentiles_of_the_seconds_are_named_and_straight_between_measured_ones():
    found = compute_efficiency(list(range(101)))  # of 0, 1, ..., 100 seconds p % lie below p
    assert {name: value for name, value in found.items() if name.startswith("latency")} == {
        "latency_p50": 50.0, "latency_p90": 90.0, "latency_p95": 95.0, "latency_p99": 99.0, "latency_mean": 50.0
    }  # fmt: skip
    # Of 1 and 2 seconds the 90th percentile is 1 + 0.9.
    assert compute_efficiency([1.0, 2.0])["latency_p90"] == pytest.approx(1.9)


def test_a_broken_run_log_is_refused_line_by_line(tmp_path):
    rows = [{"seconds": 1}, {"second": 1}, {"seconds": -1}, {"seconds": 10**400}, {"seconds": "1_0"}, 3, []]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(UserError) as caught:
        read_run_log(tmp_path / "log.jsonl")
    assert [problem.split(":")[0] for problem in caught.value.problems[1:]] == [
        f"line {number}" for number in range(2, 8)
    ]


def test_without_requests_nothing_is_known_and_negative_seconds_are_refused():
    found = compute_efficiency([])
    assert (
        found["requests"] == 0 and math.isnan(found["latency_p50"]) and math.isnan(found["items_per_second"])
    )
    with pytest.raises(ValueError, match="seconds has 1 negative values"):
        compute_efficiency([1.0, -1.0])
