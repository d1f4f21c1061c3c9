"""Rows of the leaderboard and their scores."""

import json
import math

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.scoring.bootstrap import percentile_interval
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.leaderboard.row_scores import make_kind_masks, score_rows
from pipeline.scoring.leaderboard.rows import DETECTED_ABSTENTION_LABEL, load_all_rows, load_reference_rows
from pipeline.scoring.model_report import score_models

# Rows


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Of data set b in a project of its own; `write` writes into the project's root."""
    monkeypatch.chdir(tmp_path)
    return DatasetFolders("b")


def test_rows_come_from_users_files_from_built_in_nets_and_from_the_release(
    write, tmp_path, folders, benchmark
):
    for subset, items in benchmark.subsets.items():
        for name in ("constant", "clip_score"):
            write(f"reference_predictions/{subset}/{name}.json", ids=items.ids)
    write("data/b/predictions/m.json")
    for seed in (0, 1):
        write(f"data/b/interim/answer/msp-seed{seed}.json")
    for name in ("answer.json", "thresholds.json"):
        (folders.stage_dir("answer") / name).write_text("{}")
    rows = load_all_rows(folders, tmp_path, benchmark)
    assert [(row.name, row.kind, row.is_built_in, len(row.seeds)) for row in rows] == [
        ("m", "model", False, 1),
        ("msp", "model", True, 2),
        ("constant", "reference", False, 1),
        ("clip_score", "reference", False, 1),
    ]
    assert (
        rows[3].selection_biased_subsets == ("clip-easy", "clip-hard")
        and not rows[2].selection_biased_subsets
    )
    assert load_reference_rows(tmp_path, benchmark)[0].seeds[0].keys() == benchmark.subsets.keys()
    assert not math.isnan(rows[0].seeds[0]["pt-hard"].confidence.sum())


def test_rows_can_be_declared_references(write, tmp_path, folders, benchmark):
    for folder, name in (("predictions", "people.json"), ("interim/answer", "text_only_net-seed0.json")):
        path = write(f"data/b/{folder}/{name}")
        row = path.name.split(".")[0].removesuffix("-seed0")
        (path.parent / "rows.yaml").write_text(f"{row}: {{reference: true, confidence: c, note: n}}")
    rows = load_all_rows(folders, tmp_path, benchmark)
    assert [(row.name, row.kind, row.confidence, row.note) for row in rows] == [
        ("people", "reference", "c", "n"),
        ("text_only_net", "reference", "c", "n"),
    ]


def test_a_name_that_is_in_both_folders_is_refused_with_all_other_faults(write, tmp_path, folders, benchmark):
    write("data/b/predictions/msp.json")
    write("data/b/interim/answer/msp-seed0.json")
    with pytest.raises(UserError) as caught:
        load_all_rows(folders, tmp_path, benchmark)
    (told,) = caught.value.problems
    assert told == (
        "data/b/predictions: msp is also the name of a row in data/b/interim/answer. Rename the file"
    )
    write("data/b/predictions/constant.json")
    write("data/b/interim/answer/rp-seed0.json", more=["nobody"])
    with pytest.raises(UserError) as caught:
        load_all_rows(folders, tmp_path, benchmark)
    told = "\n".join(caught.value.problems)
    assert (
        "constant is the name of a reference" in told
        and "rp-seed0.json: cannot be on the leaderboard" in told
    )


def test_an_undescribed_confidence_is_named_by_its_field_or_by_detection(write, tmp_path, folders, benchmark):
    write("data/b/predictions/m.json")
    path = write("data/b/predictions/chat.json")
    rows = [{k: v for k, v in row.items() if k != "confidence"} for row in json.loads(path.read_text())]
    path.write_text(json.dumps(rows))
    chat, m = load_all_rows(folders, tmp_path, benchmark)
    assert (chat.confidence, m.confidence) == (DETECTED_ABSTENTION_LABEL, "its file's confidence")


# Row scores


OPTIONS = ScoringOptions(bootstrap=200, seed=7)


def test_a_row_has_the_scores_and_intervals_of_the_scorers_report(benchmark, row, said):
    (one,) = score_rows(benchmark, [row("m")], OPTIONS)
    report = score_models(benchmark, [said()], OPTIONS).models[0]
    for place, groups in report.scores_by_subset.items():
        for name, measured in one.scores[place].items():
            assert measured.value == pytest.approx(groups["realistic"][name], abs=1e-12)
            assert measured.interval == pytest.approx(groups["intervals"][name], abs=1e-12)


def test_all_rows_are_scored_on_the_same_samples_also_those_of_one_subset(benchmark, row):
    both, alone = score_rows(benchmark, [row("m"), row("n", subsets=["pt-hard"])], OPTIONS)
    assert set(alone.scores) == {"pt-hard"} and set(both.scores) == {"mean", "clip-hard", "pt-hard"}
    for name, measured in alone.scores["pt-hard"].items():
        np.testing.assert_array_equal(measured.replicates, both.scores["pt-hard"][name].replicates)


def test_the_difference_to_an_equal_model_is_known_where_its_scores_are_not(benchmark, row):
    """Drawn in pairs, a model that is the same has a difference of 0 for sure; unpaired it would be as wide as both."""
    one, twin = (made.scores["mean"]["auaf"] for made in score_rows(benchmark, [row("m"), row("n")], OPTIONS))
    assert percentile_interval(one.replicates - twin.replicates) == (0.0, 0.0)
    low, high = one.interval
    assert high - low > 0.05


def test_seeds_are_averaged_each_scored_by_itself(benchmark, row):
    several, *single = score_rows(
        benchmark,
        [row("all", seeds=(1, 2, 3)), *(row(str(seed), seeds=(seed,)) for seed in (1, 2, 3))],
        OPTIONS,
    )
    for name, measured in several.scores["mean"].items():
        alone = [one.scores["mean"][name] for one in single]
        assert measured.seed_values.tolist() == [one.value for one in alone]
        assert measured.value == pytest.approx(sum(one.value for one in alone) / 3)
        np.testing.assert_allclose(measured.replicates, np.mean([one.replicates for one in alone], axis=0))


def test_the_same_seed_four_times_is_no_more_images(benchmark, row):
    once, often = score_rows(benchmark, [row("once"), row("often", seeds=(0, 0, 0, 0))], OPTIONS)
    assert often.scores["mean"]["auaf"].interval == pytest.approx(
        once.scores["mean"]["auaf"].interval, abs=1e-12
    )


def test_seeds_of_another_scale_of_confidence_are_not_mixed(benchmark, said, row):
    """Items of two seeds in one heap would be ranked against each other."""
    shifted = said(1.0, 0)._replace(confidence=said(1.0, 0).confidence + 100)
    both = row("m")._replace(seeds=(row("m").seeds[0], dict.fromkeys(benchmark.subsets, shifted)))
    mixed, plain = score_rows(benchmark, [both, row("m")], OPTIONS)
    assert mixed.scores["mean"]["auroc"].value == pytest.approx(plain.scores["mean"]["auroc"].value)


def test_kinds_of_uqs_that_are_rare_have_no_score(benchmark, row):
    """40 UQs in each subset: every fourth a wrong relation, 10; the other 30 miss an object."""
    kinds = make_kind_masks(benchmark.subsets["pt-hard"])
    assert {kind: int(which.sum()) for kind, which in kinds.items()} == {"missing object": 40 + 30}
    items = benchmark.subsets["pt-hard"]
    hard = [("" if yes else "popular") for yes in items.answerable]
    assert set(make_kind_masks(items.with_columns(difficulty=hard))) == {"missing object", "popular"}
    (one,) = score_rows(benchmark, [row("m", seeds=(1, 2))], OPTIONS)
    assert set(one.kind_scores["pt-hard"]) == {"missing object"}
    measured = one.kind_scores["pt-hard"]["missing object"]
    assert len(measured.seed_values) == 2 and measured.interval[0] < measured.value < measured.interval[1]


def test_a_subgroup_has_the_score_of_its_uqs_against_all_aqs(benchmark, row):
    (one,) = score_rows(benchmark, [row("m")], OPTIONS)
    items = benchmark.subsets["pt-hard"]
    which = make_kind_masks(items)["missing object"]
    alone = benchmark._replace(subsets={"pt-hard": items.select(which)})
    (expected,) = score_rows(alone, [row("m", subsets=["pt-hard"])], OPTIONS)
    found, auaf = one.kind_scores["pt-hard"]["missing object"], expected.scores["pt-hard"]["auaf"]
    assert found.value == pytest.approx(auaf.value)
    np.testing.assert_allclose(found.replicates, auaf.replicates)


def test_items_and_missing_predictions_are_counted(benchmark, row, said):
    whole = said()
    places = {name: place for name, place in whole.index_by_id.items() if name not in ("3", "4")}
    lacking = row("m")._replace(seeds=(dict.fromkeys(benchmark.subsets, whole._replace(index_by_id=places)),))
    (one,) = score_rows(benchmark, [lacking], OPTIONS._replace(missing="wrong"))
    assert one.num_items == {"clip-hard": 80, "pt-hard": 80} and one.num_missing == {
        "clip-hard": 2,
        "pt-hard": 2,
    }
