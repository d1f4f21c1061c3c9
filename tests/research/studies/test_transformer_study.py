"""The table of `rgqa study transformer-attacker`: the paper's rows of each subset decide whether the transformer counts."""

from pipeline.benchmark.auditing.attack_evaluation import AttackResult
from research.studies.text_only_baseline import (
    OUR_BALANCED_RULES,
    OUR_UNBALANCED_RULES,
    PAPER_RULES,
    TextOnlyBaseline,
)
from research.studies.transformer_study import compute_shortfall, find_best_attacker, render_table


def row(words, pairs, transformer):
    reach = {"word n-grams": words, "word pairs": pairs, "transformer": transformer}
    attacks = {name: AttackResult(auroc=auroc, low=0.5, high=0.9, groups=9) for name, auroc in reach.items()}
    return TextOnlyBaseline(num_questions=10, num_candidates=10, num_pairs=9, attacks=attacks)


def test_the_best_of_the_audits_attackers_is_never_the_transformer():
    assert find_best_attacker(row(0.6, 0.7, 0.9)) == "word pairs"
    assert find_best_attacker(row(None, None, 0.9)) is None


def test_it_falls_short_by_the_difference():
    assert compute_shortfall(row(0.6, 0.7, 0.65)) == 0.05  # 0.7 - 0.65
    assert compute_shortfall(row(0.6, 0.7, None)) is None


def test_it_is_strong_enough_within_0_03_of_the_best_on_the_papers_rows():
    weak, strong = row(0.8, 0.9, 0.86), row(0.8, 0.9, 0.87)
    found = {
        rules: {"pt-easy": row(0.55, 0.5, 0.52), "pt-hard": row(0.6, 0.5, 0.66)}
        for rules in (OUR_BALANCED_RULES, OUR_UNBALANCED_RULES)
    }
    lines = render_table(found | {PAPER_RULES: {"pt-easy": strong, "pt-hard": weak}}).split("\n")
    assert [line.split("|")[-2].strip() for line in lines[2:]] == [
        *["yes", "yes", "yes: -0.030"],
        *["no", "no", "no: -0.040"],
    ]
    assert (
        "| pt-hard | ours, balanced | 9 | 0.600 [0.50, 0.90] | word n-grams | 0.660 [0.50, 0.90] |"
        in lines[5]
    )
