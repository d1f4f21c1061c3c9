"""`rgqa annotate report`: the quality report in a few lines, and where the page is."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.study.quality_html import bounds, percent
from annotation.study.quality_report import Quality
from annotation.study.rounds import waiting_verdicts
from pipeline.core.errors import UserError, counted
from pipeline.core.json_files import read_json
from pipeline.core.paths import Folders


def report() -> None:
    """Print the report that `collect` wrote last.

    Raises:
        UserError: it has not written one yet.
    """
    folders = Folders()
    path = folders.stage("collect") / "quality.json"
    if not path.exists():
        raise UserError(
            f"{path.parent}: no quality report yet; pull verdicts (rgqa annotate pull), then run: dvc repro collect"
        )
    quality = read_json(path, Quality)
    print("\n".join(lines(quality)))
    if not quality.simulated and (waiting := waiting_verdicts(folders)):
        print(f"report: {counted(waiting, 'verdict')} came or changed since; run: dvc repro collect")
    print(f"report: for the browser -> {path.with_suffix('.html')}")


def lines(quality: Quality) -> Iterator[str]:
    """The figures that matter first."""
    if quality.simulated:
        yield "SIMULATED VERDICTS: no person judged anything here"
    if quality.rehearsal:
        yield "A REHEARSAL: what they were simulated from is no truth, but incomplete graphs taken as complete"
    yield f"{counted(quality.given, 'verdict')} by {len(quality.annotators)} people; {quality.counted:,} of {counted(quality.answers, 'answer')} on candidates count"
    yield from (f"ALARM: {alarm}" for alarm in quality.alarms)
    width = max((len(person.name) for person in quality.annotators), default=0)
    for person in quality.annotators:
        sensitivity, specificity = str(person.skill.sensitivity), person.skill.specificity
        yield f"  {person.name:{width}}  sensitivity {sensitivity:28} specificity {specificity}"
        yield from (f"  {'':{width}}  excluded: {reason}" for reason in person.excluded)
        yield from (f"  {'':{width}}  {flag.kind}: {flag.detail}" for flag in person.flags)
    agreed = {
        row.subset: f"; {percent(row.share.value)} alike, alpha {bounds(row.alpha)}, AC1 {bounds(row.ac1)}"
        for row in quality.agreement
    }
    for row in quality.subsets:
        counts = ", ".join(f"{count:,} {status}" for status, count in row.statuses.items())
        yield f"{row.subset}: {counts}{agreed.get(row.subset, '')}"
