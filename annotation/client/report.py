"""Print a summary of the quality report, for `rgqa annotate report`."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.study.collect_command import get_collect_command, is_human_baseline
from annotation.study.quality_html import format_interval, format_percent
from annotation.study.quality_report import QualityReport
from annotation.study.rounds import count_waiting_verdicts
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders


def print_report() -> None:
    """Print a summary of the last quality report and the path of its page.

    Raises:
        UserError: There is no report yet.
    """
    folders = DatasetFolders()
    path = folders.stage_dir("collect") / "quality.json"
    if not path.exists():
        if is_human_baseline(folders):
            raise UserError(
                f"a human baseline has no quality report: {folders.dataset}. Run: {get_collect_command(folders)}"
            )
        raise UserError(
            f"there is no quality report yet: {path}. Pull verdicts (rgqa annotate pull), then run: {get_collect_command(folders)}"
        )
    quality = read_json(path, QualityReport)
    print("\n".join(format_summary(quality)))
    if not quality.simulated and (waiting := count_waiting_verdicts(folders)):
        print(
            f"report: {format_count(waiting, 'verdict is', 'verdicts are')} new or changed since then. Run: {get_collect_command(folders)}"
        )
    print(f"report: full report -> {path.with_suffix('.html')}")


def format_summary(quality: QualityReport) -> Iterator[str]:
    """Yield the lines of the summary. The most important numbers come first."""
    if quality.simulated:
        yield "SIMULATED VERDICTS: no person judged anything"
    if quality.rehearsal:
        yield "REHEARSAL: the verdicts are simulated from incomplete graphs that are treated as complete"
    yield f"{format_count(quality.num_verdicts, 'verdict')} by {format_count(len(quality.annotators), 'annotator')}; {quality.num_counted:,} of {format_count(quality.num_answers, 'answer')} on candidates count"
    yield from (f"WARNING: {warning}" for warning in quality.warnings)
    width = max((len(person.name) for person in quality.annotators), default=0)
    for person in quality.annotators:
        sensitivity, specificity = str(person.gold_accuracy.sensitivity), person.gold_accuracy.specificity
        yield f"  {person.name:{width}}  sensitivity {sensitivity:28} specificity {specificity}"
        yield from (f"  {'':{width}}  excluded: {reason}" for reason in person.exclusion_reasons)
        yield from (f"  {'':{width}}  {flag.kind}: {flag.detail}" for flag in person.flags)
    agreement = {
        row.subset: f"; {format_percent(row.observed.value)} agreement, alpha {format_interval(row.krippendorff_alpha)}, AC1 {format_interval(row.gwet_ac1)}"
        for row in quality.agreement
    }
    for row in quality.subsets:
        counts = ", ".join(f"{count:,} {status}" for status, count in row.statuses.items())
        yield f"{row.subset}: {counts}{agreement.get(row.subset, '')}"
