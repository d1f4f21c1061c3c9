"""Compare the audit with one of the items that the paper's rules would have made of the same data.

Reads   paper/items.jsonl, audit/audit.json, ingest/, embed/pictures.npy
Writes  comparison.json  ComparisonReport: the audit of the items under the paper's rules; empty without a complete truth
        comparison.md    both audits side by side, for people
"""

from __future__ import annotations

from pipeline.benchmark.auditing.known_questions import known_questions
from pipeline.benchmark.auditing.rule_comparison import comparison_markdown, comparison_report
from pipeline.benchmark.auditing.subset_audit import AuditParams, AuditReport, audit_items, image_vectors
from pipeline.core import params
from pipeline.core.errors import counted, run
from pipeline.core.json_files import read_json
from pipeline.core.paths import Folders
from pipeline.core.records import Question


def main() -> None:
    folders, p = Folders(), params.load("audit", AuditParams)
    audit_file = folders.stage("audit") / "audit.json"
    ours = read_json(audit_file, AuditReport).subsets
    items = folders.stage("paper") / "items.jsonl"
    paper_rules = audit_items(items, image_vectors(folders), p, known_questions(folders.rows(Question)))
    report = comparison_report(audit_file, paper_rules)
    what = (
        f"{counted(len(paper_rules), 'subset')} under the paper's rules"
        if paper_rules
        else "nothing to compare"
    )
    files = {"comparison.json": report, "comparison.md": comparison_markdown(ours, report)}
    folders.finish("comparison", what, files)


if __name__ == "__main__":
    run(main)
