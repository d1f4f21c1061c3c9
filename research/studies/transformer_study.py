"""`rgqa study transformer-attacker`: what a small transformer, trained on the spot, tells of edited texts beside the audit's attackers.

The rows are those of `rgqa study text-only-baseline`, the folds too. The transformer counts only if it is no weaker than those
attackers on data that are known to give themselves away: within 0.03 of the best of them on what the paper's rules make of
the same questions. Needs `dvc repro screen tag`, and torch; nothing of the pipeline does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pipeline.benchmark.auditing.audit_markdown import format_auroc
from pipeline.benchmark.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import Subset
from pipeline.core.rendering import format_markdown_table
from research.studies.text_only_baseline import (
    PAPER_RULES,
    TextOnlyBaseline,
    attack_candidates,
    load_candidates_by_rules,
)
from research.studies.transformer_attacker import score_with_transformer

TRANSFORMER_NAME = "transformer"
MAX_SHORTFALL = 0.03  # of the audit's best attacker on the paper's data, or it is too weak to count


def compare_attackers(
    folds: int, repetitions: int, seed: int, max_pairs: int, init_checkpoint: Path | None, out: Path | None
) -> str:
    """The table of the data set in use; see `baseline` for the numbers, `transformer` for `init`."""
    DatasetFolders().check_outputs(Output("--out", out) if out else None, inputs=[init_checkpoint])
    questions, known, ruled = load_candidates_by_rules(seed)
    found: dict[str, dict[Subset, TextOnlyBaseline]] = {rules: {} for rules in ruled}
    cells: list[tuple[str, Subset]] = [(rules, subset) for rules in ruled for subset in ruled[rules]]
    for rules, subset in track(cells, "attackers", unit="set of rows"):
        rows = ruled[rules][subset]
        found[rules][subset] = attack_candidates(
            rows,
            questions,
            folds,
            repetitions,
            seed,
            max_pairs,
            known,
            extra_attackers={
                TRANSFORMER_NAME: partial(score_with_transformer, init_checkpoint=init_checkpoint)
            },
        )
    if out:
        write_json(out, {"rules": found, "within": MAX_SHORTFALL})
    return render_table(found)


def render_table(found: Mapping[str, Mapping[Subset, TextOnlyBaseline]]) -> str:
    """All figures (rules -> subset -> baseline) as a table in Markdown, with the check that the transformer counts."""
    rows = [["subset", "rules", "pairs", "the audit's best", "", TRANSFORMER_NAME, "counts?"]]
    for subset in next(iter(found.values())):
        behind = compute_shortfall(found[PAPER_RULES][subset])
        verdict = "not known" if behind is None else "yes" if behind <= MAX_SHORTFALL else "no, too weak"
        for rules, by_subset in found.items():
            row = by_subset[subset]
            name = find_best_attacker(row)
            shown = (format_auroc(row.attacks[name], 3), name) if name else ("-", "")
            said = f"{verdict}: {-behind:+.3f}" if rules == PAPER_RULES and behind is not None else verdict
            rows.append(
                [
                    subset,
                    rules,
                    f"{row.num_pairs:,}",
                    *shown,
                    format_auroc(row.attacks[TRANSFORMER_NAME], 3),
                    said,
                ]
            )
    return format_markdown_table(rows)


def find_best_attacker(row: TextOnlyBaseline) -> str | None:
    """The name of the audit's best attacker; None if none was applicable."""
    reach = {name: row.attacks[name].auroc for name in TEXT_ATTACKERS if name in row.attacks}
    applicable = {name: auroc for name, auroc in reach.items() if auroc is not None}
    return max(applicable, key=lambda name: applicable[name]) if applicable else None


def compute_shortfall(row: TextOnlyBaseline) -> float | None:
    """By how much the transformer's AUROC is below that of the audit's best attacker; None if either is not known."""
    name, own = find_best_attacker(row), row.attacks[TRANSFORMER_NAME].auroc
    return None if name is None or own is None else round((row.attacks[name].auroc or 0.5) - own, 4)
