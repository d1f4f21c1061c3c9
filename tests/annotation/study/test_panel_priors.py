"""A panel of models changes how many people are asked, and never decides."""

import msgspec
import numpy as np
import pandas as pd
import pytest

from annotation.study.answers_table import build_answers_table
from annotation.study.assignment import AssignmentRules, is_overlap_task
from annotation.study.panel_priors import (
    PanelPriors,
    add_panel,
    audit_panel,
    decide_by_panel,
    find_called_valid,
    is_panel_audit_task,
)
from annotation.study.panel_verdicts import PanelVerdict
from annotation.study.quality_html import render_page
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


def test_drafted_questions_are_neither_decided_nor_audited():
    """People must confirm them, and a panel that only tells them from edited questions would seem to be of use."""
    keys = [f"c{number:03}" for number in range(80)]
    is_drafted = {key: number % 2 == 0 for number, key in enumerate(keys)}
    # The panel calls all drafted questions valid and all others invalid. Half of both are so.
    priors = PanelPriors(
        {},
        {key: 0.999 if is_drafted[key] else 0.001 for key in keys},
        set(keys),
        (),
        {key: 9.0 if is_drafted[key] else -9.0 for key in keys},
        {key: "drafted-aq" if is_drafted[key] else "pt-easy" for key in keys},
    )
    statuses = {key: "answerable" if number % 4 < 2 else "unanswerable" for number, key in enumerate(keys)}
    report = audit_panel(priors, statuses)
    assert report.num_audited == 40 and report.num_wrong == 20 and not report.is_used
    decided = decide_by_panel(priors._replace(audited=set()), 0.9)
    assert decided == {key: "unanswerable" for key in keys if not is_drafted[key]}


def collect(verdicts, panel, audit_rate=0.1, **params):
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
    return aggregate_verdicts(screened, answers, CollectParams(**params), add_panel=use if panel else None)


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


def test_the_audit_sample_is_a_part_of_the_overlap():
    """So the audit costs no votes: people vote several times on overlap tasks in any case."""
    rules = AssignmentRules(seed=7, overlap_rate=0.2)
    audited = {key for key in TASKS if is_panel_audit_task(key, 7, 0.1)}
    overlap = {key for key in TASKS if is_overlap_task(key, rules)}
    assert audited < overlap
    assert len(audited) > 20


def test_without_people_models_decide_only_if_the_parameters_say_so():
    panel = [row for number in range(3) for row in judge("p", 0.1, number, f"net{number}")]
    audited = add_panel(TASKS.values(), panel, {}, {}, 0, 0.1).audited
    decided = collect([], panel, min_people=0)
    by_panel = {row.candidate.candidate_id: row for row in decided.verified if row.decided_by == "panel"}
    # Three models of 0.9 with correlation 0.3 agree on 73 % of the 360 candidates that are not audited.
    assert len(by_panel) > 200
    assert not audited & by_panel.keys()
    assert {(row.votes_invalid, row.votes_valid) for row in by_panel.values()} == {(0, 0)}
    right = [(row.status == "unanswerable") == TRUTH[key] for key, row in by_panel.items()]
    assert np.mean(right) > 0.98
    others = [row for row in decided.verified if row.decided_by != "panel"]
    assert {(row.status, row.decided_by) for row in others} == {("no_votes", "votes")}
    assert {row.status for row in collect([], panel).verified} == {"no_votes"}
    assert decided.quality.by_panel == {
        status: sum(row.status == status for row in by_panel.values())
        for status in ("answerable", "unanswerable")
    }
    assert decided.quality.settings["min_people"] == 0


def test_where_people_voted_models_do_not_decide():
    panel = [row for number in range(3) for row in judge("p", 0.1, number, f"net{number}")]
    judged = collect(people_votes(range(100), names=("x",)), panel, min_people=0)
    decided_by = {row.candidate.candidate_id: row.decided_by for row in judged.verified}
    assert {decided_by[f"c{number:03}"] for number in range(100)} == {"votes"}
    assert "panel" in {decided_by[f"c{number:03}"] for number in range(100, COUNT)}


def test_a_panel_that_its_audit_finds_useless_changes_nothing():
    """The models know the gold questions, and toss the same coin for everything else."""
    coin = np.random.default_rng(5).random(COUNT) < 0.5
    panel = [
        PanelVerdict(
            task_id=key,
            model=f"net{number}",
            prompt="p",
            first="invalid" if coin[place] else "valid",
            second=task.second.expected_choice,
        )
        for place, (key, task) in enumerate(TASKS.items())
        for number in range(4)
    ]
    votes = people_votes(range(0, COUNT, 2), names=("x",)) + people_votes(range(COUNT), names=("y", "z"))
    with_panel, alone = collect(votes, panel, audit_rate=0.3, min_people=0), collect(votes, [])
    assert not with_panel.panel.is_used
    assert "useless" in with_panel.panel.warning
    assert with_panel.panel.warning in with_panel.quality.warnings
    assert [msgspec.structs.replace(row) for row in with_panel.verified] == [*alone.verified]
    assert with_panel.posteriors == alone.posteriors


def test_without_a_panel_the_quality_report_has_nothing_about_it():
    report = msgspec.to_builtins(collect(people_votes(range(60)), []).quality)
    assert not {"panel", "by_panel"} & report.keys()
    assert "min_people" not in report["settings"]


def made_priors(answerable, evidence, audited=()):
    keys = [f"c{number}" for number in range(len(answerable))]
    return PanelPriors(
        {},
        dict(zip(keys, answerable, strict=True)),
        {f"c{number}" for number in audited},
        (),
        dict(zip(keys, evidence, strict=True)),
        dict.fromkeys(keys, "pt-easy"),
    )


@pytest.mark.parametrize(
    ("answerable", "evidence", "status"),
    [
        (0.04, -2.0, {"c0": "unanswerable"}),
        (0.06, -2.0, {}),
        # The estimate alone does not decide against the verdicts of the models.
        (0.04, 0.5, {}),
        (0.04, 0.0, {}),
        (0.91, 2.0, {"c0": "answerable"}),
        (0.89, 2.0, {}),
        (0.91, -0.5, {}),
        (0.91, 0.0, {}),
    ],
)
def test_a_panel_decides_what_is_probable_enough_and_what_its_verdicts_support(answerable, evidence, status):
    assert decide_by_panel(made_priors([answerable], [evidence]), 0.95) == status
    assert decide_by_panel(made_priors([answerable], [evidence], audited=[0]), 0.95) == {}


def test_the_base_rate_by_people_shifts_what_a_panel_decides():
    """If people find half of the judged candidates answerable, where 0.2 were expected, all log odds grow by log(4) = 1.39."""
    priors = made_priors([0.2, 0.2, 0.03], [-1.0, -1.0, -3.0])
    assert decide_by_panel(priors, 0.95) == {"c2": "unanswerable"}
    # 0.03 becomes 1 / (1 + exp(-(log(0.03 / 0.97) + 1.386))) = 0.11.
    assert decide_by_panel(priors, 0.95, {"pt-easy": 0.5}, ["c0", "c1"]) == {}
    assert decide_by_panel(priors, 0.88, {"pt-easy": 0.5}, ["c0", "c1"]) == {"c2": "unanswerable"}
    # A subset of which nobody has judged anything stays.
    assert decide_by_panel(priors, 0.95, {"pt-hard": 0.5}, []) == {"c2": "unanswerable"}


def test_a_panel_calls_valid_what_its_verdicts_support_clearly():
    priors = made_priors([0.5] * 4, [0.99, 1.0, 3.0, 3.0], audited=[3])
    assert find_called_valid(priors) == ["c1", "c2"]


@pytest.mark.parametrize(("right", "is_used"), [(40, True), (22, False)])
def test_the_audit_compares_verdicts_and_people_by_fishers_test(right, is_used):
    """Of 40 audited candidates, half of them answerable, the panel is right on so many; 22 of 40 are chance."""
    # 40: p = 1 / C(40, 20). 22: 11 right of each kind, p = 0.38 by scipy.stats.fisher_exact([[11, 9], [9, 11]], "greater").
    keys = [f"c{number}" for number in range(40)]
    statuses = {key: ("answerable", "unanswerable")[at % 2] for at, key in enumerate(keys)}
    evidence = {
        key: (1.0 if (statuses[key] == "answerable") == (at < right) else -1.0) for at, key in enumerate(keys)
    }
    by_panel = {key: 0.9 if value > 0 else 0.1 for key, value in evidence.items()}
    report = audit_panel(PanelPriors({}, by_panel, set(keys), (), evidence), statuses)
    assert report.is_used == is_used
    assert bool(report.warning) != is_used
    assert report.num_wrong == 40 - right


def test_an_audit_that_is_too_small_does_not_rule_out_a_panel():
    keys = [f"c{number}" for number in range(29)]
    report = audit_panel(
        PanelPriors({}, dict.fromkeys(keys, 0.9), set(keys), (), dict.fromkeys(keys, 1.0)),
        dict.fromkeys(keys, "unanswerable"),
    )
    assert report.is_used
    assert report.error is None
    assert "not known" in report.warning


def test_the_page_states_the_error_of_the_panel_its_interval_and_its_warning():
    panel = judge("prompt-1", 0.1, 0, model="<b>net</b>")
    found = collect(people_votes(range(COUNT)), panel, audit_rate=0.3)
    page = render_page(found.quality)
    report = found.panel
    assert (
        f"The panel differs from people on {report.num_wrong} of {report.num_audited} audited candidates"
        in page
    )
    assert f"{report.low:.1%} to {report.high:.1%} (95 % Clopper-Pearson interval)" in page
    assert "changed only how many people were asked" in page
    assert "&lt;b&gt;net&lt;/b&gt;" in page and "<b>net" not in page
    few = render_page(collect(people_votes(range(20)), panel).quality)
    assert "not known: people decided" in few
    assert "Warning.</strong> how often the panel errs is not known" in few
    decided = render_page(collect([], panel + judge("p", 0.05, 1, model="other"), min_people=0).quality)
    assert "models alone called" in decided and "collect.min_people" in decided
    assert "Panel of models" not in render_page(collect(people_votes(range(20)), []).quality)
