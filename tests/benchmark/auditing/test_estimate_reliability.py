from pipeline.benchmark.auditing.estimate_reliability import measure_estimate_reliability, measure_reliability
from pipeline.benchmark.auditing.screening_accuracy import read_truth
from pipeline.core.paths import DatasetFolders


def test_calibrated_estimates_have_no_calibration_error():
    found = measure_reliability([0.25] * 4 + [0.5] * 2, [True, False, False, False, True, False])
    assert found.calibration_error == 0
    assert (found.candidates, found.answerable, found.expected_answerable) == (6, 2, 2.0)
    # (3 * 0.0625 + 0.5625 + 2 * 0.25) / 6 against 1/3 * 2/3
    assert (found.brier, found.base_rate_brier) == (0.2083, 0.2222)
    # Pairs of a yes and a no: the yes at 0.25 has 3 ties and 1 loss (1.5), the yes at 0.5 has 3 wins and 1 tie (3.5), of 8 pairs.
    assert found.auroc == 0.625
    assert [(row.candidates, row.mean_estimate, row.answerable_rate) for row in found.bins] == [
        (4, 0.25, 0.25),
        (2, 0.5, 0.5),
    ]


def test_overconfidence_is_a_calibration_error():
    assert measure_reliability([0.9] * 10, [True] * 5 + [False] * 5).calibration_error == 0.4


def test_without_both_outcomes_there_is_no_auroc():
    assert measure_reliability([0.1, 0.2], [False, False]).auroc is None


def test_all_candidates_of_a_run_with_a_known_truth_are_counted(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    folders = DatasetFolders()
    found = measure_estimate_reliability(folders, read_truth(folders))
    assert found["all"].candidates == sum(row.candidates for name, row in found.items() if name != "all")
    assert sum(row.candidates for row in found["all"].bins) == found["all"].candidates
    assert measure_estimate_reliability(folders, {}) == {}
