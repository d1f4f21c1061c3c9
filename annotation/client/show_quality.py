"""`rgqa annotate report`: the quality report in a few lines, and where the page is."""

from __future__ import annotations

from pathlib import Path

from annotation.study.quality_figures import Quality
from annotation.study.quality_page import percent, places
from pipeline.core.errors import UserError
from pipeline.core.files import read_json
from pipeline.core.paths import Folders


def report() -> None:
    """Print the report that `collect` wrote last.

    Raises:
        UserError: it has not written one yet.
    """
    folders = Folders()
    home = folders.stage("collect")
    if not (home / "quality.json").exists():
        raise UserError(
            f"{home}: no quality report yet; pull verdicts (rgqa annotate pull), then run: dvc repro collect"
        )
    print("\n".join(lines(read_json(home / "quality.json", Quality))))
    if any(newer(path, home / "quality.json") for path in folders.annotations.glob("*.json")):
        print("report: there are newer verdicts; run: dvc repro collect")
    print(f"report: for the browser -> {home / 'quality.html'}")


def newer(path: Path, other: Path) -> bool:
    return path.stat().st_mtime > other.stat().st_mtime


def lines(quality: Quality) -> list[str]:
    """The figures that matter first."""
    told = ["SIMULATED VERDICTS: no person judged anything here"] if quality.simulated else []
    if quality.rehearsal:
        told.append(
            "A REHEARSAL: what they were simulated from is no truth, but incomplete graphs taken as complete"
        )
    told.append(
        f"{quality.given:,} verdicts by {len(quality.annotators)} annotators; {quality.counted:,} count"
    )
    width = max((len(row.name) for row in quality.annotators), default=0)
    for row in quality.annotators:
        interval = f"[{percent(row.low)}, {percent(row.high)}]"
        told.append(
            f"  {row.name:{width}}  {percent(row.accuracy):>6} {interval:16} of {row.filters:,} filter questions"
        )
        told += [f"  {'':{width}}  excluded: {reason}" for reason in row.excluded]
        told += [f"  {'':{width}}  {flag.kind}: {flag.detail}" for flag in row.habits.flags]
    agreed = {row.subset: row for row in quality.agreement}
    for row in quality.subsets:
        counts = ", ".join(f"{count:,} {status}" for status, count in row.statuses.items())
        told.append(f"{row.subset}: {counts}")
        if found := agreed.get(row.subset):
            told[-1] += f"; alpha {places(found.alpha)}, {percent(found.share)} of pairs of verdicts agree"
    for name, count in quality.another_vote.items():
        told.append(f"another vote is wanted for {count:,} tasks: {name}")
    return told
