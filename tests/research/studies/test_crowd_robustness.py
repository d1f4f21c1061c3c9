"""Careless and hostile crowds on a small truth: 300 candidates in four subsets."""

import json
import sys

import msgspec
import numpy as np
import pytest

from annotation.study.answers_table import QualityRules, build_answers_table, select_votes
from annotation.study.posteriors import estimate_posteriors
from annotation.study.quality_control import assess_quality
from annotation.study.vote_aggregation import verify_candidates
from pipeline.core.errors import UserError
from pipeline.core.records import SUBSETS, Candidate, ScreenedCandidate, Task, TaskQuestion, VerifierResult
from research.simulated_annotators.annotators import SimulatedAnnotator
from research.simulated_annotators.hostile_crowds import CrowdMember, choose_answer, make_hostile_crowds
from research.studies.crowd_robustness import (
    AggregationErrors,
    CrowdData,
    CrowdResult,
    choose_crowds,
    compare_aggregations,
    render_results,
    simulate_fixed_votes,
    study_crowd,
)
from research.studies.votes_needed import compute_errors

COUNT = 300
# Other crowds than those of `TUNING_SEEDS`.
SEED = 5


def make_task(number):
    asked = TaskQuestion(key="a", text=f"candidate {number}", role="candidate", candidate_id=f"c{number}")
    gold = TaskQuestion(
        key="b",
        text=f"gold question {number}",
        role="gold",
        expected_choice=("valid", "invalid")[number // 4 % 2],
        gold_source="own question",
    )
    return Task(
        task_id=f"t{number}", image_id=f"n{number // 6}", subset=SUBSETS[number % 4], first=asked, second=gold
    )


TASKS = {task.task_id: task for task in map(make_task, range(COUNT))}
SCREENED = {
    f"c{n}": ScreenedCandidate(
        candidate=Candidate(
            candidate_id=f"c{n}",
            subset=SUBSETS[n % 4],
            image_id=f"n{n // 6}",
            question_id="q",
            text=f"candidate {n}",
        ),
        verifier_result=VerifierResult(answerability="unknown"),
    )
    for n in range(COUNT)
}


def make_data(step):
    """Every so many-th candidate is answerable."""
    truth = {f"c{n}": "" if n % step == 0 else "missing object" for n in range(COUNT)}
    return CrowdData(TASKS, SCREENED, dict.fromkeys(truth, 1 / step), truth)


# 60 answerable candidates, and 15.
DATA, MOSTLY_UNANSWERABLE = make_data(5), make_data(20)


def get_crowd(key, seed=SEED):
    (crowd,) = choose_crowds(seed, [key])
    return crowd


def find_errors(verdicts, find, data=DATA):
    """Return the proportions of wrong and of lost UQs for a function that returns the released candidates."""
    judged = assess_quality(build_answers_table(TASKS, verdicts), QualityRules()).answers
    wrong, lost, _ = compute_errors(find(judged, data), data.truth)
    return wrong, lost


def by_model(judged, data):
    estimated, judged = estimate_posteriors(judged, data.answerable)
    invalid = {row.candidate_id: row.invalid for row in estimated.posteriors}
    verified = verify_candidates(data.screened, judged, QualityRules(), invalid)
    return {row.candidate.candidate_id for row in verified if row.status == "unanswerable"}


def by_majority(judged, data):
    votes = select_votes(judged)
    rate = (votes["choice"] == "invalid").groupby(votes["candidate_id"], observed=True).mean()
    return set(rate.index[rate > 0.5])


def by_dawid_skene(judged, data):
    """The model of 1979, with the class prior and a confusion matrix of each annotator, learned from the votes alone."""
    votes = select_votes(judged)
    item, keys = votes["candidate_id"].astype(str).factorize()
    person, names = votes["annotator"].astype(str).factorize()
    said = (votes["choice"] == "invalid").to_numpy()
    invalid = np.bincount(item, said, len(keys)) / np.bincount(item)
    for _ in range(100):
        likelihood = []
        for weight in (invalid, 1 - invalid):
            total = np.bincount(person, weight[item], len(names)) + 0.02
            rate = (np.bincount(person, weight[item] * said, len(names)) + 0.01) / total
            logs = np.log(np.where(said, rate[person], 1 - rate[person]))
            likelihood.append(np.log(weight.mean() + 1e-12) + np.bincount(item, logs, len(keys)))
        invalid = 1 / (1 + np.exp(np.clip(likelihood[1] - likelihood[0], -50, 50)))
    return set(keys[invalid > 0.5])


@pytest.mark.parametrize(
    ("key", "num_votes", "data", "other"),
    [
        ("valid-minority", 8, DATA, by_majority),
        ("five-accounts", 10, DATA, by_majority),
        ("five-accounts", 10, DATA, by_dawid_skene),
        ("one-subset", 7, DATA, by_majority),
        ("one-subset", 7, DATA, by_dawid_skene),
        ("hard", 5, MOSTLY_UNANSWERABLE, by_majority),
    ],
)
def test_less_is_lost_than_by(key, num_votes, data, other):
    verdicts = simulate_fixed_votes(data, get_crowd(key), SEED, num_votes)
    wrong, lost = find_errors(verdicts, by_model, data)
    # At most 1 wrong UQ, and 12 of 240 (or 14 of 285) lost.
    assert wrong <= 0.005 and lost <= 0.05
    assert find_errors(verdicts, other, data)[1] > 0.05


def test_people_who_agree_do_not_outvote_the_majority():
    """Four toss the same coin where they do not know the question. Dawid and Skene's model takes them for the reliable ones."""
    verdicts = simulate_fixed_votes(DATA, get_crowd("shared-coin"), SEED, 8)
    assert max(find_errors(verdicts, by_dawid_skene)) > 0.2
    wrong, lost = find_errors(verdicts, by_model)
    assert wrong <= 0.005 and lost <= 0.05


@pytest.mark.parametrize(("key", "half"), [("fast-invalid", 0), ("half-time", 200)])
def test_votes_without_looking_are_named(key, half):
    """Everybody judges everything. The cheats are not trusted from the first task, or from the 201st, rounded to periods."""
    crowd = get_crowd(key)
    verdicts = simulate_fixed_votes(DATA, crowd, SEED, len(crowd.members))
    judged = assess_quality(build_answers_table(TASKS, verdicts), QualityRules()).answers
    estimated, _ = estimate_posteriors(judged, DATA.answerable)
    since = {}
    for row in estimated.rates:
        if row.trusted_before is not None:
            since[row.annotator] = min(row.trusted_before, since.get(row.annotator, COUNT))
    assert set(since) == {member.name for member in crowd.members if not member.is_honest}
    assert all(abs(start - half) <= 300 / 8 for start in since.values())
    wrong, lost = find_errors(verdicts, by_model)
    assert wrong <= 0.005 and lost <= 0.05


@pytest.fixture(scope="module")
def fast():
    return study_crowd(DATA, get_crowd("fast-invalid"), SEED)


def test_a_study_with_somebody_fast_who_knows_the_gold_questions(fast):
    assert fast.is_mostly_honest and fast.distrusted == ("cheat-1",) and fast.copies == ()
    # Of 240 UQs at most 12 are lost; of 60 answerable candidates at most 4 are released.
    assert fast.lost_rate <= 0.05 and fast.wrong_rate <= 4 / 240
    # Too few tasks are audited for a small interval.
    assert fast.label_error.num_audited > 30 and fast.label_error.num_wrong <= 4
    assert not any("label error is not known" in doubt for doubt in fast.doubts)


@pytest.mark.parametrize(
    ("key", "reason"), [("alone", "one person alone"), ("invalid-majority", "label error")]
)
def test_what_cannot_be_told_is_refused(key, reason):
    result = study_crowd(DATA, get_crowd(key), SEED)
    assert not result.is_mostly_honest
    assert any(reason in doubt for doubt in result.doubts_after_audit)


def test_crowds_are_data():
    crowds = make_hostile_crowds(1)
    assert len(crowds) == 16 == len({crowd.key for crowd in crowds})
    assert crowds == make_hostile_crowds(1) != make_hostile_crowds(2)
    assert {crowd.key for crowd in crowds if not crowd.is_mostly_honest} == {"invalid-majority", "alone"}
    assert [crowd.key for crowd in choose_crowds(1, ["hard", "alone"])] == ["hard", "alone"]
    with pytest.raises(UserError, match="--crowd: unknown: nobody"):
        choose_crowds(1, ["nobody", "hard"])


def ask(member, obstacle, question="c1", hard=(0.0, 0.0), is_gold=False, num_tasks=0, subset="pt-hard"):
    return choose_answer(
        member, hard, obstacle, question, 1, is_gold=is_gold, subset=subset, num_tasks=num_tasks
    )


def test_members_cheat_as_they_are_described():
    exact = CrowdMember(SimulatedAnnotator("a", 0.0, 0.0, 0.0))
    assert (ask(exact, ""), ask(exact, "missing object"), ask(exact, "unclear")) == (
        "valid",
        "invalid",
        "valid",
    )
    liar = exact._replace(cheats_with="invalid", cheats_after=10, cheats_in=("pt-hard",))
    assert ask(liar, "", num_tasks=9) == "valid" and ask(liar, "", num_tasks=10) == "invalid"
    assert (
        ask(liar, "", num_tasks=10, is_gold=True) == ask(liar, "", num_tasks=10, subset="pt-easy") == "valid"
    )
    names = [f"c{n}" for n in range(2000)]
    # Binomial with a standard deviation of 0.011 for a probability of 0.5.
    rates = {
        "hard": np.mean([ask(exact, "missing object", name, hard=(1.0, 0.0)) == "valid" for name in names]),
        "coin": np.mean([ask(exact._replace(cheats_with="random"), "", name) == "invalid" for name in names]),
        "misread": np.mean([ask(exact._replace(misread_rate=0.5), "x", name) == "valid" for name in names]),
        "misread answerable": np.mean(
            [ask(exact._replace(misread_answerable_rate=0.5), "", name) == "invalid" for name in names]
        ),
    }
    assert rates == pytest.approx(
        {"hard": 0.5, "coin": 0.5, "misread": 0.5 * 0.95, "misread answerable": 0.5 * 0.95}, abs=0.05
    )
    assert ask(exact._replace(misread_answerable_rate=1.0), "x") == "invalid"
    one, two, other = (
        [
            ask(CrowdMember(SimulatedAnnotator(name, 0.3, 0.0, 0.0), error_source=source), "x", key)
            for key in names
        ]
        for name, source in (("one", "same"), ("two", "same"), ("other", ""))
    )
    assert one == two != other


def test_the_page_of_results(fast):
    compared = msgspec.structs.replace(
        fast, comparison=(AggregationErrors(aggregation="majority", wrong_rate=0.01, lost_rate=0.25),)
    )
    table = render_results([compared])
    assert table.startswith("| crowd |") and "| 25.00% / 1.00% |" in table and "cheat-1" in table
    assert msgspec.convert(json.loads(msgspec.json.encode(compared)), CrowdResult) == compared


def test_a_comparison_needs_crowd_kit(monkeypatch):
    verdicts = simulate_fixed_votes(DATA, get_crowd("honest"), SEED, 3)
    monkeypatch.setitem(sys.modules, "crowdkit.aggregation", None)
    with pytest.raises(UserError, match="crowd-kit"):
        list(compare_aggregations(DATA, verdicts))


def test_comparison_with_crowd_kit():
    pytest.importorskip("crowdkit")
    verdicts = simulate_fixed_votes(DATA, get_crowd("valid-minority"), SEED, 3)[:300]
    names = [row.aggregation for row in compare_aggregations(DATA, verdicts)]
    assert names == ["majority", "DawidSkene", "GLAD", "MACE", "stage collect"]
