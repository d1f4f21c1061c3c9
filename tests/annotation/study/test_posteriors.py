"""The estimates of a whole study, from the answers table."""

import numpy as np
import pytest

from annotation.study.answers_table import build_answers_table
from annotation.study.base_rates import MAX_PRIOR
from annotation.study.posteriors import estimate_posteriors, list_people_warnings
from tests.annotation.study.conftest import U, V, X, repeating, task, verdict


def world(people, count=40):
    """Everybody judges `count` candidates of two subsets, every second of which is invalid, and answers gold questions correctly."""
    tasks = {
        f"{n:03}": task(f"{n:03}", (V, X)[n // 2 % 2], subset=("pt-easy", "clip-hard")[n % 3 > 0])
        for n in range(count)
    }
    verdicts = [
        verdict(key, who, says(n, (V, X)[n % 2]), tasks[key].second.expected_choice, n)
        for who, says in people.items()
        for n, key in enumerate(tasks)
    ]
    return tasks, verdicts


def right(n, truth):
    return truth


def get_invalid(answers, prior=None):
    estimates, _ = estimate_posteriors(answers, prior or {})
    return {row.candidate_id: row.invalid for row in estimates.posteriors}


def test_every_candidate_with_votes_has_a_posterior_and_every_annotator_rates():
    tasks, verdicts = world({"x": right, "y": lambda n, truth: V if n % 10 == 1 else truth})
    found, answers = estimate_posteriors(build_answers_table(tasks, verdicts[::-1]), {})
    assert [row.candidate_id for row in found.posteriors] == [f"c{n:03}" for n in range(40)]
    assert [(row.subset, row.annotator, row.votes) for row in found.rates] == [
        ("clip-hard", "x", 26),
        ("clip-hard", "y", 26),
        ("pt-easy", "x", 14),
        ("pt-easy", "y", 14),
    ]
    assert found == estimate_posteriors(build_answers_table(tasks, verdicts), {})[0]
    assert (
        set(answers["exclusion_reason"]) == {""} and found.copies == [] and list_people_warnings(found) == []
    )


def test_prior_is_clipped_and_one_vote_can_decide():
    tasks, verdicts = world({"x": right, "y": right})
    answers = build_answers_table(
        tasks, [row for row in verdicts if row.task_id < "038" or row.annotator == "x"]
    )
    prior = {"c038": 0.97, "c039": 0.03} | {f"c{n:03}": 0.5 for n in range(38)}
    found = get_invalid(answers, prior)
    assert found["c038"] < 0.02 and found["c039"] > 0.98  # x says valid and invalid
    assert found["c038"] < get_invalid(answers, prior | {"c038": 0.5})["c038"] < 0.2
    sure, most = (get_invalid(answers, prior | {"c039": value}) for value in (1e-9, 1 - MAX_PRIOR))
    assert sure["c039"] == pytest.approx(most["c039"], abs=1e-5)


def test_excluded_answers_and_discarded_gold_questions_are_ignored():
    tasks, verdicts = world({"x": right, "y": right})
    answers = build_answers_table(tasks, verdicts)
    candidates = answers["role"] == "candidate"
    answers.loc[answers["annotator"] == "y", "exclusion_reason"] = "annotator excluded"
    answers.loc[candidates & (answers["task_id"] == "000"), "exclusion_reason"] = "gold question failed"
    answers.loc[~candidates & (answers["task_id"] < "010"), "is_discarded"] = True
    found, _ = estimate_posteriors(answers, {})
    assert [row.candidate_id for row in found.posteriors] == [f"c{n:03}" for n in range(1, 40)]
    assert [(row.subset, row.annotator, row.votes) for row in found.rates] == [
        ("clip-hard", "x", 26),
        ("pt-easy", "x", 13),
    ]
    # 30 gold questions count. Those of the tasks 10 to 39 with n // 2 % 2 == 1 are invalid, which are 16: (18 + 16) / (20 + 16).
    assert {row.gold_sensitivity for row in found.rates} == {round(34 / 36, 4)}


def test_a_repeat_is_a_vote_and_unsure_counts_as_valid():
    tasks, verdicts = world({"x": right, "y": lambda n, truth: truth if truth == X else U})
    tasks["r"] = repeating("r", "000")
    more = [*verdicts, verdict("r", "z", X, X, 0)]
    before, found = (get_invalid(build_answers_table(tasks, rows)) for rows in (verdicts, more))
    assert found["c000"] > before["c000"]
    assert found["c002"] < 0.5


def test_an_adjudicator_decides_but_the_posterior_by_votes_is_kept():
    tasks, verdicts = world({"x": right, "y": right})
    verdicts.append(verdict("001", "adjudicator-01", V, V, 0))
    found, _ = estimate_posteriors(build_answers_table(tasks, verdicts), {})
    assert {row.candidate_id: row.invalid for row in found.posteriors}["c001"] == 0
    assert found.invalid_by_votes["c001"] > 0.95


def test_votes_that_do_not_depend_on_the_images_do_not_count_and_are_named():
    # z answers all gold questions correctly, and calls every candidate valid.
    tasks, verdicts = world({"x": right, "y": right, "z": lambda n, truth: V}, 120)
    found, answers = estimate_posteriors(build_answers_table(tasks, verdicts), {})
    reasons = answers[answers["role"] == "candidate"].groupby("annotator", observed=True)["exclusion_reason"]
    assert {name: set(rows) for name, rows in reasons} == {"x": {""}, "y": {""}, "z": {"not trusted"}}
    (warning,) = list_people_warnings(found)
    assert warning.startswith(
        "the votes of z from task 1 on in clip-hard, pt-easy do not depend on the images"
    )
    invalid = {row.candidate_id: row.invalid for row in found.posteriors}
    assert all((invalid[f"c{n:03}"] > 0.5) == (n % 2 == 1) for n in range(120))


def test_accounts_with_the_same_errors_count_as_one_person():
    def miss(seed):
        missed = np.random.default_rng(seed).random(200) < 0.3
        return lambda n, truth: V if missed[n] else truth

    people = {"x": miss(1), "y": miss(2), "z": miss(3), "a": miss(9), "b": miss(9), "c": miss(9)}
    tasks, verdicts = world(people, 200)
    found, answers = estimate_posteriors(build_answers_table(tasks, verdicts), {})
    assert found.copies == [["a", "b", "c"]]
    assert list_people_warnings(found)[-1].startswith("the accounts a, b, c make the same errors")
    copied = answers[answers["exclusion_reason"] == "copy"]
    # The first of three equal votes on each of 200 candidates counts.
    assert len(copied) == 400 and set(copied["annotator"]) == {"b", "c"}
