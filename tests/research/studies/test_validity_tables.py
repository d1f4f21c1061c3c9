"""The tables of the study, cell by cell."""

from research.studies.rank_agreement import RankAgreement, TauDifference
from research.studies.validity_results import SetAgreement, SubsetTauDifference, TextOnlyRank, ValidityResults
from research.studies.validity_tables import (
    agreement_table,
    render_page,
    reweighted_table,
    row_table,
    text_only_table,
)


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
