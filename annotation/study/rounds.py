"""Rounds of annotation: the candidates verified in one round become filter questions of the next one.

Only `rgqa annotate end-round` ends a round. Stage `batch` depends on `rounds/` and not on the verdicts that `rgqa annotate pull`
fetches, so a pull does not change the tasks.

Files   data/<data set>/rounds/N.jsonl   Verified: `verified.jsonl` of stage `collect` at the end of round N
"""

from __future__ import annotations

import re
from pathlib import Path

from annotation.study.exports import PULLED_FILENAME, read_verdicts
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.json_files import read_json, read_jsonl, write_jsonl
from pipeline.core.jsonl_index import UniqueIndex
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CollectedCandidate, Task, Verdict

LEGACY_FILENAME = "known.jsonl"  # the file in annotations/ that earlier versions kept instead


def find_round_files(folders: DatasetFolders) -> dict[int, Path]:
    """Find the files of the rounds that have ended, by number, in order.

    Raises:
        UserError: the folder holds JSON Lines with another name, or the file of earlier versions exists.
    """
    problems, found = Problems(str(folders.rounds)), dict[int, Path]()
    for path in sorted(folders.rounds.glob("*.jsonl")):
        if re.fullmatch(r"[1-9][0-9]{0,3}", path.stem):
            found[int(path.stem)] = path
        else:
            problems.add(path.name, "not a round; expected 1.jsonl, 2.jsonl and so on")
    former = folders.annotations / LEGACY_FILENAME
    if former.exists():
        problems.add(str(former), f"is no longer read; move it to {folders.rounds}/1.jsonl")
    problems.raise_if_any()
    return dict(sorted(found.items()))


def read_rounds(folders: DatasetFolders) -> list[CollectedCandidate]:
    """Read the verified candidates of all rounds, sorted by id. Of a candidate in several rounds the last one counts."""
    rows = (
        row for path in find_round_files(folders).values() for row in read_jsonl(path, CollectedCandidate)
    )
    last = {row.candidate.candidate_id: row for row in rows}
    return [last[key] for key in sorted(last)]


def count_waiting_verdicts(folders: DatasetFolders) -> int:
    """Count the verdicts on which pulled.json and the output of stage `collect` differ: new, corrected and deleted ones."""
    tasks = UniqueIndex(folders.record_file(Task), Task, "task_id")
    pulled, _ = read_verdicts(folders.annotations / PULLED_FILENAME, tasks)
    path = folders.record_file(Verdict)
    judged = {row.verdict_id: row for row in read_jsonl(path, Verdict)} if path.exists() else {}
    given = {row.verdict_id: row for row in pulled}
    return sum(judged.get(key) != given.get(key) for key in judged.keys() | given.keys())


def end_round(folders: DatasetFolders) -> tuple[int, int]:
    """End the round: keep what stage `collect` verified, so that `batch` makes the tasks of the next round with it.

    Returns:
        The number of the round, and how many candidates it verified.

    Raises:
        UserError: `collect` has not run on the pulled verdicts, its verdicts are simulated, or nothing was verified since
            the last round.
    """
    if any(row.simulated for row in folders.read_records(Verdict)):
        raise UserError(
            f"{folders.record_file(Verdict)}: these verdicts are simulated; a round ends with people's: set {folders.dataset}.collect."
            "simulate: false in params.yaml and run dvc repro collect"
        )
    if waiting := count_waiting_verdicts(folders):
        raise UserError(
            f"{folders.record_file(Verdict)}: {format_count(waiting, 'verdict')} came or changed since; run dvc repro collect first"
        )
    verified = [
        row
        for row in folders.read_records(CollectedCandidate)
        if row.status in ("answerable", "unanswerable")
    ]
    if not verified:
        raise UserError(
            f"{folders.record_file(CollectedCandidate)}: nothing is verified yet, so no round can end"
        )
    number = max(find_round_files(folders), default=0) + 1
    if number > 1 and verified == [*read_jsonl(folders.rounds / f"{number - 1}.jsonl", CollectedCandidate)]:
        raise UserError(f"{folders.rounds}/{number - 1}.jsonl: nothing was verified since; the round goes on")
    write_jsonl(folders.rounds / f"{number}.jsonl", verified)
    return number, len(verified)


def end_and_print_round() -> None:
    """End the round and print what follows: `rgqa annotate end-round`."""
    folders = DatasetFolders()
    # Files in a wrong place are reported before a missing output of `collect`.
    find_round_files(folders)
    read_json(folders.stage_dir("collect") / "collect.json")
    number, count = end_round(folders)
    print(
        f"round: round {number} ends with {format_count(count, 'verified candidate')} -> {folders.rounds}/{number}.jsonl"
    )
    print(
        "round: next: dvc repro batch makes the tasks of the next round, with these candidates among the filter questions; then "
        "rgqa annotate push. Answers on tasks that the new batch does not have stay in pulled.json and are not counted"
    )
