from pipeline.benchmark.auditing.estimate_reliability import measure_estimate_reliability, measure_reliability
from pipeline.benchmark.auditing.screening_accuracy import read_truth
from pipeline.core.paths import DatasetFolders


def test_estimates_that_hold_have_no_calibration_error():
    found = measure_reliability([0.25] * 4 + [0.5] * 2, [True, False, False, False, True, False])
    assert found.calibration_error == 0
    assert (found.candidates, found.answerable, found.expected_answerable) == (6, 2, 2.0)
    # (3 * 0.0625 + 0.5625 + 2 * 0.25) / 6 against 1/3 * 2/3
    assert (found.brier, found.base_rate_brier) == (0.2083, 0.2222)
    assert (
        found.auroc == 0.625
    )  # pairs: 1 yes of 0.25: 3 ties, 1 below -> 1.5; yes of 0.5: 3 above, 1 tie -> 3.5; of 8
    assert [(row.candidates, row.mean_estimate, row.answerable_rate) for row in found.bins] == [
        (4, 0.25, 0.25),
        (2, 0.5, 0.5),
    ]


def test_overconfidence_shows():
    assert measure_reliability([0.9] * 10, [True] * 5 + [False] * 5).calibration_error == 0.4


def test_where_all_are_alike_there_is_no_curve():
    assert measure_reliability([0.1, 0.2], [False, False]).auroc is None


def test_of_a_whole_run_all_candidates_with_a_known_truth_are_counted(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    folders = DatasetFolders()
    found = measure_estimate_reliability(folders, read_truth(folders))
    assert found["all"].candidates == sum(row.candidates for name, row in found.items() if name != "all")
    assert sum(row.candidates for row in found["all"].bins) == found["all"].candidates
    assert measure_estimate_reliability(folders, {}) == {}
