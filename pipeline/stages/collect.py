"""Turn the verdicts of annotators into verified candidates.

An annotator is excluded if sensitivity or specificity on gold questions is below the limits or drifts below
them, or if the annotator answers too fast or always the same. Unconfirmed gold questions count only if annotators agree. An answer is also excluded if the annotator failed the gold
question of the same task. The remaining answers about candidates are votes. A candidate is unanswerable only
if the votes say "invalid" (by the posterior of the model of the votes, by majority or unanimously), or if an adjudicator
says so.

Reads   tasks.jsonl, screened.jsonl, estimates.jsonl
        judged_drafts.jsonl                                    if there is one: drafted questions that earlier rounds decided
        data/<data set>/annotations/pulled.json                the verdicts that `rgqa annotate pull` and `import` wrote
        data/<data set>/annotations/panel.jsonl                if there is one: the verdicts of models (`rgqa annotate panel`)
        with `simulate: true` instead of pulled.json:
        data/<data set>/truth, images.jsonl, vocabulary.json   what simulated annotators see and know
        with `simulate: rehearsal` instead of truth:
        scenes.jsonl, reconstructed.jsonl                      incomplete graphs, which are treated as complete
Writes  verdicts.jsonl           Verdict: all verdicts, under pseudonyms; simulated verdicts are marked
        excluded_answers.jsonl   ExcludedAnswer: answers about candidates that do not count, each with a reason
        verified.jsonl           CollectedCandidate: every candidate with its votes and one status
        drafted.jsonl            CollectedCandidate: the same for the questions that a model drafted as answerable; only if there are any
        posteriors.jsonl         Posterior: the probability that each candidate is unanswerable, for the rule dawid-skene;
                                 empty for other rules
        posteriors_by_people.jsonl   Posterior: the same without the panel of models; only if there is one
        aq_checks.jsonl          GoldQuestionCheck: votes on the images' own questions that were used as gold questions, or that a
                                 model drafted
        quality.json, quality.html   the quality report
        collect.json             skill and agreement of annotators, statuses per subset
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from annotation.study.answers_table import build_answers_table
from annotation.study.assignment import is_audit_task, is_overlap_task
from annotation.study.assignment_params import AnnotateParams, StudySizes
from annotation.study.collect_command import get_collect_command
from annotation.study.exports import PULLED_FILENAME, read_verdicts
from annotation.study.panel_priors import PanelPriors, add_panel
from annotation.study.panel_verdicts import PANEL_FILENAME, read_panel
from annotation.study.posteriors import Posterior
from annotation.study.quality_html import render_page
from pipeline.core.errors import UserError, format_count, run_command, warn
from pipeline.core.json_files import write_jsonl
from pipeline.core.jsonl_index import LazyMapping, SpillMap, UniqueIndex
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    CandidateEstimate,
    CollectedCandidate,
    ImageRecord,
    ScreenedCandidate,
    Task,
    Verdict,
)
from pipeline.research_registry import simulate_from_evidence, simulate_from_truth
from pipeline.tasks.drafted_questions import read_drafted_questions, read_judged_drafts
from pipeline.tasks.verdict_aggregation import (
    AggregatedVerdicts,
    CollectParams,
    aggregate_verdicts,
    make_report,
)


def gather_verdicts(
    folders: DatasetFolders,
    tasks: Mapping[str, Task],
    params: CollectParams,
    audited_tasks: Collection[str] = (),
) -> tuple[list[Verdict], dict[str, int]]:
    """Return the verdicts, and the number of annotations of each kind in pulled.json ({} without this file).

    Args:
        folders: The data set.
        tasks: The tasks by id.
        params: Parameters of stage `collect`.
        audited_tasks: The tasks that a simulated adjudicator judges, too.

    Raises:
        UserError: There are no verdicts yet, an export was not imported, or pulled.json is invalid
            (`read_verdicts`).
    """
    verdicts, counts = [], dict[str, int]()
    pulled = folders.annotations / PULLED_FILENAME
    others = sorted(str(path) for path in folders.annotations.glob("*.json") if path != pulled)
    if others and not params.simulate:
        raise UserError(
            [
                f"{folders.annotations}: only {PULLED_FILENAME} is read here, but the folder contains other exports. Import them, then "
                "move them away:",
                f"rgqa annotate import {' '.join(others)}, then move these files to another folder",
            ]
        )
    if params.simulate == "rehearsal":
        warn(
            "this is a REHEARSAL: the verdicts are simulated from incomplete graphs that are treated as complete "
            f"({folders.dataset}.collect.simulate: rehearsal)"
        )
        verdicts = simulate_from_evidence(
            folders, tasks.values(), params.simulated_votes, params.seed, audited_tasks
        )
    elif params.simulate:
        verdicts = simulate_from_truth(
            folders, tasks.values(), params.simulated_votes, params.seed, audited_tasks
        )
    elif pulled.exists():
        verdicts, counts = read_verdicts(pulled, tasks)
    can_panel_decide = (
        params.aggregation == "dawid-skene"
        and params.min_people == 0
        and (folders.annotations / PANEL_FILENAME).exists()
    )
    if not verdicts and not can_panel_decide:
        found = f"{pulled} {'has no complete answer' if pulled.exists() else 'does not exist'}"
        tasks_file = folders.stage_dir("batch") / "label_studio_tasks.json"
        raise UserError(
            [
                f"{format_count(len(tasks), 'task')} without verdicts: no annotator has answered a task yet",
                found + (f" with annotations {counts}" if counts else ""),
                "Let annotators answer the tasks: rgqa annotate invite, rgqa annotate serve (docs/guides/human_annotation.md), then rgqa annotate "
                f"pull, then {get_collect_command(folders, 'dvc repro')}",
                f"Or use your own Label Studio: import {tasks_file} into a project with annotation/client/interface.xml, then run "
                "rgqa annotate import EXPORT",
            ]
        )
    return verdicts, counts


def check_votes(collected: AggregatedVerdicts, params: CollectParams) -> None:
    """Check that at least one candidate has enough votes.

    Raises:
        UserError: No candidate has enough votes. The message lists possible causes.
    """
    rows, quality = collected.verified, collected.quality
    if rows and all(row.status == "no_votes" for row in rows):
        max_votes = max(row.votes_invalid + row.votes_valid for row in rows)
        required = 1 if params.aggregation == "dawid-skene" else params.min_votes
        excluded = [
            f"{row.name} is excluded: {'; '.join(row.exclusion_reasons)}"
            for row in quality.annotators
            if row.exclusion_reasons
        ]
        raise UserError(
            [
                f"{format_count(quality.num_verdicts, 'verdict')}, but no candidate has {format_count(required, 'vote')} that count (the "
                f"maximum is {max_votes}). Let annotators answer more tasks, or check the limits in the section collect of params.yaml.",
                *excluded,
                *quality.warnings,
            ]
        )


def summarize_study_sizes(params: AnnotateParams, sizes: StudySizes) -> dict[str, Any]:
    """Return the sizes of the study, and which of them were `auto`."""
    values = sizes._asdict()
    return {**values, "auto": [name for name in values if getattr(params, name) == "auto"]}


def main() -> None:
    folders, params = DatasetFolders(), load_params("collect", CollectParams)
    if params.simulate and params.aggregation != "dawid-skene" and params.min_votes > params.simulated_votes:
        raise UserError(
            f"collect.min_votes is {params.min_votes}, more than collect.simulated_votes, {params.simulated_votes}, so "
            "nothing could be verified. Lower min_votes or raise simulated_votes."
        )
    out = folders.stage_dir("collect")
    tasks = UniqueIndex(folders.record_file(Task), Task, "task_id")
    annotate = load_params("annotate", AnnotateParams)
    sizes = annotate.resolve_sizes(folders.read_records(Task))
    rules = annotate.to_assignment_rules(sizes, params)
    audited_tasks = {key for key in tasks if is_audit_task(key, rules)}
    verdicts, exported = gather_verdicts(folders, tasks, params, audited_tasks)
    write_jsonl(out / "verdicts.jsonl", verdicts)
    num_verdicts = len(verdicts)
    del verdicts
    priors = {row.candidate_id: row.p_answerable for row in folders.read_records(CandidateEstimate)}
    overlap_tasks = {key for key in tasks if is_overlap_task(key, rules)}
    overlap, audited = (
        {
            row.candidate_id
            for key in sampled
            for row in (tasks[key].first, tasks[key].second)
            if row.role == "candidate" and row.candidate_id
        }
        for sampled in (overlap_tasks, audited_tasks)
    )
    screened = UniqueIndex(
        folders.record_file(ScreenedCandidate), ScreenedCandidate, "candidate.candidate_id"
    )
    drafted = read_drafted_questions(tasks.values())

    def store(rows: Iterable[CollectedCandidate]) -> Collection[CollectedCandidate]:
        return SpillMap(out, CollectedCandidate, ((row.candidate.candidate_id, row) for row in rows)).values()

    answers = build_answers_table(tasks, folders.read_records(Verdict))
    panel = read_panel(folders.annotations / PANEL_FILENAME)
    if panel and params.aggregation != "dawid-skene":
        warn(
            f"collect.aggregation is {params.aggregation}, so the verdicts of the panel of models are not used"
        )

    def use_panel(invalid_by_people: Mapping[str, float], judged: pd.DataFrame) -> PanelPriors:
        discarded = judged.loc[judged["is_discarded"], ["image_id", "text"]]
        return add_panel(
            folders.read_records(Task),
            panel,
            priors,
            invalid_by_people,
            annotate.seed,
            annotate.panel_audit_rate,
            {(str(image), str(text)) for image, text in discarded.itertuples(index=False)},
        )

    collected = aggregate_verdicts(
        LazyMapping([*drafted, *screened], lambda key: drafted.get(key) or screened[key], 1)
        if drafted
        else screened,
        answers,
        params,
        priors,
        overlap,
        audited,
        store,
        annotate.min_gold_agreement,
        use_panel if panel else None,
        read_judged_drafts(folders),
    )
    check_votes(collected, params)
    for warning in collected.quality.warnings:
        print(f"collect: WARNING: {warning}", file=sys.stderr)
    for doubt in collected.quality.doubts:
        print(f"collect: this study is a trial: {doubt}", file=sys.stderr)
    by_people = [
        Posterior(candidate_id=key, invalid=value) for key, value in collected.invalid_by_people.items()
    ]
    images = {row.image_id: row.path for row in folders.read_records(ImageRecord)}
    folders.write_stage_outputs(
        "collect",
        f"{collected.quality.num_unanswerable:,} of {format_count(len(collected.verified), 'candidate')} unanswerable by {format_count(num_verdicts, 'verdict')}",
        {
            "verified.jsonl": collected.verified,
            "excluded_answers.jsonl": collected.excluded_answers,
            "drafted.jsonl": collected.drafted or None,
            "aq_checks.jsonl": collected.aq_checks,
            "posteriors.jsonl": collected.posteriors,
            "quality.json": collected.quality,
            "quality.html": render_page(collected.quality, images),
            "posteriors_by_people.jsonl": by_people if collected.panel else None,
            "collect.json": make_report(collected)
            | {"exports": exported, "study_sizes": summarize_study_sizes(annotate, sizes)},
        },
    )


if __name__ == "__main__":
    run_command(main)
