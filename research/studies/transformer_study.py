"""Compare a small transformer with the audit's attackers on edited questions: `rgqa study
transformer-attacker`.

Rows and folds are those of `rgqa study text-only-baseline`. The transformer counts only if it is strong
enough on data that are known to leak the label: its AUROC on the candidates of the paper's rules must be
within `MAX_SHORTFALL` of the best attacker. Needs `dvc repro screen tag`, and torch.
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
# Maximum shortfall from the audit's best attacker on the paper's candidates. A transformer below that does
# not count.
MAX_SHORTFALL = 0.03


def compare_attackers(
    folds: int, repetitions: int, seed: int, max_pairs: int, init_checkpoint: Path | None, out: Path | None
) -> str:
    """Return the results for the current data set as a Markdown table.

    See `attack_candidates` for the numbers and `score_with_transformer` for `init_checkpoint`. `out` is a
    JSON file.
    """
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
        write_json(out, {"rules": found, "max_shortfall": MAX_SHORTFALL})
    return render_table(found)


def render_table(found: Mapping[str, Mapping[Subset, TextOnlyBaseline]]) -> str:
    """Render all results (rules -> subset -> baseline) as a Markdown table that also says whether the
    transformer counts.
    """
    rows = [["subset", "rules", "pairs", "the audit's best", "", TRANSFORMER_NAME, "strong enough?"]]
    for subset in next(iter(found.values())):
        behind = compute_shortfall(found[PAPER_RULES][subset])
        verdict = "not known" if behind is None else "yes" if behind <= MAX_SHORTFALL else "no"
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
    """Return the name of the audit's best attacker; None if no attacker was applicable."""
    reach = {name: row.attacks[name].auroc for name in TEXT_ATTACKERS if name in row.attacks}
    applicable = {name: auroc for name, auroc in reach.items() if auroc is not None}
    return max(applicable, key=lambda name: applicable[name]) if applicable else None


def compute_shortfall(row: TextOnlyBaseline) -> float | None:
    """Return the best attacker's AUROC minus the transformer's; None if one of them is not known."""
    name, own = find_best_attacker(row), row.attacks[TRANSFORMER_NAME].auroc
    return None if name is None or own is None else round((row.attacks[name].auroc or 0.5) - own, 4)
