import msgspec
import numpy as np
import pytest

from pipeline.benchmark.auditing.attack_evaluation import AttackResult
from pipeline.benchmark.auditing.audit_markdown import (
    BELOW_HALF_NOTE,
    format_count_with_percent,
    render_agreement_markdown,
    render_attack_table,
    render_audit_markdown,
)
from pipeline.benchmark.auditing.estimate_reliability import measure_reliability
from pipeline.benchmark.auditing.label_imbalance import LabelImbalance
from pipeline.benchmark.auditing.permutation_test import MaxTResult
from pipeline.benchmark.auditing.screening_accuracy import ScreeningAccuracy
from pipeline.benchmark.auditing.subset_audit import AuditReport, SubsetAudit
from pipeline.benchmark.auditing.verifier_agreement import VerifierAgreement, measure_agreement, run_trials
from tests.benchmark.auditing.two_images import A, B, source

IMBALANCE = LabelImbalance(max_difference=3, unbalanced_keys=2, keys=9, distinct_per_uq=0.5)
AUDIT = SubsetAudit(
    uqs=30,
    aqs=20,
    text_imbalance=IMBALANCE,
    image_imbalance=IMBALANCE,
    attacks={
        "word n-grams": AttackResult(auroc=0.612, low=0.58, high=0.64, groups=9),
        "CLIP score": AttackResult(auroc=None, low=None, high=None, groups=9),
    },
    permutation_test=MaxTResult(
        p_value=0.325, permutations=199, rows=50, attacker="word n-grams, class means"
    ),
    too_small_reason="",
    clip_overlap=None,
    clip_mean_difference=-0.0126,
    min_detectable_auaf_difference=0.0456,
    categories={"missing object": 28, "not known": 2},
    difficulties={"popular": 29, "random": 1},
    edit_kinds={},
    query_only=0,
    simulated=False,
)
REPORT = AuditReport(
    subsets={"pt-easy": AUDIT},
    stage_reports={},
    screening_accuracy={},
    estimate_reliability={},
    verifier_agreement=VerifierAgreement(by_evidence={}),
    warnings=[],
    attack_table=render_attack_table({"pt-easy": AUDIT}, {"pt-easy": 0.65}),
)


def test_an_attackers_row_has_its_interval_and_a_dash_where_it_does_not_apply():
    head, _, row = render_attack_table({"pt-easy": AUDIT}, {"pt-easy": 0.65}).splitlines()
    assert (
        head
        == "| subset | UQ + AQ | word n-grams | CLIP score | p (text-only, max-T) | max. text-only AUROC |"
    )
    assert row == "| `pt-easy` | 30 + 20 | 0.61 [0.58, 0.64] | - | 0.325 | 0.65 |"


def test_an_auroc_below_half_has_a_star_and_a_note():
    attacks = {"word n-grams": AttackResult(auroc=0.612, low=0.58, high=0.64, groups=9, is_below_half=True)}
    table = render_attack_table({"pt-easy": msgspec.structs.replace(AUDIT, attacks=attacks)})
    assert "| 0.61 [0.58, 0.64] * |" in table and table.endswith(f"\\* {BELOW_HALF_NOTE}.")


def test_the_audit_shows_every_value():
    text = render_audit_markdown(REPORT)
    for row in (
        "| `pt-easy` | 30 + 20 | 0.61 [0.58, 0.64] | - | 0.325 | 0.65 |",
        "| `pt-easy` | 3 | 2 | 3 | 2 | 0.50 |",  # label imbalance
        "| `pt-easy` | - | -0.013 |",  # CLIP scores
        "| `pt-easy` | 28 | 2 |",  # categories
        "| `pt-easy` | 29 | 1 |",  # difficulties
        "| `pt-easy` | 0.046 |",  # statistical power
    ):
        assert f"\n{row}\n" in text
    assert "simulated" not in text and "paper" not in text and "Warning" not in text
    assert "\n\n\n" not in text and text.endswith("under `stage_reports`.\n")


def test_simulation_rehearsal_and_warnings_are_stated():
    audit = msgspec.structs.replace(AUDIT, simulated=True, rehearsal=True)
    report = msgspec.structs.replace(REPORT, subsets={"pt-easy": audit}, warnings=["too easy"])
    text = render_audit_markdown(report)
    assert "> **Warning.** too easy" in text
    assert "**simulated**" in text and "**rehearsal**" in text
    assert "\n\n\n" not in text


def test_screening_accuracy_is_shown_where_the_truth_is_known():
    row = ScreeningAccuracy(
        kept=3,
        dropped=1,
        undecidable=0,
        unanswerable=3,
        dropped_as_answerable=0,
        precision=0.6667,
        recall=1.0,
        false_drop_rate=None,
    )
    text = render_audit_markdown(msgspec.structs.replace(REPORT, screening_accuracy={"pt-easy": row}))
    assert "\n| `pt-easy` | 0.667 | 1.000 | - |\n" in text


def test_estimate_reliability_is_shown_with_a_note_on_the_synthetic_world():
    row = measure_reliability([0.25, 0.25, 0.75, 0.75], [False, True, True, True])
    text = render_audit_markdown(msgspec.structs.replace(REPORT, estimate_reliability={"all": row}))
    assert "| all | 4 | 3 | 2.0 | 0.250 |" in text and "This world is synthetic" in text
    assert "\n| 0.250 | 0.500 | 2 |\n| 0.750 | 1.000 | 2 |\n" in text


def test_the_verifiers_table_has_a_row_for_each_question_type():
    text = render_agreement_markdown(
        measure_agreement(run_trials(source(*A, *B), 2, np.random.default_rng(0)))
    )
    head, _, everything, queries = (line for line in text.splitlines() if line.startswith("|"))
    assert text.startswith(
        "## Agreement of the verifier with the source, by other questions\n\n| questions |"
    )
    assert everything.startswith("| all | 5 |") and queries.startswith("| structural: query | 5 |")
    assert (
        "| 2 (40.0 %) | 2 (100.0 %) |" in everything
    )  # The verifier commits itself on two of five questions, and both verdicts are right.
    assert head.count("|") == everything.count("|")


@pytest.mark.parametrize(
    ("count", "total", "text"), [(12, 35, "12 (34.3 %)"), (0, 0, "0"), (1234, 1234, "1,234 (100.0 %)")]
)
def test_a_count_is_shown_with_its_percentage(count, total, text):
    assert format_count_with_percent(count, total) == text
