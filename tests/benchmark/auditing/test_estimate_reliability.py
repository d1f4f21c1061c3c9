from pipeline.benchmark.auditing.estimate_reliability import estimates_against_truth, reliability
from pipeline.benchmark.auditing.screening_accuracy import known_truth
from pipeline.core.paths import Folders


def test_estimates_that_hold_have_no_calibration_error():
    found = reliability([0.25] * 4 + [0.5] * 2, [True, False, False, False, True, False])
    assert found.calibration_error == 0
    assert (found.candidates, found.answerable, found.expected) == (6, 2, 2.0)
    # (3 * 0.0625 + 0.5625 + 2 * 0.25) / 6 against 1/3 * 2/3
    assert (found.brier, found.brier_of_base_rate) == (0.2083, 0.2222)
    assert (
        found.auroc == 0.625
    )  # pairs: 1 yes of 0.25: 3 ties, 1 below -> 1.5; yes of 0.5: 3 above, 1 tie -> 3.5; of 8
    assert [(row.candidates, row.estimate, row.answerable) for row in found.bins] == [
        (4, 0.25, 0.25),
        (2, 0.5, 0.5),
    ]


def test_overconfidence_shows():
    assert reliability([0.9] * 10, [True] * 5 + [False] * 5).calibration_error == 0.4


def test_where_all_are_alike_there_is_no_curve():
    assert reliability([0.1, 0.2], [False, False]).auroc is None


def test_of_a_whole_run_all_candidates_with_a_known_truth_are_counted(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    folders = Folders()
    found = estimates_against_truth(folders, known_truth(folders))
    assert found["all"].candidates == sum(row.candidates for name, row in found.items() if name != "all")
    assert sum(row.candidates for row in found["all"].bins) == found["all"].candidates
    assert estimates_against_truth(folders, {}) == {}
