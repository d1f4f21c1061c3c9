"""Measure what the benchmark gives away, what it kept and lost, and what it can resolve.

Reads   balance/, ingest/, embed/pictures.npy, the reports and drops of every stage,
        truth/ where the complete truth is known (the sample), ingest/ and vocabulary/ for how often the verifier agrees with the source
Writes  audit.json  every figure; `warnings` lists the limits that the release is over
        audit.md    the same for people
"""

from __future__ import annotations

from pipeline.benchmark.auditing.audit_markdown import attack_table, audit_markdown
from pipeline.benchmark.auditing.estimate_reliability import estimates_against_truth
from pipeline.benchmark.auditing.known_questions import known_questions
from pipeline.benchmark.auditing.screening_accuracy import known_truth, screen_against_truth
from pipeline.benchmark.auditing.subset_audit import (
    AuditParams,
    AuditReport,
    audit_items,
    image_vectors,
    warnings,
)
from pipeline.benchmark.auditing.verifier_agreement import agreement, read_source, trials
from pipeline.core import params
from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import counted, run
from pipeline.core.item_counts import check_item_counts
from pipeline.core.json_files import read_json
from pipeline.core.paths import Folders
from pipeline.core.randomness import generator
from pipeline.core.records import Item, Question

STAGES = ("rank", "perturb", "screen", "estimate", "batch", "collect", "balance")  # whose yields are told


def main() -> None:
    folders, p = Folders(), params.load("audit", AuditParams)
    check_item_counts(folders)
    subsets = audit_items(
        folders.file(Item), image_vectors(folders), p, known_questions(folders.rows(Question))
    )
    truth = known_truth(folders)
    rng = generator(p.seed, "audit", "agreement")
    report = AuditReport(
        subsets=subsets,
        yields={stage: read_json(folders.stage(stage) / f"{stage}.json") for stage in STAGES},
        screen_against_truth=screen_against_truth(folders, truth),
        estimates_against_truth=estimates_against_truth(folders, truth),
        judge_against_source=agreement(trials(read_source(folders, truth), p.foreign, rng)),
        warnings=warnings(subsets, p.limits),
        source_questions_sha256=sha256_file(folders.file(Question)),
        table=attack_table(subsets, p.limits),
    )
    what = f"{counted(len(subsets), 'subset')}, {counted(len(report.warnings), 'warning')}"
    folders.finish("audit", what, {"audit.json": report, "audit.md": audit_markdown(report)})


if __name__ == "__main__":
    run(main)
