import msgspec

from pipeline.benchmark.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.benchmark.report.attack_summary import (
    ATTACKER_ORDER,
    AttackRow,
    make_attack_rows,
    summarize_attacks,
)


def test_what_attackers_reach_is_the_audits_with_the_papers_rules_and_limits_beside(run):
    swapped = dict(zip(run.audit.subsets, reversed(run.audit.subsets.values()), strict=True))
    for subset, rows in make_attack_rows(run.audit, {"clip-easy": 0.55}, swapped).items():
        ours, paper = run.audit.subsets[subset].attacks, swapped[subset].attacks
        assert {row.attacker: row.auroc for row in rows} == {name: a.auroc for name, a in ours.items()}
        assert {row.attacker: row.paper_auroc for row in rows} == {name: a.auroc for name, a in paper.items()}
        assert {row.attacker for row in rows if row.limit is not None} == (
            set(TEXT_ATTACKERS) if subset == "clip-easy" else set()
        )


def test_without_a_comparison_no_figure_of_the_papers_rules_is_shown(run):
    rows = make_attack_rows(run.audit, {}, {})
    assert {row.paper_auroc for of in rows.values() for row in of} == {None}


def test_attackers_stand_in_one_order_and_new_ones_last(run):
    audit = run.audit.subsets["clip-easy"]
    more = msgspec.structs.replace(audit, attacks={"a new one": audit.attacks["length"]} | audit.attacks)
    rows = make_attack_rows(msgspec.structs.replace(run.audit, subsets={"clip-easy": more}), {})["clip-easy"]
    assert [row.attacker for row in rows] == [*ATTACKER_ORDER, "a new one"]


def row(attacker, auroc, paper=None, limit=None):
    low, high = (None, None) if auroc is None else (auroc - 0.02, auroc + 0.02)
    return AttackRow(
        attacker=attacker, auroc=auroc, low=low, high=high, groups=9, paper_auroc=paper, limit=limit
    )


def test_the_finding_is_the_best_that_sees_only_the_text():
    first, second, *_ = TEXT_ATTACKERS
    found = summarize_attacks(
        {
            # neither who knows the source by heart nor the CLIP score sees only the text; the best here is not the paper's best
            "clip-easy": [
                row("verbatim", 0.99, 0.99),
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


def test_without_the_papers_rules_or_any_attack_there_is_no_such_figure():
    found = summarize_attacks({"pt-hard": [row(next(iter(TEXT_ATTACKERS)), None)]})
    assert (found.auroc, found.paper_auroc, found.paper_subset) == (0.5, None, "")
    assert found.rows[0].low is None and found.rows[0].is_too_small
