"""Compare attackers on our items with attackers on the items that RGQA's rules make from the same data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.benchmark.auditing.audit_markdown import render_attack_table
from pipeline.benchmark.auditing.subset_audit import SubsetAudit
from pipeline.core.atomic_files import sha256_file
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Record, Subset
from pipeline.core.rendering import render_template

TEMPLATE_DIR = Path(__file__).parent


class ComparisonReport(Record):
    """The content of `comparison.json`.

    Attributes:
        audit_sha256: SHA-256 of the file audit.json with which this report is compared. If that file changes,
            the comparison is out of date.
        paper_rules: Subset -> audit of the items that RGQA's rules make. It is {} if the complete ground truth is
            not known.
        attack_table: The results of the attackers on these items, as a Markdown table.
    """

    audit_sha256: str
    paper_rules: dict[Subset, SubsetAudit]
    attack_table: str


def build_comparison_report(audit_file: Path, paper_rules: Mapping[Subset, SubsetAudit]) -> ComparisonReport:
    """Return the report that compares the items of RGQA's rules with the audit in `audit_file`.

    Args:
        audit_file: The file audit.json of our items.
        paper_rules: Subset -> audit of the items that RGQA's rules make.
    """
    return ComparisonReport(
        audit_sha256=sha256_file(audit_file),
        paper_rules=dict(paper_rules),
        attack_table=render_attack_table(paper_rules),
    )


def render_comparison_markdown(ours: Mapping[Subset, SubsetAudit], comparison: ComparisonReport) -> str:
    """Return the text of `comparison.md`: the tables of attackers and of label imbalance for both sets."""
    return render_template(
        TEMPLATE_DIR / "comparison.md.jinja",
        {},
        ours=ours,
        ours_table=render_attack_table(ours),
        paper_rules=comparison.paper_rules,
        paper_table=comparison.attack_table,
    )


def read_comparison(folders: DatasetFolders) -> dict[Subset, SubsetAudit]:
    """Return subset -> audit of the items of RGQA's rules, or {} if there is none for the current audit."""
    path = folders.stage_dir("comparison") / "comparison.json"
    if not path.is_file():
        return {}
    report = read_json(path, ComparisonReport)
    current = report.audit_sha256 == sha256_file(folders.stage_dir("audit") / "audit.json")
    return report.paper_rules if current else {}
