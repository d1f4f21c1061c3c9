"""Simulated studies with a panel of models: `rgqa study panel`."""

import numpy as np
import pytest

from pipeline.core.errors import UserError
from research.studies.panel_study import (
    PANELS,
    PEOPLE_ALONE,
    PanelModel,
    PanelStudyResult,
    StudyData,
    compute_difference,
    render_results,
    run_panel_study,
    simulate_panel,
    simulate_study,
)
from tests.research.studies.test_votes_needed import SCREENED, TASKS, UNANSWERABLE

SCREENED_BY_ID = {row.candidate.candidate_id: row for row in SCREENED}
TRUTH = {key: "missing object" if key in UNANSWERABLE else "" for key in SCREENED_BY_ID}
DATA = StudyData(TASKS, SCREENED_BY_ID, TRUTH)


def test_simulated_models_err_at_their_rates():
    rows = simulate_panel(
        DATA, (PanelModel(0.9, 0.6), PanelModel(0.9, 0.6, 1.0), PanelModel(0.5, 0.5, 0.0, 1.0)), 3
    )
    called = {(row.model, row.task_id): row for row in rows}
    right = {
        kind: np.mean(
            [called["model-0", f"t{n}"].first == "invalid" for n in range(300) if bool(n % 10) == kind]
        )
        for kind in (True, False)
    }
    # Four standard errors: 270 unanswerable candidates, and 30 answerable ones.
    assert right[True] == pytest.approx(0.9, abs=0.073)
    assert right[False] == pytest.approx(0.4, abs=0.36)
    assert all(
        (called["model-0", key].first, called["model-0", key].second)
        == (called["model-1", key].first, called["model-1", key].second)
        for key in TASKS
    )
    assert all(called["model-2", key].second == task.second.expected_choice for key, task in TASKS.items())


def test_a_good_panel_saves_votes_and_a_useless_one_is_not_used():
    alone = simulate_study(DATA, PEOPLE_ALONE, 1, 2)
    good = simulate_study(DATA, "2 models of 0.95", 1, 2)
    assert good.judgements < 0.9 * alone.judgements
    assert good.is_used and not good.panel_decided
    assert good.wrong <= alone.wrong + 1 and good.lost <= alone.lost + 3
    without_people = simulate_study(DATA, "2 models of 0.95", 0, 2)
    assert without_people.panel_decided > 20
    assert without_people.judgements < good.judgements
    parts = good.first_judgements + good.overlap_judgements + good.more_judgements
    assert parts == good.judgements


def made_result(seed, panel, wrong, released, judgements=100):
    numbers = dict.fromkeys(
        (
            "tasks",
            "first_judgements",
            "overlap_judgements",
            "more_judgements",
            "lost",
            "panel_decided",
            "audited",
        ),
        0,
    )
    return PanelStudyResult(
        seed=seed, panel=panel, min_people=1, judgements=judgements, unanswerable=released, released=released,
        wrong=wrong, audit_error=None, audit_low=None, audit_high=None, is_contained=None, is_used=False, **numbers,
    )  # fmt: skip


def test_the_difference_is_that_of_all_studies_together():
    alone = {seed: made_result(seed, PEOPLE_ALONE, 1, 100) for seed in (1, 2)}
    rows = [made_result(1, "p", 2, 100), made_result(2, "p", 4, 100)]
    difference, low, high = compute_difference(rows, alone)
    # 6 of 200 minus 2 of 200. The contributions of the studies are (2 - 3) / 200 and (4 - 3) / 200, so the standard error is
    # sqrt(2 * 2 / 200^2) = 0.01, and t(0.975, 1) = 12.706.
    assert (difference, low, high) == pytest.approx((0.02, 0.02 - 0.12706, 0.02 + 0.12706), abs=1e-5)
    assert np.isnan(compute_difference(rows[:1], alone)[1])


def test_the_table_compares_with_people_alone():
    rows = [made_result(1, PEOPLE_ALONE, 0, 50, 200), made_result(1, "p", 1, 50, 150)]
    text = render_results(rows)
    assert "| 1 | p | 150 | 0 / 0 / 0 | 25% | 0.00% | 2.00% (1 of 50) |" in text


def test_a_panel_that_is_not_known_is_one_message(tiny, tmp_path):
    with pytest.raises(UserError) as caught:
        run_panel_study([1], ["nobody"], 0.2, 100, [1], tmp_path / "x.csv")
    assert len(caught.value.problems) == 2
    assert next(iter(PANELS)) in caught.value.problems[0]
