"""Audit the items before they are released.

The audit measures how well the labels can be predicted without the image, how many candidates each stage kept
and dropped, and which differences between models the items can detect.

Reads   balance/, ingest/, embed/images.npy, the reports and dropped candidates of every stage; truth/ if complete scene
        graphs are known (only for the sample); ingest/ and vocabulary/ for the agreement of the verifier with
        the source
Writes  audit.json  all results; `warnings` lists the limits that are exceeded
        audit.md    the same results as a readable report
"""

from __future__ import annotations

from pipeline.benchmark.auditing.audit_markdown import render_attack_table, render_audit_markdown
from pipeline.benchmark.auditing.estimate_reliability import measure_estimate_reliability
from pipeline.benchmark.auditing.known_questions import collect_known_questions
from pipeline.benchmark.auditing.screening_accuracy import measure_screening, read_truth
from pipeline.benchmark.auditing.subset_audit import (
    AuditParams,
    AuditReport,
    audit_items,
    make_warnings,
    read_image_vectors,
)
from pipeline.benchmark.auditing.verifier_agreement import measure_agreement, read_verifier_inputs, run_trials
from pipeline.core import params
from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import format_count, run_command
from pipeline.core.item_counts import check_item_counts
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.randomness import make_generator
from pipeline.core.records import Item, Question

# Stages whose reports are part of the audit.
REPORTING_STAGES = (
    "rank",
    "perturb",
    "screen",
    "estimate",
    "batch",
    "collect",
    "balance",
)


def main() -> None:
    folders, p = DatasetFolders(), params.load_params("audit", AuditParams)
    check_item_counts(folders)
    subsets = audit_items(
        folders.record_file(Item),
        read_image_vectors(folders),
        p,
        collect_known_questions(folders.read_records(Question)),
    )
    truth = read_truth(folders)
    rng = make_generator(p.seed, "audit", "agreement")
    report = AuditReport(
        subsets=subsets,
        stage_reports={
            stage: read_json(folders.stage_dir(stage) / f"{stage}.json") for stage in REPORTING_STAGES
        },
        screening_accuracy=measure_screening(folders, truth),
        estimate_reliability=measure_estimate_reliability(folders, truth),
        verifier_agreement=measure_agreement(
            run_trials(read_verifier_inputs(folders, truth), p.num_negative_trials, rng)
        ),
        warnings=make_warnings(subsets, p.max_text_auroc),
        source_questions_sha256=sha256_file(folders.record_file(Question)),
        attack_table=render_attack_table(subsets, p.max_text_auroc),
    )
    what = f"{format_count(len(subsets), 'subset')}, {format_count(len(report.warnings), 'warning')}"
    folders.write_stage_outputs(
        "audit", what, {"audit.json": report, "audit.md": render_audit_markdown(report)}
    )


if __name__ == "__main__":
    run_command(main)
