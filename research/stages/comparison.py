"""Compare the audit of our items with the audit of the items that RGQA's rules would have made from the same
data.

Reads   paper/items.jsonl, audit/audit.json, ingest/, embed/images.npy
Writes  comparison.json  ComparisonReport: the audit of the items under RGQA's rules; empty if the complete
truth is unknown
        comparison.md    both audits side by side, in Markdown
"""

from __future__ import annotations

from pipeline.benchmark.auditing.known_questions import collect_known_questions
from pipeline.benchmark.auditing.rule_comparison import build_comparison_report, render_comparison_markdown
from pipeline.benchmark.auditing.subset_audit import AuditParams, AuditReport, audit_items, read_image_vectors
from pipeline.core import params
from pipeline.core.errors import format_count, run_command
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Question


def main() -> None:
    folders, p = DatasetFolders(), params.load_params("audit", AuditParams)
    audit_file = folders.stage_dir("audit") / "audit.json"
    ours = read_json(audit_file, AuditReport).subsets
    items = folders.stage_dir("paper") / "items.jsonl"
    paper_rules = audit_items(
        items, read_image_vectors(folders), p, collect_known_questions(folders.read_records(Question))
    )
    report = build_comparison_report(audit_file, paper_rules)
    what = (
        f"{format_count(len(paper_rules), 'subset')} under the paper's rules"
        if paper_rules
        else "nothing to compare"
    )
    files = {"comparison.json": report, "comparison.md": render_comparison_markdown(ours, report)}
    folders.write_stage_outputs("comparison", what, files)


if __name__ == "__main__":
    run_command(main)
