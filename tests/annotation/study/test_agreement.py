"""Agreement of annotators, and the model of Dawid and Skene."""

from math import prod

import krippendorff
import numpy as np
import pandas as pd
import pytest

from annotation.study.agreement import (
    bootstrap_estimate,
    compute_agreement,
    compute_retest,
    compute_terms,
    gwet_ac1,
    krippendorff_alpha,
    observed_agreement,
)
from annotation.study.answers_table import build_answers_table, select_votes
from annotation.study.dawid_skene import MAX_PRIOR, VoteData, estimate_posteriors, fit_dawid_skene
from tests.annotation.study.conftest import U, V, X, repeating, task, verdict

# Agreement


def of(function, counts):
    """A figure of units whose values were given so often, [units, 2]."""
    return float(function(compute_terms(np.array(counts)).sum(axis=0)))


def test_alpha_matches_krippendorffs_example():
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section B: two observers, ten units, binary.
    # Coincidences: 00 -> 10, 01 and 10 -> 4, 11 -> 2; alpha = 1 - 19 * 4 / (14 * 6) = 0.095.
    first, second = (0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0)
    counts = [[(a, b).count(0), (a, b).count(1)] for a, b in zip(first, second, strict=True)]
    assert of(krippendorff_alpha, counts) == pytest.approx(1 - 19 * 4 / (14 * 6), abs=1e-12)


def test_alpha_matches_the_krippendorff_package():
    counts = np.random.default_rng(4).integers(0, 4, (60, 2))
    counts = counts[counts.sum(axis=1) > 0]
    library = krippendorff.alpha(value_counts=counts[counts.sum(axis=1) > 1], level_of_measurement="nominal")
    assert of(krippendorff_alpha, counts) == pytest.approx(library, abs=1e-12)


def test_ac1_matches_gwets_table():
    # Gwet (2008), table 1 with A = 118, B = 5, C = 2, D = 0 of 125: observed 118 / 125 = 0.944; marginals of + are
    # (123 + 120) / 250 = 0.972, chance 2 * 0.972 * 0.028 = 0.0544, AC1 = (0.944 - 0.0544) / (1 - 0.0544) = 0.941. Alpha is negative.
    counts = [[2, 0]] * 118 + [[1, 1]] * 7
    assert of(gwet_ac1, counts) == pytest.approx(
        (0.944 - 2 * 0.972 * 0.028) / (1 - 2 * 0.972 * 0.028), abs=1e-12
    )
    assert of(krippendorff_alpha, counts) < 0


def test_units_judged_once_only_affect_the_prevalence():
    # Pairs alike: 1 and 1/3 of the two units answers twice; of value 1: (0 + 2/3 + 1) / 3.
    counts = [[2, 0], [1, 2], [0, 1]]
    assert of(observed_agreement, counts) == pytest.approx((1 + 1 / 3) / 2)
    chance = 2 * (5 / 9) * (4 / 9)
    assert of(gwet_ac1, counts) == pytest.approx((2 / 3 - chance) / (1 - chance))


@pytest.mark.parametrize("counts", [[[2, 0], [3, 0]], [[2, 0], [0, 1]], [[1, 0], [0, 1]]])
def test_alpha_is_undefined_without_variation_or_pairs(counts):
    assert (
        bootstrap_estimate(compute_terms(np.array(counts)), np.arange(len(counts)), krippendorff_alpha).value
        is None
    )


def test_interval_has_nominal_coverage():
    # 200 draws of 60 images with 4 units each, alike with 0.8 at a time an image: the 95 % interval has the truth in it.
    rng, inside = np.random.default_rng(1), 0
    for _ in range(200):
        alike = (rng.random(60) < 0.8).repeat(4)
        counts = np.where(alike[:, None], [2, 0], [1, 1])
        found = bootstrap_estimate(compute_terms(counts), np.arange(60).repeat(4), observed_agreement)
        inside += found.low <= 0.8 <= found.high
    assert 180 <= inside <= 198


def test_agreement_is_computed_overall_and_by_subset():
    tasks = {
        t.task_id: t for t in (task("a"), task("b"), task("c", subset="pt-easy"), task("d", subset="pt-easy"))
    }
    given = {"ax": V, "ay": U, "bx": V, "by": X, "cx": X, "cz": X, "dx": X}
    verdicts = [verdict(key[0], key[1], said, V) for key, said in given.items()]
    together, hard, easy = compute_agreement(select_votes(build_answers_table(tasks, verdicts)))
    assert (together.subset, together.candidates, together.verdicts) == (None, 3, 6)
    assert together.observed.value == pytest.approx(2 / 3)
    # Units (2, 0), (1, 1), (0, 2) of valid, invalid: 1 - (2 / 6) / (2 * 3 * 3 / 30) = 4/9.
    assert together.krippendorff_alpha.value == pytest.approx(4 / 9)
    assert (hard.subset, hard.candidates, hard.observed.value) == ("clip-hard", 2, 0.5)
    assert (easy.subset, easy.candidates, easy.observed.value, easy.krippendorff_alpha.value) == (
        "pt-easy",
        1,
        1.0,
        None,
    )


def test_agreement_without_pairs_is_undefined():
    rows = select_votes(build_answers_table({"a": task("a")}, [verdict("a", "x", V, V)]))
    for some in (rows, rows[:0]):
        together = compute_agreement(some)[0]
        assert (together.krippendorff_alpha.value, together.observed.value, together.candidates) == (
            None,
            None,
            0,
        )


def test_retest_uses_candidates_judged_twice_by_one_annotator():
    tasks = {
        "a": task("a"),
        "b": task("b"),
        "c": repeating("c", "a"),
        "d": repeating("d", "b"),
        "e": repeating("e", "z"),
    }
    said = [
        ("a", "x", X, V),
        ("b", "x", V, V),
        ("c", "x", V, X),
        ("d", "x", V, X),
        ("a", "y", X, V),
        ("e", "y", V, V),
    ]
    answers = build_answers_table(tasks, [verdict(*row) for row in said])
    found = compute_retest(select_votes(answers))
    assert (found.num_repeated, found.agreement_rate.value) == (2, 0.5)  # a the same, b not
    assert compute_retest(select_votes(answers)[:0]).agreement_rate.value is None
    assert isinstance(answers, pd.DataFrame)


# Dawid Skene


PLAIN = {"shrinkage": 0.0, "smoothing": 0.0}


def plain(item, who, said, responses=2, **more):
    """Everybody has one table."""
    item, who, said = (np.array(values) for values in (item, who, said))
    return VoteData.from_arrays(item, who, said, np.arange(who.max() + 1), num_responses=responses, **more)


def test_one_iteration_by_hand():
    # Items 0, 1; annotators a, b, c. Item 0: 1, 1, 0. Item 1: 0, 0, 0.
    votes = plain([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0])
    posterior, tables, _ = fit_dawid_skene(votes, **PLAIN, max_iterations=1)
    # Start, P(class 1): item 0 2/3, item 1 0. Prior of 1: 1/3. Tables, by weights 2/3 on item 0, 0 on item 1 for
    # class 1 and 1/3, 1 for class 0: a and b say 1 of class 1 always, of class 0 in (1/3) / (4/3) = 1/4; c says 0 always.
    assert tables[:, 1, 1] == pytest.approx([1, 1, 0])
    assert tables[:, 0, 1] == pytest.approx([1 / 4, 1 / 4, 0])
    # Item 0: class 1 has 1/3 * 1 * 1 * 1, class 0 has 2/3 * 1/4 * 1/4 * 1 = 1/24: 8/9. Item 1: class 1 is ruled out.
    assert posterior == pytest.approx([8 / 9, 0])


# crowd-kit 1.4.2 (Toloka) in an environment of its own, on the votes of `sample_votes`: pip install crowd-kit==1.4.2;
# DawidSkene(n_iter=2000, tol=0).fit(DataFrame({"task": item, "worker": who, "label": said})), probas_[1] and errors_.
CROWD_KIT = [
    *(0.022113, 0.334986, 0.006554, 0.347068, 0.690631, 1.0, 0.06227, 0.086901, 0.139343, 1.0),
    *(1.0, 0.045798, 0.87349, 1.0, 1.0, 0.95109, 0.006554, 0.018248, 0.156646, 0.054343),
    *(1.0, 0.727802, 0.125067, 1.0, 1.0, 0.922125, 1.0, 0.234014, 0.737818, 1.0),
    *(0.086731, 0.719829, 1.0, 1.0, 0.045798, 1.0, 0.189302, 0.671454, 0.028745, 0.970897),
]
CROWD_KIT_SAYS_1 = [  # worker -> where 0 is true, where 1 is
    (0.171730, 0.829752),
    (0.319277, 0.547748),
    (0.533749, 0.763327),
    (0.310804, 0.697353),
    (0.000000, 0.827202),
]


def sample_votes():
    """Votes of five on about 70 % of 40 items each."""
    rng = np.random.default_rng(7)
    truth = rng.random(40) < 0.6
    error = np.array([0.15, 0.2, 0.25, 0.3, 0.35])
    item, who = np.nonzero(rng.random((40, 5)) < 0.8)
    return item, who, (truth[item] ^ (rng.random(len(item)) < error[who])).astype(int)


def test_original_method_matches_crowd_kit():
    posterior, tables, _ = fit_dawid_skene(plain(*sample_votes()), **PLAIN, max_iterations=5000)
    assert posterior == pytest.approx(CROWD_KIT, abs=2e-4)
    assert tables[:, :, 1] == pytest.approx(np.array(CROWD_KIT_SAYS_1), abs=2e-4)


def test_three_iterations_match_plain_loops():
    """Two people with tables 0, 1 and 2, 3; "unsure" is response 2; item 3 is known; items 0 and 1 are a group, with priors."""
    given = [
        (0, 0, 1),
        (0, 2, 1),
        (1, 1, 0),
        (1, 3, 2),
        (2, 0, 1),
        (2, 2, 0),
        (3, 1, 1),
        (3, 3, 1),
        (4, 0, 2),
    ]
    owner, prior, groups = (0, 0, 1, 1), {0: 0.9, 1: 0.3, 2: 0.5, 4: 0.5}, ((0, 1), (2, 4))
    shrink, smoothing = 2.0, 1.0
    belief = {}
    for i in range(5):
        mine = [r for j, _, r in given if j == i]
        belief[i] = (2 * mine.count(1) + mine.count(2)) / (2 * len(mine))
    belief[3] = 1.0
    odds = {i: p / (1 - p) for i, p in prior.items()}

    def shares(counts):
        return [count / sum(counts) for count in counts]

    def counts(tables, c):
        weight = {i: belief[i] if c else 1 - belief[i] for i in belief}
        return [sum(weight[i] for i, t, r in given if t in tables and r == said) for said in range(3)]

    for _ in range(3):
        table = {}
        for c in (0, 1):
            everybody = shares([n + smoothing for n in counts(range(4), c)])
            for t in range(4):
                whose = [other for other in range(4) if owner[other] == owner[t]]
                person = shares([n + shrink * e for n, e in zip(counts(whose, c), everybody, strict=True)])
                table[t, c] = shares([n + shrink * p for n, p in zip(counts([t], c), person, strict=True)])
        for group in groups:  # the factor moves the mean prior of the group to its mean belief
            wanted = (sum(belief[i] for i in group) + smoothing) / (2 + 2 * smoothing)
            had = sum(odds[i] / (1 + odds[i]) for i in group) / 2
            for i in group:
                odds[i] *= wanted / (1 - wanted) / (had / (1 - had))
        for i in prior:
            bayes = odds[i] * prod(table[t, 1][r] / table[t, 0][r] for j, t, r in given if j == i)
            belief[i] = bayes / (1 + bayes)
    item, tables, said = (np.array(values) for values in zip(*given, strict=True))
    votes = VoteData.from_arrays(
        item, tables, said, np.array(owner), np.array([0.9, 0.3, 0.5, 1, 0.5]), np.array([0, 0, 1, 2, 1])
    )
    posterior, _, _ = fit_dawid_skene(votes, shrinkage=2, smoothing=1, max_iterations=3)
    assert posterior == pytest.approx([belief[i] for i in range(5)], abs=1e-12)


def test_biased_priors_do_no_harm():
    _, truth, item, who, said = simulated(11)
    even = fit_dawid_skene(plain(item, who, said, 3)).posterior
    for answerable in (0.02, 0.98):
        votes = plain(item, who, said, 3, prior=np.full(len(truth), 1 - answerable))
        assert fit_dawid_skene(votes).posterior == pytest.approx(even, abs=1e-4)


def simulated(seed, items=3000):
    """Three votes of eight annotators on each item; share of class 1 is 0.6, and errors are known."""
    rng = np.random.default_rng(seed)
    table = np.zeros((8, 2, 3))
    table[:, 1, 0] = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.4)  # misses
    table[:, 0, 1] = (0.01, 0.02, 0.02, 0.05, 0.1, 0.1, 0.3, 0.4)  # false alarms
    table[:, 0, 2], table[:, 1, 2] = 0.1, 0.02  # unsure, more often of what is valid
    table[:, 0, 0], table[:, 1, 1] = 1 - table[:, 0].sum(axis=1), 1 - table[:, 1].sum(axis=1)
    truth = (rng.random(items) < 0.6).astype(int)
    item = np.repeat(np.arange(items), 3)
    who = np.concatenate([rng.permutation(8)[:3] for _ in range(items)])
    said = np.array([rng.choice(3, p=table[a, truth[i]]) for i, a in zip(item, who, strict=True)])
    return table, truth, item, who, said


def test_tables_are_recovered_and_truths_beat_majority():
    table, truth, item, who, said = simulated(11)
    posterior, tables, _ = fit_dawid_skene(plain(item, who, said, 3))
    # About 3000 * 3 / 8 = 1125 votes each, at least 400 of a class: three standard errors of a share near 0.3 are 0.07.
    assert np.abs(tables - table).max() < 0.09
    assert abs(posterior.mean() - truth.mean()) < 0.03
    counts = np.zeros((len(truth), 3))
    np.add.at(counts, (item, said), 1)
    right = ((posterior > 0.5) == truth).mean()
    assert right > ((counts[:, 1] > counts[:, 0]) == truth).mean() + 0.01
    # A probability means what it says: of those held at 0.95 and more, at least 95 % are right, give or take 1 %.
    sure = np.abs(posterior - 0.5) >= 0.45
    assert ((posterior > 0.5) == truth)[sure].mean() > 0.94


def test_known_items_correct_a_biased_crowd():
    # Three of four call everything valid; without items whose class is known they carry the day.
    rng = np.random.default_rng(3)
    truth = (rng.random(300) < 0.5).astype(int)
    item, who = np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300)
    said = np.where(who == 3, truth[item] ^ (rng.random(1200) < 0.1), rng.random(1200) < 0.02).astype(int)
    anchored = np.where(np.arange(300) < 60, truth, 0.5)
    posterior, _, _ = fit_dawid_skene(plain(item, who, said, prior=anchored))
    assert ((posterior > 0.5) == truth)[60:].mean() > 0.85
    assert posterior[:60].tolist() == truth[:60].tolist()


def test_tables_are_shrunk_towards_annotator_and_crowd():
    # Person 0 is right 95 times of 100 in table 0 and answers 2 of table 1 wrong; person 1 has a single answer.
    item = np.arange(103)
    tables = np.array([0] * 100 + [1] * 2 + [2])
    said = np.array([1] * 95 + [0] * 5 + [0] * 2 + [1])
    votes = VoteData.from_arrays(item, tables, said, np.array([0, 0, 1]), np.ones(103), num_responses=2)
    _, found, _ = fit_dawid_skene(votes)
    # Everybody: (96 + 1) / (103 + 2) = 0.924; person 0: (95 + 9.24) / (102 + 10) = 0.931; table 1: 9.31 / 12 = 0.776.
    # Table 0: (95 + 9.31) / 110 = 0.948. Person 1: (1 + 9.24) / 11 = 0.931, their table (1 + 9.31) / 11 = 0.937.
    assert found[:, 1, 1].round(3).tolist() == [0.948, 0.776, 0.937]


def test_few_votes_never_give_certainty():
    posterior, _, _ = fit_dawid_skene(plain([0, 0], [0, 1], [1, 1], 3))
    assert 0.5 < posterior[0] < 0.95


def test_no_votes_or_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="0 items"):
        VoteData.from_arrays(np.array([], int), np.array([], int), np.array([], int), np.arange(1))
    with pytest.raises(ValueError, match="1 item, 2 tables"):
        VoteData.from_arrays(np.array([0]), np.array([0, 1]), np.array([1, 1]), np.arange(2))


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


def test_candidates_and_tables_have_intervals():
    people = {"x": lambda n, truth: truth, "y": lambda n, truth: V if n % 10 == 1 else truth}
    tasks, verdicts = world(people)
    found, tables, again, _ = estimate_posteriors(build_answers_table(tasks, verdicts[::-1]), {})
    assert [row.candidate_id for row in found] == [f"c{n:03}" for n in range(40)]
    assert again.shape == (100, 40)
    assert again.dtype == np.int32  # rounded like `invalid`, so that the interval contains it
    low, high = np.quantile(again / 1e6, [0.025, 0.975], axis=0).round(6)
    assert [(row.low, row.high) for row in found] == list(zip(low, high, strict=True))
    assert all(row.low <= row.invalid <= row.high for row in found)
    assert [(row.subset, row.annotator, row.votes) for row in tables] == [
        ("clip-hard", "x", 26),
        ("clip-hard", "y", 26),
        ("pt-easy", "x", 14),
        ("pt-easy", "y", 14),
        (None, "x", 40),
        (None, "y", 40),
    ]
    assert found == estimate_posteriors(build_answers_table(tasks, verdicts), {})[0]


def test_prior_is_clipped_and_one_vote_can_decide():
    tasks, verdicts = world({"x": lambda n, truth: truth, "y": lambda n, truth: truth})
    answers = build_answers_table(
        tasks, [row for row in verdicts if row.task_id < "038" or row.annotator == "x"]
    )
    prior = {"c038": 0.97, "c039": 0.03} | {f"c{n:03}": 0.5 for n in range(38)}
    found = {row.candidate_id: row.invalid for row in estimate_posteriors(answers, prior)[0]}
    assert found["c038"] < 0.01 and found["c039"] > 0.99  # x says valid and invalid
    even = {row.candidate_id: row.invalid for row in estimate_posteriors(answers, prior | {"c038": 0.5})[0]}
    assert found["c038"] < even["c038"] < 0.05
    sure = {row.candidate_id: row.invalid for row in estimate_posteriors(answers, prior | {"c039": 1e-9})[0]}
    most = {
        row.candidate_id: row.invalid
        for row in estimate_posteriors(answers, prior | {"c039": 1 - MAX_PRIOR})[0]
    }
    assert sure["c039"] == pytest.approx(most["c039"], abs=1e-5)


def test_excluded_answers_and_discarded_gold_questions_are_ignored():
    tasks, verdicts = world({"x": lambda n, truth: truth, "y": lambda n, truth: truth})
    answers = build_answers_table(tasks, verdicts)
    candidates = answers["role"] == "candidate"
    answers.loc[answers["annotator"] == "y", "exclusion_reason"] = "annotator excluded"
    answers.loc[candidates & (answers["task_id"] == "000"), "exclusion_reason"] = "gold question failed"
    answers.loc[~candidates & (answers["task_id"] < "010"), "is_discarded"] = True
    found, tables, _, _ = estimate_posteriors(answers, {})
    assert [row.candidate_id for row in found] == [f"c{n:03}" for n in range(1, 40)]
    assert [(row.subset, row.annotator, row.votes) for row in tables] == [
        ("clip-hard", "x", 26),
        ("pt-easy", "x", 13),
        (None, "x", 30),
    ]


def test_repeat_is_a_vote_and_unsure_a_separate_response():
    tasks, verdicts = world({"x": lambda n, truth: truth, "y": lambda n, truth: truth if truth == X else U})
    tasks["r"] = repeating("r", "000")
    verdicts.append(verdict("r", "z", X, X, 0))
    found = {
        row.candidate_id: row.invalid
        for row in estimate_posteriors(build_answers_table(tasks, verdicts), {})[0]
    }
    before = {
        row.candidate_id: row.invalid
        for row in estimate_posteriors(build_answers_table(tasks, verdicts[:-1]), {})[0]
    }
    assert found["c000"] > before["c000"]
    assert found["c002"] < 0.5  # y's "unsure" is said of what is valid alone
