"""A panel of models changes how many people are asked, and never decides."""

import msgspec
import numpy as np
import pandas as pd
import pytest

from annotation.study.answers_table import build_answers_table
from annotation.study.panel_priors import PanelPriors, add_panel, audit_panel, is_panel_audit_task
from annotation.study.panel_verdicts import PanelVerdict
from pipeline.core.records import Candidate, ScreenedCandidate, Task, TaskQuestion, Verdict, VerifierResult
from pipeline.tasks.verdict_aggregation import CollectParams, aggregate_verdicts

COUNT = 400


def made_task(number):
    gold = "invalid" if number % 3 else "valid"
    return Task(
        task_id=f"t{number:03}",
        image_id=f"n{number}",
        subset="pt-easy",
        first=TaskQuestion(
            key=f"a{number}", text=f"Q{number}?", role="candidate", candidate_id=f"c{number:03}"
        ),
        second=TaskQuestion(
            key=f"b{number}", text=f"G{number}?", role="gold", expected_choice=gold, gold_source="template"
        ),
    )


TASKS = {task.task_id: task for task in map(made_task, range(COUNT))}
# Candidates with even numbers are unanswerable.
TRUTH = {f"c{number:03}": number % 2 == 0 for number in range(COUNT)}


def judge(name, error, seed, model="net"):
    """Verdicts of a model that errs on candidates and gold questions at a rate."""
    rng = np.random.default_rng(seed)

    def choose(is_invalid):
        return "invalid" if is_invalid != (rng.random() < error) else "valid"

    return [
        PanelVerdict(
            task_id=key,
            model=model,
            prompt=name,
            first=choose(TRUTH[task.first.candidate_id]),
            second=choose(task.second.expected_choice == "invalid"),
        )
        for key, task in TASKS.items()
    ]


def by_people(share=1.0):
    return {key: float(value) for key, value in list(TRUTH.items())[: int(COUNT * share)]}


def test_a_good_model_moves_priors_to_the_truth_and_the_audit_sample_stays():
    prior = dict.fromkeys(TRUTH, 0.5)
    found = add_panel(TASKS.values(), judge("prompt-1", 0.1, 0), prior, by_people(), 0, 0.1)
    changed = [key for key in TRUTH if key not in found.audited]
    right = np.mean([(found.answerable[key] < 0.5) == TRUTH[key] for key in changed])
    assert right == pytest.approx(0.9, abs=0.04)
    assert {found.answerable[key] for key in found.audited} == {0.5}
    # About 40 of 400 tasks; four standard deviations are 24.
    assert abs(len(found.audited) - 40) < 24
    assert found.audited == {
        TASKS[key].first.candidate_id for key in TASKS if is_panel_audit_task(key, 0, 0.1)
    }


def test_without_a_model_nothing_changes():
    prior = {"c001": 0.25}
    assert add_panel(TASKS.values(), [], prior, by_people(), 0, 0.1).answerable == prior


def test_gold_questions_alone_measure_a_model():
    found = add_panel(TASKS.values(), judge("prompt-1", 0.1, 0), {}, {}, 0, 0.0)
    voter = found.voters[0]
    # At most 20 gold questions of a class count, with two right and two wrong ones before: (18 + 2) / 24 = 0.83.
    assert voter.sensitivity["pt-easy"] == pytest.approx(0.83, abs=0.05)


def test_the_audit_tells_the_error_and_a_useless_model():
    statuses = {key: "unanswerable" if value else "answerable" for key, value in TRUTH.items()}
    good = audit_panel(add_panel(TASKS.values(), judge("p", 0.1, 0), {}, by_people(), 0, 0.5), statuses)
    # The error of this model on all candidates.
    called = {TASKS[row.task_id].first.candidate_id: row.first == "invalid" for row in judge("p", 0.1, 0)}
    error = np.mean([called[key] != TRUTH[key] for key in TRUTH])
    assert good.low <= error <= good.high and not good.warning
    always = [msgspec.structs.replace(row, first="valid", second="valid") for row in judge("p", 0.1, 0)]
    useless = audit_panel(add_panel(TASKS.values(), always, {}, by_people(), 0, 0.5), statuses)
    assert useless.error > 0.3 and "useless" in useless.warning
    few = audit_panel(add_panel(TASKS.values(), judge("p", 0.1, 0), {}, by_people(), 0, 0.01), statuses)
    assert few.error is None and "not known" in few.warning


@pytest.mark.parametrize(
    ("wrong", "low", "high"), [(0, 0.0, 1 - 0.025 ** (1 / 40)), (40, 0.025 ** (1 / 40), 1.0)]
)
def test_the_interval_is_that_of_clopper_and_pearson(wrong, low, high):
    # Where none of n is wrong, the upper end p solves (1 - p)^n = 0.025.
    keys = sorted(TRUTH)[:40]
    priors = PanelPriors({}, dict.fromkeys(keys, 0.9), set(keys), ())
    statuses = dict.fromkeys(keys, "unanswerable" if wrong else "answerable")
    report = audit_panel(priors, statuses)
    assert (report.num_wrong, report.low, report.high) == (
        wrong,
        pytest.approx(low, abs=1e-4),
        pytest.approx(high, abs=1e-4),
    )


def collect(verdicts, panel, audit_rate=0.1):
    screened = {
        key: ScreenedCandidate(
            candidate=Candidate(
                candidate_id=key, subset="pt-easy", image_id=f"n{int(key[1:])}", question_id="q", text="Q?"
            ),
            verifier_result=VerifierResult(answerability="unknown"),
        )
        for key in TRUTH
    }

    def use(invalid, judged):
        assert isinstance(judged, pd.DataFrame)
        return add_panel(TASKS.values(), panel, {}, invalid, 0, audit_rate)

    answers = build_answers_table(TASKS, verdicts)
    return aggregate_verdicts(screened, answers, CollectParams(), add_panel=use if panel else None)


def people_votes(numbers, names=("x", "y", "z")):
    return [
        Verdict(
            verdict_id=f"{name}{number}",
            task_id=f"t{number:03}",
            annotator=name,
            first="invalid" if TRUTH[f"c{number:03}"] else "valid",
            second=TASKS[f"t{number:03}"].second.expected_choice,
            sequence_index=at,
        )
        for name in names
        for at, number in enumerate(numbers)
    ]


def test_no_candidate_becomes_a_uq_without_a_person():
    """Even four models that never err decide nothing alone: candidates that no person judged have no status."""
    panel = [row for number in range(4) for row in judge("p", 0.0, number, f"net{number}")]
    found = collect(people_votes(range(200)), panel)
    status = {row.candidate.candidate_id: row.status for row in found.verified}
    assert {status[f"c{number:03}"] for number in range(200, COUNT)} == {"no_votes"}
    assert {status[f"c{number:03}"] for number in range(0, 200, 2)} == {"unanswerable"}
    assert found.panel is not None and len(found.panel.voters) == 4


def test_colluding_models_that_lie_change_no_label_that_three_people_agree_on():
    liars = [row for number in range(4) for row in judge("p", 1.0, number, f"net{number}")]
    votes = people_votes(range(COUNT))
    with_liars, alone = collect(votes, liars), collect(votes, [])
    assert [row.status for row in with_liars.verified] == [row.status for row in alone.verified]
    assert "useless" in with_liars.panel.warning or with_liars.panel.num_wrong == 0
    assert alone.panel is None and alone.invalid_by_people == {}
