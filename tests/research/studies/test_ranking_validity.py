"""Validity of rankings: the study, its results and its tables."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Item
from pipeline.scoring.items import BenchmarkItem, Items
from research.studies.cli import app
from research.studies.item_sets import OUR_RULES, PAPER_RULES
from research.studies.rank_agreement import RankAgreement, RowScores, TauDifference
from research.studies.ranking_effects import EFFECTS
from research.studies.ranking_validity import CounterfactualRelease, run_validity_study
from research.studies.row_scores import ALL_CATEGORIES
from research.studies.validity_results import (
    TEXT_ONLY_ROW,
    ScoredSet,
    SetAgreement,
    SubsetTauDifference,
    TextOnlyRank,
    ValidityResults,
    compute_validity,
    rank_text_only_rows,
)
from research.studies.validity_tables import (
    agreement_table,
    render_page,
    reweighted_table,
    row_table,
    text_only_table,
)
from tests.tiny.nets import add_nets

# The whole study on the tiny project. Its nets have random weights, so that only the format of the results is tested.


QUESTION_TEXT = "What color is the cup?"


def write_release(folder: Path) -> Path:
    """Each question of an item at two images, at the first with an answer; no image in two pairs."""
    images = sorted(row.image_id for row in DatasetFolders().read_records(ImageRecord))
    listed, details = [], []
    for number, pair in enumerate(zip(images[::2], images[1::2], strict=False)):
        for image, label in zip(pair, ({"red": 1.0}, {"UQ": 1.0}), strict=True):
            key = f"{number}-{image}"
            listed.append({"img_id": image, "question_id": key, "sent": QUESTION_TEXT, "label": label})
            category = "object" if "UQ" in label else ""
            details.append(
                {
                    "item": {
                        "subset": "counterfactual",
                        "item_id": key,
                        "pair_id": str(number),
                        "category": category,
                        "split": "test",
                    }
                }
            )
    (folder / "rgqa").mkdir(parents=True)
    (folder / "rgqa/counterfactual.json").write_text(json.dumps(listed))
    (folder / "provenance.jsonl").write_text("\n".join(map(json.dumps, details)))
    (folder / "params.json").write_text(json.dumps({"dataset": "tiny", "version": "1"}))
    return folder


@pytest.fixture
def there(tiny_run, tmp_path, monkeypatch):
    home = tmp_path / "run"
    shutil.copytree(tiny_run, home)
    add_nets(home)
    monkeypatch.chdir(home)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return home


def test_the_study_writes_its_results_and_continues_from_existing_predictions(there, tmp_path, capsys):
    release, out = write_release(tmp_path / "release"), tmp_path / "out"
    releases = [CounterfactualRelease(release), CounterfactualRelease(release)]
    found = run_validity_study(releases, out, repetitions=20)
    printed = capsys.readouterr().out
    assert (out / "validity.md").read_text() in printed
    assert (
        f"validity: {found.num_rows} rows on 8 sets and {found.counterfactual_items} items of counterfactual pairs"
        in printed.splitlines()[-1]
    )
    assert read_json(out / "validity.json", ValidityResults) == found
    test = sum(row.split == "test" for row in DatasetFolders().read_records(Item))
    assert sum(one.num_items for one in found.sets if one.rules == "ours") == test
    assert all((out / f"effect-{name}.svg").read_text().startswith("<svg") for name in EFFECTS)
    assert {one["effect"] for one in read_json(out / "effects.json")} == set(EFFECTS)
    assert "text_only_net" not in found.auaf and "true_regions" not in found.auaf
    answers = sorted(out.glob("answers/*/*.json"))
    before = {path: path.stat().st_mtime_ns for path in answers if "seed" in path.name}
    assert run_validity_study(releases, out, repetitions=20, measure_effects=False) == found
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_too_few_rows_and_missing_counterfactual_pairs_are_errors(there, tmp_path):
    (there / "data/tiny/vqa/fitted-1.safetensors").unlink()  # four rows need it
    with pytest.raises(UserError, match="13 rows to rank"):
        run_validity_study(
            [CounterfactualRelease(write_release(tmp_path / "release"))],
            tmp_path / "out",
            20,
            measure_effects=False,
        )
    found = CliRunner().invoke(app, ["validity", "--counterfactual-release", "data/release/tiny/0.1.0"])
    assert found.exit_code == 1 and "no subset counterfactual" in found.output


# Results of the study on sets with made-up scores, so that the results are known.


OBJECT, ATTRIBUTE = "missing object", "wrong attribute"
ROWS = 14


def scored(of_objects, of_attributes, categories, wording=0.5):
    """A set with these scores [rows] of each category's UQs, with two resamples that repeat the data; its text-only net has 0.45."""
    uqs = [BenchmarkItem(f"u{i}", "p", {}, category=name) for i, name in enumerate(categories)]
    items = Items.from_rows([BenchmarkItem("a", "p", {"red": 1.0}), *uqs])
    share = categories.count(OBJECT) / len(categories)
    by_name = {OBJECT: np.array(of_objects), ATTRIBUTE: np.array(of_attributes)}
    by_name[ALL_CATEGORIES] = share * by_name[OBJECT] + (1 - share) * by_name[ATTRIBUTE]
    scores = {
        name: [
            *(RowScores(f"row {i}", False, np.full((1, 3), value)) for i, value in enumerate(values)),
            RowScores(TEXT_ONLY_ROW, True, np.full((1, 3), 0.45)),
        ]
        for name, values in by_name.items()
    }
    return ScoredSet(items, scores, wording, [RowScores("reads", True, np.array([[0.2, 0, 0], [0.4, 0, 0]]))])


UP = np.arange(ROWS) / 100
# On objects the rows are in one order, on attributes in the other; attributes weigh three of four UQs in counterfactual pairs.
PAIRS = scored(UP, 1 - UP, [OBJECT] + 3 * [ATTRIBUTE])
SETS = {
    (OUR_RULES, "clip-easy"): scored(UP, 1 - UP, 4 * [OBJECT]),  # the order of objects
    (PAPER_RULES, "clip-easy"): scored(UP, 1 - UP, 4 * [ATTRIBUTE], wording=0.9),  # that of attributes
}


def test_reweighting_to_a_sets_own_categories_restores_agreement():
    found = compute_validity(SETS, PAIRS)
    ours, paper = found.sets
    assert ours.agreement_reweighted and paper.agreement_reweighted
    # Pairs: 0.25 x up + 0.75 x (1 - up) falls, so that all 14 * 13 / 2 = 91 pairs are the other way round in ours.
    assert (
        ours.agreement.num_pairs,
        ours.agreement.tau,
        ours.agreement_reweighted.tau,
        ours.proportion_unmatched,
    ) == (91, -1, 1, 0)
    assert ours.agreement.pearson == pytest.approx(-1) and ours.category_proportions == {OBJECT: 1.0}
    assert (paper.agreement.tau, paper.agreement_reweighted.tau, paper.text_only_auroc) == (1, 1, 0.9)
    (gain,) = found.tau_differences
    assert (
        gain.subset,
        gain.tau_difference.tau,
        gain.tau_difference.interval,
        gain.reweighted_difference,
    ) == ("clip-easy", -2, (-2, -2), 0)


def test_the_text_only_net_is_not_ranked_but_has_a_rank():
    found = compute_validity(SETS, PAIRS)
    assert found.num_rows == ROWS and TEXT_ONLY_ROW not in found.auaf and len(found.auaf) == ROWS
    at = {(one.row, one.rules, one.subset): one for one in found.text_only_ranks}
    # Ours: all rows are below 0.14. Pairs: 0.25 x up + 0.75 x (1 - up) = 0.75 - up / 2, which is 0.685 or more.
    assert (
        at[TEXT_ONLY_ROW, OUR_RULES, "clip-easy"].rank == 1
        and at[TEXT_ONLY_ROW, "", "counterfactual"].rank == ROWS + 1
    )


def test_a_rank_counts_the_rows_above_the_mean_over_seeds():
    one = scored(UP + 0.3, UP, 4 * [OBJECT])  # 0.30 to 0.43
    blind, reads = rank_text_only_rows((OUR_RULES, "clip-easy"), one)
    assert (blind.auaf, blind.rank) == (0.45, 1)
    assert (reads.auaf, reads.rank) == (0.3, ROWS)  # the mean of 0.2 and 0.4; thirteen rows are above


def test_the_ceiling_is_the_agreement_of_two_sets_of_counterfactual_pairs():
    assert compute_validity(SETS, PAIRS).ceiling is None
    found = compute_validity(SETS, PAIRS, [scored(UP, 1 - UP, 3 * [OBJECT] + [ATTRIBUTE])]).ceiling
    assert found is not None and found.tau == -1  # three of four the other way: 0.25 + up / 2 rises


def test_too_few_rows_are_an_error():
    few = scored(UP[:3], UP[:3], [OBJECT, ATTRIBUTE])
    with pytest.raises(UserError, match="At least 14"):
        compute_validity({}, few)


# The tables of the study, cell by cell.


def agreement(tau, pairs=80):
    return RankAgreement(
        num_rows=14,
        num_pairs=pairs,
        tau=tau,
        tau_interval=(0.5, 0.75),
        pearson=0.25,
        pearson_interval=(0.125, 1),
    )


def made(rules, tau):
    shares = {"missing object": 0.7, "": 0.2, "wrong relation": 0.06, "underspecified": 0.04}
    return SetAgreement(
        rules=rules,
        subset="pt-hard",
        num_items=1500,
        category_proportions=shares,
        agreement=agreement(tau),
        agreement_reweighted=agreement(tau, 70),
        proportion_unmatched=0.0,
        text_only_auroc=0.625,
    )


FOUND = ValidityResults(
    num_rows=14,
    counterfactual_items=4000,
    counterfactual_text_only_auroc=0.5,
    ceiling=agreement(0.9),
    sets=[made("ours", 0.75), made("the paper's rules", 0.5)],
    tau_differences=[
        SubsetTauDifference(
            subset="pt-hard",
            tau_difference=TauDifference(tau=0.25, interval=(-0.125, 0.5)),
            reweighted_difference=0.25,
        )
    ],
    text_only_ranks=[
        TextOnlyRank(row="text_only_net", rules="ours", subset="pt-hard", auaf=0.25, rank=15),
        TextOnlyRank(row="text_only_net", rules="", subset="counterfactual", auaf=0.125, rank=14),
    ],
    auaf={
        "low": {"ours, pt-hard": 0.5, "counterfactual": 0.1},
        "high": {"ours, pt-hard": 0.25, "counterfactual": 0.9},
    },
)


def cells(table, row):
    return [cell.strip() for cell in table.split("\n")[row].strip("|").split("|")]


def test_agreement_of_our_rules_the_papers_and_the_ceiling():
    table = agreement_table(FOUND)
    assert table.startswith("14 rows ranked by AUAF; tau over the 80 of 91 pairs")  # 14 * 13 / 2
    tau, r = "(0.500 to 0.750)", "0.250 (0.125 to 1.000)"
    gain = "+0.250 (-0.125 to +0.500)"
    assert cells(table, 4) == ["pt-hard", "ours", "1,500", f"0.750 {tau}", r, gain]
    assert cells(table, 5) == ["pt-hard", "the paper's rules", "1,500", f"0.500 {tau}", r, ""]
    assert cells(table, 6) == ["counterfactual", "other counterfactual pairs", "", f"0.900 {tau}", r, ""]


def test_the_three_most_frequent_categories_are_shown():
    line = cells(reweighted_table(FOUND), 4)
    assert line[2:4] == ["missing object 70%, unknown 20%, wrong relation 6%", "70"]


def test_text_only_rows_have_a_rank_in_each_set():
    table = text_only_table(FOUND)
    head, line, wording = cells(table, 2), cells(table, 4), cells(table, 5)
    assert dict(zip(head, line, strict=True)) == {
        "row": "text_only_net",
        "pt-hard, the paper's rules": "",
        "pt-hard, ours": "0.250 (rank 15)",
        "counterfactual": "0.125 (rank 14)",
    }
    assert wording == ["text-only AUROC", "0.625", "0.625", "0.500"]


def test_rows_are_sorted_by_auaf_on_counterfactual_pairs():
    table = row_table(FOUND)
    assert cells(table, 2) == ["row", "counterfactual", "ours, pt-hard"]
    assert cells(table, 4) == ["high", "0.900", "0.250"] and cells(table, 5)[0] == "low"
    assert all(part in render_page(FOUND) for part in (table, reweighted_table(FOUND)))
