import msgspec
import numpy as np
import pytest

from pipeline.benchmark.auditing.attack_evaluation import Attack
from pipeline.benchmark.auditing.audit_markdown import (
    BELOW_HALF,
    agreement_markdown,
    attack_table,
    audit_markdown,
    part_of,
)
from pipeline.benchmark.auditing.estimate_reliability import reliability
from pipeline.benchmark.auditing.label_imbalance import Margin
from pipeline.benchmark.auditing.permutation_test import MaxTest
from pipeline.benchmark.auditing.screening_accuracy import Screening
from pipeline.benchmark.auditing.subset_audit import AuditReport, SubsetAudit
from pipeline.benchmark.auditing.verifier_agreement import Agreement, agreement, trials
from tests.benchmark.auditing.two_pictures import A, B, source

MARGIN = Margin(largest=3, unequal=2, keys=9, distinct_per_uq=0.5)
AUDIT = SubsetAudit(
    uqs=30,
    aqs=20,
    text_margin=MARGIN,
    picture_margin=MARGIN,
    attacks={
        "word n-grams": Attack(auroc=0.612, low=0.58, high=0.64, groups=9),
        "CLIP score": Attack(auroc=None, low=None, high=None, groups=9),
    },
    text_test=MaxTest(p_value=0.325, permutations=199, rows=50, attacker="word n-grams, class means"),
    too_small="",
    clip_overlap=None,
    clip_distance=-0.0126,
    smallest_auaf_difference=0.0456,
    categories={"missing object": 28, "not known": 2},
    difficulties={"popular": 29, "random": 1},
    edit_kinds={},
    weak=0,
    simulated=False,
)
REPORT = AuditReport(
    subsets={"pt-easy": AUDIT},
    yields={},
    screen_against_truth={},
    estimates_against_truth={},
    judge_against_source=Agreement(rows={}),
    warnings=[],
    table=attack_table({"pt-easy": AUDIT}, {"pt-easy": 0.65}),
)


def test_an_attackers_row_has_its_interval_and_a_dash_where_it_does_not_apply():
    head, _, row = attack_table({"pt-easy": AUDIT}, {"pt-easy": 0.65}).splitlines()
    assert head == "| subset | UQ + AQ | word n-grams | CLIP score | p of the text | limit on text |"
    assert row == "| `pt-easy` | 30 + 20 | 0.61 [0.58, 0.64] | - | 0.325 | 0.65 |"


def test_an_auroc_below_half_has_a_star_and_a_note():
    attacks = {"word n-grams": Attack(auroc=0.612, low=0.58, high=0.64, groups=9, below_half=True)}
    table = attack_table({"pt-easy": msgspec.structs.replace(AUDIT, attacks=attacks)})
    assert "| 0.61 [0.58, 0.64] * |" in table and table.endswith(f"\\* {BELOW_HALF}.")


def test_people_read_every_figure():
    text = audit_markdown(REPORT)
    for row in (
        "| `pt-easy` | 30 + 20 | 0.61 [0.58, 0.64] | - | 0.325 | 0.65 |",
        "| `pt-easy` | 3 | 2 | 3 | 2 | 0.50 |",  # margins
        "| `pt-easy` | - | -0.013 |",  # CLIP scores
        "| `pt-easy` | 28 | 2 |",  # categories
        "| `pt-easy` | 29 | 1 |",  # difficulties
        "| `pt-easy` | 0.046 |",  # what differences are resolved
    ):
        assert f"\n{row}\n" in text
    assert "simulated" not in text and "paper" not in text and "Warning" not in text
    assert "\n\n\n" not in text and text.endswith("under `yield`.\n")


def test_what_was_simulated_rehearsed_or_warned_of_is_said():
    audit = msgspec.structs.replace(AUDIT, simulated=True, rehearsal=True)
    report = msgspec.structs.replace(REPORT, subsets={"pt-easy": audit}, warnings=["too easy"])
    text = audit_markdown(report)
    assert "> **Warning.** too easy" in text
    assert "**simulated**" in text and "**rehearsal**" in text
    assert "\n\n\n" not in text


def test_screens_decisions_stand_beside_the_truth_where_it_is_known():
    row = Screening(
        kept=3,
        dropped=1,
        unclear=0,
        unanswerable=3,
        held_answerable=0,
        precision=0.6667,
        recall=1.0,
        false_drop_rate=None,
    )
    text = audit_markdown(msgspec.structs.replace(REPORT, screen_against_truth={"pt-easy": row}))
    assert "\n| `pt-easy` | 0.667 | 1.000 | - |\n" in text


def test_estimates_stand_beside_the_truth_with_what_they_are():
    row = reliability([0.25, 0.25, 0.75, 0.75], [False, True, True, True])
    text = audit_markdown(msgspec.structs.replace(REPORT, estimates_against_truth={"all": row}))
    assert "| all | 4 | 3 | 2.0 | 0.250 |" in text and "stand-in figures" in text
    assert "\n| 0.250 | 0.500 | 2 |\n| 0.750 | 1.000 | 2 |\n" in text


def test_the_judges_table_has_a_row_for_each_kind_of_question():
    text = agreement_markdown(agreement(trials(source(*A, *B), 2, np.random.default_rng(0))))
    head, _, everything, queries = (line for line in text.splitlines() if line.startswith("|"))
    assert text.startswith("## The judge against the source, by other questions\n\n| questions |")
    assert everything.startswith("| all | 5 |") and queries.startswith("| structural: query | 5 |")
    assert "| 2 (40.0 %) | 2 (100.0 %) |" in everything  # of five own two are dared, both right
    assert head.count("|") == everything.count("|")


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(12, 35, "12 (34.3 %)"), (0, 0, "0"), (1234, 1234, "1,234 (100.0 %)")]
)
def test_a_count_stands_with_its_share(part, whole, text):
    assert part_of(part, whole) == text
