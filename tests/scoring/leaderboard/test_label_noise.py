"""Intervals and ranks that include the errors of the labels."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.leaderboard.label_noise import (
    LabelNoise,
    add_label_noise,
    draw_errors,
    read_label_noise,
    score_sweep,
)
from pipeline.scoring.leaderboard.leaderboard import LeaderboardParams, build_leaderboard
from pipeline.scoring.leaderboard.report import make_notes, make_score_table, render_markdown
from pipeline.scoring.leaderboard.row_scores import MEAN, score_rows
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.realistic_vqa import auroc
from pipeline.scoring.subgroups import REPORTED_SCORES
from pipeline.scoring.threshold_sweep import ThresholdSweep

OPTIONS = ScoringOptions(bootstrap=50, seed=3, missing="wrong")
# By falling confidence: an AQ with a right answer, a UQ, an AQ with a wrong answer, a UQ.
SWEPT = ThresholdSweep(np.array([0, 1, 1, 1, 1]), np.array([0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 2]))


def sure(benchmark, *wrong):
    """Labels that are known to be wrong or right."""
    ids = {key for items in benchmark.subsets.values() for key in items.ids}
    return LabelNoise("made up", {key: float(key in wrong) for key in sorted(ids)})


def replicates(scored):
    return {
        (one.row.name, scope, score): estimate.replicates
        for one in scored
        for scope, estimates in one.scores.items()
        for score, estimate in estimates.items()
    }


def assert_same(found, expected):
    assert found.keys() == expected.keys() and found
    for key, values in found.items():
        np.testing.assert_allclose(values, expected[key], atol=1e-12, err_msg=str(key))


def test_right_labels_change_nothing(benchmark, row):
    rows = [row("a", 1.0, (0, 1)), row("b", 0.5, subsets=["pt-hard"]), row("c", kind="reference")]
    scored = score_rows(benchmark, rows, OPTIONS)
    assert_same(replicates(add_label_noise(scored, benchmark, OPTIONS, sure(benchmark))), replicates(scored))
    none = LabelNoise("made up", uq_error=(0.0, 0.0, 0.0))
    assert_same(replicates(add_label_noise(scored, benchmark, OPTIONS, none)), replicates(scored))


def test_an_aq_that_is_surely_wrong_counts_as_a_uq_in_every_subset(benchmark, row):
    rows = [row("a", 1.0, (0, 1)), row("b", 0.3)]
    relabelled = benchmark._replace(
        subsets={
            name: Items.from_rows([one._replace(answers={}) if one.id == "3" else one for one in items])
            for name, items in benchmark.subsets.items()
        }
    )
    expected = replicates(score_rows(relabelled, rows, OPTIONS))
    scored = score_rows(benchmark, rows, OPTIONS)
    found = add_label_noise(scored, benchmark, OPTIONS, sure(benchmark, "3"))
    assert_same(replicates(found), expected)
    # The scores stay those of the given labels, with each seed.
    for before, after in zip(scored, found, strict=True):
        assert after.kind_scores == before.kind_scores
        for score in REPORTED_SCORES:
            values = (one.scores[MEAN][score].seed_values.tolist() for one in (before, after))
            assert next(values) == next(values)


def one_image(*rows):
    """A benchmark of one image, so every replicate is the data; and predictions. Rows are (id, answers, confidence, answer)."""
    items = [BenchmarkItem(key, "n1", answers, split="test") for key, answers, _, _ in rows]
    made = Benchmark(
        "rgqa", "rgqa", "1.0.0", {}, {"pt-hard": Items.from_rows(items)}, frozenset(row[0] for row in rows)
    )
    index = {key: number for number, (key, *_) in enumerate(rows)}
    said = Predictions("m", "", index, [row[3] for row in rows], np.array([row[2] for row in rows]))
    return made, LeaderboardRow("m", "model", ({"pt-hard": said},), "")


def test_a_uq_that_is_surely_wrong_counts_as_an_aq_answered_as_well_as_the_others():
    red = {"red": 1.0}
    made, row = one_image(
        ("aq1", red, 0.9, "red"), ("uq1", {}, 0.8, "red"), ("aq2", red, 0.7, "blue"), ("uq2", {}, 0.1, "red")
    )
    scored = add_label_noise(score_rows(made, [row], OPTIONS), made, OPTIONS, sure(made, "uq1"))
    (found,) = scored
    # AQs in the order of confidence: right, half right, wrong. ACC is 1/3, 1/2, 1/2 before the only UQ is accepted.
    expected = {"auaf": 1 / 2, "ff95": 0.0, "facc": 1 / 2, "auroc": 1.0}
    for score, value in expected.items():
        assert set(found.scores["pt-hard"][score].replicates.round(12)) == {round(value, 12)}


def test_scores_are_corrected_for_uqs_that_have_an_answer():
    # FPR is 0, 0, .5, .5, 1; TPR 0, .5, .5, 1, 1; ACC 0, .5, .5, .5, .5. Over FPR: AUAF .5, AUROC .5 x .5 + .5 x 1 = .75.
    # Over TPR: AUAF .5 x .25 + .5 x .5 = .375, AUROC .5.
    # With r = .2: AUAF (.5 - .2 x .375) / .8, AUROC (.75 - .2 x .5) / .8. ACC reaches 95 % of .5 at FPR 0, so FF95 stays 0.
    assert score_sweep(SWEPT, 1.0) == score_sweep(SWEPT, 0.99)  # no division by zero
    found = score_sweep(SWEPT, 0.2)
    assert found == pytest.approx({"auaf": 0.53125, "ff95": 0.0, "facc": 0.5, "auroc": 0.8125})
    # A UQ, an AQ with a right answer, a UQ: FF95 is at FPR .5 and TPR .95, so (.5 - .1 x .95) / .9.
    late = ThresholdSweep(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]))
    assert score_sweep(late, 0.1)["ff95"] == pytest.approx(0.45)


def test_the_correction_finds_the_scores_of_the_true_labels():
    # 20,000 UQs, of which 10 % are AQs that are as hard as the others.
    rng = np.random.default_rng(0)
    count = 20_000
    aqs, uqs, hidden = rng.normal(1.2, 1, count), rng.normal(0, 1, 18_000), rng.normal(1.2, 1, 2_000)

    def sweep(negatives):
        confidence = np.concatenate([aqs, negatives])
        order = np.argsort(-confidence)
        is_aq = (np.arange(len(confidence)) < count)[order]
        right = is_aq & (order % 3 > 0)
        return ThresholdSweep(*(np.append(0, np.cumsum(column)) for column in (right, is_aq, ~is_aq)))

    true, given = score_sweep(sweep(uqs)), score_sweep(sweep(np.concatenate([uqs, hidden])))
    corrected = score_sweep(sweep(np.concatenate([uqs, hidden])), 0.1)
    for score in ("auaf", "ff95", "auroc"):
        assert corrected[score] == pytest.approx(true[score], abs=0.006)
        assert abs(given[score] - true[score]) > 0.01


def test_probabilities_that_know_the_model_find_the_score_of_the_true_labels():
    # 10 % of the answerable questions are labelled UQ. The log odds of a confidence s of an AQ (mean 1.2) against a UQ (mean 0) are
    # 1.2 s - .72, and those of the other evidence e (mean 2.5) are 2.5 e - 3.125.
    rng = np.random.default_rng(5)
    count = 6000
    answerable = rng.random(count) < 0.5
    given = answerable & (rng.random(count) >= 0.1)
    confidence = rng.normal(size=count) + 1.2 * answerable
    evidence = rng.normal(size=count) + 2.5 * answerable
    ids = [str(number) for number in range(count)]
    rows = [
        BenchmarkItem(key, f"n{key}", {"red": 1.0} if is_aq else {}, split="test")
        for key, is_aq in zip(ids, given, strict=True)
    ]
    made = Benchmark("rgqa", "b", "1.0.0", {}, {"pt-hard": Items.from_rows(rows)}, frozenset(ids))
    index = {key: number for number, key in enumerate(ids)}
    said = Predictions("m", "", index, ["red"] * count, confidence)
    row = LeaderboardRow("m", "model", ({"pt-hard": said},), "")
    options = ScoringOptions(bootstrap=20, seed=0, missing="wrong")
    scored = score_rows(made, [row], options)

    def estimate(log_odds):
        odds = 0.1 * np.exp(log_odds)
        wrong = np.where(given, 0.0, odds / (1 + odds))
        noise = LabelNoise("", dict(zip(ids, wrong.tolist(), strict=True)))
        (found,) = add_label_noise(scored, made, options, noise)
        return found.scores["pt-hard"]["auroc"].replicates.mean()

    true = auroc(confidence, answerable)
    assert true - scored[0].scores["pt-hard"]["auroc"].value > 0.02
    both = 1.2 * confidence - 0.72 + 2.5 * evidence - 3.125
    assert estimate(both) == pytest.approx(true, abs=0.01)
    assert estimate(2.5 * evidence - 3.125) < true - 0.01


def test_the_rate_is_drawn_between_the_known_quantiles():
    noise = LabelNoise("", uq_error=(0.0, 0.01, 0.05))
    rates = np.array([draw_errors(noise, np.zeros(3), number, 0)[1] for number in range(2000)])
    assert rates.min() >= 0 and rates.max() == 0.05
    # Half of the draws are below the median, and 2.5 % at the upper end. The standard error of .5 is .011.
    assert (rates < 0.01).mean() == pytest.approx(0.5, abs=0.04)
    assert (rates == 0.05).mean() == pytest.approx(0.025, abs=0.012)


def test_labels_are_turned_over_with_their_probability_and_independently_of_the_images():
    noise = LabelNoise("", {"a": 0.2, "b": 0.7})
    flips = np.array([draw_errors(noise, np.array([0.2, 0.7]), number, 0)[0] for number in range(4000)])
    assert flips.mean(axis=0) == pytest.approx([0.2, 0.7], abs=0.03)
    assert np.corrcoef(flips.T)[0, 1] == pytest.approx(0, abs=0.06)


@pytest.fixture
def board(benchmark, row, tmp_path):
    def make(noise):
        rows = [row("good", 1.8), row("bad", 0.2, (1,)), row("other", 0.9, (2,))]
        return build_leaderboard(
            tmp_path, benchmark, rows, LeaderboardParams(num_replicates=200), "auroc", noise
        )

    return make


def test_differences_that_do_not_survive_are_named(benchmark, board):
    ids = sorted(sure(benchmark).probabilities)
    noisy = board(LabelNoise("half are wrong", dict.fromkeys(ids, 0.5), models=("good-seed0", "somebody")))
    # With coin flips as labels nothing is better than anything else.
    assert all(rank == (1, 3) for rank in noisy.comparisons[MEAN].rank_intervals.values())
    assert noisy.given_label_comparisons[MEAN].rank_intervals["good"] == (1, 1)
    notes = "\n".join(make_notes(noisy))
    assert "include errors of the labels: half are wrong" in notes
    assert "On the mean over subsets, 0 of 3 significant differences survive" in notes
    assert "good over bad" in notes
    # `good` is among the models of the file, with a seed in its name.
    assert "bad, other: rgqa doubt used no answers of a model of this name" in notes
    head, first, *_ = make_score_table(noisy, MEAN)
    assert head[:3] == ["rank", "rank by given labels", "letter display"]
    assert first[:4] == ["1-3", "1", "a", "good"]
    text = render_markdown(noisy)
    assert "| 1-3 | 1 | a | good |" in text and "| --- | --- | --- | --- | --: |" in text


def test_a_few_errors_leave_clear_ranks(benchmark, board):
    clean, few = board(None), board(sure(benchmark, "3"))
    assert few.comparisons[MEAN].rank_intervals == clean.comparisons[MEAN].rank_intervals
    assert "3 of 3 significant differences survive the errors of the labels." in "\n".join(make_notes(few))
    assert make_score_table(clean, MEAN)[0][:2] == ["rank", "letter display"]
    assert not clean.given_label_comparisons


def doubt_file(folder, benchmark, rows=None, name="b 1.0.0"):
    path = folder / "doubt.json"
    rows = {"3": 0.25, **dict.fromkeys(benchmark.ids - {"3"}, 0.0)} if rows is None else rows
    items = [{"item_id": key, "probability": value, "reasons": []} for key, value in rows.items()]
    write_json(path, {"name": name, "models": ["m"], "items": items, "total": {}})
    return path


def test_the_file_of_rgqa_doubt_is_read(benchmark, tmp_path):
    noise = read_label_noise(
        str(doubt_file(tmp_path, benchmark, name=benchmark.full_name)), tmp_path, benchmark
    )
    assert noise.probabilities["3"] == 0.25 and noise.probabilities.keys() == benchmark.ids
    assert "about 0.2 of the 120 items" in noise.description and noise.models == ("m",)
    table = tmp_path / "doubt.csv"
    table.write_text("item_id,probability,label\n" + "".join(f"{key},0.5,AQ\n" for key in benchmark.ids))
    assert set(read_label_noise(str(table), tmp_path, benchmark).probabilities.values()) == {0.5}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"3": 0.5}, "119 of 120 scored items are not in it"),
        ({"3": 1.5}, "3: the probability is 1.5; expected 0 to 1"),
        ({"3": -0.1}, "3: the probability is -0.1; expected 0 to 1"),
    ],
)
def test_faulty_files_are_one_message(benchmark, tmp_path, rows, message):
    path = doubt_file(tmp_path, benchmark, rows, benchmark.full_name)
    with pytest.raises(UserError) as caught:
        read_label_noise(str(path), tmp_path, benchmark)
    assert message in "\n".join(caught.value.problems)


def test_a_file_of_another_release_or_kind_is_refused(benchmark, tmp_path):
    with pytest.raises(UserError, match=r"made for other 1.0.0, but the models are compared on"):
        read_label_noise(str(doubt_file(tmp_path, benchmark, name="other 1.0.0")), tmp_path, benchmark)
    with pytest.raises(UserError, match="expected audit, or a .csv or .json file"):
        read_label_noise("adit", tmp_path, benchmark)
    with pytest.raises(UserError, match="no such file"):
        read_label_noise(str(tmp_path / "nowhere.json"), tmp_path, benchmark)
    table = tmp_path / "doubt.csv"
    table.write_text("item_id,probability\n3,0.1\n3,0.1\n")
    with pytest.raises(UserError, match="occurs more than once"):
        read_label_noise(str(table), tmp_path, benchmark)
    table.write_text("item_id,probability\n3,much\n")
    with pytest.raises(UserError, match="is not a number"):
        read_label_noise(str(table), tmp_path, benchmark)
    table.write_text("id,p\n3,0.1\n")
    with pytest.raises(UserError, match="expected the columns item_id and probability"):
        read_label_noise(str(table), tmp_path, benchmark)


def test_the_audit_sample_of_a_release_is_read(benchmark, tmp_path):
    error = {
        "value": 0.02,
        "low": 0.005,
        "high": 0.06,
        "num_audited": 201,
        "num_wrong": 4,
        "unknown_because": "",
    }
    write_json(tmp_path / "study.json", {"doubts": [], "label_error": error})
    noise = read_label_noise("audit", tmp_path, benchmark)
    assert noise.uq_error == (0.005, 0.02, 0.06) and not noise.probabilities
    assert "2.0 % (95 % interval 0.5 to 6.0 %)" in noise.description and "201 candidates" in noise.description
    unknown = {"value": None, "low": None, "high": None, "unknown_because": "no adjudicator has judged"}
    write_json(tmp_path / "study.json", {"doubts": [], "label_error": unknown})
    with pytest.raises(UserError, match="is not known: no adjudicator has judged"):
        read_label_noise("audit", tmp_path, benchmark)
    (tmp_path / "study.json").unlink()
    with pytest.raises(UserError, match="the release states none"):
        read_label_noise("audit", tmp_path, benchmark)
