import msgspec

from pipeline.benchmark.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.benchmark.report.attack_summary import (
    ATTACKER_ORDER,
    AttackRow,
    make_attack_rows,
    summarize_attacks,
)


def test_rows_combine_the_audit_with_the_papers_rules_and_limits(run):
    swapped = dict(zip(run.audit.subsets, reversed(run.audit.subsets.values()), strict=True))
    for subset, rows in make_attack_rows(run.audit, {"clip-easy": 0.55}, swapped).items():
        ours, paper = run.audit.subsets[subset].attacks, swapped[subset].attacks
        assert {row.attacker: row.auroc for row in rows} == {name: a.auroc for name, a in ours.items()}
        assert {row.attacker: row.paper_auroc for row in rows} == {name: a.auroc for name, a in paper.items()}
        assert {row.attacker for row in rows if row.limit is not None} == (
            set(TEXT_ATTACKERS) if subset == "clip-easy" else set()
        )


def test_without_a_comparison_there_are_no_values_of_the_papers_rules(run):
    rows = make_attack_rows(run.audit, {}, {})
    assert {row.paper_auroc for results in rows.values() for row in results} == {None}


def test_attackers_have_a_fixed_order_with_new_ones_last(run):
    audit = run.audit.subsets["clip-easy"]
    more = msgspec.structs.replace(audit, attacks={"a new one": audit.attacks["length"]} | audit.attacks)
    rows = make_attack_rows(msgspec.structs.replace(run.audit, subsets={"clip-easy": more}), {})["clip-easy"]
    assert [row.attacker for row in rows] == [*ATTACKER_ORDER, "a new one"]


def row(attacker, auroc, paper=None, limit=None):
    low, high = (None, None) if auroc is None else (auroc - 0.02, auroc + 0.02)
    return AttackRow(
        attacker=attacker, auroc=auroc, low=low, high=high, groups=9, paper_auroc=paper, limit=limit
    )


def test_the_finding_is_the_strongest_text_only_attacker():
    first, second, *_ = TEXT_ATTACKERS
    found = summarize_attacks(
        {
            # Verbatim count and CLIP score are not text-only attackers. The strongest one differs under the paper's rules.
            "clip-easy": [
                row("verbatim count", 0.99, 0.99),
                row("CLIP score", 1.0),
                row(first, 0.52, 0.92, 0.55),
                row(second, 0.51, 0.6),
            ],
            "pt-easy": [row(first, 0.53, 0.7), row(second, 0.54, 0.77), row("image", 0.9)],
        }
    )
    assert [(r.subset, r.auroc, r.paper_auroc, r.limit) for r in found.rows] == [
        ("clip-easy", 0.52, 0.92, 0.55),
        ("pt-easy", 0.54, 0.77, None),
    ]
    assert (found.auroc, found.auroc_subset, found.paper_auroc, found.paper_subset) == (
        0.54,
        "pt-easy",
        0.92,
        "clip-easy",
    )


def test_without_attacks_the_auroc_is_one_half():
    found = summarize_attacks({"pt-hard": [row(next(iter(TEXT_ATTACKERS)), None)]})
    assert (found.auroc, found.paper_auroc, found.paper_subset) == (0.5, None, "")
    assert found.rows[0].low is None and found.rows[0].is_too_small
