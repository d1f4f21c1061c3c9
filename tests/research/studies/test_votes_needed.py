from collections import Counter
from itertools import product

import pytest

from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import to_task_mapping
from pipeline.core.records import Candidate, ScreenedCandidate, Task, TaskQuestion, VerifierResult
from research.simulated_annotators.annotator_crowds import make_crowd
from research.simulated_annotators.annotators import SimulatedAnnotator
from research.studies.votes_needed import (
    ADAPTIVE_VOTES,
    FIXED_COUNTED_VOTES,
    FIXED_JUDGEMENTS,
    LAZY,
    MIN_POSTERIORS,
    average_over_crowds,
    choose_people,
    compute_errors,
    plot_curve,
    render_base_rates,
    render_table,
    sample_tasks,
    simulate_base_rates,
    simulate_strategies,
    simulate_votes,
)

COUNT = 300
UNANSWERABLE = {f"c{n}" for n in range(COUNT) if n % 10}


def task(number):
    subset = ("clip-hard", "pt-hard")[number % 2]
    asked = TaskQuestion(key="a", text=f"candidate {number}", role="candidate", candidate_id=f"c{number}")
    known = TaskQuestion(
        key="b",
        text=f"filter {number}",
        role="gold",
        expected_choice=("valid", "invalid")[number // 2 % 2],
        gold_source="own question",
    )
    return Task(task_id=f"t{number}", image_id=f"n{number // 10}", subset=subset, first=asked, second=known)


TASKS = {task.task_id: task for task in map(task, range(COUNT))}
SCREENED = [
    ScreenedCandidate(
        candidate=Candidate(
            candidate_id=f"c{n}",
            subset=TASKS[f"t{n}"].subset,
            image_id=f"n{n // 10}",
            question_id="q",
            text=f"candidate {n}",
        ),
        verifier_result=VerifierResult(answerability="unknown"),
    )
    for n in range(COUNT)
]
PRIOR = {f"c{n}": 0.1 for n in range(COUNT)}


def see(question, at):
    bad = (
        question.expected_choice == "invalid"
        if question.role == "gold"
        else question.candidate_id in UNANSWERABLE
    )
    return "missing object" if bad else ""


@pytest.fixture(scope="module")
def spent():
    return simulate_strategies(TASKS, SCREENED, PRIOR, see, [7])


def test_annotators_who_never_err_decide_with_one_vote():
    perfect = [SimulatedAnnotator(f"s{n}", miss_rate=0, false_alarm_rate=0, unsure_rate=0) for n in range(4)]
    rules = AssignmentRules(max_votes=3, min_posterior=0.9, overlap_rate=0, wave_size=10)
    study = AdaptiveAssigner([to_task_mapping(row) for row in TASKS.values()], PRIOR, rules)
    verdicts = simulate_votes(study, TASKS, perfect, see, 0)
    assert max(Counter((row.annotator, row.task_id) for row in verdicts).values()) == 1
    # Those of the first wave three times; of the others an unanswerable one once (9 * 0.9 / 0.05), an answerable one twice or
    # thrice, since 0.9 * 20 / 19 to 1 is in doubt.
    votes = Counter(row.task_id for row in verdicts)
    once = [key for key, count in votes.items() if count == 1]
    assert len(once) >= 0.8 * COUNT and {f"c{key[1:]}" for key in once} <= UNANSWERABLE
    assert [row.sequence_index for row in verdicts if row.annotator == "s0"] == list(
        range(study.get_progress("s0")[0])
    )


@pytest.mark.parametrize(
    ("released", "expected"),
    [
        ({"a", "c"}, (0, 0, 0)),
        ({"a", "b", "c", "d"}, (0.5, 0, 0.5)),
        (set(), (0, 1, 0.5)),
        ({"b", "e"}, (1, 1, 0.75)),  # of e nothing is known
    ],
)
def test_errors_are_of_what_is_released_and_of_what_is_lost(released, expected):
    truth = {"a": "missing object", "b": "", "c": "wrong relation", "d": "", "e": "unclear"}
    assert compute_errors(released, truth) == expected


def test_every_strategy_is_simulated_with_every_setting(spent):
    assert [(row.strategy, row.setting) for row in spent] == [
        *product([FIXED_JUDGEMENTS], (1, 2, 3)),
        *product([FIXED_COUNTED_VOTES], (1, 2, 3)),
        *product([ADAPTIVE_VOTES], MIN_POSTERIORS),
    ]
    assert all(row.votes == row.judgements for row in spent)  # no repeat among these tasks


def test_fixed_judgements_are_as_many_as_set_and_adaptive_voting_needs_fewer(spent):
    by = {(row.strategy, row.setting): row for row in spent}
    assert [by[FIXED_JUDGEMENTS, votes].judgements for votes in (1, 2, 3)] == [300, 600, 900]
    # One after the other beside three that count: fewer by far, and not much worse; 300 are too few to say more.
    assert by[ADAPTIVE_VOTES, 0.95].judgements < 0.85 * by[FIXED_COUNTED_VOTES, 3].judgements
    adaptive, fixed = by[ADAPTIVE_VOTES, 0.95], by[FIXED_COUNTED_VOTES, 3]
    assert adaptive.error_rate < fixed.error_rate + 0.04


def test_results_are_averaged_over_crowds_and_plotted(spent, tmp_path):
    table = average_over_crowds(spent, [7])
    assert len(table) == len(spent) and (table["min_error"] == table["error_rate"]).all()
    text = render_table(table)
    assert text.count("\n") == 1 + len(spent) and f"| {FIXED_JUDGEMENTS} | 3 | 900 |" in text
    plot_curve(table).save(str(tmp_path / "votes.svg"))
    assert (tmp_path / "votes.svg").stat().st_size > 1000


def test_reported_crowds_do_not_include_the_tuning_crowd():
    from research.studies.votes_needed import REPORTED_CROWDS, TUNING_CROWD

    assert (
        TUNING_CROWD not in REPORTED_CROWDS
        and len({make_crowd(seed)[0].miss_rate for seed in (TUNING_CROWD, *REPORTED_CROWDS)}) == 4
    )


@pytest.mark.parametrize(
    ("answerable", "num_people", "max_lost"),
    # Of 3 votes on a UQ, one is "valid" in a fifth of the cases (3 * 0.93^2 * 0.07 = 0.18). Where 60 % are answerable, the other
    # two often do not suffice, and the adjudicator has to decide. Of 5 votes, two are "valid" in 0.04 of the cases.
    [(0.05, 3, 0.05), (0.6, 3, 0.15), (0.6, 5, 0.1)],
)
def test_base_rates_are_learned_and_few_uqs_are_lost(answerable, num_people, max_lost):
    screened = {row.candidate.candidate_id: row for row in SCREENED}
    found = simulate_base_rates(TASKS, screened, answerable, make_crowd(5)[:num_people], 5)
    assert max(found.assigner_error, found.collect_error) < 0.05 < found.stated_error
    assert abs(found.later_forecast / found.judgements - 1) < 0.25
    # Of about 115 to 280 UQs at most two are wrong; more crowds would tell 0.5 from 1 %.
    assert found.miss_rate <= max_lost and found.false_discovery_rate < 0.02
    assert found.adjudicated_miss_rate <= min(0.05, found.miss_rate)
    text = render_base_rates([found])
    assert text.count("\n") == 2 and f"| {answerable:.0%} | {num_people} | 300 |" in text


def test_sampled_tasks_are_those_of_whole_images():
    chosen = sample_tasks(TASKS, 1, 45)
    # Each image has ten tasks.
    assert len(chosen) == 50 and set(Counter(row.image_id for row in chosen.values()).values()) == {10}
    assert chosen.keys() != sample_tasks(TASKS, 2, 45).keys()


def test_one_annotator_can_be_lazy():
    crowd = make_crowd(1)
    assert choose_people(crowd, 3, is_one_lazy=False) == list(crowd[:3])
    assert choose_people(crowd, 3, is_one_lazy=True) == [*crowd[:2], LAZY]
